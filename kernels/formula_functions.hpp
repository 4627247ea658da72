// Runs a step of a formula, in all evaluators. A machine has value(), which pushes a number or a variable;
// unary(), binary() and ternary(), which apply a function to the top of the stack; and step(), the current
// step. After a table its run() skips steps_of_knots().
#pragma once

#include "kernels/formula.hpp"
#include "kernels/math/exp.hpp"
#include "kernels/math/inverse_hyperbolic.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/trigonometry.hpp"

namespace isotherm {

ISOTHERM_HOST_DEVICE double of_bool(bool holds) { return holds ? 1.0 : 0.0; }
// NaN where an operand is NaN: comparisons alone would hide it from the checks of the values.
ISOTHERM_HOST_DEVICE double nan_or(double a, double b, double result) {
  return a != a || b != b ? a + b : result;
}

// Steps that hold the knots of a table: time, value, time, value...
ISOTHERM_HOST_DEVICE Index steps_of_knots(const FormulaStep& table) {
  return 2 * static_cast<Index>(table.number);
}
ISOTHERM_HOST_DEVICE double table_value(const FormulaStep* table, double t) {
  const auto time = [&](Index k) { return table[1 + 2 * k].number; };
  const auto value = [&](Index k) { return table[2 + 2 * k].number; };
  Index low = 0, end = static_cast<Index>(table->number);  // the last knot at or before t is in [low, end)
  while (end - low > 1) {
    const Index middle = (low + end) / 2;
    (time(middle) <= t ? low : end) = middle;
  }
  const bool is_last = low + 1 == static_cast<Index>(table->number);
  if (table->variable == 1 || is_last || !(t > time(low))) return t != t ? t : value(low);
  const double part = (t - time(low)) / (time(low + 1) - time(low));
  return ::fma(part, value(low + 1) - value(low), value(low));
}

template <class Machine>
ISOTHERM_HOST_DEVICE void take_step(FormulaOp op, Machine& m) {
  switch (op) {
    case FormulaOp::number:
    case FormulaOp::variable:
      return m.value();
    case FormulaOp::table:
      return m.unary([table = m.step()](double t) { return table_value(table, t); });
    case FormulaOp::choose:
      return m.ternary([](double a, double b, double c) { return nan_or(a, a, a != 0 ? b : c); });
#define UNARY_STEP(name, result) \
  case FormulaOp::name:          \
    return m.unary([](double a) { return result; });
#define BINARY_STEP(name, result) \
  case FormulaOp::name:           \
    return m.binary([](double a, double b) { return result; });
      ISOTHERM_UNARY_STEPS(UNARY_STEP)
      ISOTHERM_BINARY_STEPS(BINARY_STEP)
#undef UNARY_STEP
#undef BINARY_STEP
  }
}

}  // namespace isotherm
