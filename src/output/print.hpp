// What a verb prints, where printing is all that it does: it fails with its stream.
#pragma once

#include <string>

namespace isotherm {

// To standard output, flushed, with all that was printed before. Throws Error(io).
void print_now(const std::string& text);

}  // namespace isotherm
