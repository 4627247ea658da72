// Random programs over boxes of points and times: every backend has the bits of single points.
#include <bit>

#include "kernels/formula.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

class FormulaGridOf : public OnDevice {};

FormulaProgram random_program(Random& random, int most_steps) {
  FormulaProgram program;
  int depth = 0;
  const auto take = [&](FormulaOp op) {
    program.steps.push_back(
        {op, static_cast<std::uint8_t>(random.between(0, variable_count - 1)), random.between(-3.0, 3.0)});
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

template <class T>
void expect_bits_of_points(Device& device, Random& random, const FormulaProgram& program) {
  const Int3 n{random.between(1, 70), random.between(1, 11), random.between(1, 3)};
  FormulaGrid<T> grid{};
  std::array<std::vector<double>, 3> at;
  std::vector<Buffer> there;
  for (int axis = 0; axis < 3; ++axis) {
    for (Index i = 0; i < n[axis]; ++i) at[axis].push_back(random.between(-2.0, 2.0));
    there.push_back(copied_to(device, at[axis]));
    grid.at[axis] = there.back().as<double>();
  }
  const Buffer steps_there = copied_to(device, program.steps);
  const Buffer unsound(device, sizeof(std::uint64_t), Memory::staging);
  *unsound.as<std::uint64_t>() = no_time;
  grid.steps = steps_there.as<FormulaStep>();
  grid.step_count = std::ssize(program.steps);
  grid.depth = program.depth;
  grid.points = n;
  grid.times = static_cast<int>(random.between(1, 3));
  for (int i = 0; i < grid.times; ++i) grid.time[i] = 0.5 * (i + 1);
  std::array<std::vector<double>, most_parts> of_place;
  for (std::size_t p = 0; p < most_parts; ++p) {
    for (int i = 0; i < grid.times; ++i) grid.of_time[i][p] = random.between(-2.0, 2.0);
    for (Index i = 0; i < n.product(); ++i) of_place[p].push_back(random.between(-2.0, 2.0));
    there.push_back(copied_to(device, of_place[p]));
    grid.of_place[p] = there.back().as<double>();
  }
  grid.place_pitch_y = n.x;
  grid.place_pitch_z = n.x * n.y;
  grid.scale = 1.5;
  grid.lowest = -1;
  grid.pitch_y = n.x + 1;
  grid.pitch_z = grid.pitch_y * n.y;
  grid.pitch_time = grid.pitch_z * n.z;
  grid.unsound = unsound.as<std::uint64_t>();
  std::vector<T> expected(static_cast<std::size_t>(grid.pitch_time * grid.times), T(-7));
  const Buffer values_there = copied_to(device, expected);
  grid.values = values_there.template as<T>();
  FormulaGrids<T>::on(device.backend()).evaluate(grid, {});
  const std::vector<T> values = fetched<T>(device, values_there);

  std::uint64_t earliest = no_time;
  for (int i = 0; i < grid.times; ++i)
    for_each_cell(n, [&](Int3 c) {
      double value = 0;
      FormulaPoints point{{{&at[0][c.x]}, {&at[1][c.y]}, {&at[2][c.z]}, {&grid.time[i]}}};
      for (std::size_t p = 0; p < most_parts; ++p) {
        point.variables[first_of_time + p] = {&grid.of_time[i][p]};
        point.variables[first_of_place + p] = {&of_place[p][c.x + n.x * (c.y + n.y * c.z)]};
      }
      evaluate(program, point, &value);
      T& here = expected[c.x + c.y * grid.pitch_y + c.z * grid.pitch_z + i * grid.pitch_time];
      here = static_cast<T>(1.5 * value);
      if (!is_sound(here, -1)) earliest = std::min(earliest, std::bit_cast<std::uint64_t>(grid.time[i]));
    });
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE(same_bits_or_nan(values[i], expected[i]))
        << i << ": " << values[i] << ", not " << expected[i];
  EXPECT_EQ(*unsound.as<std::uint64_t>(), earliest);
}

TEST_P(FormulaGridOf, HasTheBitsOfSinglePoints) {
  Random random;
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (int i = 0; i < 60; ++i)
      expect_bits_of_points<T>(*device_, random, random_program(random, i % 20 == 0 ? 300 : 20));
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
