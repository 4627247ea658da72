// A number or a formula of x, y, z (metres) and t (seconds), as it stands in the deck.
//
// Operators, from the weakest: ?:, || (or), && (and), comparisons, + -, * /, signs and !, ^. Values have no
// unit; where something holds it is 1, else 0; whatever is not 0 holds.
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
  // A table of t, or of another variable: linear between its knots, whose times rise, or constant from each
  // to the next (`steps`); its first and last value before and behind them. `text`: as a deck says it.
  Expression(const std::vector<TableKnot>& knots, bool steps, std::string text, char variable = 't');
  // `variables` are the letters allowed, e.g. "yzt". Throws FormulaError with the position in `text`.
  Expression(std::string text, std::string_view variables);

  double operator()(double x, double y, double z,
                    double t = 0) const;  // may be NaN or infinite; never throws
  // Of many points, in the calling thread.
  void evaluate(const FormulaPoints& points, double* values) const;
  bool is_constant() const { return !program_; }
  const FormulaProgram* program() const { return program_.get(); }  // of one that is written as a formula
  bool uses(char variable) const;                                   // "t": does it change in time?
  bool is_table() const;
  std::vector<double> jumps() const;                 // s, of a table in steps
  const std::string& text() const { return text_; }  // as written; a number in shortest form, a table as YAML

  // The operation on as many operands as it takes; a number where they all are. Throws FormulaError where it
  // is deeper than a formula may be.
  static Expression combined(FormulaOp op, const std::vector<Expression>& operands);

 private:
  double constant_ = 0;
  std::string text_;
  std::shared_ptr<const FormulaProgram> program_;  // shared: an Expression is a cheap value
};

struct FormulaError {
  std::string problem;   // "unknown variable 'w'"
  std::size_t position;  // characters into the text
};

}  // namespace isotherm
