// The decay of the slowest mode, against what sweeps do to a rough field.
#include "physics/slowest_mode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"
#include "physics/walls.hpp"

namespace isotherm {
namespace {

Config steady(Int3 cells, std::array<WallKind, face_count> kinds) {
  Config config;
  config.grid.cells = cells;
  config.grid.spacing = Vector3{0.01, 0.02, 0.015};
  config.material.conductivity = 15;
  config.problem.kind = ProblemKind::steady;
  for (std::size_t f = 0; f < face_count; ++f) config.boundaries[f] = {kinds[f], Expression(0.0), 700};
  return config;
}

// Sweeps of an error, whose boundaries have no values of their own.
class Error3 {
 public:
  explicit Error3(const Config& config)
      : config_(config), n_(config.grid.cells), c_(sweep_coefficients(config)) {
    for (Index i = 0; i < n_.product(); ++i)
      values_.push_back(std::sin(1.0 + 37.0 * static_cast<double>(i * i)));
  }

  // The factor of one of the last sweeps, by the root mean square.
  double decay(int sweeps) {
    double factor = 1;
    for (int sweep = 0; sweep < sweeps; ++sweep) factor = sweep_once();
    return -std::log(factor);
  }

 private:
  double at(Int3 cell, int axis, Index to) const {
    const Index n = n_[axis];
    Int3 other = cell;
    other[axis] = to;
    if (to >= 0 && to < n) return value(other);
    const Face f = face(axis, to >= n);
    if (config_.boundaries[static_cast<std::size_t>(f)].kind == WallKind::periodic) {
      other[axis] = (to + n) % n;
      return value(other);
    }
    return wall_law(config_, f).a * value(cell);
  }
  double value(Int3 c) const { return values_[static_cast<std::size_t>(c.x + n_.x * (c.y + n_.y * c.z))]; }

  double sweep_once() {
    const double weights[] = {c_.cx, c_.cy, c_.cz};
    std::vector<double> next;
    double mean = 0, squares = 0;
    for (Index z = 0; z < n_.z; ++z)
      for (Index y = 0; y < n_.y; ++y)
        for (Index x = 0; x < n_.x; ++x) {
          const Int3 cell{x, y, z};
          double sum = c_.c0 * value(cell);
          for (int axis = 0; axis < 3; ++axis)
            sum += weights[axis] * (at(cell, axis, cell[axis] - 1) + at(cell, axis, cell[axis] + 1));
          next.push_back(sum);
          mean += sum / static_cast<double>(n_.product());
        }
    if (!mean_is_free(config_)) mean = 0;
    for (double& v : next) squares += (v - mean) * (v - mean);
    const double norm = std::sqrt(squares), factor = norm;
    for (double& v : next) v = (v - mean) / norm;
    values_ = std::move(next);
    return factor;
  }

  const Config& config_;
  Int3 n_;
  Coefficients<double> c_;
  std::vector<double> values_;
};

constexpr WallKind held = WallKind::temperature, open = WallKind::insulated, cooled = WallKind::convection,
                   heated = WallKind::flux, round = WallKind::periodic;

void expect_as_measured(const Config& config) {
  const double expected = Error3(config).decay(4000);
  EXPECT_NEAR(slowest_decay(config), expected, 1e-6 * expected);
}

TEST(SlowestMode, DecaysAsItDoesInSweeps) {
  const std::array<WallKind, face_count> cases[] = {
      {held, held, held, held, held, held},     {held, open, open, open, open, open},
      {cooled, open, heated, open, open, open}, {held, cooled, round, round, open, cooled},
      {round, round, held, held, round, round}, {open, heated, round, round, open, open},
      {open, open, open, open, open, open},     {cooled, cooled, cooled, held, open, open}};
  for (const auto& kinds : cases) {
    expect_as_measured(steady({6, 5, 7}, kinds));
    expect_as_measured(steady({1, 8, 3}, kinds));
    expect_as_measured(steady({9, 1, 1}, kinds));
  }
}

TEST(SlowestMode, MayBeTheCheckerboard) {
  Config config = steady({4, 4, 4}, {round, round, round, round, held, held});
  config.problem.weight = 0.9999;
  EXPECT_NEAR(slowest_decay(config), Error3(config).decay(4000), 1e-8);
  config = steady({4, 4, 4}, {held, held, held, held, held, held});
  config.problem.weight = 1;
  EXPECT_NEAR(slowest_decay(config), 0, 1e-15);
}

// The figures by which the default of problem.max_sweeps was chosen.
TEST(SlowestMode, TheDefaultOfMaxSweepsIsEnoughFor256CellsEachWay) {
  const double way = std::log(1 / ProblemConfig{}.tolerance);
  const auto needed = [&](std::array<WallKind, face_count> kinds) {
    Config config = steady({256, 256, 256}, kinds);
    config.grid.spacing = Vector3{0.01, 0.01, 0.01};
    return way / slowest_decay(config);
  };
  EXPECT_NEAR(needed({held, held, held, held, held, held}), 185'300, 100);
  EXPECT_NEAR(needed({held, held, open, open, open, open}), 555'900, 300);
  EXPECT_NEAR(needed({held, open, open, open, open, open}), 2'223'700, 1000);
  EXPECT_GT(static_cast<double>(ProblemConfig{}.max_sweeps), needed({held, open, open, open, open, open}));
}

TEST(SlowestMode, OfASingleCellThatNothingHoldsIsNone) {
  EXPECT_EQ(slowest_decay(steady({1, 1, 1}, {open, open, open, open, open, open})), 0);
}

}  // namespace
}  // namespace isotherm
