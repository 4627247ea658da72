// What each step of a formula computes. It stands here once for all evaluators: a machine has value(),
// unary(), binary() and ternary(), which take a function of so many numbers and apply it to the top of its
// stack; and step(), where it is in the program. Behind a table its run() leaves out steps_of_knots().
#pragma once

#include "kernels/formula.hpp"
#include "kernels/math/exp.hpp"
#include "kernels/math/inverse_hyperbolic.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/trigonometry.hpp"

namespace isotherm {

ISOTHERM_HOST_DEVICE double of_bool(bool holds) {
  return holds ? 1.0 : 0.0;
}

// Steps that hold the knots of a table: time, value, time, value...
ISOTHERM_HOST_DEVICE Index steps_of_knots(const FormulaStep& table) {
  return 2 * static_cast<Index>(table.number);
}
ISOTHERM_HOST_DEVICE double table_value(const FormulaStep* table, double t) {
  const auto time = [&](Index k) { return table[1 + 2 * k].number; };
  const auto value = [&](Index k) { return table[2 + 2 * k].number; };
  Index low = 0, end = static_cast<Index>(table->number);  // the last knot up to t is from low on
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
ISOTHERM_HOST_DEVICE void take_step_of_one(FormulaOp op, Machine& m) {
  switch (op) {
    case FormulaOp::negative:
      return m.unary([](double a) { return -a; });
    case FormulaOp::logical_not:
      return m.unary([](double a) { return of_bool(a == 0); });
    case FormulaOp::square:
      return m.unary([](double a) { return a * a; });
    case FormulaOp::sqrt:
      return m.unary([](double a) { return ::sqrt(a); });
    case FormulaOp::cbrt:
      return m.unary([](double a) { return math::cbrt(a); });
    case FormulaOp::abs:
      return m.unary([](double a) { return ::fabs(a); });
    case FormulaOp::sign:
      return m.unary([](double a) { return of_bool(a > 0) - of_bool(a < 0); });
    case FormulaOp::floor:
      return m.unary([](double a) { return ::floor(a); });
    case FormulaOp::ceil:
      return m.unary([](double a) { return ::ceil(a); });
    case FormulaOp::round:
      return m.unary([](double a) { return ::round(a); });
    case FormulaOp::rint:
      return m.unary([](double a) { return ::rint(a); });
    case FormulaOp::exp:
      return m.unary([](double a) { return math::exp(a); });
    case FormulaOp::log:
      return m.unary([](double a) { return math::log(a); });
    case FormulaOp::log2:
      return m.unary([](double a) { return math::log2(a); });
    case FormulaOp::log10:
      return m.unary([](double a) { return math::log10(a); });
    case FormulaOp::erf:
      return m.unary([](double a) { return math::erf(a); });
    case FormulaOp::sin:
      return m.unary([](double a) { return math::sin(a); });
    case FormulaOp::cos:
      return m.unary([](double a) { return math::cos(a); });
    case FormulaOp::tan:
      return m.unary([](double a) { return math::tan(a); });
    case FormulaOp::asin:
      return m.unary([](double a) { return math::asin(a); });
    case FormulaOp::acos:
      return m.unary([](double a) { return math::acos(a); });
    case FormulaOp::atan:
      return m.unary([](double a) { return math::atan(a); });
    case FormulaOp::sinh:
      return m.unary([](double a) { return math::sinh(a); });
    case FormulaOp::cosh:
      return m.unary([](double a) { return math::cosh(a); });
    case FormulaOp::tanh:
      return m.unary([](double a) { return math::tanh(a); });
    case FormulaOp::asinh:
      return m.unary([](double a) { return math::asinh(a); });
    case FormulaOp::acosh:
      return m.unary([](double a) { return math::acosh(a); });
    default:
      return m.unary([](double a) { return math::atanh(a); });
  }
}

template <class Machine>
ISOTHERM_HOST_DEVICE void take_step(FormulaOp op, Machine& m) {
  switch (op) {
    case FormulaOp::number:
    case FormulaOp::variable:
      return m.value();
    case FormulaOp::table:
      return m.unary([table = m.step()](double t) { return table_value(table, t); });
    case FormulaOp::add:
      return m.binary([](double a, double b) { return a + b; });
    case FormulaOp::subtract:
      return m.binary([](double a, double b) { return a - b; });
    case FormulaOp::multiply:
      return m.binary([](double a, double b) { return a * b; });
    case FormulaOp::divide:
      return m.binary([](double a, double b) { return a / b; });
    case FormulaOp::power:
      return m.binary([](double a, double b) { return math::pow(a, b); });
    case FormulaOp::less:
      return m.binary([](double a, double b) { return of_bool(a < b); });
    case FormulaOp::less_equal:
      return m.binary([](double a, double b) { return of_bool(a <= b); });
    case FormulaOp::greater:
      return m.binary([](double a, double b) { return of_bool(a > b); });
    case FormulaOp::greater_equal:
      return m.binary([](double a, double b) { return of_bool(a >= b); });
    case FormulaOp::equal:
      return m.binary([](double a, double b) { return of_bool(a == b); });
    case FormulaOp::not_equal:
      return m.binary([](double a, double b) { return of_bool(a != b); });
    case FormulaOp::logical_and:
      return m.binary([](double a, double b) { return of_bool(a != 0 && b != 0); });
    case FormulaOp::logical_or:
      return m.binary([](double a, double b) { return of_bool(a != 0 || b != 0); });
    case FormulaOp::min:
      return m.binary([](double a, double b) { return b < a ? b : a; });
    case FormulaOp::max:
      return m.binary([](double a, double b) { return a < b ? b : a; });
    case FormulaOp::atan2:
      return m.binary([](double a, double b) { return math::atan2(a, b); });
    case FormulaOp::choose:
      return m.ternary([](double a, double b, double c) { return a != 0 ? b : c; });
    default:
      return take_step_of_one(op, m);
  }
}

}  // namespace isotherm
