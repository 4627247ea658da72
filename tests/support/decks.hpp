// Problems for tests, as Config values: no two cells alike, every boundary kind, sources.
#pragma once

#include <initializer_list>
#include <string>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "physics/operator.hpp"

namespace isotherm::decks {

inline Config base(Int3 cells) {
  const Expression rough("300 + 20*sin(31*x + 17*y) + 10*cos(53*z - 7*x) + 5*sin(977*x*y + 431*z)", "xyz");
  return {.name = "test",
          .grid = {.cells = cells, .lengths = Vector3{0.3, 0.2, 0.25}},
          .material = {.conductivity = 15, .density = 7800, .heat_capacity = 500},
          .initial = {{.shape = Shape::formula, .formula = rough}},
          .problem = {.steps = 100}};
}

// Five of the kinds, with formulas in space and time.
inline Config every_boundary(Int3 cells) {
  Config config = base(cells);
  config.boundaries[0] = {BoundaryKind::temperature, Expression("320 + 10*sin(20*y) + 1000*t", "yzt"), 0};
  config.boundaries[1] = {BoundaryKind::convection, Expression(285.0), 40};
  config.boundaries[2] = {BoundaryKind::flux, Expression("5000*cos(9*x) + 100*z", "xzt"), 0};
  config.boundaries[3] = {BoundaryKind::insulated, Expression(0.0), 0};
  config.boundaries[4] = {BoundaryKind::temperature, Expression(290.0), 0};
  config.boundaries[5] = {BoundaryKind::flux, Expression(-2000.0), 0};
  return config;
}

// Coefficients that vary over faces and, unless it is steady, in time; laws that add up, and patches that cut
// cells.
inline Config with_varying_laws(Config config) {
  const std::string time = config.problem.kind == ProblemKind::steady ? "0" : "t";
  config.boundaries[0].where = {Interval{0.011, 0.02}, Interval{0.07, 0.083}};
  config.boundaries[0].rest = {BoundaryKind::convection, 290.0, 30.0};
  config.boundaries[1].coefficient = Expression("40 + 300*y + 1e4*" + time, "yzt");
  config.boundaries[2].laws = {{BoundaryKind::flux, Expression("5000*cos(9*x)", "xzt"), 0},
                               {BoundaryKind::convection, 285.0, Expression("20 + 90*z", "xzt")}};
  config.boundaries[4] = {BoundaryKind::convection, 300.0,
                          Expression("900*(1 + sin(40*" + time + "))", "xyt")};
  return config;
}

inline Config varying_laws(Int3 cells) { return with_varying_laws(every_boundary(cells)); }

// Drops boundary conditions that vary in time, whose values the host computes for every sweep.
inline Config without_time(Config config) {
  for (BoundaryConfig& boundary : config.boundaries)
    if (boundary.kind != BoundaryKind::periodic && boundary.value.uses('t')) boundary = {};
  return config;
}

inline BoundaryConfig& boundary_of(Config& config, Face f) {
  return config.boundaries[static_cast<std::size_t>(f)];
}

// Drops the boundary conditions across these axes.
inline Config periodic_along(std::initializer_list<int> axes, Config config) {
  for (const int axis : axes)
    for (const bool max : {false, true}) boundary_of(config, face(axis, max)).kind = BoundaryKind::periodic;
  return config;
}

inline Config periodic(Int3 cells) {
  Config config = periodic_along({0, 2}, base(cells));
  config.boundaries[2] = {BoundaryKind::temperature, Expression("300 + 4*sin(11*x) + 3*cos(13*z)", "xzt"), 0};
  return config;
}

inline Config steady(Int3 cells) {
  Config config = every_boundary(cells);
  config.boundaries[0].value = Expression(300.0);
  config.problem = {.kind = ProblemKind::steady,
                    .method = MethodName::jacobi,
                    .tolerance = ProblemConfig::steady_tolerance};
  config.sources = {{.shape = Shape::gaussian, .value = 2e6, .centre = {0.1, 0.1, 0.1}, .width = 0.04}};
  return config;
}

// For several materials, computes the limits of the time step and the lowest eigenvalue.
inline Config with_step_limits(Config config) {
  if (!has_several_materials(config)) return config;
  config.step_limits = step_limits_of(config, {{}, config.grid.cells});
  config.lowest_eigenvalue = lowest_eigenvalue(config);
  return config;
}

// Of four materials, one of which differs by axis, with a contact.
inline Config several(Int3 cells) {
  Config config = steady(cells);
  config.material = {.default_material = "core"};
  config.materials = {{"core", Vector3{7, 7, 7}, 2000, 800, {}, {}},
                      {"board", Vector3{3, 2, 0.5}, 1500, 1000, {}, {}},
                      {"copper", Vector3{400, 400, 400}, 8960, 385, {}, {}},
                      {"foam", Vector3{0.05, 0.05, 0.05}, 50, 1400, {}, {}}};
  config.regions = {{.layers = {{"board", 0.07}, {"core", 0.05}, {"copper", 0.02}}},
                    {.shape = RegionShape::box,
                     .material = "foam",
                     .place = {.from = {0.1, 0.03, 0.11}, .to = {0.19, 0.15, 0.21}}},
                    {.shape = RegionShape::sphere,
                     .material = "copper",
                     .place = {.centre = {0.2, 0.1, 0.06}, .radius = 0.05}}};
  config.contacts = {{{"core", "board"}, 1e-3}};
  return config;
}

// Adds a void along an edge, whose faces to the body are convective, and an insulated spherical hole.
inline Config in_a_void(Int3 cells) {
  Config config = several(cells);
  config.materials.push_back({"room", {}, {}, {}, 350, 25});
  const RegionValue box{.from = {0.12, 0, 0.1}, .to = {1, 0.06, 1}},
      ball{.centre = {0.1, 0.12, 0.1}, .radius = 0.04};
  config.regions.push_back({.shape = RegionShape::box, .material = "room", .place = box});
  config.regions.push_back({.shape = RegionShape::sphere, .material = "void", .place = ball});
  return config;
}

// Of 2 to 254 materials in layers and boxes of few cells, which random numbers place.
template <class Random>
Config of_many_classes(Config config, Random& random) {
  const auto of = [&](double least, double most) { return random.between(least, most); };
  const int count = random.between(2, 254);
  const auto name = [&] { return "m" + std::to_string(random.between(0, count - 1)); };
  config.material = {.default_material = "m0"};
  config.materials.clear();
  for (int i = 0; i < count; ++i) {
    const double k = of(0.1, 50);
    const Vector3 along = random.coin() ? Vector3{k, k, k} : Vector3{k, of(0.1, 50), of(0.1, 50)};
    config.materials.push_back({"m" + std::to_string(i), along, 1000, of(500, 2000), {}, {}});
  }
  config.contacts = {{{"m0", "m1"}, 1e-3}};
  const Vector3 size = *config.grid.lengths;
  for (int i = 0; i < count + 4; ++i) {
    MaterialRegion box{.shape = RegionShape::box, .material = name()};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool is_layer = i < 4 && static_cast<int>(axis) != i % 3;
      box.place.from[axis] = is_layer ? 0 : of(-0.1, 1) * size[axis];
      box.place.to[axis] = is_layer ? 1 : box.place.from[axis] + of(0.02, 0.3) * size[axis];
    }
    config.regions.push_back(box);
  }
  return config;
}

// Sources that move, that follow a table, and that are a formula, and one that stays.
inline Config moving_sources(Int3 cells) {
  Config config = every_boundary(cells);
  config.sources = steady(cells).sources;
  config.sources.push_back(
      {.shape = Shape::double_ellipsoid,
       .mode = RegionMode::add,
       .power = Expression({{0, 40}, {17, 10}, {44, 55}}, true, ""),
       .centre_at = {Expression("0.05 + 0.001*t", "t"), 0.1, Expression("0.2 - 0.0005*t", "t")},
       .front = 0.04,
       .rear = 0.06,
       .half_width = 0.04,
       .depth = 0.06,
       .travel = AxisDirection::minus_y});
  config.sources.push_back({.shape = Shape::box,
                            .mode = RegionMode::add,
                            .power = Expression({{0, 5}, {37, 60}, {150, 0}}, false, ""),
                            .from_at = {Expression("0.03 + 0.0004*t", "t"), 0.06, 0.02},
                            .to_at = {Expression("0.11 + 0.0003*t", "t"), 0.12, 0.09}});
  const Expression wave("1e6*sin(20*x + 0.07*t)*y", "xyzt");
  config.sources.push_back({.shape = Shape::formula, .mode = RegionMode::add, .formula = wave});
  return config;
}

// Small sources, two of which meet; each is stored in a box of its own.
inline Config sources_in_few_cells(Int3 cells) {
  Config config = moving_sources(cells);
  config.sources.pop_back();
  for (RegionValue& each : config.sources)
    for (double* const length : {&each.width, &each.front, &each.rear, &each.half_width, &each.depth})
      *length /= 6;
  config.sources[2].to_at = {Expression("0.07 + 0.0003*t", "t"), Expression(0.09), Expression(0.05)};
  return config;
}

// The same body on cells of three sizes along each axis.
inline Config graded(Config config) {
  const Vector3 h = spacing(config);
  config.grid.lengths.reset();
  config.grid.spacing = h;
  for (int axis = 0; axis < 3; ++axis) {
    const Index n = config.grid.cells[axis], third = n / 3, rest = n - 2 * third;
    if (third == 0) continue;
    const auto a = static_cast<std::size_t>(axis);
    const double unit =
        static_cast<double>(n) / (static_cast<double>(third) * 1.6 + static_cast<double>(rest) * 1.7);
    config.grid.zones[a] = {{third, unit * h[a]}, {rest, 1.7 * unit * h[a]}, {third, 0.6 * unit * h[a]}};
    (*config.grid.spacing)[a] = unit * h[a];
  }
  return config;
}

// A steady problem: the heat through x_min leaves through x_max, and no boundary fixes the temperature. The
// deck sets the mean.
inline Config floating(Int3 cells) {
  Config config = base(cells);
  config.boundaries[0] = {BoundaryKind::flux, Expression(1500.0), 0};
  config.boundaries[1] = {BoundaryKind::flux, Expression(-1500.0), 0};
  config.problem = steady(cells).problem;
  config.problem.mean_temperature = 310;
  return config;
}

}  // namespace isotherm::decks
