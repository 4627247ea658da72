#include "config/formula.hpp"

#include <cctype>
#include <vector>

namespace isotherm {
namespace {

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// muParser takes "1,5*y" for two formulas and evaluates the last, and "y=3" for an assignment. What formulas
// of other programs have, it takes for a slip.
void refuse_what_is_meant_otherwise(const std::string& text) {
  std::vector<bool> in_call;  // of each open parenthesis: does it follow a name?
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  char before = '\0';  // the last character that is no space
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') in_call.push_back(is_of_name(before));
    if (c == ')' && !in_call.empty()) in_call.pop_back();
    if (c == ',' && (in_call.empty() || !in_call.back()))
      throw FormulaError{"',' outside the arguments of a function (the decimal sign is '.')", i};
    if (c == '=' && at(i + 1) != '=' && std::string_view("=<>!").find(before) == std::string_view::npos)
      throw FormulaError{"'=' would assign ('==' compares)", i};
    if (c == '*' && at(i + 1) == '*') throw FormulaError{"'**' is no operator (powers are '^')", i};
    if (c == 'T' && !is_of_name(at(i + 1)) && (i == 0 || !is_of_name(text[i - 1])))
      throw FormulaError{
          "'T' is no variable (what depends on the temperature is not available in this version)", i};
    if (c != ' ') before = c;
  }
}

// muParser's own places in its messages count otherwise than ours.
std::string without_position(std::string problem) {
  for (const char* const tail : {" found at position", " at position"})
    if (const auto start = problem.find(tail); start != problem.npos) problem.resize(start);
  while (!problem.empty() && problem.back() == '.') problem.pop_back();
  if (!problem.empty()) problem[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(problem[0])));
  return problem;
}

}  // namespace

Expression compile_formula(const std::string& text, std::string_view variables) {
  refuse_what_is_meant_otherwise(text);
  try {
    return Expression(text, variables);
  } catch (const FormulaError& error) {
    throw FormulaError{without_position(error.problem), error.position};
  }
}

}  // namespace isotherm
