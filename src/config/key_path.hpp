// Keys of a deck by their dotted paths: "solver.kernel", "sources.0.value".
#pragma once

#include <string>

namespace isotherm {

// Why no deck has a key of this path, with advice: "unknown key; did you mean 'solver.kernel'?". Empty where
// one may have it.
std::string why_no_key(const std::string& path);

}  // namespace isotherm
