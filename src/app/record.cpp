#include "app/record.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/session.hpp"
#include "config/deck.hpp"
#include "core/all_or_throw.hpp"
#include "core/hdf5_file.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/host_info.hpp"
#include "physics/boundaries.hpp"
#include "physics/cells.hpp"
#include "physics/coverage.hpp"
#include "physics/operator.hpp"
#include "solver/method.hpp"
#include "solver/residual_check.hpp"
#include "solver/schedule.hpp"

namespace isotherm {

namespace {

MethodRecord describe_method(const Session& session) {
  const Config& config = session.cases.back();  // as the rest of the record
  const Backend backend = session.placement.backend;
  MethodRecord method;
  if (backend == Backend::host) method.instruction_set = host_instruction_set();
  method.threads_note = session.threads.note;
  method.problem = config.problem.kind;
  method.planned_sweeps = Schedule(config).last();
  const Method of_deck = make_method(config);
  method.name = of_deck.name;
  method.cycle = of_deck.cycle();
  if (config.problem.kind == ProblemKind::steady) {
    method.weight = config.problem.weight;
  } else {
    const TimePlan plan = time_plan(config);
    method.dt = plan.dt;
    method.dt_limit = stable_dt(config);
    method.end_time = plan.dt * static_cast<double>(plan.steps);
  }
  return method;
}

// Of the last grid of a series, which is the one that is kept.
Decomposition decomposition_of(const Session& session) {
  return decompose(session.cases.back(), session.decomposition.ranks(), session.placement.backend);
}

std::string why_no_heat(const Config& config, bool swept) {
  if (!plan_diagnostics(config).flows)
    return std::string("the deck does not give material.conductivity") +
           (config.problem.kind == ProblemKind::transient ? ", density and heat_capacity" : "");
  if (!swept) return "no step was made";
  return "the run was stopped behind a launch of several steps";
}

constexpr const char* anew_words = "start it again";

// The distance from a temperature to the next, K.
double last_digit(const Config& config, double temperature) {
  const auto step = [](auto number) { return double{std::nextafter(number, INFINITY) - number}; };
  return config.precision == Precision::fp32 ? step(static_cast<float>(temperature)) : step(temperature);
}

// Upwards to two digits, so that it can be remembered.
std::int64_t rounded_up(double count) {
  const double unit = std::pow(10.0, std::max(std::floor(std::log10(count)) - 1, 0.0));
  return static_cast<std::int64_t>(std::ceil(count / unit) * unit);
}

std::string remedy(const Config& config, const std::string& tolerance) {
  return config.precision == Precision::fp32 ? tolerance + ", or precision: fp64 in a new run" : tolerance;
}

std::string stagnation_text(const Config& config, const Residual& r, double largest, double unit) {
  return fmt::format(
      "the residual stopped falling at {:.3g} K, above the tolerance of {:.3g} K: the last digit of {} is "
      "{:.2g} K at {:.4g} K, and by it the slowest mode may be off by about {:.2g} K; use {}",
      *r.last, *config.problem.tolerance * unit, word(config.precision), last_digit(config, largest), largest,
      *r.last / slowest_decay(config),
      remedy(config, fmt::format("a tolerance of {:.2g} or more", 2 * *r.last / unit)));
}

std::string unconverged_text(const Config& config, const Residual& r, double largest, double unit,
                             std::int64_t sweeps, const std::string& next) {
  const double tolerance = *config.problem.tolerance * unit, decay = make_method(config).decay;
  std::string text =
      fmt::format("not converged: after {} sweeps the residual is {:.3g} K, the tolerance {:.3g} K", sweeps,
                  *r.last, tolerance);
  const double digit = last_digit(config, largest);
  if (tolerance < digit)
    return text + fmt::format(", which is below the last digit of the temperatures ({:.2g} K); use {}", digit,
                              remedy(config, "a larger problem.tolerance"));
  const double missing = std::log(*r.last / tolerance) / decay;
  if (!(decay > 0 && missing < 1e15)) return text;
  const double all = static_cast<double>(sweeps) + 1.1 * missing;
  const std::string enough =
      config.problem.max_cycles
          ? fmt::format("max_cycles={}", rounded_up(all / static_cast<double>(sweeps_of_cycle(config))))
          : fmt::format("max_sweeps={}", rounded_up(all));
  return text + fmt::format("; about {} more are likely to be needed: {} problem.{}", rounded_up(missing),
                            next, enough);
}

// The largest number among boundaries and initial values, "boundaries.x_min.value is 1e11"; empty where it is
// ordinary.
std::string extraordinary_value(const Config& config) {
  constexpr double ordinary = 1e6;  // K
  double largest = ordinary;
  std::string text;
  const auto look = [&](const std::string& key, double value, double kelvin) {
    if (!(std::abs(kelvin) > largest)) return;
    largest = std::abs(kelvin);
    text = fmt::format("{} is {:g}", config.at(key), value);
  };
  for (int f = 0; f < face_count; ++f) {
    const auto face = static_cast<std::size_t>(f);
    const BoundaryConfig& boundary = config.boundaries[face];
    if (boundary.kind == BoundaryKind::periodic || !boundary.value.is_constant()) continue;
    const double value = boundary.value(0, 0, 0, 0);
    look(fmt::format("boundaries.{}.{}", face_names[face],
                     boundary.kind == BoundaryKind::convection ? "ambient" : "value"),
         value, value * boundary_law(config, static_cast<Face>(f)).slope);
  }
  for (std::size_t i = 0; i < config.initial.size(); ++i)
    if (const auto value = config.initial[i].value) look(fmt::format("initial.{}.value", i), *value, *value);
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const RegionValue& source = config.sources[i];
    look(fmt::format("sources.{}.{}", i, source.power ? "power" : "value"),
         source.power.value_or(source.value.value_or(0)),
         source_strength(config, source) * source_scale(config));
  }
  return text;
}

std::string remedy_of(const Config& config, double residual) {
  const std::string limit = fmt::format("{:.6g} s", stable_dt(config));
  if (config.problem.kind == ProblemKind::transient && euler_dt(config) > stable_dt(config))
    return fmt::format("keep problem.dt below the stability limit {} and look at boundaries and sources",
                       limit);
  std::string why;
  if (std::isfinite(residual))
    why = fmt::format("it changed by {:.3g} K in a sweep, more than 1e9 K; ", residual);
  if (config.problem.kind == ProblemKind::transient)
    why += fmt::format("problem.dt is stable (at most {}); ", limit);
  const std::string value = extraordinary_value(config);
  return why +
         (value.empty() ? "look at boundaries and sources" : "look at the values of the deck: " + value);
}

}  // namespace

template <class T>
void describe_steps(const Solver<T>& solver, const Autotuner<T>* autotuner, MethodRecord& method) {
  static_cast<StepRecord&>(method) = step_record(solver.plan(), solver.reduction().name);
  if (autotuner) method.tuning = autotuner->record();
  const bool temporal =
      std::ranges::any_of(method.tuning.candidates, [](const auto& c) { return c.time_block > 1; });
  method.why_single = solver.why_single(!autotuner || !autotuner->done() ? ""
                                        : temporal                       ? "the fastest measured"
                                                                         : "no time to measure others");
}

template void describe_steps(const Solver<float>&, const Autotuner<float>*, MethodRecord&);
template void describe_steps(const Solver<double>&, const Autotuner<double>*, MethodRecord&);

RunRecord describe_run(const CommandLine& command, const Session& session, const Device& device,
                       const Communicator& world, const std::string& directory) {
  const Config& config = session.deck.config;
  const Decomposition d = decomposition_of(session);
  RunRecord record;
  record.mpi = mpi_library_version();
  record.hdf5 = hdf5_library_version();
  record.started = utc_now();
  record.command_line = command.program;
  record.name = config.name;
  record.deck_path = command.file;
  record.directory = directory;
  record.resolved_deck = to_yaml(config);
  record.cells = session.cases.back().grid.cells;
  record.lengths = spacing(config);
  for (int axis = 0; axis < 3; ++axis) record.lengths[axis] *= static_cast<double>(config.grid.cells[axis]);
  record.process_grid = d.process_grid();
  record.weights = exchange_weights(session.cases.back(), session.placement.backend);
  record.smallest_rank_cells = d.smallest_subdomain();
  record.largest_rank_cells = d.largest_subdomain();
  record.precision = config.precision;
  record.method = describe_method(session);
  record.memory_estimate_bytes = static_cast<std::int64_t>(world.all_reduce(
      static_cast<std::int64_t>(session.memory.host(session.placement.backend)), ReduceOp::max));
  record.ranks = gather_ranks(describe_rank(session, device, world), world);
  record.warnings = config.warnings;
  if (!session.threads.warning.empty()) record.warnings.push_back(session.threads.warning);
  for (const std::string& warning : session.placement.warnings) record.warnings.push_back(warning);
  record.method.device_note = session.placement.note;
  return record;
}

RankInfo describe_rank(const Session& session, const Device& opened, const Communicator& world) {
  const RankPlace& place = session.placement.ranks[static_cast<std::size_t>(world.rank())];
  const DeviceInfo device = opened.info();
  return {world.rank(),       place.host,
          device.backend,     device.index,
          device.name,        device.uuid,
          place.threads,      decomposition_of(session).subdomain(world.rank()).cells(),
          peak_memory_bytes()};
}

SnapshotProvenance provenance(const Session& session, const RunRecord& record) {
  return {session.deck.text,
          record.resolved_deck,
          record.build.version,
          record.build.git_revision,
          record.ranks.front().device,
          record.method.kernel,
          record.mpi,
          record.hdf5,
          record.name};
}

// All ranks copy at once, as they will sweep at once; a round takes as long as its slowest rank. The median
// of the rounds: sweeps are reported as they ran on the average, not at their best. As many rounds as move
// the bytes of the run's sweeps will do, and at least one: a short run is not kept longer by its copy
// bandwidth than by itself.
double measure_copy_bandwidth(const Session& session, Device& device, const Communicator& world) {
  const std::size_t bytes = session.memory.copy_bandwidth / 2;
  const double passes_of_run = static_cast<double>(likely_sweeps(session.cases.back())) *
                               static_cast<double>(session.memory.field) / static_cast<double>(bytes);
  const auto probe = all_or_throw(world, [&] { return make_copy_probe(device, bytes); });
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  Stopwatch watch(device, stream);
  const auto copy = [&] { probe->enqueue(stream); };
  watch.seconds(copy);  // loads the kernel
  std::vector<double> seconds;
  const Timer timer;
  bool go_on = true;
  while (go_on) {
    world.barrier();
    seconds.push_back(world.all_reduce(watch.seconds(copy), ReduceOp::max));
    const auto passes = static_cast<double>(seconds.size());
    const bool more = passes < passes_of_run && (passes < 3 || timer.seconds() < 0.25);
    go_on = world.all_reduce(std::int64_t{more}, ReduceOp::min) != 0;
  }
  return world.all_reduce(2.0 * static_cast<double>(bytes), ReduceOp::sum) / median(std::move(seconds));
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

template <class T>
std::optional<EndState> find_end_state(const Config& config, Solver<T>& solver) {
  if (!moves_data(config)) return std::nullopt;
  const TemperatureExtremes found = solver.extremes();
  const CellCentres centre(config);
  const auto place = [&](const NumberedTemperature& extreme) -> EndState::Extreme {
    const Int3 cell = extreme.cell(config.grid.cells);
    return {extreme.value + 0.0, cell, centre(cell)};  // no "-0 K"
  };
  EndState end;
  end.steady = config.problem.kind == ProblemKind::steady;
  end.sweep = solver.sweeps();
  end.time = solver.time();
  end.nan_cells = found.nan_cells;
  if (found.any()) {
    end.highest = place(found.highest);
    end.lowest = place(found.lowest);
  }
  end.heat = solver.heat_flows();
  end.faces = plan_diagnostics(config).boundaries;
  if (!end.heat) end.why_no_heat = why_no_heat(config, solver.own_sweeps() > 0);
  return end;
}

template std::optional<EndState> find_end_state(const Config&, Solver<float>&);
template std::optional<EndState> find_end_state(const Config&, Solver<double>&);

void RankTimes::add(const PhaseTimes& solver, const LoopOutcome& outcome) {
  const double loop = outcome.wall - outcome.tuning_seconds;
  phases += solver;
  phases[Phase::output] += outcome.output_seconds;
  phases[Phase::setup] += outcome.tuning_seconds;
  phases[Phase::other] += loop - sum_of(solver) - outcome.output_seconds;
  phases[Phase::loop] += loop;
  profile = phases;
}

void RankTimes::finish(double total) {
  phases[Phase::total] = profile[Phase::total] = total;
}

std::string swallowed_heat_text(const Config& config, const SwallowedHeat& heat) {
  constexpr double least_share = 0.01;  // the rims of a gaussian are always lost
  if (!(heat.lost > least_share * heat.all)) return {};
  const bool transient = config.problem.kind == ProblemKind::transient;
  std::string longer;
  if (transient && !takes_long_steps(config) && time_plan(config).dt < 0.99 * stable_dt(config))
    longer = fmt::format(", or a larger problem.dt (the stability limit is {:.6g} s)", stable_dt(config));
  return fmt::format(
      "fp32 loses {:.3g} % of the heat of sources and flux boundaries: what a {} adds to these cells is less "
      "than half the last digit of their temperature, which stays as it is; use precision: fp64{}",
      100 * heat.lost / heat.all, transient ? "step" : "sweep", longer);
}

std::string next_command(const CommandLine& command, const std::string& directory, bool kept,
                         std::string_view anew) {
  const auto words = without(without(command.overrides, anew), kept ? "" : "output.overwrite");
  return fmt::format("{}: {} {}", kept ? "go on with" : anew_words, run_words(command, words),
                     kept ? "--restart " + shell_word(directory) : "output.overwrite=true");
}

std::string stopped_text(const LoopOutcome& outcome, std::int64_t sweeps, const std::string& next) {
  return fmt::format("stopped by {} at sweep {}{}; {}", outcome.stopped_by, sweeps,
                     next.starts_with(anew_words) ? " (it has left no checkpoint)" : "", next);
}

std::string steady_end_text(const Config& config, const LoopOutcome& outcome, std::int64_t sweeps,
                            const std::string& next) {
  const Residual& r = outcome.residual;
  if (!r.last || !(config.problem.tolerance > 0)) return {};
  const double unit = tolerance_unit(config, *r.first);
  if (r.convergence == Convergence::stagnated)
    return stagnation_text(config, r, outcome.largest_temperature, unit);
  if (r.convergence == Convergence::stalled)
    return fmt::format(
        "not converged: after {} sweeps the residual stalls at {:.3g} K, above the tolerance of {:.3g} K and "
        "the rounding of the temperatures; use {}",
        sweeps, *r.last, *config.problem.tolerance * unit,
        remedy(config, fmt::format("a tolerance of {:.2g} or more", 2 * *r.last / unit)));
  if (r.convergence == Convergence::not_reached)
    return unconverged_text(config, r, outcome.largest_temperature, unit, sweeps, next);
  return {};
}

template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked, double residual) {
  const NumberedTemperature extreme = solver.extremes().most_extreme();
  const Int3 cell = extreme.cell(config.grid.cells);
  const std::string what = fmt::format(
      "cell ({}, {}, {}) {}", cell.x, cell.y, cell.z,
      std::isinf(extreme.value) ? "is not finite" : fmt::format("has reached {:.3g} K", extreme.value));
  const std::int64_t here = solver.sweeps();
  return fmt::format("diverged: {} after sweep {} (residuals are checked every {} sweeps{}); {}", what, here,
                     config.problem.check_interval * sweeps_of_cycle(config),
                     checked < here ? fmt::format(" and looked at late: that of sweep {} told", checked) : "",
                     remedy_of(config, residual));
}

template std::string divergence(const Config&, Solver<float>&, std::int64_t, double);
template std::string divergence(const Config&, Solver<double>&, std::int64_t, double);

}  // namespace isotherm
