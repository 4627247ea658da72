// A number or a formula of x, y, z (metres) and t (seconds), as it stands in the deck. muParser behind it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace isotherm {

class Expression {
 public:
  Expression(double constant = 0);
  // `variables` are the letters allowed, e.g. "yzt"; `pi` and muParser's functions are known. Throws
  // FormulaError with the position in `text`.
  Expression(std::string text, std::string_view variables);
  Expression(const Expression& other);  // own parser: copies may run in other threads
  Expression& operator=(const Expression& other);
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  double operator()(double x, double y, double z,
                    double t = 0) const;  // may be NaN or infinite; never throws
  bool is_constant() const { return !parser_; }
  bool uses(char variable) const;                    // "t": does it change in time?
  const std::string& text() const { return text_; }  // as written; a number in shortest form

 private:
  struct Parser;
  double constant_ = 0;
  std::string text_;
  std::unique_ptr<Parser> parser_;
};

struct FormulaError {
  std::string problem;   // "unknown variable 'w'"
  std::size_t position;  // characters into the text
};

}  // namespace isotherm
