// The limits of time steps are those of the worst cell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "physics/operator.hpp"
#include "physics/region_materials.hpp"
#include "support/decks.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

void give_any_boundaries(Config& config, Random& random) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool is_periodic = random() % 4 == 0;
    for (const std::size_t f : {2 * axis, 2 * axis + 1}) {
      BoundaryConfig& boundary = config.boundaries[f];
      boundary.kind = is_periodic
                          ? BoundaryKind::periodic
                          : std::array{BoundaryKind::temperature, BoundaryKind::flux,
                                       BoundaryKind::convection, BoundaryKind::insulated}[random() % 4];
      boundary.coefficient = std::pow(10, random.between(0, 8));
    }
  }
}

Config any_body(Random& random) {
  Config config = decks::in_a_void({random.between(1, 40), random.between(1, 12), random.between(1, 12)});
  config.problem = {.steps = 1};
  const auto radius = random.between(0.0, 0.1);
  config.regions.push_back({.shape = RegionShape::cylinder,
                            .material = random.coin() ? "foam" : "copper",
                            .place = {.centre = {0.15, 0.1, random.between(0.0, 0.2)},
                                      .radius = radius,
                                      .axis = random.between(0, 2),
                                      .length = random.between(0.0, 0.3)}});
  std::shuffle(config.regions.begin(), config.regions.end(), random);
  give_any_boundaries(config, random);
  return random.coin() ? decks::graded(config) : config;
}

// The reference: the formula for each face of each cell, without classes.
StepLimits brute_force(const Config& config) {
  StepLimits least;
  RegionMaterials regions(config);
  const GridAxes axes(config);
  const Int3 n = config.grid.cells;
  for_each_cell({{0, 0, 0}, n}, [&](Int3 cell) {
    const NamedMaterial& own = material_of_number(config, regions.at(cell));
    if (own.is_void()) return;
    double stable = 0, monotone = 0;  // W/(m^3 K)
    for (int i = 0; i < face_count; ++i) {
      const auto f = static_cast<Face>(i);
      const int axis = axis_of(f);
      Int3 next = cell;
      next[axis] += is_max(f) ? 1 : -1;
      const bool is_beyond = next[axis] < 0 || next[axis] >= n[axis],
                 is_periodic = boundary_of(config, f).kind == BoundaryKind::periodic;
      const double h = axes[axis].size(cell[axis]), k = (*own.conductivity)[axis], among = k / (h * h);
      if (is_beyond && !is_periodic) {
        const double held = 1 - boundary_law(config, f, k).a;  // 2 if temperature is fixed, 0 if insulated
        stable += among * held / 2;
        monotone += among * held;
        continue;
      }
      next[axis] = (next[axis] + n[axis]) % n[axis];
      const NamedMaterial& other = material_of_number(config, regions.at(next));
      double resistance = 0;
      if (other.is_void())
        resistance = 1 / other.coefficient.value_or(0);
      else
        resistance = axes[axis].size(next[axis]) / 2 / (*other.conductivity)[axis];
      const auto meet = [&](const char* a, const char* b) { return own.name == a && other.name == b; };
      if (meet("core", "board") || meet("board", "core")) resistance += 1e-3;
      if (n[axis] > 1) stable += 1 / (h * (h / 2 / k + resistance));
      if (n[axis] > 1) monotone += 1 / (h * (h / 2 / k + resistance));
    }
    const double heat = own.volumetric_heat_capacity();
    least.stable = std::min(least.stable, heat / stable);
    least.monotone = std::min(least.monotone, heat / monotone);
  });
  return least;
}

void expect_like(double value, double wanted, int trial) {
  if (std::isinf(wanted))
    EXPECT_TRUE(std::isinf(value)) << trial;
  else
    EXPECT_NEAR(value / wanted, 1, 1e-12) << trial;
}

TEST(StepLimits, AreTheLeastOfAllCells) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    const Config config = any_body(random);
    const StepLimits expected = brute_force(config), found = step_limits_of(config, {{}, config.grid.cells});
    expect_like(found.stable, expected.stable, i);
    expect_like(found.monotone, expected.monotone, i);
    EXPECT_LE(found.alone, std::numeric_limits<double>::max()) << i;

    Box low{{}, config.grid.cells}, high = low;  // the minimum over parts has the same bits
    const int axis = random.between(1, 2);
    low.hi[axis] = high.lo[axis] = random.between<Index>(0, config.grid.cells[axis]);
    const StepLimits one = step_limits_of(config, low), other = step_limits_of(config, high);
    EXPECT_EQ(found.stable, std::min(one.stable, other.stable)) << i;
    EXPECT_EQ(found.monotone, std::min(one.monotone, other.monotone)) << i;
  }
}

// Tests the monotone limit only: the stability limit of one material also counts insulated faces.
TEST(StepLimits, OfOneMaterialAreTheLeastOfAllCells) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    Config config = decks::base({random.between(1, 4), random.between(1, 4), random.between(1, 4)});
    give_any_boundaries(config, random);
    Config named = config;
    named.material = {.default_material = "core"};
    named.materials = {{"core", Vector3{15, 15, 15}, 7800, 500, {}, {}}};
    expect_like(monotone_dt(config), brute_force(named).monotone, i);
  }
}

TEST(StepLimits, TakeTheLargestCoefficientOfAFace) {
  Config config = decks::several({8, 8, 1});
  config.problem = {.steps = 1};
  config.boundaries[4] = {BoundaryKind::convection, Expression(300.0), 0};
  const auto limits = [&](const Expression& coefficient) {
    config.boundaries[4].coefficient = coefficient;
    return step_limits_of(config, {{}, config.grid.cells});
  };
  const double last = 0.3 * 7.5 / 8;  // the centre of the last cells
  EXPECT_EQ(limits(Expression("10 + 1e4*x", "xyzt")).monotone, limits(10 + 1e4 * last).monotone);
  EXPECT_EQ(limits(Expression("10 + 1e4*x + 0*t", "xyzt")).monotone, limits(1e300).monotone);
}

Config insulated_plate() {  // copper up to x = 0.1 m, of 0.3 m
  Config config = decks::several({8, 8, 1});
  config.problem = {.steps = 1};
  config.regions = {{.shape = RegionShape::box, .material = "copper", .place = {.to = {0.1, 1, 1}}}};
  for (BoundaryConfig& boundary : config.boundaries) boundary.kind = BoundaryKind::insulated;
  return config;
}

TEST(StepLimits, CountATemperatureForTheClassesThatItHolds) {
  Config config = insulated_plate();
  (*config.grid.lengths)[2] /= 10;
  const StepLimits insulated = step_limits_of(config, {{}, config.grid.cells});
  const auto limits = [&](double from, double to) {
    config.boundaries[5] = {BoundaryKind::temperature, Expression(300.0), 0};
    config.boundaries[5].where = {Interval{from, 0}, Interval{to, 0.2}};
    return step_limits_of(config, {{}, config.grid.cells});
  };
  EXPECT_EQ(limits(0.2, 0.3).monotone, insulated.monotone);  // of the core, whose cells allow longer steps
  EXPECT_LT(limits(0, 0.05).monotone, 0.9 * insulated.monotone);
}

TEST(StepLimits, DoNotCountInsulatedFacesOfAThinPlate) {
  Config config = insulated_plate();
  const StepLimits thick = step_limits_of(config, {{}, config.grid.cells});
  (*config.grid.lengths)[2] /= 100;
  const StepLimits thin = step_limits_of(config, {{}, config.grid.cells});
  EXPECT_EQ(thin.stable, thick.stable);
  EXPECT_EQ(thin.monotone, thick.monotone);
}

}  // namespace
}  // namespace isotherm
