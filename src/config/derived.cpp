// Quantities that follow from a deck, in the one form that every later folder uses.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/config.hpp"
#include "config/grid_axes.hpp"
#include "config/material_blocks.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"

namespace isotherm {

std::string Config::at(const std::string& key) const {
  auto place = find_around(places, key);
  if (place == places.end()) place = places.find("");  // the deck
  return (place == places.end() ? name : place->second) + ": " + key;
}

Vector3 spacing(const Config& config) {
  const GridConfig& grid = config.grid;
  Vector3 h = grid.spacing ? *grid.spacing : grid.lengths.value();
  for (int axis = 0; axis < 3; ++axis)
    if (grid.is_graded(axis))
      h[axis] = grid.zones[axis].front().size;
    else if (!grid.spacing)
      h[axis] /= static_cast<double>(grid.cells[axis]);
  return h;
}

double cell_volume(const Config& config) {
  const Vector3 h = spacing(config);
  return h[0] * h[1] * h[2];
}

// That of the body, or of its first class.
static MaterialConfig material_of(const Config& config) {
  if (config.materials.empty()) return config.material;
  const NamedMaterial& first = material_of_number(config, painted_materials(config).front());
  return {first.conductivity.value_or(Vector3{1, 1, 1})[0], first.density, first.heat_capacity, {}, {}};
}

double diffusivity(const Config& config) {
  const MaterialConfig material = material_of(config);
  if (material.diffusivity) return *material.diffusivity;
  if (material.conductivity && material.density && material.heat_capacity)
    return *material.conductivity / (*material.density * *material.heat_capacity);
  return 1;
}

double conductivity(const Config& config) {
  return material_of(config).conductivity.value_or(1);
}

double volumetric_heat_capacity(const Config& config) {
  const MaterialConfig material = material_of(config);
  if (material.density && material.heat_capacity) return *material.density * *material.heat_capacity;
  return conductivity(config) / diffusivity(config);
}

bool knows_conductivity(const Config& config) {
  return material_of(config).conductivity.has_value();
}

bool knows_heat_capacity(const Config& config) {
  const MaterialConfig& material = config.material;
  if (!config.materials.empty())
    return std::ranges::all_of(config.materials, [](const NamedMaterial& each) {
      return each.is_void() || (each.density && each.heat_capacity);
    });
  return (material.density && material.heat_capacity) || (material.conductivity && material.diffusivity);
}

double lowest_temperature(const Config& config) {
  return config.verify.solution == ExactSolution::none ? 0 : -std::numeric_limits<double>::infinity();
}

bool mean_is_free(const Config& config) {
  const auto fixes_it = [](const LawConfig& law) {
    const Expression& H = law.coefficient;
    return law.kind == BoundaryKind::temperature ||
           (law.kind == BoundaryKind::convection && !(H.is_constant() && H(0, 0, 0) == 0));
  };
  return config.problem.kind == ProblemKind::steady && !config.problem.implicit_dt && !has_void_law(config) &&
         std::ranges::none_of(config.boundaries, [&](auto& each) { return any_law(each, fixes_it); });
}

int ghost_layers(const Config& config) {
  return config.solver.halo_width.value_or(config.solver.ghosts);
}

bool is_rkl(const Config& config) {
  return config.problem.kind == ProblemKind::transient && config.problem.method == MethodName::rkl;
}

bool is_implicit(const Config& config) {
  return config.problem.kind == ProblemKind::transient && config.problem.method == MethodName::implicit;
}

bool takes_long_steps(const Config& config) {
  return is_rkl(config) || is_implicit(config);
}

namespace {

// What a cell has at one of its faces.
struct Side {
  double conductance;  // as face_conductance(); at a boundary that to its own class
  std::optional<Face> boundary = {};
};

// The classes of the cells of a block, without numbers of materials that occur twice.
std::vector<std::size_t> classes_of(const MaterialClasses& all, const MaterialBlocks& blocks, Int3 block) {
  std::array<std::size_t, 3> size;
  for (int a = 0; a < 3; ++a)
    size[static_cast<std::size_t>(a)] = all.size_number(a, blocks.first(a, block[a]));
  std::vector<std::size_t> found;
  for (const std::uint8_t material : blocks.materials(block))
    if (const std::size_t own = all.of_sizes(material, size); std::ranges::find(found, own) == found.end())
      found.push_back(own);
  return found;
}

// The largest sum(low, high) that a cell of class `own` of a block may have for its two sides along an axis.
template <class Sum>
double largest_sum(const Config& config, const MaterialClasses& all, const MaterialBlocks& blocks, int axis,
                   Int3 block, std::size_t own, const Sum& sum) {
  const auto best = [&](Int3 beyond) {
    double conductance = 0;
    for (const std::size_t other : classes_of(all, blocks, beyond))
      conductance = std::max(conductance, face_conductance(config, all, axis, own, other));
    return Side{conductance};
  };
  const Index last = blocks.count(axis) - 1, at = block[axis];
  const auto beyond = [&](bool is_high) {
    const Face f = face(axis, is_high);
    Int3 next = block;
    next[axis] += is_high ? 1 : -1;
    if (at != (is_high ? last : 0)) return best(next);
    next[axis] = last - at;
    if (boundary_of(config, f).kind == BoundaryKind::periodic) return best(next);
    return Side{face_conductance(config, all, axis, own, own), f};
  };
  const Side low = beyond(false), high = beyond(true), within = best(block);
  const Index cells = blocks.cells(axis, at);
  if (cells == 1) return sum(low, high);
  const double at_ends = std::max(sum(low, within), sum(within, high));
  return cells > 2 ? std::max(at_ends, sum(within, within)) : at_ends;
}

// s. The least heat of a cell over the conductances of its faces. sum(axis, class, own, low, high): what the
// two sides count, where `own` is the conductance of a face to its own class.
template <class Sum>
double least_time(const Config& config, const Sum& sum) {
  const MaterialClasses all = material_classes(config);
  const MaterialBlocks blocks(config);
  double least = std::numeric_limits<double>::infinity();
  const auto add = [&](Int3 block, std::size_t i) {
    const MaterialClass& own = all.classes[i];
    double conductances = 0;
    for (int axis = 0; axis < 3; ++axis)
      conductances +=
          largest_sum(config, all, blocks, axis, block, i, [&](const Side& low, const Side& high) {
            return sum(axis, own, face_conductance(config, all, axis, i, i), low, high);
          });
    if (conductances > 0)
      least = std::min(least, own.heat_capacity * volume_ratio(config, own) / conductances);
  };
  for (Index z = 0; z < blocks.count(2); ++z)
    for (Index y = 0; y < blocks.count(1); ++y)
      for (Index x = 0; x < blocks.count(0); ++x)
        for (const std::size_t i : classes_of(all, blocks, {x, y, z}))
          if (!all.classes[i].is_void()) add({x, y, z}, i);
  return least;
}

}  // namespace

double stable_dt(const Config& config) {
  if (has_several_materials(config)) {
    const double least =
        least_time(config, [](int, const MaterialClass&, double, const Side& low, const Side& high) {
          return low.conductance + high.conductance;
        });
    if (std::isfinite(least)) return least;
    return least_time(
        config,  // no two cells exchange heat, and a step must have a length
        [](int, const MaterialClass&, double of_own, const Side&, const Side&) { return 2 * of_own; });
  }
  double sum = 0;
  for (const double h : spacing(config)) sum += 1 / (h * h);
  return 1 / (2 * diffusivity(config) * sum);
}

BoundaryLaw boundary_law(const Config& config, Face f) {
  return boundary_law(config, f, conductivity(config));
}

BoundaryLaw boundary_law(const Config& config, Face f, double k) {
  const BoundaryConfig& boundary = boundary_of(config, f);
  if (!is_plain(boundary)) return strongest_law(config, f, k);
  const double h = size_at(config, f);
  const double H = boundary.coefficient(0, 0, 0);
  switch (boundary.kind) {
    case BoundaryKind::temperature:
      return {-1, 2};
    case BoundaryKind::flux:
      return {1, h / k};
    case BoundaryKind::convection:
      return {(2 * k / h - H) / (2 * k / h + H), 2 * H / (2 * k / h + H)};
    case BoundaryKind::insulated:
    case BoundaryKind::periodic:
      break;
  }
  return {1, 0};
}

// The largest sum over a cell's two faces of (1 - a_f), which is 2 away from boundaries; 0 of one cell that
// is periodic.
static double sides_of_axis(const Config& config, int axis) {
  const Face low = face(axis, false), high = face(axis, true);
  const Index n = config.grid.cells[axis];
  if (boundary_of(config, low).kind == BoundaryKind::periodic) return n == 1 ? 0 : 2;
  const double at_low = 1 - boundary_law(config, low).a, at_high = 1 - boundary_law(config, high).a;
  if (n == 1) return at_low + at_high;
  const double sides = 1 + std::max(at_low, at_high);
  return n > 2 ? std::max(sides, 2.0) : sides;
}

double monotone_dt(const Config& config) {
  if (has_several_materials(config)) {
    const auto sum = [&](int axis, const MaterialClass& own, double of_own, const Side& low,
                         const Side& high) {
      const bool is_alone = config.grid.cells[axis] == 1 && !low.boundary;  // between itself
      const auto share = [&](const Side& side) {
        return side.boundary ? 1 - boundary_law(config, *side.boundary, own.conductivity[axis]).a
                             : side.conductance / of_own;
      };
      return is_alone ? 0 : of_own * (share(low) + share(high));
    };
    return least_time(config, sum);
  }
  double largest = 0;  // 1/m^2
  const Vector3 h = spacing(config);
  for (int axis = 0; axis < 3; ++axis) largest += sides_of_axis(config, axis) / (h[axis] * h[axis]);
  return largest > 0 ? 1 / (diffusivity(config) * largest) : std::numeric_limits<double>::infinity();
}

namespace {

// The largest time of which `a` and `b` are whole multiples, but for rounding; 0 where there is none.
double common_measure(double a, double b) {
  constexpr double rounding = 1e-9;
  const double smallest = rounding * std::max(a, b);
  while (b > smallest) {
    const double rest = std::abs(std::remainder(a, b));
    a = std::exchange(b, rest);
  }
  return a > 1e3 * smallest ? a : 0;
}

// Of the outputs that recur by time, and of the end: what whole steps should divide.
double common_measure(const Config& config) {
  const ProblemConfig& problem = config.problem;
  double measure = problem.end_time.value_or(0);
  for (const auto& [key, times] : output_times(config)) {
    if (!times.every_time || (problem.end_time && *times.every_time > *problem.end_time)) continue;
    measure = measure > 0 ? common_measure(measure, *times.every_time) : *times.every_time;
    if (measure == 0) return 0;
  }
  return measure;
}

// Round-off in time / dt must not cost a step: 1 s in steps of 0.1 s are 10 steps, not 11.
double whole_steps(double time, double dt) {
  const double wanted = time / dt, nearest = std::round(wanted);
  return std::abs(wanted - nearest) <= 1e-9 * nearest ? nearest : std::ceil(wanted);
}

// Accuracy bounds long steps before stability does: no less than so many to the end.
double longest_step(const Config& config) {
  constexpr double least_steps = 32;
  const ProblemConfig& problem = config.problem;
  const double limit = is_rkl(config) ? problem.dt_fraction * rkl_limit(config, most_rkl_stages(config) / 2)
                                      : std::numeric_limits<double>::infinity();
  return problem.end_time && *problem.end_time > 0 ? std::min(limit, *problem.end_time / least_steps) : limit;
}

// A step that divides the times of all outputs. Of euler, which has many steps between two outputs, where
// that takes at most a quarter more of them.
double automatic_dt(const Config& config) {
  constexpr double most_more = 1.25;
  const bool is_long = takes_long_steps(config);
  const double dt = is_long ? longest_step(config)
                            : std::min(config.problem.dt_fraction * stable_dt(config), monotone_dt(config));
  const double measure = common_measure(config);
  if (!(measure > 0)) return dt;
  const double fitted = measure / whole_steps(measure, dt);
  return is_long || dt <= most_more * fitted ? fitted : dt;
}

}  // namespace

double rkl_limit(const Config& config, int stages) {
  constexpr double share = 0.95;
  return share * 0.5 * stages * (stages + 1) * stable_dt(config);
}

int rkl_stages(const Config& config, double dt) {
  constexpr int of_a_launch = 4;
  int stages = of_a_launch;
  while (rkl_limit(config, stages) < dt) stages += of_a_launch;
  return stages;
}

int most_rkl_stages(const Config& config) {
  return config.precision == Precision::fp32 ? 16 : 64;
}

TimePlan time_plan(const Config& config) {
  const ProblemConfig& problem = config.problem;
  const double dt = problem.dt ? *problem.dt : automatic_dt(config);
  if (problem.steps) return {dt, *problem.steps};
  const double steps = whole_steps(problem.end_time.value(), dt);
  constexpr double most_steps = 9007199254740992.0;  // 2^53: beyond it a double no longer counts
  if (!(steps <= most_steps))
    throw deck_error(config, "problem.end_time",
                     "end_time {} s in steps of {} s would take {} steps (at most {} can be counted); choose "
                     "a smaller end_time",
                     *problem.end_time, dt, steps, most_steps);
  return {steps > 0 ? *problem.end_time / steps : dt, static_cast<std::int64_t>(steps)};
}

std::vector<double> jump_times(const Config& config) {
  std::vector<double> times;
  const auto add = [&](const Expression& value) {
    for (const double time : value.jumps()) times.push_back(time);
  };
  visit_all_laws(config, [&](const auto&, const auto& law) {
    add(law.value);
    add(law.coefficient);
  });
  for (const RegionValue& source : config.sources) {
    if (source.power) add(*source.power);
    add(source.formula);
    for (const auto* place : {&source.from_at, &source.to_at, &source.centre_at})
      std::ranges::for_each(*place, add);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());  // clang 14 has no ranges::unique
  return times;
}

double euler_dt(const Config& config) {
  return takes_long_steps(config) ? config.problem.dt_fraction * stable_dt(config) : time_plan(config).dt;
}

}  // namespace isotherm
