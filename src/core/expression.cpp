// The only file that sees muParser.
#include "core/expression.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace isotherm {
namespace {

double round_half_to_even(double value) {
  return std::rint(value);
}

}  // namespace

struct Expression::Parser {
  std::array<double, 4> values{};  // x, y, z, t: muParser reads them by address
  mu::Parser parser;
  std::string variables, used;

  Parser(const std::string& text, std::string_view allowed) : variables(allowed) {
    static constexpr std::string_view names = "xyzt";
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (allowed.find(names[i]) != std::string_view::npos)
        parser.DefineVar(std::string(1, names[i]), &values[i]);
    }
    parser.DefineConst("pi", std::numbers::pi);
    parser.DefineFun("rint", round_half_to_even);  // muParser's own rounds 0.5 to 1
    try {
      parser.SetExpr(text);
      parser.Eval();
      for (const auto& [name, address] : parser.GetUsedVar()) used += name;
    } catch (const mu::Parser::exception_type& e) {
      const std::string token = e.GetToken();
      std::string problem = e.GetMsg();
      if (e.GetCode() == mu::ecUNASSIGNABLE_TOKEN) problem = fmt::format("unknown name '{}'", token);
      // Some places are unknown, and some of an unfinished formula lie behind its end.
      const auto place = static_cast<std::size_t>(e.GetPos());
      throw FormulaError{problem, std::min(place, text.size())};
    }
  }
};

Expression::Expression(double constant) : constant_(constant), text_(fmt::format("{}", constant)) {}

Expression::Expression(std::string text, std::string_view variables)
    : text_(std::move(text)), parser_(std::make_unique<Parser>(text_, variables)) {}

Expression::Expression(const Expression& other)
    : constant_(other.constant_),
      text_(other.text_),
      parser_(other.parser_ ? std::make_unique<Parser>(other.text_, other.parser_->variables) : nullptr) {}

Expression& Expression::operator=(const Expression& other) {
  *this = Expression(other);
  return *this;
}

Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

double Expression::operator()(double x, double y, double z, double t) const {
  if (!parser_) return constant_;
  parser_->values = {x, y, z, t};
  try {
    return parser_->parser.Eval();
  } catch (const mu::Parser::exception_type&) {  // a domain error of a function: not a number either
    return std::numeric_limits<double>::quiet_NaN();
  }
}

bool Expression::uses(char variable) const {
  return parser_ && parser_->used.find(variable) != std::string::npos;
}

}  // namespace isotherm
