// Quantities that follow from a deck, in the one form that every later folder uses.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/config.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "core/text.hpp"

namespace isotherm {

std::string Config::at(const std::string& key) const {
  auto place = find_around(places, key);
  if (place == places.end()) place = places.find("");  // the deck
  return (place == places.end() ? name : place->second.text(file)) + ": " + deck_key(key, sources_of_deck);
}

std::string deck_key(const std::string& key, const SourcesOfDeck& sources) {
  constexpr std::string_view list = "sources.";
  if (sources.empty() || !key.starts_with(list)) return key;
  const auto end = std::min(key.find('.', list.size()), key.size());
  const auto number = read_number<std::int64_t>(key.substr(list.size(), end - list.size()));
  if (!number || *number < 0 || *number >= std::ssize(sources)) return key;
  const auto& [entry, block] = sources[*number];
  const std::string of_deck = fmt::format("{}{}{}", list, entry, key.substr(end));
  return block.empty() ? of_deck : fmt::format("{} (block {})", of_deck, block);
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

// The material of the body, or of its first class.
static MaterialConfig material_of(const Config& config) {
  if (config.materials.empty()) return config.material;
  const NamedMaterial& first = material_of_number(config, used_materials(config).front());
  return {first.conductivity.value_or(Vector3{1, 1, 1})[0], first.density, first.heat_capacity, {}, {}};
}

double diffusivity(const Config& config) {
  const MaterialConfig material = material_of(config);
  if (material.diffusivity) return *material.diffusivity;
  if (material.conductivity && material.density && material.heat_capacity)
    return *material.conductivity / (*material.density * *material.heat_capacity);
  return 1;
}

double conductivity(const Config& config) { return material_of(config).conductivity.value_or(1); }

double volumetric_heat_capacity(const Config& config) {
  const MaterialConfig material = material_of(config);
  if (material.density && material.heat_capacity) return *material.density * *material.heat_capacity;
  return conductivity(config) / diffusivity(config);
}

bool has_conductivity(const Config& config) { return material_of(config).conductivity.has_value(); }

bool has_heat_capacity(const Config& config) {
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
    return law.kind == BoundaryKind::temperature ||
           (law.kind == BoundaryKind::convection && !law.coefficient.is_zero());
  };
  return config.problem.kind == ProblemKind::steady && !config.problem.implicit_dt && !has_void_law(config) &&
         !any_law(config, fixes_it);
}

int ghost_layers(const Config& config) { return config.solver.halo_width.value_or(config.solver.ghosts); }

bool is_rkl(const Config& config) {
  return config.problem.kind == ProblemKind::transient && config.problem.method == MethodName::rkl;
}

bool is_implicit(const Config& config) {
  return config.problem.kind == ProblemKind::transient && config.problem.method == MethodName::implicit;
}

bool takes_long_steps(const Config& config) { return is_rkl(config) || is_implicit(config); }

double stable_dt(const Config& config) {
  if (has_several_materials(config)) {
    const StepLimits& limits = config.step_limits.value();
    return std::isfinite(limits.stable) ? limits.stable : limits.alone;
  }
  double sum = 0;
  for (const double h : spacing(config)) sum += 1 / (h * h);
  return 1 / (2 * diffusivity(config) * sum);
}

// The largest sum over a cell's two faces along the axis of (1 - a_f), which is 2 away from boundaries; 0 for
// a single periodic cell.
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
  if (has_several_materials(config)) return config.step_limits.value().monotone;
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

// The largest time of which end_time and all output intervals are whole multiples: steps should divide it.
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

// Accuracy limits long steps more than stability does: a run has at least `least_steps` of them. Steps of
// implicit are a part of end_time; without an end_time above 0 they have the stable length.
double longest_step(const Config& config) {
  constexpr double least_steps = 32;
  const double end = config.problem.end_time.value_or(0);
  if (is_implicit(config)) return end > 0 ? end / least_steps : stable_dt(config);
  const double limit = config.problem.dt_fraction * rkl_limit(config, most_rkl_stages(config) / 2);
  return end > 0 ? std::min(limit, end / least_steps) : limit;
}

// A step that divides the times of all outputs. Euler, which has many steps between two outputs, takes such a
// step only where it needs at most a quarter more steps.
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

int most_rkl_stages(const Config& config) { return config.precision == Precision::fp32 ? 16 : 64; }

TimePlan time_plan(const Config& config) {
  const ProblemConfig& problem = config.problem;
  const double dt = problem.dt ? *problem.dt : automatic_dt(config);
  if (problem.steps) return {dt, *problem.steps};
  const double steps = whole_steps(problem.end_time.value(), dt);
  if (!(steps <= countable_steps))
    throw deck_error(config, "problem.end_time",
                     "end_time {} s in steps of {} s would take {} steps (at most {} can be counted); choose "
                     "a smaller end_time",
                     *problem.end_time, dt, steps, countable_steps);
  return {steps > 0 ? *problem.end_time / steps : dt, static_cast<std::int64_t>(steps)};
}

std::vector<double> step_starts(const Config& config, std::int64_t count) {
  const TimePlan plan = time_plan(config);
  std::vector<double> starts;
  for (std::int64_t i = 0; i < count; ++i)
    starts.push_back(plan.dt * static_cast<double>(plan.steps * i / count));
  return starts;
}

namespace {

// Calls visit(key, value) for all values of boundaries and sources that may depend on time.
template <class Visit>
void visit_values_of_time(const Config& config, const Visit& visit) {
  visit_all_laws(config, [&](const std::string& key, const auto& law) {
    visit(key, law.value);
    visit(key, law.coefficient);
  });
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const RegionValue& source = config.sources[i];
    const std::string key = fmt::format("sources.{}", i);
    if (source.power) visit(key, *source.power);
    visit(key, source.formula);
    for (const auto* place : {&source.from_at, &source.to_at, &source.centre_at})
      for (const Expression& along : *place) visit(key, along);
  }
}

// Warns of the first interval of an output by which the long steps of dt: auto become much shorter than
// accuracy and the number of outputs require.
void warn_of_short_steps(const Config& config, Problems& problems) {
  constexpr double much = 4;
  if (!takes_long_steps(config) || config.problem.dt || !config.problem.end_time) return;
  const double end = *config.problem.end_time, longest = longest_step(config);
  double measure = end, needed = longest;
  std::string found;
  for (const auto& [key, times] : output_times(config)) {
    if (!times.every_time || *times.every_time > end) continue;
    measure = common_measure(measure, *times.every_time);
    needed = std::min(needed, *times.every_time);
    if (found.empty() && much * measure < needed) found = key + ".every_time";
  }
  const auto [dt, steps] = time_plan(config);
  if (found.empty() || much * dt >= needed) return;
  problems.warn(found,
                "dt: auto takes {} steps of {:.4g} s, as steps end at end_time and at the times of all "
                "outputs; write intervals that divide end_time and each other, or problem.dt: {:.4g}, with "
                "which outputs wait for the end of a step",
                steps, dt, longest);
}

}  // namespace

std::vector<double> jump_times(const Config& config) {
  std::vector<double> times;
  visit_values_of_time(config, [&](const std::string&, const Expression& value) {
    for (const double time : value.jumps()) times.push_back(time);
  });
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());  // clang 14 has no ranges::unique
  return times;
}

// W s^(1/2)/(m^2 K), of the body.
static double least_effusivity(const Config& config) {
  double least = std::numeric_limits<double>::infinity();
  for (const MaterialClass& each : material_classes(config).classes)
    for (const double k : each.conductivity)
      if (!each.is_void()) least = std::min(least, std::sqrt(k * each.heat_capacity));
  return least;
}

std::vector<std::string> time_warnings(const Config& config) {
  if (config.problem.kind != ProblemKind::transient) return {};
  Problems problems(config);
  const auto [dt, steps] = time_plan(config);
  const double end = dt * static_cast<double>(steps);
  const double least_dt = end / countable_steps;  // that a deck may have
  visit_values_of_time(config, [&, dt = dt](const std::string& key, const Expression& value) {
    const double shortest = value.shortest_change(end);
    if (problems.warnings().empty() && shortest < dt)
      problems.warn(key,
                    "a linear table changes within {:.4g} s, which steps of {:.4g} s may miss or count more "
                    "than once; use {}interpolation: step, at whose jumps steps end",
                    shortest, dt,
                    shortest < least_dt ? "" : fmt::format("a problem.dt of at most {:.4g}, or ", shortest));
  });
  warn_of_short_steps(config, problems);
  // Convection holds the temperature too if it resists less than the depth that heat reaches in a step.
  const double strong = is_rkl(config) ? least_effusivity(config) / std::sqrt(dt) : 0;
  const auto moves = [&](const LawConfig& law) {
    return law.has_temperature() && law.value.uses('t') &&
           (law.kind == BoundaryKind::temperature || !law.coefficient.is_constant() ||
            law.coefficient(0, 0, 0, 0) > strong);
  };
  for (const Face f : all_faces)
    if (is_rkl(config) && any_law(boundary_of(config, f), moves))
      problems.warn(
          boundary_key(f),
          "rkl keeps this temperature at that of the middle of a step, so errors near this face fall "
          "only as dt does, and the heat through it is rough; implicit is of second order here");
  return problems.warnings();
}

double euler_dt(const Config& config) {
  return takes_long_steps(config) ? config.problem.dt_fraction * stable_dt(config) : time_plan(config).dt;
}

}  // namespace isotherm
