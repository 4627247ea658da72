// What decks of other programs have and these have not: said as such, where it would be taken for a slip.
#pragma once

#include <string>
#include <string_view>

namespace isotherm {

// Of a key or a word: "radiation is not available in this version". Empty where it is nothing known.
std::string_view absent_feature(std::string_view word);

// Of a number with a unit behind it, "25 C" for a key in K: "write 298.15 (kelvin), without a unit". Empty
// where it is none.
std::string advice_on_unit(std::string_view text, std::string_view unit_of_key);

}  // namespace isotherm
