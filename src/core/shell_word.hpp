// Words of commands to paste, and of scripts.
#pragma once

#include <string>
#include <string_view>

namespace isotherm {

// bash reads it as one word, and as this text. Control characters are escaped, so that none reaches a
// terminal.
std::string shell_word(std::string_view text);

}  // namespace isotherm
