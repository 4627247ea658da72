// Shapes, by cell centres and by shares of cells; sources that move and change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "physics/boundaries.hpp"
#include "physics/cells.hpp"
#include "physics/coverage.hpp"
#include "physics/operator.hpp"
#include "physics/region_values.hpp"
#include "physics/varying_sources.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

Config grid_of(Int3 cells, Vector3 spacing, Vector3 origin = {0, 0, 0}) {
  return {.name = "deck.yaml", .grid = {.cells = cells, .spacing = spacing, .origin = origin}};
}

Config grid(Int3 cells) { return grid_of(cells, {0.1, 0.1, 0.1}, {1, 2, 3}); }

RegionValue shape(Shape s, double value, RegionMode mode = RegionMode::set) {
  return {.shape = s, .mode = mode, .value = value};
}

RegionValue box(Vector3 from, Vector3 to, double value, RegionMode mode = RegionMode::set) {
  return {.shape = Shape::box, .mode = mode, .value = value, .from = from, .to = to};
}

RegionValue ball(Vector3 centre, double radius, double value) {
  return {.shape = Shape::sphere, .value = value, .centre = centre, .radius = radius};
}

RegionValue cylinder(Vector3 centre, double radius, int axis, double length, double value) {
  RegionValue round = ball(centre, radius, value);
  round.shape = Shape::cylinder;
  round.axis = axis;
  round.length = length;
  return round;
}

// Is this place within a ball or a cylinder?
bool is_within(const RegionValue& round, Vector3 at) {
  for (std::size_t a = 0; a < 3; ++a) at[a] -= round.centre[a];
  if (round.shape == Shape::cylinder && std::abs(std::exchange(at[round.axis], 0)) >= round.length / 2)
    return false;
  return std::hypot(at[0], at[1], at[2]) < round.radius;
}

RegionValue bell(Vector3 centre, double width, double value) {
  return {.shape = Shape::gaussian, .value = value, .centre = centre, .width = width};
}

RegionValue formula(const std::string& text) {
  return {.shape = Shape::formula, .value = 0, .formula = Expression(text, "xyz")};
}

template <class T = double>
std::vector<T> applied(const Config& config, const std::vector<RegionValue>& entries, Box subdomain,
                       double scale = 1, const std::string& key = "initial") {
  const Int3 extent = subdomain.extent();
  std::vector<T> cells(static_cast<std::size_t>(extent.product()), T(-1));
  RegionValues(config, entries, key).apply(scale, subdomain, dense_view(cells.data(), extent));
  return cells;
}

std::vector<double> applied(const Config& config, const std::vector<RegionValue>& entries) {
  return applied(config, entries, {{0, 0, 0}, config.grid.cells});
}

// Compares the value of each cell with `expected` at its centre.
void expect_cells(const Config& config, const std::vector<double>& cells,
                  const std::function<double(Vector3)>& expected) {
  const GridAxes axes(config);
  std::size_t i = 0;
  for_each_cell(config.grid.cells, [&](Int3 c) {
    EXPECT_EQ(cells[i++], expected(axes.centre(c))) << c.x << " " << c.y << " " << c.z;
  });
}

TEST(RegionValue, CellsStartAtZeroAndEntriesApplyInOrder) {
  const Config config = grid({2, 1, 1});
  EXPECT_EQ(applied(config, {}), (std::vector<double>{0, 0}));
  const RegionValue set5 = shape(Shape::constant, 5), add2 = shape(Shape::constant, 2, RegionMode::add);
  EXPECT_EQ(applied(config, {set5, add2}), (std::vector<double>{7, 7}));
  EXPECT_EQ(applied(config, {add2, set5}), (std::vector<double>{5, 5}));
  EXPECT_EQ(applied(config, {box({1, 2, 3}, {1.1, 2.1, 3.1}, 3), add2}), (std::vector<double>{5, 2}));
}

// The shared face runs through cell centres: each must belong to one box only.
TEST(RegionValue, AdjacentBoxesCoverEachCellOnce) {
  const Config config = grid({10, 3, 2});
  for (int i = 0; i < 10; ++i) {
    const double cut = GridAxis(config, 0).centre(i);
    const auto cells = applied(config, {box({0, 0, 0}, {cut, 9, 9}, 1, RegionMode::add),
                                        box({cut, 0, 0}, {9, 9, 9}, 10, RegionMode::add)});
    expect_cells(config, cells, [&](Vector3 at) { return at[0] < cut ? 1 : 10; });
  }
}

TEST(RegionValue, SphereAndCylinderCoverCentresInside) {
  const Config config = grid({9, 8, 7});
  const Vector3 centre{1.42, 2.37, 3.33};
  for (const RegionValue& round : {ball({1.4, 2.5, 3.3}, 0.27, 4), cylinder(centre, 0.21, 0, 0.3, 4),
                                   cylinder(centre, 0.21, 1, 0.3, 4), cylinder(centre, 0.21, 2, 0.3, 4)})
    expect_cells(config, applied(config, {round}), [&](Vector3 at) { return is_within(round, at) ? 4 : 0; });
}

TEST(RegionValue, AGaussianIsAddedToTheField) {
  const Config config = grid({4, 3, 2});
  const auto cells = applied(config, {shape(Shape::constant, 300), bell({1.2, 2.1, 3.1}, 0.15, 50)});
  const GridAxes axes(config);
  const Vector3 at = axes.centre({3, 1, 0});
  const double r2 = std::pow(at[0] - 1.2, 2) + std::pow(at[1] - 2.1, 2) + std::pow(at[2] - 3.1, 2);
  EXPECT_NEAR(cells[3 + 4 * 1], 300 + 50 * std::exp(-r2 / (2 * 0.15 * 0.15)), 1e-12);
}

TEST(RegionValue, FormulasUseTheCentreAndTheScaleIsAppliedLast) {
  const Config config = grid({4, 3, 2});
  const auto cells = applied(config, {formula("x + 10*y + 100*z")}, {{0, 0, 0}, {4, 3, 2}}, 0.5);
  expect_cells(config, cells, [](Vector3 at) { return 0.5 * (at[0] + 10 * at[1] + 100 * at[2]); });
}

TEST(RegionValue, GhostsAndPaddingStayUntouched) {
  const Config config = grid({3, 2, 2});
  std::vector<double> memory(8 * 4 * 4, -7);  // rows of 8, one ghost layer
  const FieldView<double> field{memory.data() + 1 + 8 + 32, 8, 32, {3, 2, 2}, 1};
  RegionValues(config, {shape(Shape::constant, 1)}, "initial").apply(1.0, {{0, 0, 0}, {3, 2, 2}}, field);
  int ones = 0;
  for (const double value : memory) ones += value == 1 ? 1 : value == -7 ? 0 : 1000;
  EXPECT_EQ(ones, 12);
}

// The same message whatever the number of threads: the lowest cell in z, y, x.
TEST(RegionValue, ANonFiniteFormulaIsNamedWithEntryCellAndPlace) {
  Config config = grid({6, 5, 40});
  config.places["initial.1.formula"] = {.argument = 3};
  const std::string text = "1/(z < 4.1 || y < 2.2 || x < 1.3)";  // false is 0
  const std::vector<RegionValue> entries{shape(Shape::constant, 300), formula(text)};
  on_threads({1, 2, 5}, [&] {
    expect_start(deck_error([&] { applied(config, entries); }),
                 "argument 3: initial.1.formula: " + text +
                     " is not finite at cell (3, 2, 11) (it is inf at x = 1.35 m, y = 2.25 m, z = 4.15 m, t "
                     "= 0 s); give a value ");
  });
  expect_says(deck_error([&] { applied(config, {formula("sqrt(-x)")}); }), "(0, 0, 0) (it is");
}

TEST(RegionValue, ATemperatureBelowZeroIsNamed) {
  Config config = grid({4, 1, 1});
  const std::vector<RegionValue> entries{shape(Shape::constant, 5), formula("0"), formula("20 - 15*x")};
  const std::string error = deck_error([&] { applied(config, entries); });
  for (const char* part : {"initial: -0.25 K at cell (3, 0, 0)", "kelvin"}) expect_says(error, part);
  EXPECT_NO_THROW(applied(config, entries, {{0, 0, 0}, {4, 1, 1}}, 1, "sources"));
  config.verify.solution = ExactSolution::formula;  // may be about differences
  EXPECT_NO_THROW(applied(config, entries));
}

// The box begins and ends at cell centres up to rounding: the first of them is in the box, the last is not.
TEST(RegionValue, CentresOnASurfaceUpToRoundingAreOnIt) {
  Config config = grid({10, 1, 1});
  config.grid.origin = {0, 0, 0};
  for (const double rounding : {1 - 1e-14, 1.0, 1 + 1e-14})
    expect_cells(config, applied(config, {box({0.35 * rounding, 0, 0}, {0.75 * rounding, 1, 1}, 7)}),
                 [](Vector3 at) { return 0.34 < at[0] && at[0] < 0.74 ? 7 : 0; });
}

std::vector<double> covered(const Config& config, const std::vector<RegionValue>& sources) {
  return applied(config, sources, {{0, 0, 0}, config.grid.cells}, 1, "sources");
}

double power(const Config& config, const std::vector<RegionValue>& sources) {
  Config with = config;
  with.sources = sources;
  return source_totals(with).net;
}

// A shape of any kind and size, whole within the box from 0 to `lengths`.
RegionValue shape_within(const Vector3& lengths, Random& random) {
  const auto uniform = [&](double low, double high) { return random.between(low, high); };
  RegionValue apply;
  apply.shape = std::array{Shape::box, Shape::sphere, Shape::cylinder}[random() % 3];
  apply.mode = RegionMode::add;
  apply.axis = static_cast<int>(random() % 3);
  const double least = *std::min_element(lengths.begin(), lengths.end());
  apply.radius = least * std::exp(uniform(-6, -0.8));
  apply.length = least * std::exp(uniform(-6, -0.8));
  for (std::size_t a = 0; a < 3; ++a) {
    const double reach = std::max(apply.radius, apply.length / 2);
    apply.centre[a] = uniform(reach, lengths[a] - reach);
    apply.from[a] = uniform(0, lengths[a]);
    apply.to[a] = apply.from[a] + (lengths[a] - apply.from[a]) * std::exp(uniform(-6, 0));
  }
  return apply;
}

double volume_of(const RegionValue& p) {
  if (p.shape == Shape::box) return (p.to[0] - p.from[0]) * (p.to[1] - p.from[1]) * (p.to[2] - p.from[2]);
  if (p.shape == Shape::sphere) return 4.0 / 3 * M_PI * std::pow(p.radius, 3);
  return M_PI * p.radius * p.radius * p.length;
}

// On any grid_of, also where a shape is smaller than a cell.
TEST(Coverage, ShapesWithinTheDomainHaveTheirPower) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const auto any = [&] { return random.between<Index>(1, 30); };
    const Config config = grid_of({any(), any(), any()}, {0.1, 0.07, 0.23});
    Vector3 lengths;
    for (int a = 0; a < 3; ++a) lengths[a] = GridAxis(config, a).length();
    RegionValue with_value = shape_within(lengths, random), with_power = with_value;
    with_value.value = 1e6;
    with_power.power = 16;
    const double expected = 1e6 * volume_of(with_value);
    // Positions are rounded relative to their distance from the corner.
    const double thinnest =
        with_value.shape == Shape::box
            ? std::min({with_value.to[0] - with_value.from[0], with_value.to[1] - with_value.from[1],
                        with_value.to[2] - with_value.from[2]})
            : std::min(with_value.radius, with_value.length);
    const double rounding = 1e-13 + 1e-15 * (lengths[0] + lengths[1] + lengths[2]) / thinnest;
    EXPECT_NEAR(power(config, {with_value}), expected, rounding * expected) << i;
    EXPECT_NEAR(power(config, {with_power}), 16, 1e-11) << i;
  }
}

TEST(Coverage, AGaussianHasThePowerOfItsIntegral) {
  RegionValue gaussian = bell({0.5, 0.5, 0.5}, 0.01, 0);
  gaussian.power = 16;
  for (const Index n : {1, 2, 7, 40}) {
    const double h = 1.0 / static_cast<double>(n);
    EXPECT_NEAR(power(grid_of({n, n, n}, {h, h, h}), {gaussian}), 16, 1e-11);
  }
  gaussian.centre[2] = 1;  // half of it is outside
  EXPECT_NEAR(power(grid_of({20, 20, 20}, {0.05, 0.05, 0.05}), {gaussian}), 8, 1e-11);
  // A tail keeps its digits where the error function itself is 1.
  const auto tail = covered(grid_of({1, 1, 12}, {1, 1, 0.01}, {0, 0, 1}), {gaussian});
  EXPECT_GT(tail[11], 0);
  EXPECT_LT(tail[11], 1e-20 * tail[0]);
}

TEST(Coverage, ABoxCoversSharesOfCells) {
  const Config four = grid_of({4, 1, 1}, {1, 1, 1});
  RegionValue some = box({0.5, 0, -1}, {2.25, 1, 3}, 8), before = shape(Shape::constant, 100);
  EXPECT_EQ(covered(four, {some}), (std::vector<double>{4, 8, 2, 0}));
  EXPECT_EQ(covered(four, {before, some}), (std::vector<double>{54, 8, 77, 100}));
  before.mode = some.mode = RegionMode::add;
  EXPECT_EQ(covered(four, {before, some}), (std::vector<double>{104, 108, 102, 100}));
  // 0.3 / 0.1 is 2.9999999999999996: no cell gets a share of 4e-16.
  EXPECT_EQ(covered(grid_of({10, 1, 1}, {0.1, 0.1, 0.1}), {box({0.3, 0, 0}, {0.6, 0.1, 0.1}, 1)}),
            (std::vector<double>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0}));
  // A shape with more rows of cells than the quadrature evaluates one by one.
  EXPECT_EQ(covered(grid_of({3, 1, 1}, {0.1, 0.1, 0.1}), {ball({}, 1e9, 2)}), (std::vector<double>{2, 2, 2}));
}

// Compared with the number of points of a fine lattice in each cell.
TEST(Coverage, SharesOfRoundShapesAreThoseOfTheirVolume) {
  const Config config = grid_of({6, 5, 4}, {0.1, 0.12, 0.15});
  const Vector3 centre{0.31, 0.29, 0.32};
  for (const RegionValue& round : {ball(centre, 0.19, 1), cylinder(centre, 0.19, 0, 0.27, 1),
                                   cylinder(centre, 0.19, 1, 0.27, 1), cylinder(centre, 0.19, 2, 0.27, 1)}) {
    const auto shares = covered(config, {round});
    std::size_t i = 0;
    constexpr Index fine = 24;
    for_each_cell(config.grid.cells, [&](Int3 c) {
      int count = 0;
      for_each_cell(Int3{fine, fine, fine}, [&](Int3 part) {
        Vector3 at{0.1, 0.12, 0.15};
        for (int a = 0; a < 3; ++a)
          at[a] *= static_cast<double>(c[a]) + (static_cast<double>(part[a]) + 0.5) / fine;
        count += is_within(round, at);
      });
      EXPECT_NEAR(shares[i++], static_cast<double>(count) / (fine * fine * fine), 0.03)
          << c.x << " " << c.y << " " << c.z << " axis " << round.axis;
    });
  }
}

template <class T>
void expect_same_bits_of_every_block(const Config& config, const std::vector<RegionValue>& entries,
                                     const std::string& key) {
  const Int3 n = config.grid.cells;
  const auto whole = applied<T>(config, entries, {{0, 0, 0}, n}, 0.7, key);
  for (const Box subdomain : {Box{{3, 0, 0}, {7, n.y, n.z}}, Box{{0, 2, 4}, {n.x, 3, n.z}},
                              Box{{n.x - 1, n.y - 1, 1}, {n.x, n.y, 4}}}) {
    const auto part = applied<T>(config, entries, subdomain, 0.7, key);
    std::size_t i = 0;
    for_each_cell(subdomain, [&](Int3 c) { EXPECT_EQ(part[i++], whole[index_of(c, n)]); });
  }
}

TEST(RegionValue, EveryBlockSetsTheBitsOfTheWhole) {
  const Config config = grid_of({17, 11, 9}, {0.1, 0.1, 0.1});
  Random random;
  std::vector<RegionValue> entries{formula("300 + sin(37*x)*cos(51*y + z)"), bell({}, 0.2, 1e3)};
  for (int i = 0; i < 8; ++i) {
    entries.push_back(shape_within({1.7, 1.1, 0.9}, random));
    entries.back().value = 1.0 / 3;
    if (i % 2) entries.back().power = 3;
    if (i % 4 > 1) entries.back().mode = RegionMode::set;
  }
  expect_same_bits_of_every_block<float>(config, entries, "initial");
  expect_same_bits_of_every_block<double>(config, entries, "initial");
  expect_same_bits_of_every_block<double>(config, entries, "sources");
}

// A device copies the plane below if a plane is said to repeat it, so their cells must be equal.
TEST(RegionValue, PlanesRepeatOnlyWhereTheirCellsDo) {
  const Config config = grid_of({7, 6, 24}, {0.1, 0.1, 0.1});
  for (const std::string key : {"initial", "sources"}) {
    Index repeated = 0;
    for (int round = 0; round < 60; ++round) {
      Random random;
      const auto place = [&](double least) { return Vector3{least, least, random.between(least, 2.4)}; };
      const Vector3 from = place(0.1);
      std::vector<RegionValue> entries{shape(Shape::constant, 300),
                                       box(from, {0.5, 0.5, random.between(from[2], 2.4)}, 5)};
      if (random.coin()) entries.push_back(ball(place(0.3), 0.2, 7));
      if (random.coin()) entries.push_back(cylinder(place(0.3), 0.2, random.between(0, 2), 0.5, 7));
      if (random.coin()) entries.push_back(formula(random.coin() ? "x*y" : "z"));
      entries.back().mode = RegionMode::add;
      const RegionValues values(config, entries, key);
      const auto cells = applied(config, entries, {{0, 0, 0}, config.grid.cells}, 1, key);
      for (Index z = 1; z < 24; ++z) {
        if (values.repeated_until(z, z + 1) == z) continue;
        ++repeated;
        EXPECT_TRUE(std::equal(&cells[42 * z], &cells[42 * z] + 42, &cells[42 * (z - 1)])) << z;
      }
    }
    EXPECT_GT(repeated, 0);
  }
}

TEST(ShapeWarnings, AnInitialShapeBetweenCentresIsReported) {
  Config config = grid_of({4, 4, 4}, {0.1, 0.1, 0.1});
  for (const Shape shape : {Shape::box, Shape::sphere, Shape::cylinder}) {
    config.initial = {cylinder({0.2, 0.15, 0.15}, 0.04, 2, 0.04, 400)};
    config.initial[0].shape = shape;
    config.initial[0].from = {0.16, 0.06, 0.06};
    config.initial[0].to = {0.24, 0.24, 0.24};
    SCOPED_TRACE(static_cast<int>(shape));
    expect_says(only_text(shape_warnings(config)), "initial.0: holds no cell centre");
    config.initial[0].from[0] = 0.15 * (1 + 1e-15);  // a centre, but for rounding
    config.initial[0].radius = 0.06;
    config.initial[0].length = 0.2;
    EXPECT_TRUE(shape_warnings(config).empty());
  }
}

// Boundaries and the layout of fields. verification/test_order.py tests the ghosts of each kind (steady
// profiles are exact), mpi/test_one_answer.cpp values that vary over faces and in time.

TEST(Boundaries, AValueBeyondThePrecisionIsRejected) {
  const auto device = make_host_device();
  Config config = decks::base({5, 4, 3});
  config.boundaries[0] = {BoundaryKind::temperature, 3e38, 0};
  const Box whole{{0, 0, 0}, config.grid.cells};
  EXPECT_NO_THROW(BoundaryConditions<double>(config, *device, whole, 1, {true}));
  EXPECT_THROW(BoundaryConditions<float>(config, *device, whole, 1, {true}), Error);
}

template <class T>
void expect_aligned_rows(Device& device, Int3 extent, int ghosts) {
  Field<T> field(device, extent, ghosts);
  const FieldView<T> view = field.view();
  const auto unit = static_cast<std::uintptr_t>(device.row_alignment());
  const Box padded = view.padded();
  for_each_cell({{0, padded.lo.y, padded.lo.z}, {1, padded.hi.y, padded.hi.z}}, [&](Int3 c) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&view(c)) % unit, 0u) << c.y << ", " << c.z;
  });
  const T* const first = static_cast<const T*>(field.data());
  EXPECT_GE(&view(padded.lo), first);
  EXPECT_LE(&view(padded.hi - Int3{1, 1, 1}), first + field.bytes() / sizeof(T) - 1);
  EXPECT_GE(view.pitch_y, extent.x + 2 * ghosts);
  EXPECT_LT(view.pitch_y * static_cast<Index>(sizeof(T)),
            (extent.x + 2 * ghosts) * static_cast<Index>(sizeof(T)) + 16 + device.row_alignment());
}

TEST(Field, RowsStartWhereTheirDeviceWantsThem) {
  const auto host = make_host_device();
  EXPECT_EQ(host->row_alignment(), row_alignment(Backend::host));
  for (const Int3 extent : {Int3{1, 1, 1}, Int3{13, 3, 2}, Int3{16, 2, 3}, Int3{31, 2, 2}, Int3{256, 3, 1}})
    for (const int ghosts : {0, 1, 2, 4}) {
      expect_aligned_rows<float>(*host, extent, ghosts);
      expect_aligned_rows<double>(*host, extent, ghosts);
    }
}

// Sources that change in time: they have their power, at any place and time, on any grid.

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

TEST(VaryingSources, GiveTheShareOfTheirPowerThatIsInside) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    Config config = decks::base({random.between(1, 30), random.between(1, 30), random.between(1, 30)});
    config.sources = {random_source(random)};
    const double t = random.between(0.0, 5.0);
    Filled filled(config);
    filled.update(random.between(0.0, 5.0));
    filled.update(t);  // replaces the first update
    const PlacedSource placed = placed_source(config, config.sources[0], t);
    EXPECT_EQ(placed.power, (*config.sources[0].power)(0, 0, 0, t));
    double watts = 0;
    for_each_cell(config.grid.cells, [&](Int3 c) { watts += filled.field.view()(c); });
    watts *= cell_volume(config) / source_scale(config);
    EXPECT_NEAR(watts, placed.power * placed.inside, 1e-11 * placed.power) << "source " << i;
  }
}

// An update sets the boxes of the sources, before and after they moved, or the whole subdomain.
TEST(VaryingSources, ManyHaveTheSumOfAllInEveryCell) {
  Random random;
  for (const int count : {1, 7, 9, 60}) {
    Config config = decks::base({24, 20, 28});
    for (int i = 0; i < count; ++i) config.sources.push_back(random_source(random));
    Filled filled(config);
    for (const double t : {0.0, 3.0, 3.0, 1.0}) {
      filled.update(t);
      Filled whole(config);
      whole.update(t);
      for_each_cell(config.grid.cells, [&](Int3 c) {
        ASSERT_EQ(filled.field.view()(c), whole.field.view()(c)) << count << " sources, t = " << t;
      });
    }
  }
}

// verification/test_moving_sources.py tests its density.
TEST(VaryingSources, ADoubleEllipsoidHasNoJumpAtItsCentreUnlessTheDeckGivesShares) {
  RegionValue source{.shape = Shape::double_ellipsoid, .front = 0.06, .rear = 0.09, .half_width = 0.05};
  source.depth = 0.07;
  EXPECT_DOUBLE_EQ(placed_source(decks::base({6, 4, 5}), source, 0).axis[0].share[1], 0.4);
}

TEST(VaryingSources, ABoxOnFacesHasTheCellsBetween) {
  Config config = decks::base({6, 4, 5});  // of 50 mm
  config.sources = {{.shape = Shape::box,
                     .power = Expression("1 + t", "t"),
                     .from_at = {0.05, 0.05, 0.05},
                     .to_at = {0.15, 0.15, 0.2}}};
  EXPECT_EQ(product_totals(config).cells, 2 * 2 * 3);
}

TEST(VaryingSources, ALaterSourceThatDoesNotReplaceThemIsReported) {
  Config config = decks::base({6, 4, 5});
  RegionValue varying = box({}, {}, 0, RegionMode::add);
  varying.power = Expression("1 + t", "t");
  varying.from_at = {0.05, 0.05, 0.05};
  varying.to_at = {Expression("0.1 + 0.1*t", "t"), 0.1, 0.1};
  config.problem.dt = 0.01;  // of 100 steps
  const auto warnings_of = [&](const RegionValue& first, const RegionValue& second) {
    config.sources = {first, second};
    return shape_warnings(config);
  };
  const auto still = [](Vector3 from, Vector3 to) {
    RegionValue source = box(from, to, 0);
    std::ranges::copy(from, source.from_at.begin());  // as the reader does
    std::ranges::copy(to, source.to_at.begin());
    return source;
  };
  const RegionValue over = still({0.15, 0, 0}, {0.2, 0.2, 0.2});
  expect_says(only_text(warnings_of(varying, over)), "sources.1: does not replace sources.0");
  expect_says(only_text(warnings_of(varying, ball({0.1, 0.1, 0.1}, 0.05, 1))), "mode: add");
  EXPECT_TRUE(warnings_of(over, varying).empty());
  EXPECT_TRUE(warnings_of(varying, still({0, 0, 0}, {0.3, 0.05, 0.2})).empty());  // touches it
  RegionValue adds = over;
  adds.mode = RegionMode::add;
  EXPECT_TRUE(warnings_of(varying, adds).empty());
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
  for (const char* part : {"sources.0.formula", "is not finite at cell (0, 0, 0)", "t = 2 s)"})
    expect_says(said, part);
}

TEST(VaryingSources, APlaceThatIsNotFiniteIsAnErrorAndOneOutsideMostOfTheTimeAWarning) {
  Config config = decks::base({8, 8, 8});
  const Expression leaves("sqrt(1 - t)", "t");
  RegionValue source{.shape = Shape::gaussian, .power = 1, .centre_at = {leaves, 0.1, 0.1}, .width = 0.01};
  config.sources = {source};
  RegionValue fast = source;
  fast.power = Expression("cos(1e10*t)", "t");
  expect_says(deck_error([&] { placed_source(config, fast, 0.5); }), "(sin, cos");
  config.problem.dt = 0.01;                              // of 100 steps
  source.centre_at[0] = Expression("0.4*t - 0.1", "t");  // moves in
  config.sources = {source};
  EXPECT_TRUE(placed_source(config, source, 0).cells.empty());
  EXPECT_EQ(shape_warnings(config).size(), 0u);
  config.sources[0].centre_at[0] = Expression("t - 0.8", "t");
  expect_says(only_text(shape_warnings(config)),
              "sources.0: in the mean over the run only 18.8 % of its heat is inside");
  config.sources[0].power = Expression("if(t < 0.8, 0, 1)", "t");
  EXPECT_EQ(shape_warnings(config).size(), 0u);
  // At first always on a surface, then inside for a while.
  config.sources[0].centre_at = {Expression("0.1 + 0.1*t", "t"), 0.1, 0.0};
  config.sources[0].power = 1;
  expect_says(only_text(shape_warnings(config)), "sources.0: at no time of the run is more than 50 %");
  config.sources[0].centre_at[2] = Expression("0.1*t", "t");
  EXPECT_EQ(shape_warnings(config).size(), 0u);
  // Tails may be outside without a warning, parts of a shape with a surface may not.
  config.sources = {{.shape = Shape::double_ellipsoid, .power = 1, .centre_at = {0.04, 0.1, 0.1}}};
  for (double RegionValue::*length :
       {&RegionValue::front, &RegionValue::rear, &RegionValue::half_width, &RegionValue::depth})
    config.sources[0].*length = 0.027;  // 3.6 standard deviations
  EXPECT_EQ(shape_warnings(config).size(), 0u);
  config.sources = {ball({0.1, 0.1, 0.0505}, 0.051, 1)};
  expect_says(only_text(shape_warnings(config)), "sources.0: only 99.99");
  source.shape = Shape::box;
  source.centre_at[0] = Expression(0.0);
  source.to_at = {Expression("1 - t", "t"), Expression(1.0), Expression(1.0)};
  expect_says(deck_error([&] { placed_source(config, source, 1); }), "a box ends where it begins along x");
}

}  // namespace
}  // namespace isotherm
