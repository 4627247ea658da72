// Sources that change in time: they have their power, at any place and time, on any grid.
#include "physics/varying_sources.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "grid/field.hpp"
#include "physics/cells.hpp"
#include "physics/operator.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

RegionValue random_source(Random& random) {
  RegionValue source;
  source.shape = std::array{Shape::gaussian, Shape::double_ellipsoid, Shape::box}[random() % 3];
  source.power = Expression(fmt::format("{} + t", random.between(1.0, 9.0)), "t");
  for (Expression& place : source.centre_at)
    place = Expression(fmt::format("{} + t/50", random.between(0.0, 0.2)), "t");
  for (double* const length : {&source.width, &source.front, &source.rear, &source.half_width, &source.depth})
    *length = random.between(0.005, 0.08);
  source.travel = static_cast<AxisDirection>(random() % 6);
  source.into = static_cast<AxisDirection>((static_cast<int>(source.travel) + 2 + random() % 4) % 6);
  for (std::size_t a = 0; a < 3; ++a) {
    const double from = random.between(0.0, 0.1), length = random.between(0.01, 0.2);
    source.from_at[a] = Expression(fmt::format("{} + t/50", from), "t");
    source.to_at[a] = Expression(fmt::format("{} + t/30", from + length), "t");
  }
  return source;
}

// The sources of a problem, and the field that they fill.
struct Filled {
  explicit Filled(const Config& config)
      : field(*device, config.grid.cells, 1), sources(config, *device, {{0, 0, 0}, config.grid.cells}) {
    std::fill_n(static_cast<double*>(field.data()), field.bytes() / sizeof(double), 0.0);
  }
  void update(double t) { sources.update(t, {}, field.view(), {}); }

  const std::unique_ptr<Device> device = make_host_device();
  Field<double> field;
  VaryingSources<double> sources;
};

TEST(VaryingSources, GiveTheirPowerAsFarAsTheyAreInside) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    Config config = decks::base({random.between(1, 30), random.between(1, 30), random.between(1, 30)});
    config.sources = {random_source(random)};
    const double t = random.between(0.0, 5.0);
    Filled filled(config);
    filled.update(random.between(0.0, 5.0));
    filled.update(t);  // nothing is left of the one before
    const PlacedSource placed = placed_source(config, config.sources[0], t);
    EXPECT_EQ(placed.power, (*config.sources[0].power)(0, 0, 0, t));
    double watts = 0;
    for_each_cell(config.grid.cells, [&](Int3 c) { watts += filled.field.view()(c); });
    watts *= cell_volume(config) / source_scale(config);
    EXPECT_NEAR(watts, placed.power * placed.inside, 1e-11 * placed.power) << "source " << i;
  }
}

TEST(VaryingSources, ADoubleEllipsoidHasGoldaksDensity) {
  Config config = decks::base({60, 40, 50});  // cells of 5 mm
  config.sources = {{.shape = Shape::double_ellipsoid,
                     .power = 100,
                     .centre_at = {0.15, 0.1, 0.25},
                     .front = 0.06,
                     .rear = 0.09,
                     .half_width = 0.05,
                     .depth = 0.07}};
  Filled filled(config);
  filled.update(0);
  const GridAxes axes(config);
  for (const Int3 c : {Int3{30, 20, 49}, Int3{35, 22, 45}, Int3{20, 15, 40}}) {
    const Vector3 at = axes.centre(c);
    const double x = at[0] - 0.15, y = at[1] - 0.1, z = at[2] - 0.25, length = x > 0 ? 0.06 : 0.09;
    const double share = x > 0 ? 0.8 : 1.2;  // of 2, so that the density has no jump
    const double density = 6 * std::sqrt(3.0) * share * 100 /
                           (length * 0.05 * 0.07 * std::pow(std::numbers::pi, 1.5)) *
                           std::exp(-3 * (square(x / length) + square(y / 0.05) + square(z / 0.07)));
    EXPECT_NEAR(filled.field.view()(c) / source_scale(config) / density, 1, 0.01);
  }
}

TEST(VaryingSources, AFormulaThatIsNotFiniteIsNamed) {
  Config config = decks::base({4, 4, 4});
  config.sources = {{.shape = Shape::formula, .formula = Expression("1/(t - 2)", "xyzt")}};
  Filled filled(config);
  filled.update(1);
  const std::string said = deck_error([&] {
    filled.update(2);
    filled.update(3);
  });
  expect_says(said, "sources.0.formula");
  expect_says(said, "is not finite at cell (0, 0, 0)");
  expect_says(said, "t = 2 s");
}

TEST(VaryingSources, APlaceThatIsNotFiniteIsAnErrorAndOneOutsideIsNot) {
  Config config = decks::base({8, 8, 8});
  const Expression leaves("sqrt(1 - t)", "t");
  RegionValue source{.shape = Shape::gaussian, .power = 1, .centre_at = {leaves, 0.1, 0.1}, .width = 0.01};
  config.sources = {source};
  expect_says(deck_error([&] { placed_source(config, source, 2); }),
              "the place of a gaussian is not finite at t = 2 s");
  source.centre_at[0] = Expression("t - 5", "t");  // comes in
  config.sources = {source};
  EXPECT_TRUE(placed_source(config, source, 0).cells.empty());
  EXPECT_EQ(shape_warnings(config).size(), 0u);
  source.shape = Shape::box;
  source.centre_at[0] = Expression(0.0);
  source.to_at = {Expression("1 - t", "t"), Expression(1.0), Expression(1.0)};
  expect_says(deck_error([&] { placed_source(config, source, 1); }), "a box ends where it begins along x");
}

}  // namespace
}  // namespace isotherm
