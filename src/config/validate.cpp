// Checks of keys against each other. They are arithmetic only: no device, no rank count, no file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/deck.hpp"
#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {

namespace {

bool is_transient(const Config& config) { return config.problem.kind == ProblemKind::transient; }

std::vector<std::pair<std::string, Expression>> given_temperatures(const Config& config) {
  std::vector<std::pair<std::string, Expression>> all;
  for (const Face f : all_faces)
    for (const PlacedLaw& law : laws_of(config, f))
      if (law.has_temperature()) all.emplace_back(law.value_key(), law.value);
  for (std::size_t i = 0; i < config.initial.size(); ++i) {
    const RegionValue& entry = config.initial[i];
    if (entry.mode == RegionMode::add || entry.shape == Shape::gaussian) continue;  // a difference
    if (entry.value) all.emplace_back(fmt::format("initial.{}.value", i), *entry.value);
    if (entry.shape == Shape::formula) all.emplace_back(fmt::format("initial.{}.formula", i), entry.formula);
  }
  if (config.problem.mean_temperature)
    all.emplace_back("problem.mean_temperature", *config.problem.mean_temperature);
  return all;
}

void check_method(Config& config, Problems& problems) {
  MethodName& method = config.problem.method;
  const bool transient = is_transient(config);
  const auto fits = [&] { return (method >= MethodName::euler) == transient; };
  if (!problems.given("problem.method") && !fits())
    method = transient ? MethodName::euler : MethodName::multigrid;
  if (problems.given("problem.max_cycles") && method == MethodName::jacobi)
    problems.add("problem.max_cycles", "method jacobi has no cycles; write max_sweeps");
  if (!problems.sound({"problem"}) || fits()) return;
  const std::span all(words_of<MethodName>);
  const auto steady = static_cast<std::size_t>(MethodName::euler);  // the number of steady methods
  problems.add("problem.method", "{} is for {} problems; use one of {}", word(method),
               transient ? "steady" : "transient",
               fmt::join(transient ? all.subspan(steady) : all.first(steady), ", "));
}

void check_acceleration(Config& config, Problems& problems) {
  const MethodName method = config.problem.method;
  const bool solves = method == MethodName::multigrid || method == MethodName::implicit;
  if (solves && !body_is_sound(problems)) return;
  const bool can_accelerate = solves && has_several_materials(config);
  if (!problems.given("problem.accelerate"))
    config.problem.accelerate = can_accelerate ? Acceleration::cg : Acceleration::none;
  else if (config.problem.accelerate == Acceleration::cg && !can_accelerate && problems.sound({"problem"}))
    problems.add("problem.accelerate",
                 "cg is for multigrid and implicit of several materials, and {} of this body does not need "
                 "it; write none",
                 word(method));
}

void check_euler_step(const Config& config, double dt, Problems& problems) {
  const double limit = stable_dt(config), monotone = monotone_dt(config);
  if (dt > limit && !config.problem.allow_unstable)
    problems.add("problem.dt", "{} s is above the stability limit of {} s, {}; write at most that, or auto",
                 shortest(dt), shortest(limit),
                 has_several_materials(config)
                     ? "the least of all cells: rho c over the conductances of its faces"
                     : "1/(2 alpha (1/hx^2 + 1/hy^2 + 1/hz^2))");
  if (dt > monotone && dt <= limit)
    problems.warn("problem.dt",
                  "{} s is stable (the limit is {} s), but above {} s temperatures at the boundaries can "
                  "pass beyond their neighbours' and oscillate; write at most that, or auto",
                  shortest(dt), shortest(limit), shortest(monotone));
}

// Intervals of outputs that are longer than the run.
void check_intervals(const Config& config, Problems& problems) {
  const TimePlan plan = time_plan(config);
  const auto steps = static_cast<double>(plan.steps), end = config.problem.end_time.value_or(plan.dt * steps);
  const auto check = [&](const std::string& key, const auto& interval, double last, const char* unit) {
    if (interval && static_cast<double>(*interval) > last * (1 + 1e-9))
      problems.warn(key, "{} is more than the {} {} of the run; at most the first and the last are written",
                    shortest(static_cast<double>(*interval)), shortest(last), unit);
  };
  auto all = output_times(config);
  all.emplace_back("output.checkpoint", config.output.checkpoint);
  for (const auto& [key, times] : all) {
    check(key + ".every_steps", times.every_steps, steps, "steps");
    check(key + ".every_time", times.every_time, end, "s");
  }
  check("output.diagnostics", config.output.diagnostics, steps, "steps");
}

// Checks the time step against its limits, and the intervals that count these steps.
void check_step(const Config& config, Problems& problems) {
  const ProblemConfig& p = config.problem;
  if (const int most = most_rkl_stages(config); is_rkl(config) && p.dt > rkl_limit(config, most))
    problems.add("problem.dt",
                 "{} s would take more than {} stages, in which {} values lose digits to rounding; write at "
                 "most {}, or auto",
                 shortest(*p.dt), most, word(config.precision), shortest(rkl_limit(config, most)));
  if (takes_long_steps(config)) return check_intervals(config, problems);
  if (p.dt) check_euler_step(config, *p.dt, problems);
  constexpr double most_steps = 1e15;
  const double dt = p.dt ? *p.dt : std::min(p.dt_fraction * stable_dt(config), monotone_dt(config));
  if (p.end_time && *p.end_time / dt > most_steps)
    problems.add("problem.end_time",
                 "{} s in steps of {} s are more than 1e15 steps; choose a smaller end_time",
                 shortest(*p.end_time), shortest(dt));
  else
    check_intervals(config, problems);
}

void check_time_step(const Config& config, Problems& problems) {
  const ProblemConfig& p = config.problem;
  if (!body_is_sound(problems) || !problems.sound({"problem"}) || !is_transient(config)) return;
  if (is_implicit(config) && !p.dt && !p.end_time)  // only end_time can determine the length of a step
    problems.add("problem.dt",
                 "auto needs an end_time, of which implicit takes a part; write dt, or end_time "
                 "instead of steps");
  if (!has_several_materials(config)) check_step(config, problems);  // else set_step_limits() does that
}

void check_tolerance(Config& config, Problems& problems) {
  ProblemConfig& p = config.problem;
  if (!is_transient(config) && !p.tolerance) p.tolerance = ProblemConfig::steady_tolerance;
  if (problems.sound({"problem"}) && !is_transient(config) && !p.error &&
      p.criterion == Criterion::relative && p.tolerance >= 1)
    problems.add("problem.tolerance",
                 "{} of the first residual is reached before the first sweep; write less than 1, or "
                 "criterion: absolute",
                 *p.tolerance);
  if (problems.sound({"problem"}) && is_transient(config) && p.tolerance > 0 &&
      (!takes_long_steps(config) || (is_implicit(config) && p.scheme == Scheme::backward_euler)))
    problems.add(
        "problem.tolerance",
        "takes two results of a step to compare, of which {} has one; use method rkl, or implicit with "
        "scheme sdirk2",
        is_implicit(config) ? word(p.scheme) : word(p.method));
  if (!p.error) return;
  p.criterion = Criterion::error;
  p.tolerance = *std::exchange(p.error, std::nullopt);
}

// By default each cycle is checked at its end. After `most_cycles` cycles multigrid has stalled.
void check_cycle(Config& config, Problems& problems) {
  constexpr std::int64_t most_cycles = 100;
  if (takes_long_steps(config) && !problems.given("problem.check_interval"))
    config.problem.check_interval = 1;
  if (is_transient(config)) return;
  if (config.problem.method == MethodName::multigrid && !problems.given("problem.max_sweeps") &&
      !problems.given("problem.max_cycles"))
    config.problem.max_cycles = most_cycles;
  if (config.problem.method != MethodName::jacobi && !problems.given("problem.check_interval"))
    config.problem.check_interval = 1;
  constexpr std::int64_t few_cycles = 10;
  if (config.problem.method == MethodName::multigrid && config.problem.check_interval > few_cycles)
    problems.warn("problem.check_interval",
                  "counts V cycles, of which most problems need fewer than {}; write less, or method: jacobi "
                  "to count sweeps",
                  few_cycles);
  const auto& cycle = config.problem.cycle;
  if (problems.sound({"problem"}) && cycle && *cycle % 16 != 0 && (*cycle & (*cycle - 1)) != 0)
    problems.add("problem.cycle", "{} is no multiple of 16; write 64, 96, 128 or 512, or auto", *cycle);
}

void check_precision(const Config& config, Problems& problems) {
  if (!problems.sound({"problem", "precision"}) || config.precision != Precision::mixed) return;
  if (is_implicit(config) || (!is_transient(config) && config.problem.method == MethodName::multigrid))
    return;
  problems.add("precision",
               "mixed is for the cycles of multigrid and implicit, and the method is {}; use fp64",
               word(config.problem.method));
}

// A problem with an exact solution may be about differences of temperatures.
void check_temperatures(const Config& config, Problems& problems) {
  if (!problems.sound({"grid", "boundaries", "initial", "problem", "verify"})) return;
  if (config.verify.solution != ExactSolution::none) return;
  Vector3 middle = config.grid.origin;
  for (int axis = 0; axis < 3; ++axis) middle[axis] += GridAxis(config, axis).length() / 2;
  const auto all = given_temperatures(config);
  bool are_room = !all.empty();  // all within 60 of 0? Formulas: in the middle of the domain, at the start
  for (const auto& [key, value] : all) {
    const double kelvin = value(middle[0], middle[1], middle[2]);
    double least = value.is_constant() ? kelvin : 0;
    if (value.is_table())
      for (const FormulaStep& step : value.program()->steps)
        if (step.op == FormulaOp::number && step.variable == 1) least = std::min(least, step.number);
    if (least < 0)
      problems.add(key, "{} K is below absolute zero; temperatures are in kelvin, 25 C is 298.15",
                   shortest(least));
    // NaN is reported elsewhere, for the cell where a formula gives it.
    are_room = are_room && std::abs(kelvin) <= 60;
  }
  if (are_room)
    problems.warn(all.front().first,
                  "all temperatures of the deck lie between -60 and 60; kelvin? (25 C is 298.15)");
}

void check_name(const std::string& key, const std::string& name, Problems& problems) {
  constexpr std::size_t longest = 64;
  if (name.size() > longest || name.find_first_not_of(name_letters) != name.npos)
    problems.add(key, "'{}' becomes a part of names; write at most {} letters, digits, '_' and '-'",
                 printable(name), longest);
}

// If an output waits for the field at every check, an asynchronous check gains nothing.
void check_lag(const Config& config, const std::string& key, std::optional<std::int64_t> interval,
               Problems& problems) {
  const ProblemConfig& problem = config.problem;
  if (problem.check == Check::asynchronous && interval && problem.check_interval % *interval == 0)
    problems.warn("problem.check",
                  "asynchronous gains nothing ({} {} waits for the field at every check); write immediate, "
                  "or a check_interval between those sweeps",
                  key, *interval);
}

void check_times(const Config& config, Problems& problems) {
  const OutputConfig& output = config.output;
  if (!problems.sound({"output", "problem.kind"})) return;
  const auto check_time = [&](const std::string& key, const OutputTimes& times) {
    if (times.every_time && !is_transient(config))
      problems.add(key + ".every_time", "a steady problem has no time; use every_steps, in sweeps or cycles");
  };
  check_lag(config, "output.diagnostics", output.diagnostics, problems);
  check_time("output.checkpoint", output.checkpoint);
  for (const auto& [key, times] : output_times(config)) {
    check_time(key, times);
    check_lag(config, key + ".every_steps", times.every_steps, problems);
  }
  if (problems.sound({"verify.order"}) && !config.verify.order.empty() && output.checkpoint.write &&
      output.checkpoint.has_interval())
    problems.add("output.checkpoint",
                 "a series of grids has no checkpoints (verify.order); remove the intervals, or run its "
                 "grids one by one");
}

void check_probes(const Config& config, Problems& problems) {
  std::set<std::string> names;
  const std::vector<ProbePoint>& points = config.output.probes.points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string key = fmt::format("output.probes.points.{}", i);
    const std::string& name = points[i].name;
    check_name(key + ".name", name, problems);
    if (!names.insert(name).second)
      problems.add(key, "a probe before it is called '{}' too; give one another name", printable(name));
    for (int axis = 0; axis < 3; ++axis)
      if (const std::string problem = beyond_box(config, axis, points[i].at[axis]); !problem.empty())
        problems.add(key + ".at", problem);
  }
}

void check_field_outputs(const Config& config, Problems& problems) {
  const OutputConfig& output = config.output;
  if (!problems.sound({"grid", "problem.kind", "output", "precision"})) return;
  for (std::size_t i = 0; i < output.slices.size(); ++i)
    check_name(fmt::format("output.slices.{}.name", i), output.slices[i].name, problems);
  check_probes(config, problems);
  field_parts(config, &problems);
}

// The changes of the deck after which a run writes no results, as a transport that moves no data requires.
std::vector<std::string> results_of(const Config& config) {
  std::vector<std::string> results;
  const OutputConfig& output = config.output;
  if (!is_transient(config)) results.push_back("problem.kind transient");
  if (output.snapshots) results.push_back("output.snapshots false");
  if (!output.slices.empty()) results.push_back("no output.slices");
  if (output.region.from || output.region.first_cell) results.push_back("no output.region");
  if (output.coarse.factor) results.push_back("no output.coarse");
  if (!output.probes.points.empty()) results.push_back("no output.probes");
  if (output.history) results.push_back("output.history false");
  if (output.checkpoint.has_interval()) results.push_back("no output.checkpoint");
  if (config.verify.solution != ExactSolution::none) results.push_back("no verify");
  return results;
}

void check_transport(const Config& config, const RegistryNames& registry, Problems& problems) {
  const std::string& chosen = config.parallel.transport;
  if (chosen == "auto" || !problems.sound({"parallel.transport"})) return;
  std::vector<std::string_view> known = {"auto"};
  for (const RegistryNames::Transport& entry : registry.transports) known.push_back(entry.name);
  const auto entry = std::ranges::find(registry.transports, chosen, &RegistryNames::Transport::name);
  if (entry == registry.transports.end())
    return problems.add_unknown_word("parallel.transport", chosen, known);
  if (entry->moves_data || !problems.sound({"problem.kind", "output", "verify.solution"})) return;
  const std::vector<std::string> results = results_of(config);
  if (!results.empty())
    problems.add("parallel.transport",
                 "'{}' moves nothing, so that every result is wrong; use another, or leave no results: {}",
                 chosen, fmt::join(results, ", "));
  problems.warn("parallel.transport",
                "'{}' moves nothing: the field is meaningless, and only times are worth anything", chosen);
}

// For a deck that leaves out cells of axes without zones.
void report_missing_cells(const Int3& n, Problems& problems) {
  if (!problems.sound({"grid.spacing"})) return;
  if (!problems.given("grid.cells"))
    return problems.add("grid.cells",
                        "is missing; add cells: [64, 64, 64], or zones of spacing along each axis");
  for (int axis = 0; axis < 3; ++axis)
    if (n[axis] == 0)
      problems.add(fmt::format("grid.cells.{}", axis),
                   "has no value; write a whole number, or zones of spacing");
}

void check_cells(const Config& config, Problems& problems) {
  if (!problems.sound({"grid.cells"})) return;
  const Int3 n = config.grid.cells;
  if (std::min({n.x, n.y, n.z}) == 0) return report_missing_cells(n, problems);
  if (n.y > std::numeric_limits<Index>::max() / n.x || n.z > std::numeric_limits<Index>::max() / (n.x * n.y))
    return problems.add("grid.cells",
                        "{} x {} x {} cells are too many to count (more than 2^63 - 1); use fewer", n.x, n.y,
                        n.z);
  constexpr Index most = std::numeric_limits<int>::max();  // cells along an axis of a coarser grid are ints
  if (const Index longest = std::max({n.x, n.y, n.z}); longest > most)
    problems.add("grid.cells", "{} cells along an axis are more than {}; use fewer", longest, most);
}

// Zones and cells are read separately, so their counts may differ.
void check_zones(const Config& config, Problems& problems) {
  if (!problems.sound({"grid"})) return;
  for (int axis = 0; axis < 3; ++axis) {
    if (!config.grid.is_graded(axis)) continue;
    std::int64_t sum = 0;
    for (const SpacingZone& zone : config.grid.zones[axis]) sum += zone.cells;
    if (sum != config.grid.cells[axis])
      problems.add("grid.cells",
                   "{} cells along {} are not the {} of the zones of spacing; write {}, or null",
                   config.grid.cells[axis], "xyz"[axis], sum, sum);
  }
}

void check_periodic_pairs(const Config& config, Problems& problems) {
  for (const Face f : all_faces) {
    const Face other = opposite(f);
    if (!problems.sound({boundary_key(f) + ".kind", boundary_key(other) + ".kind"})) continue;
    if (boundary_of(config, f).kind == BoundaryKind::periodic &&
        boundary_of(config, other).kind != BoundaryKind::periodic)
      problems.add(boundary_key(f),
                   "is periodic but {} is not (each is the other's neighbour); make both periodic or none",
                   face_names[static_cast<int>(other)]);
  }
}

// diffusivity = conductivity / (density heat_capacity): enough must be given.
void check_material(const Config& config, Problems& problems) {
  if (!problems.sound({"material", "materials", "problem.kind", "boundaries"})) return;
  if (!config.materials.empty()) return;
  const MaterialConfig& m = config.material;
  if (is_transient(config) && !m.diffusivity && !(m.conductivity && m.density))
    problems.add("material",
                 "a transient problem needs the diffusivity; add diffusivity, or conductivity, density and "
                 "heat_capacity");
  else if (is_transient(config) && !config.sources.empty() && !m.conductivity)
    problems.add("material",
                 "sources in a transient problem need rho c; add conductivity to diffusivity, or give "
                 "conductivity, density and heat_capacity");
  if (m.conductivity) return;
  const auto needs_it = std::ranges::find_if(config.boundaries, [](const BoundaryConfig& each) {
    return any_law(each, [](const LawConfig& law) {
      return law.kind == BoundaryKind::flux || law.kind == BoundaryKind::convection;
    });
  });
  if (needs_it != config.boundaries.end())
    problems.add("material.conductivity",
                 "is missing ({} is a flux or convection boundary); add conductivity",
                 face_names[needs_it - config.boundaries.begin()]);
  else if (!is_transient(config) && !config.sources.empty())
    problems.add("material.conductivity",
                 "is missing (a steady problem with sources needs it); add conductivity");
}

void check_steady(const Config& config, Problems& problems) {
  if (!problems.sound({"problem", "boundaries"}) || is_transient(config)) return;
  visit_all_laws(config, [&](const std::string& key, const LawConfig& law) {
    if (law.value.uses('t') || law.coefficient.uses('t'))
      problems.add(key, "the formula uses t, but a steady problem has no time; leave t out");
  });
  const bool fixed = !mean_is_free(config);
  if (!fixed && !config.problem.mean_temperature)
    problems.add("problem",
                 "a steady problem with no temperature or convection boundary has no unique solution (any "
                 "constant may be added); give a boundary a temperature, or set problem.mean_temperature");
  if (fixed && config.problem.mean_temperature)
    problems.add("problem.mean_temperature", "the boundaries fix the temperature already; remove it");
  if (config.problem.weight == 1)
    problems.warn("problem.weight", "with 1 a checkerboard error never decays; 0.99 costs 1 % more sweeps");
}

void check_region(const Config& config, const std::vector<RegionValue>& entries, const std::string& key,
                  Problems& problems) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const RegionValue& region_value = entries[i];
    const std::string entry = fmt::format("{}.{}", key, i);
    if (!problems.sound({entry})) continue;
    for (int axis = 0; region_value.shape == Shape::box && axis < 3; ++axis)
      check_corners(entry, axis, region_value.from[axis], region_value.to[axis], problems);
    constexpr Shape fixed[] = {Shape::sphere, Shape::cylinder, Shape::dataset, Shape::exact};
    if (region_value.uses_time() && std::ranges::count(fixed, region_value.shape) > 0)
      problems.add(entry + ".shape",
                   "a {} cannot change in time; use gaussian, double_ellipsoid, box or formula",
                   word(region_value.shape));
    if (region_value.varies() && region_value.mode == RegionMode::set)
      problems.add(entry + ".mode", "set does not apply to what changes in time, which adds; remove it");
    if (region_value.uses_time() && problems.sound({"problem.kind"}) && !is_transient(config))
      problems.add(entry, "uses t, but a steady problem has no time; leave t out");
    if (region_value.shape == Shape::exact && problems.sound({"verify.solution"}) &&
        config.verify.solution == ExactSolution::none)
      problems.add(entry + ".shape", "exact needs a solution; add verify.solution, or use another shape");
  }
}

void check_verify(const Config& config, Problems& problems) {
  const VerifyConfig& verify = config.verify;
  if (problems.sound({"verify.order"}) && problems.given("verify.order")) {
    if (verify.order.size() < 3)
      problems.add("verify.order", "has {} entries (an order needs a trend); write at least three",
                   verify.order.size());
    else if (!std::is_sorted(verify.order.begin(), verify.order.end(), std::less_equal<>{}))
      problems.add("verify.order", "does not ascend; write each number of cells larger than the one before");
    else if (is_transient(config) && config.problem.steps)
      problems.add("verify.order",
                   "with problem.steps its grids end at different times; write problem.end_time");
  }
  if (!problems.sound({"verify.solution", "problem.kind"})) return;
  const bool has_modes =
      verify.solution == ExactSolution::decaying_mode || verify.solution == ExactSolution::manufactured;
  if (has_modes && problems.sound({"verify.modes", "grid", "boundaries"})) {
    std::array<int, 3> modes = verify.modes;
    for (int axis = 0; axis < 3; ++axis)
      if (config.grid.cells[axis] == 1 && !holds_temperature(boundary_of(config, face(axis, false))) &&
          !holds_temperature(boundary_of(config, face(axis, true))))
        modes[axis] = 0;
    if (modes != verify.modes)
      problems.add("verify.modes", "has a wave along an axis of one cell; write verify.modes: [{}]",
                   fmt::join(modes, ", "));
  }
  if (verify.solution == ExactSolution::decaying_mode && !is_transient(config))
    problems.add("verify.solution",
                 "decaying_mode decays in time, but the problem is steady; use steady_profile, manufactured "
                 "or formula");
  if (problems.sound({"verify.formula"}) && verify.formula && verify.formula->uses('t') &&
      !is_transient(config))
    problems.add("verify.formula", "the formula uses t, but a steady problem has no time; leave t out");
}

void check_diagnostics(const Config& config, Problems& problems) {
  const HistogramConfig& histogram = config.output.histogram;
  if (!problems.sound({"output"})) return;
  if (histogram.bins > 0 && !config.output.diagnostics)
    problems.add("output.histogram.bins",
                 "are a part of the diagnostics, of which there are none; add output.diagnostics");
  if (!histogram.range) return;
  const auto [low, high] = *histogram.range;
  if (histogram.bins == 0)
    problems.add("output.histogram.range", "is that of no bins; add output.histogram.bins, or remove it");
  else if (!(low < high))
    problems.add("output.histogram.range", "{} is not below {}; write the lower end first", shortest(low),
                 shortest(high));
  else if ((high - low) / histogram.bins < 1e-12 * std::max(std::abs(low), std::abs(high)))
    problems.add("output.histogram.range",
                 "{} bins from {} to {} are narrower than the last digits of a temperature; use fewer, or a "
                 "wider range",
                 histogram.bins, shortest(low), shortest(high));
}

// The choice of a key of `solver` from a table of kernels: a name, or auto.
struct KernelChoice {
  const char *key, *noun;
  const std::string& chosen;
  const std::vector<RegistryNames::Kernel>& table;

  // auto, and the names of this build's kernels that run on the device, each once: views into the table.
  std::vector<std::string_view> names_on(DeviceChoice device) const {
    std::vector<std::string_view> names{"auto"};
    for (const RegistryNames::Kernel& each : table) {
      const bool runs = device == DeviceChoice::automatic || each.on_cuda == (device == DeviceChoice::cuda);
      if (each.available && runs && std::ranges::count(names, each.name) == 0) names.push_back(each.name);
    }
    return names;
  }
  bool runs_on(DeviceChoice device) const { return std::ranges::count(names_on(device), chosen) > 0; }
};

// Each kernel must run on parallel.device, and on one device with those before it.
void check_kernels(const Config& config, const RegistryNames& registry, Problems& problems) {
  const SolverConfig& solver = config.solver;
  const KernelChoice choices[] = {{"solver.kernel", "kernel", solver.kernel, registry.kernels},
                                  {"solver.reduction", "reduction", solver.reduction, registry.reductions},
                                  {"solver.histogram", "histogram", solver.histogram, registry.histograms}};
  const DeviceChoice device = config.parallel.device;
  for (const KernelChoice& kernel : choices) {
    if (!problems.sound({kernel.key})) continue;
    const bool is_in_table =
        std::ranges::find(kernel.table, kernel.chosen, &RegistryNames::Kernel::name) != kernel.table.end();
    const auto known = kernel.names_on(DeviceChoice::automatic), usable = kernel.names_on(device);
    const auto share_device = [&](const KernelChoice& before) {
      return !problems.sound({before.key}) ||
             (kernel.runs_on(DeviceChoice::cpu) && before.runs_on(DeviceChoice::cpu)) ||
             (kernel.runs_on(DeviceChoice::cuda) && before.runs_on(DeviceChoice::cuda));
    };
    const auto other = std::find_if_not(choices, &kernel, share_device);
    if (!is_in_table && kernel.chosen != "auto")
      problems.add_unknown_word(kernel.key, kernel.chosen, known);
    else if (!kernel.runs_on(DeviceChoice::automatic))
      problems.add_unavailable(kernel.key, "'{}' is not in this build (it has no CUDA); use one of {}",
                               kernel.chosen, fmt::join(known, ", "));
    else if (!problems.sound({"parallel.device"}))
      continue;
    else if (!kernel.runs_on(device))
      problems.add(kernel.key, "'{}' does not run on parallel.device {}; use auto{}{}", kernel.chosen,
                   device == DeviceChoice::cuda ? "cuda" : "cpu", usable.size() > 1 ? " or one of " : "",
                   fmt::join(usable.begin() + 1, usable.end(), ", "));
    else if (other != &kernel)
      problems.add(kernel.key, "'{}' runs on another device than the {} '{}'; use auto", kernel.chosen,
                   other->noun, other->chosen);
  }
}

void check_solver(const Config& config, Problems& problems) {
  const SolverConfig& solver = config.solver;
  if (solver.tile != "auto" && solver.kernel == "auto")
    problems.add("solver.tile",
                 "'{}' is a tile of one kernel (solver.kernel is auto); name the kernel too, or use auto",
                 printable(solver.tile));
  if (solver.time_block && solver.halo_width && *solver.time_block > *solver.halo_width)
    problems.add("solver.time_block",
                 "{} sweeps per launch need as many layers of ghosts (solver.halo_width is {}); lower it, or "
                 "leave halo_width out",
                 *solver.time_block, *solver.halo_width);
}

}  // namespace

bool body_is_sound(const Problems& problems) {
  return problems.sound({"grid", "material", "materials", "regions", "contacts", "boundaries"});
}

void check_corners(const std::string& key, int axis, double from, double to, Problems& problems) {
  if (!(from < to))
    problems.add(key + ".to", "{} is not beyond {} along {}; write the larger corner last", shortest(to),
                 shortest(from), "xyz"[axis]);
}

void check_error_is_known(const Config& config, const std::string& what, Problems& problems) {
  const ProblemConfig& p = config.problem;
  if (!p.error && p.criterion != Criterion::error) return;
  if (p.method != MethodName::multigrid || mean_is_free(config))
    problems.add(p.error ? "problem.error" : "problem.criterion",
                 "the error of {} is estimated for method multigrid alone, where something fixes the "
                 "temperature; write tolerance with criterion relative or absolute",
                 what);
}

void check_kernel_can(const Config& config, const RegistryNames& registry, bool RegistryNames::Kernel::*can,
                      const std::string& what, Problems& problems) {
  const bool several = has_several_materials(config);
  const bool varying = several ? coefficients_use_time(config) : has_varying_coefficients(config);
  std::vector<std::string_view> able;  // to meet all needs of the deck
  for (const RegistryNames::Kernel& kernel : registry.kernels)
    if (kernel.available && (kernel.sweeps_materials || !several) && (kernel.takes_varying_a || !varying))
      able.push_back(kernel.name);
  const auto named = std::ranges::find(registry.kernels, config.solver.kernel, &RegistryNames::Kernel::name);
  if (named != registry.kernels.end() && !(*named.*can))
    problems.add("solver.kernel", "'{}' does not {}; use auto or one of {}", config.solver.kernel, what,
                 fmt::join(able, ", "));
}

void validate(Config& config, const RegistryNames& registry, Problems& problems) {
  check_cells(config, problems);
  check_zones(config, problems);
  check_periodic_pairs(config, problems);
  check_method(config, problems);  // sets the method, which later checks use
  check_boundaries(config, registry, problems);
  check_material(config, problems);
  check_materials(config, registry, problems);
  check_acceleration(config, problems);
  check_time_step(config, problems);
  check_temperatures(config, problems);
  check_tolerance(config, problems);
  check_cycle(config, problems);
  check_precision(config, problems);
  check_steady(config, problems);
  check_region(config, config.initial, "initial", problems);
  check_region(config, config.sources, "sources", problems);
  if (problems.sound({"initial", "verify.solution"}) && config.initial.empty())
    problems.add("initial", "is missing; add initial: [{shape: constant, value: 300}]");
  check_verify(config, problems);
  check_times(config, problems);
  check_diagnostics(config, problems);
  check_field_outputs(config, problems);
  check_solver(config, problems);
  check_kernels(config, registry, problems);
  check_transport(config, registry, problems);
}

void set_step_limits(Config& config, const StepLimits& limits) {
  config.step_limits = limits;
  Problems problems(config);
  check_step(config, problems);
  problems.throw_if_any();
  for (const std::string& warning : problems.warnings()) config.warnings.push_back(warning);
}

}  // namespace isotherm
