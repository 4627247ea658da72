// Formulas as decks may write them: what muParser would read otherwise than it was meant is refused.
#pragma once

#include <string>
#include <string_view>

#include "core/expression.hpp"

namespace isotherm {

// Throws FormulaError.
Expression compile_formula(const std::string& text, std::string_view variables);

}  // namespace isotherm
