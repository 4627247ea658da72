// Formulas of the deck as short programs, with the same bits on every device and instruction set.
// config/expression.hpp compiles them.
//
// A program is in postfix order: a step replaces its operands on top of a stack by its result. Each step runs
// for about a hundred points at a time, in vectorised loops; a value that is the same at all of these points
// is computed once.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/box.hpp"
#include "core/host_device.hpp"
#include "core/stream.hpp"

namespace isotherm {

// The result of a step, from its operand a, or its operands a and b.
// clang-format off
#define ISOTHERM_UNARY_STEPS(STEP) \
  STEP(negative, -a) \
  STEP(logical_not, nan_or(a, a, of_bool(a == 0))) \
  STEP(square, a * a) \
  STEP(sqrt, ::sqrt(a)) \
  STEP(cbrt, math::cbrt(a)) \
  STEP(abs, ::fabs(a)) \
  STEP(sign, nan_or(a, a, of_bool(a > 0) - of_bool(a < 0))) \
  STEP(floor, ::floor(a)) \
  STEP(ceil, ::ceil(a)) \
  STEP(round, ::round(a)) \
  STEP(rint, ::rint(a)) \
  STEP(exp, math::exp(a)) \
  STEP(log, math::log(a)) \
  STEP(log2, math::log2(a)) \
  STEP(log10, math::log10(a)) \
  STEP(erf, math::erf(a)) \
  STEP(sin, math::sin(a)) \
  STEP(cos, math::cos(a)) \
  STEP(tan, math::tan(a)) \
  STEP(asin, math::asin(a)) \
  STEP(acos, math::acos(a)) \
  STEP(atan, math::atan(a)) \
  STEP(sinh, math::sinh(a)) \
  STEP(cosh, math::cosh(a)) \
  STEP(tanh, math::tanh(a)) \
  STEP(asinh, math::asinh(a)) \
  STEP(acosh, math::acosh(a)) \
  STEP(atanh, math::atanh(a))
#define ISOTHERM_BINARY_STEPS(STEP) \
  STEP(add, a + b) \
  STEP(subtract, a - b) \
  STEP(multiply, a * b) \
  STEP(divide, a / b) \
  STEP(power, math::pow(a, b)) \
  STEP(less, of_bool(a < b)) \
  STEP(less_equal, of_bool(a <= b)) \
  STEP(greater, of_bool(a > b)) \
  STEP(greater_equal, of_bool(a >= b)) \
  STEP(equal, of_bool(a == b)) \
  STEP(not_equal, of_bool(a != b)) \
  STEP(logical_and, nan_or(a, b, of_bool(a != 0 && b != 0))) \
  STEP(logical_or, nan_or(a, b, of_bool(a != 0 || b != 0))) \
  STEP(min, nan_or(a, b, b < a ? b : a)) \
  STEP(max, nan_or(a, b, a < b ? b : a)) \
  STEP(atan2, math::atan2(a, b))
#define ISOTHERM_STEP_NAME(name, result) name,

enum class FormulaOp : std::uint8_t {
  number,
  variable,
  ISOTHERM_UNARY_STEPS(ISOTHERM_STEP_NAME)
  table,  // of one operand: its knots follow, see table_value()
  ISOTHERM_BINARY_STEPS(ISOTHERM_STEP_NAME)
  choose  // of three: NaN where the first is, the second where it is not 0, else the third
};
#undef ISOTHERM_STEP_NAME
// clang-format on

constexpr int operands_of(FormulaOp op) {
  return op <= FormulaOp::variable ? 0 : op < FormulaOp::add ? 1 : op < FormulaOp::choose ? 2 : 3;
}

// Variables have numbers: x, y, z, t. On a grid, further variables hold parts of a formula that depend only
// on the time or only on the position; these are computed once.
inline constexpr int time_variable = 3, most_parts = 4, first_of_time = 4, first_of_place = 8;
inline constexpr int variable_count = first_of_place + most_parts;

struct FormulaStep {
  FormulaOp op = FormulaOp::number;
  std::uint8_t variable = 0;  // its number; of a table: 1 if constant from each knot to the next
  double number = 0;          // of a table: the number of knots that follow
};

struct FormulaProgram {
  std::vector<FormulaStep> steps;
  int depth = 0;  // values on the stack at once
};
inline constexpr int deepest_formula = 192;  // its stack fits in a GPU's shared memory

// Points of a row. A variable has one value for each of them, or one for all.
struct FormulaPoints {
  struct Variable {
    const double* values;
    bool varies = false;
  };
  Variable variables[variable_count];
  Index count = 1;
};

// Values of the points that are computed at once, or one value for all of them.
struct FormulaSlot {
  static constexpr Index points = 128;
  double values[points];
  Index count;
};

// Stores in values[i] the value at point i, which may be NaN or infinite. Runs in the calling thread.
void evaluate(const FormulaStep* steps, Index count, int depth, const FormulaPoints& points, double* values);
inline void evaluate(const FormulaProgram& program, const FormulaPoints& points, double* values) {
  evaluate(program.steps.data(), std::ssize(program.steps), program.depth, points, values);
}

// A formula at all points of a box, at several times, for a field. All pointers are to memory of the device
// that computes, except `unsound`: the host reads it too.
template <class T>
struct FormulaGrid {
  static constexpr int most_times = 8;
  const FormulaStep* steps;  // variables 0 to 2 are the axes of the box, whatever their names
  Index step_count;
  int depth;
  const double* at[3];  // coordinates of the points along each axis
  Int3 points;
  double time[most_times];
  double of_time[most_times][most_parts];
  const double* of_place[most_parts];  // of point (i, j, k): [i + j * place_pitch_y + k * place_pitch_z]
  Index place_pitch_y, place_pitch_z;
  int times;
  double scale, lowest;
  T* values;  // scale times the formula, rounded once, of point (i, j, k) at time[n]:
              // values[i + j * pitch_y + k * pitch_z + n * pitch_time]
  Index pitch_y, pitch_z, pitch_time;
  std::uint64_t* unsound;  // the bits of the earliest time at which a value was not is_sound(), or no_time
};

// Whether a value is finite and not below `lowest`.
template <class T>
ISOTHERM_HOST_DEVICE bool is_sound(T value, double lowest) {
  return ::fabs(value) <= std::numeric_limits<T>::max() && value >= lowest;
}
// For times >= 0, their bits, as integers, are in the same order as the times; no_time is later than all.
inline constexpr std::uint64_t no_time = ~std::uint64_t{0};

template <class T>
struct FormulaGrids {
  static const FormulaGrids& on(Backend backend);  // throws as FaceCopy::on()
  void (*evaluate)(const FormulaGrid<T>& grid, Stream stream);
};
}  // namespace isotherm
