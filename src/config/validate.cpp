// What keys must mean together. Arithmetic only: no device, no rank count, no file is looked at.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "config/deck.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

std::string wall_key(int f) {
  return fmt::format("boundaries.{}", face_names[f]);
}

const WallConfig& wall(const Config& config, int f) {
  return config.boundaries[static_cast<std::size_t>(f)];
}

// Of the walls of one of `kinds`, the first; -1 without one.
int find_wall(const Config& config, std::initializer_list<WallKind> kinds) {
  for (int f = 0; f < face_count; ++f)
    if (std::find(kinds.begin(), kinds.end(), wall(config, f).kind) != kinds.end()) return f;
  return -1;
}

bool is_transient(const Config& config) {
  return config.problem.kind == ProblemKind::transient;
}

void check_cells(const Config& config, Problems& problems) {
  if (!problems.sound({"grid.cells"})) return;
  const Int3 n = config.grid.cells;
  if (n.y > std::numeric_limits<Index>::max() / n.x || n.z > std::numeric_limits<Index>::max() / (n.x * n.y))
    problems.add("grid.cells",
                 fmt::format("{} x {} x {} cells are too many to count (more than 2^63 - 1); use fewer", n.x,
                             n.y, n.z));
}

void check_periodic_pairs(const Config& config, Problems& problems) {
  for (int f = 0; f < face_count; ++f) {
    const int other = static_cast<int>(opposite(static_cast<Face>(f)));
    if (!problems.sound({wall_key(f) + ".kind", wall_key(other) + ".kind"})) continue;
    if (wall(config, f).kind == WallKind::periodic && wall(config, other).kind != WallKind::periodic)
      problems.add(wall_key(f),
                   fmt::format("is periodic but {} is not (each is the other's neighbour); make both "
                               "periodic or none",
                               face_names[other]));
  }
}

// diffusivity = conductivity / (density heat_capacity): enough must be given, and nothing twice.
void check_material(const Config& config, Problems& problems) {
  if (!problems.sound({"material"})) return;
  const MaterialConfig& m = config.material;
  if (m.density.has_value() != m.heat_capacity.has_value()) {
    const bool has_density = m.density.has_value();
    problems.add(
        has_density ? "material.density" : "material.heat_capacity",
        fmt::format("says nothing without {0} (only their product counts); add {0}, or give diffusivity",
                    has_density ? "heat_capacity" : "density"));
    return;
  }
  if (m.diffusivity && m.density) {
    problems.add("material.diffusivity",
                 "stands beside density and heat_capacity, which say the same with "
                 "conductivity; keep diffusivity or the two");
    return;
  }
  if (!problems.sound({"problem.kind", "boundaries"})) return;
  if (is_transient(config) && !m.diffusivity && !(m.conductivity && m.density))
    problems.add("material",
                 "a transient problem needs the diffusivity; add diffusivity, or conductivity, density and "
                 "heat_capacity");
  else if (is_transient(config) && !config.sources.empty() && !m.conductivity)
    problems.add("material",
                 "sources in a transient problem need rho c; add conductivity beside diffusivity, or give "
                 "conductivity, density and heat_capacity");
  if (m.conductivity) return;
  if (const int f = find_wall(config, {WallKind::flux, WallKind::convection}); f >= 0)
    problems.add(
        "material.conductivity",
        fmt::format("is missing ({} is a flux or convection wall); add conductivity", face_names[f]));
  else if (!is_transient(config) && !config.sources.empty())
    problems.add("material.conductivity",
                 "is missing (a steady problem with sources needs it); add conductivity");
}

void check_steady(const Config& config, Problems& problems) {
  if (!problems.sound({"problem", "boundaries"}) || is_transient(config)) return;
  bool fixed = false;
  for (int f = 0; f < face_count; ++f) {
    const WallConfig& w = wall(config, f);
    fixed = fixed || w.kind == WallKind::temperature || (w.kind == WallKind::convection && w.coefficient > 0);
    if (w.value.uses('t'))
      problems.add(wall_key(f), "the formula uses t, but a steady problem has no time; leave t out");
  }
  if (!fixed && !config.problem.mean_temperature)
    problems.add("problem",
                 "a steady problem with no temperature or convection wall has no unique solution (any "
                 "constant may be added); give a wall a temperature, or set problem.mean_temperature");
  if (fixed && config.problem.mean_temperature)
    problems.add("problem.mean_temperature", "the walls fix the temperature already; remove it");
  if (config.problem.weight == 1)
    problems.warn("problem.weight", "with 1 a checkerboard error never decays; 0.99 costs 1 % more sweeps");
}

void check_paint(const Config& config, const std::vector<Paint>& entries, const std::string& key,
                 Problems& problems) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Paint& paint = entries[i];
    const std::string entry = fmt::format("{}.{}", key, i);
    if (!problems.sound({entry})) continue;
    for (std::size_t axis = 0; paint.shape == Shape::box && axis < 3; ++axis) {
      if (paint.from[axis] < paint.to[axis]) continue;
      problems.add(entry + ".to",
                   fmt::format("{} is not beyond {} along {}; write the larger corner last",
                               shortest(paint.to[axis]), shortest(paint.from[axis]), "xyz"[axis]));
    }
    if (paint.shape == Shape::exact && problems.sound({"verify.solution"}) &&
        config.verify.solution == ExactSolution::none)
      problems.add(entry + ".shape", "exact needs a solution; add verify.solution, or paint another shape");
  }
}

void check_verify(const Config& config, Problems& problems) {
  const VerifyConfig& verify = config.verify;
  if (problems.sound({"verify.order"}) && problems.given("verify.order")) {
    if (verify.order.size() < 3)
      problems.add(
          "verify.order",
          fmt::format("has {} entries (an order wants a trend); write at least three", verify.order.size()));
    else if (!std::is_sorted(verify.order.begin(), verify.order.end(), std::less_equal<>{}))
      problems.add("verify.order", "does not ascend; write each number of cells larger than the one before");
  }
  if (!problems.sound({"verify.solution", "problem.kind"})) return;
  if (verify.solution == ExactSolution::decaying_mode && !is_transient(config))
    problems.add("verify.solution",
                 "decaying_mode decays in time, but the problem is steady; use steady_profile, "
                 "manufactured or formula");
  if (problems.sound({"verify.formula"}) && verify.formula && verify.formula->uses('t') &&
      !is_transient(config))
    problems.add("verify.formula", "the formula uses t, but a steady problem has no time; leave t out");
}

void check_output(const Config& config, Problems& problems) {
  const OutputConfig& output = config.output;
  if (!problems.sound({"output", "problem.kind", "problem.steps"})) return;
  if (output.every_steps && output.every_time)
    problems.add("output.every_time", "stands beside every_steps; keep one");
  if (output.every_time && !is_transient(config))
    problems.add("output.every_time", "a steady problem has no time; use every_steps, in sweeps");
  if (is_transient(config) && output.every_steps && config.problem.steps &&
      *output.every_steps > *config.problem.steps)
    problems.warn("output.every_steps",
                  fmt::format("{} is more than the {} steps of the run; only the first and the "
                              "last are written",
                              *output.every_steps, *config.problem.steps));
}

void check_checkpoints(const Config& config, Problems& problems) {
  const CheckpointConfig& checkpoint = config.output.checkpoint;
  if (!problems.sound({"output", "problem.kind", "verify.order"})) return;
  if (checkpoint.every_steps && checkpoint.every_time)
    problems.add("output.checkpoint.every_time", "stands beside every_steps; keep one");
  if (checkpoint.every_time && !is_transient(config))
    problems.add("output.checkpoint.every_time", "a steady problem has no time; use every_steps, in sweeps");
  if (checkpoint.write && checkpoint.has_interval() && !config.verify.order.empty())
    problems.add(
        "output.checkpoint",
        "a series of grids has no checkpoints (verify.order); remove the intervals, or run its grids "
        "one by one");
}

// What else waits for the field at every check leaves nothing to lag.
void check_lag(const Config& config, Problems& problems) {
  const OutputConfig& output = config.output;
  if (!problems.sound({"problem", "output"}) || config.problem.check == Check::immediate) return;
  const auto warn_of = [&](const char* key, std::optional<std::int64_t> interval) {
    if (interval && config.problem.check_interval % *interval == 0)
      problems.warn("problem.check",
                    fmt::format("lagged gains nothing ({} {} waits for the field at every check); write "
                                "immediate, or a check_interval between those sweeps",
                                key, *interval));
  };
  warn_of("output.diagnostics", output.diagnostics);
  if (output.snapshots) warn_of("output.every_steps", output.every_steps);
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
    problems.add("output.histogram.range",
                 fmt::format("{} is not below {}; write the lower end first", shortest(low), shortest(high)));
  else if ((high - low) / histogram.bins < 1e-12 * std::max(std::abs(low), std::abs(high)))
    problems.add("output.histogram.range",
                 fmt::format("{} bins from {} to {} are narrower than the last digits of a temperature; use "
                             "fewer, or a wider range",
                             histogram.bins, shortest(low), shortest(high)));
}

// Rows.

using Rows = std::vector<KnownRows::Row>;

// Views into `rows`, which must outlive them.
std::vector<std::string_view> names_where(const Rows& rows, auto&& condition) {
  std::vector<std::string_view> names;
  for (const KnownRows::Row& row : rows)
    if (condition(row) && std::find(names.begin(), names.end(), row.name) == names.end())
      names.push_back(row.name);
  return names;
}
std::vector<std::string_view> names_where(Rows&& rows, auto&& condition) = delete;

// `chosen`: the deck's word for the key, which must be auto or a row that this build has.
bool check_row_name(const std::string& key, const std::string& chosen, const Rows& rows, Problems& problems) {
  if (!problems.sound({key})) return false;
  if (chosen == "auto") return true;
  std::vector<std::string_view> known = names_where(rows, [](const auto& row) { return row.available; });
  known.insert(known.begin(), "auto");
  if (std::find(known.begin(), known.end(), chosen) != known.end()) return true;
  const bool elsewhere =
      std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == chosen; });
  if (elsewhere) {
    problems.add_unavailable(
        key, fmt::format("'{}' is not in this build (it has no CUDA); use one of {}", chosen, join(known)));
    return false;
  }
  problems.add_unknown_word(key, chosen, known);
  return false;
}

// The rows that a word may stand for on the deck's device.
Rows candidates(const Rows& rows, const std::string& chosen, DeviceChoice device) {
  Rows found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found), [&](const KnownRows::Row& row) {
    const bool device_fits =
        device == DeviceChoice::automatic || row.on_cuda == (device == DeviceChoice::cuda);
    return row.available && device_fits && (chosen == "auto" || row.name == chosen);
  });
  return found;
}

bool all_on(const Rows& some, bool cuda) {
  return !some.empty() &&
         std::all_of(some.begin(), some.end(), [&](const auto& row) { return row.on_cuda == cuda; });
}
bool on_different_devices(const Rows& a, const Rows& b) {
  return (all_on(a, true) && all_on(b, false)) || (all_on(a, false) && all_on(b, true));
}

void refuse_device(const char* key, const std::string& word, const Rows& table, DeviceChoice device,
                   Problems& problems) {
  const Rows usable = candidates(table, "auto", device);  // the names are views into it
  const auto names = names_where(usable, [](const auto&) { return true; });
  problems.add(key, fmt::format("'{}' does not run on parallel.device {}; use auto{}{}", word,
                                device == DeviceChoice::cuda ? "cuda" : "cpu",
                                names.empty() ? "" : " or one of ", join(names)));
}

void check_histogram_row(const Config& config, const KnownRows& rows, Problems& problems) {
  const SolverConfig& solver = config.solver;
  if (!check_row_name("solver.histogram", solver.histogram, rows.histograms, problems)) return;
  if (!problems.sound({"parallel.device"}) || solver.histogram == "auto") return;
  const DeviceChoice device = config.parallel.device;
  const Rows histograms = candidates(rows.histograms, solver.histogram, device);
  if (histograms.empty())
    return refuse_device("solver.histogram", solver.histogram, rows.histograms, device, problems);
  const auto differs = [&](const std::string& chosen, const Rows& table) {
    return chosen != "auto" && on_different_devices(histograms, candidates(table, chosen, device));
  };
  const bool from_kernel = differs(solver.kernel, rows.kernels);
  if (from_kernel || differs(solver.reduction, rows.reductions))
    problems.add("solver.histogram", fmt::format("'{}' runs on another device than the {} '{}'; use auto",
                                                 solver.histogram, from_kernel ? "kernel" : "reduction",
                                                 from_kernel ? solver.kernel : solver.reduction));
}

void check_solver(const Config& config, const KnownRows& rows, Problems& problems) {
  const SolverConfig& solver = config.solver;
  const bool kernel_known = check_row_name("solver.kernel", solver.kernel, rows.kernels, problems);
  if (solver.policy != "auto" && solver.kernel == "auto")
    problems.add("solver.policy",
                 fmt::format("'{}' is a policy of one kernel (solver.kernel is auto); name the "
                             "kernel too, or use auto",
                             printable(solver.policy)));
  const bool reduction_known =
      check_row_name("solver.reduction", solver.reduction, rows.reductions, problems);
  if (!problems.sound({"parallel.device"})) return;
  const DeviceChoice device = config.parallel.device;
  const Rows kernels = candidates(rows.kernels, solver.kernel, device);
  const Rows reductions = candidates(rows.reductions, solver.reduction, device);
  const bool kernel_runs = kernel_known && (!kernels.empty() || solver.kernel == "auto");
  const bool reduction_runs = reduction_known && (!reductions.empty() || solver.reduction == "auto");
  if (kernel_known && !kernel_runs)
    refuse_device("solver.kernel", solver.kernel, rows.kernels, device, problems);
  if (reduction_known && !reduction_runs)
    refuse_device("solver.reduction", solver.reduction, rows.reductions, device, problems);

  if (kernel_runs && reduction_runs && solver.kernel != "auto" && solver.reduction != "auto" &&
      on_different_devices(kernels, reductions))
    problems.add("solver.reduction", fmt::format("'{}' runs on another device than the kernel '{}'; use auto",
                                                 solver.reduction, solver.kernel));
}

}  // namespace

void validate(Config& config, const KnownRows& rows, Problems& problems) {
  check_cells(config, problems);
  check_periodic_pairs(config, problems);
  check_material(config, problems);
  check_time_step(config, problems);
  check_temperatures(config, problems);
  check_steady(config, problems);
  check_paint(config, config.initial, "initial", problems);
  check_paint(config, config.sources, "sources", problems);
  if (problems.sound({"initial", "verify.solution"}) && config.initial.empty())
    problems.add("initial", "is missing; add initial: [{shape: constant, value: 300}]");
  check_verify(config, problems);
  check_output(config, problems);
  check_checkpoints(config, problems);
  check_lag(config, problems);
  check_diagnostics(config, problems);
  check_field_outputs(config, problems);
  check_solver(config, rows, problems);
  check_histogram_row(config, rows, problems);
  check_transport(config, rows, problems);
}

}  // namespace isotherm
