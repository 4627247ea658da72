#include "physics/paint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "core/error.hpp"
#include "physics/cells.hpp"
#include "physics/exact.hpp"
#include "support/error_text.hpp"

namespace isotherm {
namespace {

// Cells of 0.1 m from the origin (1, 2, 3).
Config grid(Int3 cells) {
  Config config;
  config.name = "deck.yaml";
  config.grid.cells = cells;
  config.grid.spacing = Vector3{0.1, 0.1, 0.1};
  config.grid.origin = {1, 2, 3};
  return config;
}

Paint shape(Shape s, double value, PaintMode mode = PaintMode::set) {
  Paint paint;
  paint.shape = s;
  paint.value = value;
  paint.mode = mode;
  return paint;
}

Paint box(Vector3 from, Vector3 to, double value, PaintMode mode = PaintMode::set) {
  Paint paint = shape(Shape::box, value, mode);
  paint.from = from;
  paint.to = to;
  return paint;
}

Paint formula(const std::string& text) {
  Paint paint = shape(Shape::formula, 0);
  paint.formula = Expression(text, "xyz");
  return paint;
}

template <class T = double>
std::vector<T> painted(const Config& config, const std::vector<Paint>& entries, Box block, double scale = 1,
                       const std::string& key = "initial") {
  const Int3 extent = block.extent();
  std::vector<T> cells(static_cast<std::size_t>(extent.product()), T(-1));
  Painter(config, entries, key)
      .paint(scale, block, FieldView<T>{cells.data(), extent.x, extent.x * extent.y, extent, 0});
  return cells;
}

std::vector<double> painted(const Config& config, const std::vector<Paint>& entries) {
  return painted(config, entries, {{0, 0, 0}, config.grid.cells});
}

// The value of each cell, said a second time from its centre.
void expect_cells(const Config& config, const std::vector<double>& cells,
                  const std::function<double(Vector3)>& expected) {
  const Int3 n = config.grid.cells;
  const CellCentres centre(config);
  std::size_t i = 0;
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y)
      for (Index x = 0; x < n.x; ++x, ++i)
        ASSERT_EQ(cells[i], expected(centre({x, y, z}))) << x << " " << y << " " << z;
}

TEST(Paint, CellsStartAtZeroAndEntriesGoInOrder) {
  const Config config = grid({2, 1, 1});
  EXPECT_EQ(painted(config, {}), (std::vector<double>{0, 0}));
  const Paint set5 = shape(Shape::constant, 5), add2 = shape(Shape::constant, 2, PaintMode::add);
  EXPECT_EQ(painted(config, {set5, add2}), (std::vector<double>{7, 7}));
  EXPECT_EQ(painted(config, {add2, set5}), (std::vector<double>{5, 5}));
  EXPECT_EQ(painted(config, {box({1, 2, 3}, {1.1, 2.1, 3.1}, 3), add2}), (std::vector<double>{5, 2}));
}

// The shared face runs through cell centres: each must belong to one box only.
TEST(Paint, BoxesSideBySideCoverEachCellOnce) {
  const Config config = grid({10, 3, 2});
  for (int i = 0; i < 10; ++i) {
    const double cut = CellCentres(config)(0, i);
    const auto cells = painted(config, {box({0, 0, 0}, {cut, 9, 9}, 1, PaintMode::add),
                                        box({cut, 0, 0}, {9, 9, 9}, 10, PaintMode::add)});
    expect_cells(config, cells, [&](Vector3 at) { return at[0] < cut ? 1 : 10; });
  }
}

TEST(Paint, SphereAndCylinderCoverCentresInside) {
  const Config config = grid({9, 8, 7});
  Paint sphere = shape(Shape::sphere, 4);
  sphere.centre = {1.4, 2.5, 3.3};
  sphere.radius = 0.27;
  expect_cells(config, painted(config, {sphere}),
               [&](Vector3 at) { return std::hypot(at[0] - 1.4, at[1] - 2.5, at[2] - 3.3) < 0.27 ? 4 : 0; });
  for (int axis = 0; axis < 3; ++axis) {
    Paint cylinder = shape(Shape::cylinder, 6);
    cylinder.centre = {1.42, 2.37, 3.33};
    cylinder.radius = 0.21;
    cylinder.length = 0.3;
    cylinder.axis = axis;
    expect_cells(config, painted(config, {cylinder}), [&](Vector3 at) {
      for (std::size_t a = 0; a < 3; ++a) at[a] -= cylinder.centre[a];
      const double along = at[static_cast<std::size_t>(axis)];
      at[static_cast<std::size_t>(axis)] = 0;
      return std::abs(along) < 0.15 && std::hypot(at[0], at[1], at[2]) < 0.21 ? 6 : 0;
    });
  }
}

TEST(Paint, AGaussianAddsToWhatIsThere) {
  const Config config = grid({4, 3, 2});
  Paint gaussian = shape(Shape::gaussian, 50);
  gaussian.centre = {1.2, 2.1, 3.1};
  gaussian.width = 0.15;
  const auto cells = painted(config, {shape(Shape::constant, 300), gaussian});
  const CellCentres centre(config);
  const Vector3 at = centre({3, 1, 0});
  const double r2 = std::pow(at[0] - 1.2, 2) + std::pow(at[1] - 2.1, 2) + std::pow(at[2] - 3.1, 2);
  EXPECT_NEAR(cells[3 + 4 * 1], 300 + 50 * std::exp(-r2 / (2 * 0.15 * 0.15)), 1e-12);
}

TEST(Paint, FormulasSeeTheCentreAndTheScaleComesLast) {
  const Config config = grid({4, 3, 2});
  const auto cells = painted(config, {formula("x + 10*y + 100*z")}, {{0, 0, 0}, {4, 3, 2}}, 0.5);
  expect_cells(config, cells, [](Vector3 at) { return 0.5 * (at[0] + 10 * at[1] + 100 * at[2]); });
}

template <class T>
void expect_same_bits_of_every_block() {
  const Config config = grid({11, 7, 5});
  Paint gaussian = shape(Shape::gaussian, 1e3);
  gaussian.centre = {1.5, 2.3, 3.2};
  gaussian.width = 0.1;
  const std::vector<Paint> entries{formula("300 + sin(37*x)*cos(51*y + z)"), gaussian,
                                   box({1.15, 2, 3}, {1.65, 2.4, 3.3}, 1.0 / 3, PaintMode::add)};
  const Int3 n = config.grid.cells;
  const auto whole = painted<T>(config, entries, {{0, 0, 0}, n}, 0.7);
  for (const Box block :
       {Box{{3, 0, 0}, {7, 7, 5}}, Box{{0, 2, 4}, {11, 3, 5}}, Box{{10, 6, 1}, {11, 7, 4}}}) {
    const auto part = painted<T>(config, entries, block, 0.7);
    std::size_t i = 0;
    for (Index z = block.lo.z; z < block.hi.z; ++z)
      for (Index y = block.lo.y; y < block.hi.y; ++y)
        for (Index x = block.lo.x; x < block.hi.x; ++x, ++i)
          ASSERT_EQ(part[i], whole[static_cast<std::size_t>(x + n.x * (y + n.y * z))]);
  }
}

TEST(Paint, EveryBlockPaintsTheBitsOfTheWhole) {
  expect_same_bits_of_every_block<float>();
  expect_same_bits_of_every_block<double>();
}

TEST(Paint, GhostsAndPaddingStayUntouched) {
  const Config config = grid({3, 2, 2});
  std::vector<double> memory(8 * 4 * 4, -7);  // rows of 8, one ghost layer
  const FieldView<double> field{memory.data() + 1 + 8 + 32, 8, 32, {3, 2, 2}, 1};
  Painter(config, {shape(Shape::constant, 1)}, "initial").paint(1.0, {{0, 0, 0}, {3, 2, 2}}, field);
  int ones = 0;
  for (const double value : memory) ones += value == 1 ? 1 : value == -7 ? 0 : 1000;
  EXPECT_EQ(ones, 12);
}

// The same message whatever the number of threads: the lowest cell in z, y, x.
TEST(Paint, ANonFiniteFormulaIsNamedWithEntryCellAndPlace) {
  Config config = grid({6, 5, 40});
  config.places["initial.1.formula"] = "deck.yaml:7:3";
  const std::string text = "1/(z < 4.1 || y < 2.2 || x < 1.3)";  // false is 0
  const std::vector<Paint> entries{shape(Shape::constant, 300), formula(text)};
  const int threads = omp_get_max_threads();
  for (const int count : {1, 2, 5}) {
    omp_set_num_threads(count);
    EXPECT_EQ(
        deck_error([&] { painted(config, entries); }),
        "deck.yaml:7:3: initial.1.formula: " + text +
            " is not finite at cell (3, 2, 11) (it is inf at x = 1.35 m, y = 2.25 m, z = 4.15 m, t = 0 s); "
            "give a value that every cell can hold");
  }
  omp_set_num_threads(threads);
  EXPECT_NE(deck_error([&] { painted(config, {formula("sqrt(-x)")}); }).find("(0, 0, 0) (it is"),
            std::string::npos);
}

TEST(Paint, ATemperatureBelowZeroIsNamed) {
  Config config = grid({4, 1, 1});
  const std::vector<Paint> entries{shape(Shape::constant, 5), formula("0"), formula("20 - 15*x")};
  const std::string error = deck_error([&] { painted(config, entries); });
  EXPECT_NE(error.find("initial: -0.25 K at cell (3, 0, 0)"), std::string::npos) << error;
  EXPECT_NE(error.find("kelvin"), std::string::npos) << error;
  EXPECT_NO_THROW(painted(config, entries, {{0, 0, 0}, {4, 1, 1}}, 1, "sources"));
  config.verify.solution = ExactSolution::formula;  // may be about differences
  EXPECT_NO_THROW(painted(config, entries));
}

// 0.15 of a cell more or less than a whole number of cells, but for rounding.
TEST(Paint, CentresOnASurfaceButForRoundingAreOnIt) {
  Config config = grid({10, 1, 1});
  config.grid.origin = {0, 0, 0};
  for (const double rounding : {1 - 1e-14, 1.0, 1 + 1e-14})
    expect_cells(config, painted(config, {box({0.35 * rounding, 0, 0}, {0.75 * rounding, 1, 1}, 7)}),
                 [](Vector3 at) { return 0.34 < at[0] && at[0] < 0.74 ? 7 : 0; });
}

TEST(Paint, AValueBeyondThePrecisionIsRefused) {
  const Config config = grid({2, 2, 2});
  const std::vector<Paint> entries{shape(Shape::constant, 1e39)};
  EXPECT_NO_THROW(painted<double>(config, entries, {{0, 0, 0}, {2, 2, 2}}));
  EXPECT_NE(deck_error([&] {
              painted<float>(config, entries, {{0, 0, 0}, {2, 2, 2}});
            }).find("too large for the"),
            std::string::npos);
}

TEST(Paint, ADatasetThatCannotBeReadIsNamedWithItsEntry) {
  const Config config = grid({2, 2, 2});
  Paint dataset = shape(Shape::dataset, 0);
  dataset.file = "/nowhere/start.h5";
  dataset.dataset = "/T";
  try {
    painted(config, {dataset});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::file_missing);
    EXPECT_NE(std::string(e.what()).find("initial.0.dataset"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("/nowhere/start.h5"), std::string::npos) << e.what();
  }
}

TEST(Paint, ExactPaintsTheStartAndTheSourceItNeeds) {
  Config config = grid({6, 5, 4});
  config.problem.kind = ProblemKind::steady;
  config.material.conductivity = 3;
  for (auto& wall : config.boundaries) wall = {WallKind::temperature, 300.0, 0};
  config.verify.solution = ExactSolution::manufactured;
  config.verify.amplitude = 10;
  const auto exact = make_exact(config);
  const Box all{{0, 0, 0}, config.grid.cells};
  expect_cells(config, painted(config, {shape(Shape::exact, 0)}, all, 1, "initial"),
               [&](Vector3 at) { return (*exact)(at[0], at[1], at[2], 0); });
  EXPECT_EQ(all_sources(config).size(), 1u);
  expect_cells(config, painted(config, all_sources(config), all, 1, "sources"),
               [&](Vector3 at) { return exact->source(at[0], at[1], at[2]); });
  EXPECT_GT(exact->source(1.3, 2.25, 3.2), 1000);
  config.verify.solution = ExactSolution::none;
  EXPECT_TRUE(all_sources(config).empty());
  EXPECT_NE(deck_error([&] { painted(config, {shape(Shape::exact, 0)}); }).find("verify.solution is none"),
            std::string::npos);
}

}  // namespace
}  // namespace isotherm
