// A number or a formula of x, y, z (metres) and t (seconds), as written in the deck.
//
// Operators, from the weakest: ?:, || (or), && (and), comparisons, + -, * /, signs and !, ^. Values have no
// unit. A true condition is 1, a false one 0; any value except 0 counts as true.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/formula.hpp"

namespace isotherm {

struct TableKnot {
  double time, value;
};

class Expression {
 public:
  Expression(double constant = 0);
  // A table of t or another variable: linear between knots of ascending times, or constant from each to the
  // next (`steps`); before the first and after the last knot it keeps their value. `text`: as in the deck.
  Expression(const std::vector<TableKnot>& knots, bool steps, std::string text, char variable = 't');
  // `variables` are the letters allowed, e.g. "yzt". Throws FormulaError with the position in `text`.
  Expression(std::string text, std::string_view variables);

  double operator()(double x, double y, double z,
                    double t = 0) const;  // may be NaN or infinite; never throws
  // Evaluates many points, in the calling thread.
  void evaluate(const FormulaPoints& points, double* values) const;
  bool is_constant() const { return !program_; }
  bool is_zero() const { return is_constant() && constant_ == 0; }
  const FormulaProgram* program() const { return program_.get(); }  // null if is_constant()
  bool uses(char variable) const;                                   // 't': does it change in time?
  bool uses_place() const { return uses('x') || uses('y') || uses('z'); }
  bool is_table() const;
  std::vector<double> jumps() const;  // s, at which a table in steps jumps
  // The least time, s, between knots of different values of a linear table, from 0 to `end`; else infinite.
  double shortest_change(double end) const;
  const std::string& text() const { return text_; }  // as written; a number in shortest form, a table as YAML

  // Applies the operation to its operands; the result is a number if they all are. Throws FormulaError if it
  // needs a deeper stack than a formula may have.
  static Expression combined(FormulaOp op, const std::vector<Expression>& operands);
  // The same for two operands. A zero is no operand of a sum or a product.
  friend Expression operator+(const Expression& a, const Expression& b) {
    return a.is_zero() ? b : b.is_zero() ? a : combined(FormulaOp::add, {a, b});
  }
  friend Expression operator*(const Expression& a, const Expression& b) {
    return a.is_zero() || b.is_zero() ? Expression(0.0) : combined(FormulaOp::multiply, {a, b});
  }
  friend Expression operator-(const Expression& a, const Expression& b) {
    return combined(FormulaOp::subtract, {a, b});
  }
  friend Expression operator/(const Expression& a, const Expression& b) {
    return combined(FormulaOp::divide, {a, b});
  }

 private:
  double constant_ = 0;
  std::string text_;
  std::shared_ptr<const FormulaProgram> program_;  // shared: an Expression is a cheap value
};

struct FormulaError {
  std::string problem;   // "unknown variable 'w'"
  std::size_t position;  // bytes into the text
};

}  // namespace isotherm
