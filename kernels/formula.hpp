// Formulas of the deck as short programs, whose functions have the same bits on every device and instruction
// set: config/expression.hpp makes them of a text.
//
// A program is in postfix: a step takes its operands from the top of a stack and leaves its result there. It
// runs for many points at once, some hundred at a time for each step, so that loops over points are vectors;
// what has one value for all of these points is computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/box.hpp"

namespace isotherm {

enum class FormulaOp : std::uint8_t {
  number,
  variable,  // one value more
  negative,
  logical_not,
  square,
  sqrt,
  cbrt,
  abs,
  sign,
  floor,
  ceil,
  round,
  rint,
  exp,
  log,
  log2,
  log10,
  erf,  // of one
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  add,
  subtract,
  multiply,
  divide,
  power,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,  // of two
  logical_and,
  logical_or,
  min,
  max,
  atan2,
  choose  // of three: the second where the first is not 0, else the third
};

struct FormulaStep {
  FormulaOp op = FormulaOp::number;
  std::uint8_t variable = 0;  // 0 to 3: x, y, z, t
  double number = 0;
};

struct FormulaProgram {
  std::vector<FormulaStep> steps;
  int depth = 0;  // values on the stack at once
};

// Points of a row. A variable has one value for each of them, or one for all.
struct FormulaPoints {
  struct Variable {
    const double* values;
    bool varies = false;
  };
  Variable variables[4];  // x, y, z, t
  Index count = 1;
};

// Values of as many points as are computed at once, or of all of them one.
struct FormulaSlot {
  static constexpr Index points = 128;
  double values[points];
  Index count;
};

// values[i] becomes that of point i: NaN or infinite where a function is. In the calling thread.
void evaluate(const FormulaProgram& program, const FormulaPoints& points, double* values);

}  // namespace isotherm
