// Random programs over boxes of points and times: every backend has the bits of single points.
#include "physics/formula_values.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

class FormulaGridOf : public OnDevice {};

FormulaProgram random_program(Random& random, int most_steps) {
  FormulaProgram program;
  int depth = 0;
  const auto take = [&](FormulaOp op) {
    program.steps.push_back(
        {op, static_cast<std::uint8_t>(random.between(0, time_variable)), random.between(-3.0, 3.0)});
    if (op == FormulaOp::table) {
      const int knots = static_cast<int>(random.between(1, 6));
      program.steps.back().number = knots;
      program.steps.back().variable %= 2;
      for (int k = 0; k < 2 * knots; ++k)
        program.steps.push_back({FormulaOp::number, 0, k % 2 == 0 ? k - 3.0 : random.between(-3.0, 3.0)});
    }
    program.depth = std::max(program.depth, depth += 1 - operands_of(op));
  };
  while (std::ssize(program.steps) < most_steps || depth > 1) {
    const bool ends = std::ssize(program.steps) >= most_steps;
    const auto op = static_cast<FormulaOp>(random.between(0, static_cast<int>(FormulaOp::choose)));
    if (ends && operands_of(op) < 2) continue;
    if (operands_of(op) <= depth) take(op);
  }
  return program;
}

// Values at a part of the points. Some subexpressions are computed once per time, and on a face once per
// point.
template <class T>
void expect_bits_of_points(Device& device, Random& random, const FormulaProgram& program) {
  const Int3 n{random.between(1, 70), random.between(1, 11), random.between(1, 3)};
  const int first_axis = random.between(0, 2);
  std::array<FormulaAxis, 3> axes;
  for (int a = 0; a < 3; ++a) {
    axes[a].variable = (a + first_axis) % 3;
    for (Index i = 0; i < n[a]; ++i) axes[a].at.push_back(random.between(-2.0, 2.0));
  }
  std::vector<double> times(static_cast<std::size_t>(random.between(1, 3)));
  for (double& time : times) time = random.between(0.0, 2.0);
  const Box box{{random.between(Index{0}, n.x - 1), random.between(Index{0}, n.y - 1), 0}, n};
  const Index pitch_y = n.x + 1, pitch_z = pitch_y * n.y, pitch_time = pitch_z * n.z;
  std::vector<T> expected(static_cast<std::size_t>(pitch_time) * times.size(), T(-7));
  const Buffer there = copied_to(device, expected);
  FormulaValues<T> at_points(device, program, axes, 1.5, -1, random.coin());
  at_points.evaluate(box, times, {there.template as<T>(), pitch_y, pitch_z, pitch_time}, {});
  const std::vector<T> values = fetched<T>(device, there);

  std::optional<double> unsound_at;
  for (std::size_t i = 0; i < times.size(); ++i)
    for_each_cell(box.extent(), [&](Int3 c) {
      double value = 0, at[] = {0, 0, 0, times[i]};
      for (int a = 0; a < 3; ++a) at[axes[a].variable] = axes[a].at[box.lo[a] + c[a]];
      evaluate(program, {{{&at[0]}, {&at[1]}, {&at[2]}, {&at[3]}}}, &value);
      T& here = expected[c.x + c.y * pitch_y + c.z * pitch_z + i * pitch_time];
      here = static_cast<T>(1.5 * value);
      if (!is_sound(here, -1)) unsound_at = std::min(unsound_at.value_or(times[i]), times[i]);
    });
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(same_bits_or_nan(values[i], expected[i]))
        << i << ": " << values[i] << ", not " << expected[i];
  EXPECT_EQ(at_points.unsound_at(), unsound_at);
}

TEST_P(FormulaGridOf, HasTheBitsOfSinglePoints) {
  Random random;
  const Expression of_parts(  // more than a grid stores
      "exp(x*y) + sqrt(x + z + 4)*tanh(t/3) + sin(y)*cos(t)*t + atan(y*z)*exp(-t) + cos(z)*sqrt(t)"
      " + erf(x)*sin(t) - z*t",
      "xyzt");
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (int i = 0; i < 60; ++i) {
      expect_bits_of_points<T>(*device_, random, random_program(random, i % 20 == 0 ? 300 : 20));
      expect_bits_of_points<T>(*device_, random, *of_parts.program());
    }
  });
}

// Stacks that do not fit into the shared memory of eight warps, and of one.
TEST_P(FormulaGridOf, HasRoomForTheDeepestStack) {
  Random random;
  for (const int depth : {7, 40, deepest_formula}) {
    SCOPED_TRACE(depth);
    FormulaProgram program;
    for (int i = 0; i < depth; ++i)
      program.steps.push_back({FormulaOp::variable, static_cast<std::uint8_t>(i % 4)});
    for (int i = 1; i < depth; ++i) program.steps.push_back({FormulaOp::subtract});
    program.depth = depth;
    expect_bits_of_points<double>(*device_, random, program);
  }
}

ON_EACH_BACKEND(FormulaGridOf, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
