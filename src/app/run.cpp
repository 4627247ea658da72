#include "app/run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>

#include "app/time_loop.hpp"
#include "config/boundary_laws.hpp"
#include "config/deck.hpp"
#include "config/materials.hpp"
#include "core/all_or_throw.hpp"
#include "core/hdf5_file.hpp"
#include "core/host_threads.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/host_info.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/safe_file.hpp"
#include "physics/cells.hpp"
#include "physics/exact.hpp"
#include "physics/operator.hpp"
#include "solver/method.hpp"
#include "solver/residual_check.hpp"
#include "solver/schedule.hpp"
#include "solver/super_step.hpp"
#include "tune/autotuner.hpp"
#include "tune/tuning_file.hpp"

namespace isotherm {
namespace {

// Uses a stored tuning. Returns false if the deck excludes its choice or this run cannot execute it.
template <class T>
bool use_recalled(const TuningChoice& choice, const KernelChoices<T>& choices, Solver<T>& solver) {
  const auto sweep = std::ranges::find_if(choices.sweeps, [&](const SweepChoice<T>& c) {
    return c.kernel->name == choice.kernel && c.time_block == choice.time_block &&
           c.kernel->tiles[c.tile] == choice.tile;
  });
  const auto reduction = std::ranges::find(choices.reductions, choice.reduction, &ReductionKernel<T>::name);
  if (sweep == choices.sweeps.end() || reduction == choices.reductions.end() || !sweep->suits(*reduction))
    return false;
  const Level<T>& level = solver.level();
  const int least = exchanges(level.sides()) ? sweep->time_block : 1;  // layers that a launch needs
  if (choice.halo_width < least || choice.halo_width > ghost_layers(level.config())) return false;
  const StepPlan<T> before = solver.plan();
  const StepPlan<T> plan{*sweep, choice.halo_width, choice.overlap,
                         choice.graph && level.why_no_graph().empty()};
  solver.step().use(plan);
  const bool can_run = solver.step().can_run();
  can_run ? solver.use(plan, **reduction) : solver.step().use(before);
  return can_run;
}

MethodRecord describe_method(const Session& session) {
  const Config& config = session.cases.back();  // of a series the last grid
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
    method.end_time = plan.dt * plan.steps;
  }
  return method;
}

// Collective.
RunRecord describe_run(const CommandLine& command, const Session& session, const Communicator& world) {
  const Config& config = session.deck.config;
  const Config& last = session.cases.back();  // of a series, the grid whose files are kept
  const Decomposition d = decompose(last, session.decomposition.ranks(), session.placement.backend);
  RunRecord record;
  record.mpi = mpi_library_version();
  record.hdf5 = hdf5_library_version();
  record.started = utc_now();
  record.command_line = command.program;
  record.name = config.name;
  record.deck_path = command.file;
  record.directory = config.output.directory;
  record.resolved_deck = to_yaml(config);
  record.cells = last.grid.cells;
  for (int axis = 0; axis < 3; ++axis) record.lengths[axis] = GridAxis(config, axis).length();
  record.domain = domain_sizes(last);
  record.process_grid = d.process_grid();
  record.smallest_rank_cells = d.smallest_subdomain();
  record.largest_rank_cells = d.largest_subdomain();
  record.precision = config.precision;
  if (has_several_materials(config)) record.contacts = config.contacts;
  for (std::size_t f = 0; f < face_count; ++f) record.laws[f] = laws_of(config, static_cast<Face>(f));
  record.method = describe_method(session);
  record.memory_estimate_bytes = static_cast<std::int64_t>(world.all_reduce(
      static_cast<std::int64_t>(session.memory.host(session.placement.backend)), ReduceOp::max));
  record.ranks = session.placement.ranks;
  for (RankInfo& rank : record.ranks) rank.cells = d.subdomain(rank.rank).cells();
  record.warnings = config.warnings;
  if (!session.threads.warning.empty()) record.warnings.push_back(session.threads.warning);
  for (const std::string& warning : session.placement.warnings) record.warnings.push_back(warning);
  record.method.device_note = session.placement.note;
  return record;
}

// The distance from a temperature to the next, K.
double last_digit(const Config& config, double temperature) {
  const auto step = [](auto number) { return double{std::nextafter(number, INFINITY) - number}; };
  return config.precision == Precision::fp32 ? step(static_cast<float>(temperature)) : step(temperature);
}

// Rounds up to two digits, which are easy to remember.
std::int64_t rounded_up(double count) {
  const double unit = std::pow(10.0, std::max(std::floor(std::log10(count)) - 1, 0.0));
  return static_cast<std::int64_t>(std::ceil(count / unit) * unit);
}

// `larger`: advice with {} for the key that ends the run.
std::string remedy(const Config& config, const std::string& larger) {
  const bool by_error = config.places.contains("problem.error");  // the key for tolerance and criterion
  return fmt::format(fmt::runtime(larger), by_error ? "problem.error" : "problem.tolerance") +
         (config.precision == Precision::fp32 ? ", or precision: fp64 in a new run" : "");
}

// `larger`: advice to use a tolerance that the run would reach.
std::string stagnation_text(const Config& config, const Residual& r, double largest, double unit,
                            const std::string& larger) {
  // With several materials the slowest mode is an estimate, which bounds no error.
  const std::string error = has_several_materials(config) || has_varying_coefficients(config)
                                ? ""
                                : fmt::format(", and by it the slowest mode may be off by about {:.2g} K",
                                              *r.last / slowest_decay(config));
  return fmt::format(
      "the residual stopped falling at {:.3g} K, above the tolerance of {:.3g} K: the last digit of {} is "
      "{:.2g} K at {:.4g} K{}; use {}",
      *r.last, *config.problem.tolerance * unit, word(config.precision), last_digit(config, largest), largest,
      error, larger);
}

std::string unconverged_text(const Config& config, const Residual& r, double largest, double unit,
                             std::int64_t sweeps, const std::string& next) {
  const double tolerance = *config.problem.tolerance * unit, expected = make_method(config).decay,
               observed = std::log(*r.first / *r.last) / static_cast<double>(sweeps),
               decay = observed > 0 ? std::min(expected, observed) : expected;
  std::string text =
      fmt::format("not converged: after {} sweeps the residual is {:.3g} K, the tolerance {:.3g} K", sweeps,
                  *r.last, tolerance);
  const double digit = last_digit(config, largest);
  if (tolerance < digit)
    return text + fmt::format(", which is below the last digit of the temperatures ({:.2g} K); use {}", digit,
                              remedy(config, "a larger {}"));
  const double missing = std::log(*r.last / tolerance) / decay;
  if (!(decay > 0 && missing < 1e15)) return text;
  const double all = static_cast<double>(sweeps) + 1.1 * missing;
  const std::string enough = config.problem.max_cycles
                                 ? fmt::format("max_cycles={}", rounded_up(all / sweeps_of_cycle(config)))
                                 : fmt::format("max_sweeps={}", rounded_up(all));
  return text + fmt::format("; about {} more are likely to be needed: {} problem.{}", rounded_up(missing),
                            next, enough);
}

// A warning, or empty. `next`: the command to repeat; problem.max_sweeps=N is appended to it.
std::string steady_end_text(const Config& config, const LoopOutcome& outcome, std::int64_t sweeps,
                            const std::string& next) {
  const Residual& r = outcome.residual;
  if (!r.last || !(config.problem.tolerance > 0)) return {};
  const double unit = tolerance_unit(config, *r.first);
  // A relative tolerance of 1 would end a run before its first sweep.
  const double reached = 2 * *r.last / unit;
  const std::string larger = config.problem.criterion == Criterion::relative && reached >= 1
                                 ? config.precision == Precision::fp32
                                       ? "precision: fp64 in a new run"
                                       : "an initial field nearer to the steady one"
                                 : remedy(config, fmt::format("{{}} of {:.2g} or more", reached));
  if (r.convergence == Convergence::stagnated)
    return stagnation_text(config, r, outcome.largest_temperature, unit, larger);
  if (outcome.unbalanced_share > 0)
    return fmt::format(
        "not converged: the residual stopped falling at {:.3g} K, the rounding of {}, where {:.3g} % of the "
        "heat of sources and flux boundaries is not balanced; use {}",
        *r.last, word(config.precision), 100 * outcome.unbalanced_share,
        config.precision == Precision::fp32 ? "precision: fp64"
                                            : "boundaries that take up more heat per kelvin");
  if (r.convergence == Convergence::stalled)
    return fmt::format(
        "not converged: after {} sweeps the residual stalls at {:.3g} K, above the tolerance of {:.3g} K and "
        "the rounding of the temperatures; use {}",
        sweeps, *r.last, *config.problem.tolerance * unit,
        config.problem.method == MethodName::multigrid && has_several_materials(config) &&
                config.problem.accelerate == Acceleration::none
            ? larger + ", or problem.accelerate cg, as single cells may differ too much for multigrid alone"
            : larger);
  if (r.convergence == Convergence::not_reached)
    return unconverged_text(config, r, outcome.largest_temperature, unit, sweeps, next);
  return {};
}

// Collective. Why sweeps must wait while files of the field are written; empty: they need not.
std::string why_in_step(const Config& config, const Communicator& world) {
  if (!config.output.asynchronous) return "output.asynchronous is false";
  if (config.output.on_error == OnError::warn) return "output.on_error is warn";
  return world.all(mpi_takes_threads()) ? "" : "this MPI gives no MPI_THREAD_MULTIPLE";
}

std::string why_no_heat(const Config& config, bool swept) {
  if (!plan_diagnostics(config).flows)
    return std::string("the deck does not give material.conductivity") +
           (config.problem.kind == ProblemKind::transient ? ", density and heat_capacity" : "");
  if (!swept) return "no step was made";
  return "the last launch took several steps, so the field before the last step is not known";
}

EndState::Extreme placed(const Config& config, const NumberedTemperature& extreme) {
  const Int3 cell = extreme.cell(config.grid.cells);
  return {extreme.value + 0.0, cell, GridAxes(config).centre(cell)};  // no "-0 K"
}

// Records the extremes of the field in an EndState, or those of a material in a MaterialRecord.
template <class Record>
void place_extremes(const Config& config, const TemperatureExtremes& found, Record& record) {
  if (!found.any()) return;
  record.highest = placed(config, found.highest);
  record.lowest = placed(config, found.lowest);
}

// The heat flow through all faces, W, for temperature differences of 32 last digits of fp64.
double rounding_of_flows(const Config& config, const TemperatureExtremes& found) {
  constexpr double digits = 32;
  const DiagnosticsPlan plan = plan_diagnostics(config);
  double conductance = 0;
  for (std::size_t f = 0; f < face_count; ++f)
    if (plan.boundaries[f])
      conductance +=
          plan.conductance[f] * static_cast<double>(config.grid.cells.product() / config.grid.cells[f / 2]);
  return digits * std::numeric_limits<double>::epsilon() * conductance * std::abs(found.most_extreme().value);
}

// Collective; all ranks record the same. Records nothing if the transport moves no data.
template <class T>
void record_end(const Config& config, Solver<T>& solver, RunRecord& record) {
  if (!moves_data(config)) return;
  const TemperatureExtremes found = solver.extremes();
  EndState& end = record.end_state.emplace();
  end.steady = config.problem.kind == ProblemKind::steady;
  end.sweep = solver.sweeps();
  end.time = solver.time();
  end.nan_cells = found.nan_cells;
  place_extremes(config, found, end);
  end.heat = solver.heat_flows();
  end.faces = plan_diagnostics(config).boundaries;
  if (end.heat)
    for (std::size_t i = 0; i < end.heat->voids.size(); ++i)
      end.voids.push_back({plan_diagnostics(config).voids[i].name, end.heat->voids[i]});
  if (end.heat && std::isfinite(found.most_extreme().value)) end.rounding = rounding_of_flows(config, found);
  if (!end.heat) end.why_no_heat = why_no_heat(config, solver.own_sweeps() > 0);
  if (record.materials.empty()) return;
  const std::vector<TemperatureExtremes> of_materials = solver.material_extremes();
  for (std::size_t i = 0; i < record.materials.size(); ++i)
    place_extremes(config, of_materials[i], record.materials[i]);
}

// Adds the times of a loop that has ended to those of this rank; a series has several loops.
void add_times(PhaseTimes& phases, const PhaseTimes& solver, const LoopOutcome& outcome) {
  const PhaseTimes timed = solver - outcome.tuning.times;
  const double loop = outcome.wall - outcome.tuning.seconds;
  phases += timed;
  phases[Phase::output] += outcome.output_seconds;
  phases[Phase::setup] += outcome.tuning.seconds;
  phases[Phase::other] += loop - sum_of(timed) - outcome.output_seconds;
  phases[Phase::loop] += loop;
}

// log(e_i / e_{i+1}) / log(h_i / h_{i+1}) of the l2 errors; h is that of the axis with most cells.
double observed_order(const OrderLevel& coarse, const OrderLevel& fine) {
  const auto finest = [](Int3 n) { return static_cast<double>(std::max({n.x, n.y, n.z})); };
  return std::log(coarse.l2_error_K / fine.l2_error_K) / std::log(finest(fine.cells) / finest(coarse.cells));
}

// Collective. Compares the field with the exact solution at its time.
template <class T>
Verification verify(const Config& config, const Communicator& world, Solver<T>& solver) {
  const FieldView<const T> field = solver.host_field();
  const auto exact = make_exact(config);
  const VerificationErrors mine =
      verification_errors<T>(config, field, solver.subdomain(), *exact, solver.time());
  Verification result;
  result.solution = word(config.verify.solution);
  // MPI_MAX may drop a NaN, a sum never does.
  const double sum = world.all_reduce(mine.sum_squares, ReduceOp::sum);
  result.l2_error_K = std::sqrt(sum / solver.level().body().volume);
  result.max_error_K = std::isfinite(sum) ? world.all_reduce(mine.max, ReduceOp::max) : sum;
  result.tolerance_K = config.verify.tolerance;
  result.expected_order = config.verify.expected_order;
  result.order_tolerance = config.verify.order_tolerance;
  return result;
}

// Adds the grid of `config`, and the levels and orders of the coarser grids of the series, to `found`.
void add_level(Verification& found, const std::optional<Verification>& coarser, const Config& config,
               std::int64_t sweeps) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const OrderLevel level{config.grid.cells, sweeps,
                         transient ? std::optional(time_plan(config).dt) : std::nullopt, found.max_error_K,
                         found.l2_error_K};
  if (coarser) {
    found.levels = coarser->levels;
    found.order = coarser->order;
    found.order.push_back(observed_order(coarser->levels.back(), level));
  }
  found.levels.push_back(level);
}

std::string level_line(const Verification& found) {
  const OrderLevel& level = found.levels.back();
  std::string line = fmt::format("{:<18} max error {:.4e} K  l2 error {:.4e} K", extent_text(level.cells),
                                 level.max_error_K, level.l2_error_K);
  if (!found.order.empty()) line += fmt::format("  order {:.4f}", found.order.back());
  return line;
}

template <class T>
class Run {
 public:
  explicit Run(const RunPlan& plan)
      : plan_(plan),
        resumed_here_(plan.restart && plan.restart->same_directory ? std::optional(plan.restart->sweep)
                                                                   : std::nullopt),
        console_(plan.world.rank()),
        progress_(choose_style(plan.command.progress, can_rewrite_lines(plan.world.size())), console_),
        directory_{config().output.directory} {}

  // Creates the solver of the first case before the directory, because the solver detects errors in formulas
  // and datasets.
  void open() {
    const auto& restart = plan_.restart;
    limit_ = find_wall_limit(config(), plan_.world, plan_.started);
    make_solver(plan_.session.cases.front());
    on_root(plan_.world, [&] {
      directory_ = prepare_run_directory(config(), plan_.session.deck.text, resumed_here_.has_value(),
                                         Force{plan_.command.force}, restart ? restart->lock : nullptr);
    });
    if (is_root()) console_.open_log(directory_.log(), resumed_here_.has_value());
    record_ = describe_run(plan_.command, plan_.session, plan_.world);
    record_solver();
    if (record_.sources)
      if (std::string text = replaced_heat_text(config(), *record_.sources); !text.empty())
        record_.warnings.push_back(std::move(text));
    record_.performance.copy_bandwidth = plan_.copy_bandwidth;
    record_.performance.predicted_seconds = predicted_seconds(plan_.session, plan_.copy_bandwidth);
    record_.performance.predicted_as = predicted_as(plan_.session);
    if (restart) record_.continuation.restarted = *restart;
    phases_[Phase::setup] = plan_.started.seconds();
    console_.say(banner(record_));
    if (restart) resume();
    if (!limit_.source.empty())
      console_.say(fmt::format("  {:<13}{}, with a checkpoint", "ends before", limit_.source));
    if (!is_root()) return;  // all ranks have the same warnings
    if (!limit_.warning.empty()) console_.warn(limit_.warning);
    if (!directory_.lock->warning().empty()) console_.warn(directory_.lock->warning());
    for (const std::string& warning : record_.warnings) console_.warn(warning);
    if (plan_.command.profile && solver_->is_asynchronous())
      console_.warn("--profile waits for the device after every phase: figures are lower than without it");
  }

  // Solves one grid of the series; only the last writes its field. False: an error, which report() throws.
  bool solve(const Config& config) try {
    Timer timer;
    const bool last = &config == &plan_.session.cases.back();
    if (&config != &plan_.session.cases.front()) {
      make_solver(config);
      record_solver();
    }
    LoopOutputs<T> outputs{FileThread(why_in_step(config, plan_.world))};
    open_outputs(outputs, config, last);
    if (last && outputs.files.in_step() && config.output.asynchronous && !plan_files(config).empty())
      console_.say(fmt::format("files of the field are written in step: {}", outputs.files.why_in_step()));
    warn_new(outputs.files);
    phases_[Phase::setup] += timer.lap();

    const LoopFrame frame{plan_.world, plan_.started, limit_,
                          plan_.restart ? &plan_.restart->state() : nullptr, resumed_here_};
    const LoopOutcome outcome = run_time_loop(config, *solver_, autotuner_.get(), outputs, frame);
    progress_.finish();
    if (outputs.fields) {
      record_.files = outputs.fields->names();
      record_.writing = outputs.fields->record(outcome.end_seconds);
    }
    record_outcome(config, outcome);
    warn_new(outputs.files);
    end_case(config, outcome);
    return true;
  } catch (const CollectiveError& error) {
    fail(error);
    return false;
  }

  int report() {
    if (record_.message.empty()) judge();
    phases_[Phase::total] = profile_[Phase::total] = plan_.started.seconds();
    // `other` of the profile is the rest of the loop; here it is the rest of the run.
    const double known = phases_[Phase::setup] + sum_of(phases_) + phases_[Phase::output];
    phases_[Phase::other] = std::max(0.0, phases_[Phase::total] - known);
    record_.phases = gather_phases(phases_, plan_.world);
    if (plan_.command.profile) record_.profile = gather_profiles(profile_, plan_.world);
    RankInfo mine = record_.ranks[plan_.world.rank()];
    mine.peak_bytes = static_cast<std::int64_t>(proc_bytes("/proc/self/status", "VmHWM"));
    record_.ranks = gather_ranks(mine, plan_.world);
    record_.finished = utc_now();
    record_.warnings = console_.warnings();
    console_.say(final_table(record_));
    write_record();
    console_.say(closing_lines(record_));
    if (!record_.message.empty()) throw CollectiveError(record_.exit_code, record_.message);
    return static_cast<int>(record_.exit_code);
  }

 private:
  // Records an error that ended a case; report() throws it.
  void fail(const CollectiveError& error) {
    record_.exit_code = error.code();
    record_.message = error.what();
  }

  const Config& config() const { return plan_.session.deck.config; }
  bool is_series() const { return plan_.session.cases.size() > 1; }
  bool is_root() const { return plan_.world.is_root(); }

  void open_outputs(LoopOutputs<T>& outputs, const Config& config, bool last) {
    const std::string path = directory_.path.string();
    const SnapshotProvenance origin{plan_.session.deck.text,
                                    record_.resolved_deck,
                                    record_.build.version,
                                    record_.build.git_revision,
                                    record_.ranks.front().device,
                                    record_.method.kernel,
                                    record_.mpi,
                                    record_.hdf5,
                                    record_.name};
    outputs.console = &console_;
    if (is_root()) outputs.progress = &progress_;
    if (last)
      outputs.fields.emplace(config, plan_.world, *solver_, directory_, origin, console_, outputs.files,
                             resumed_here_);
    if (!is_series() && config.output.checkpoint.write && moves_data(config))
      outputs.checkpoints.emplace(config, plan_.world, path, origin, outputs.files);
    if (config.output.diagnostics) outputs.columns = plan_diagnostics(config);
    if (config.output.history && is_root())
      outputs.history.emplace(directory_.history(), console_, history_head(outputs.columns), "its history",
                              resumed_here_ ? std::optional(plan_.restart->last_line()) : std::nullopt);
  }

  void make_solver(const Config& config) {
    const Communicator& world = plan_.world;
    const Placement& placement = plan_.session.placement;
    const Decomposition decomposition = decompose(config, world.size(), placement.backend);
    const int threads = placement.ranks[world.rank()].threads;
    autotuner_.reset();
    solver_.reset();  // frees its memory for the next solver
    const KernelChoices<T> choices = common_choices<T>(config, decomposition, world, plan_.device);
    std::optional<TuningChoice> recalled;
    // A cycle that contains more than sweeps is executed as a whole: the autotuner has nothing to measure.
    const bool is_tuned = !make_method(config).is_taken_whole();
    if (!config.solver.tuning_file.empty() && is_tuned) {
      tuning_key_ = tuning_key(config, decomposition, plan_.device, threads);
      recalled = recall_tuning(config, tuning_key_, world);
    }
    std::optional<StoredField> stored;
    if (const auto& restart = plan_.restart) stored = {restart->file, temperature_dataset, restart->sweep};
    solver_ = std::make_unique<Solver<T>>(config, decomposition, world, plan_.device,
                                          default_kernels(config, choices), true, stored);
    if (plan_.command.profile) solver_->time_phases();
    tuning_source_ = choices.open() ? Tuning::Source::defaults : Tuning::Source::deck;
    if (recalled && use_recalled(*recalled, choices, *solver_)) {
      tuning_source_ = Tuning::Source::file;
    } else if (is_tuned) {
      autotuner_ = std::make_unique<Autotuner<T>>(config, *solver_, choices);
      if (!autotuner_->open()) autotuner_.reset();
    }
    halo_cost_.reset();
    if (!autotuner_ && world.size() > 1) halo_cost_ = solver_->measure_halo_cost();
  }

  // Collective. Verifies that the device holds the checkpoint's field; renames files of later sweeps.
  void resume() {
    const Restart& restart = *plan_.restart;
    if (moves_data(config()) && solver_->fingerprint() != restart.header.meta.fingerprint)
      throw error_of<CollectiveError>(
          ExitCode::io,
          "{}: the field that was read is not the one that was checked (the file or its "
          "disk changes); try again, or name another one",
          restart.file);
    on_root(plan_.world, [&] {
      if (restart.same_directory) back_up_later(directory_.path.string(), config().name, restart.sweep);
    });
    console_.say(fmt::format("resuming from {}, sweep {}", restart.file, restart.sweep));
    for (const std::string& change : restart.changes) console_.say("  changed: " + change);
    if (!is_root()) return;
    for (const std::string& warning : restart.warnings) console_.warn(warning);
  }

  // After a loop: throws the error or prints the warning that its end requires, and verifies the field.
  void end_case(const Config& config, const LoopOutcome& outcome) {
    if (!outcome.divergence.empty()) throw CollectiveError(ExitCode::diverged, outcome.divergence);
    if (moves_data(config)) record_.fingerprint = solver_->fingerprint();
    if (!outcome.stopped_by.empty()) {
      // If solver.walltime left no time for a step, it never will. Proposes twice the time until now, as the
      // next start may be slower, plus 2 s for the margin of WallLimit.
      const bool longer = solver_->own_sweeps() == 0 && outcome.stopped_by == "the wall time";
      throw error_of<CollectiveError>(
          ExitCode::stopped, "stopped by {} at sweep {}{}; {}{}", outcome.stopped_by, solver_->sweeps(),
          has_checkpoint(outcome) ? "" : " (it has left no checkpoint)",
          next(outcome, longer ? "solver.walltime" : ""),
          longer ? fmt::format(" solver.walltime={}", rounded_up(2 * plan_.started.seconds() + 2)) : "");
    }
    const std::string end = steady_end_text(
        config, outcome, solver_->sweeps(),
        next(outcome, config.problem.max_cycles ? "problem.max_cycles" : "problem.max_sweeps"));
    if (is_root() && !end.empty()) console_.warn(end);
    if (config.verify.solution == ExactSolution::none) return;
    const auto coarser = std::exchange(record_.verification, verify(config, plan_.world, *solver_));
    if (!is_series()) return;
    add_level(*record_.verification, coarser, config, solver_->own_sweeps());
    console_.say(level_line(*record_.verification));
  }

  // Prints each new warning of the writers once, on rank 0, which has all of them.
  void warn_new(const FileThread& files) {
    for (const std::string& warning : files.warnings())
      if (is_root() && std::ranges::count(console_.warnings(), warning) == 0) console_.warn(warning);
  }

  bool has_checkpoint(const LoopOutcome& outcome) const {
    return !outcome.checkpoints.empty() || resumed_here_;
  }
  // "resume with: isotherm run deck.yaml --restart 'runs/deck'" from the newest checkpoint; from the
  // beginning where there is none. `anew`: a key to omit, as the caller appends a new value.
  std::string next(const LoopOutcome& outcome, std::string_view anew = {}) const {
    const bool kept = has_checkpoint(outcome);
    std::string words = shell_word(plan_.command.file);
    for (const std::string& each : plan_.command.overrides)
      if (const std::string key = each.substr(0, each.find('='));
          key != anew && (kept || key != "output.overwrite"))
        words += " " + shell_word(each);
    return fmt::format("{}: isotherm run {}{} {}", kept ? "resume with" : "start it again",
                       plan_.command.from_output ? "--from " : "", words,
                       kept ? "--restart " + shell_word(directory_.path.string()) : "output.overwrite=true");
  }

  void record_solver() {
    MethodRecord& method = record_.method;
    method.tuning.source = tuning_source_;
    describe_steps(*solver_, autotuner_.get(), method);
    method.tuning.file = config().solver.tuning_file;
    record_.halo = {gather_pairs(solver_->halo_links(), plan_.world), halo_cost_};
    method.transport = transports_in_use(record_.halo);
    if (solver_->has_sources()) record_.sources = solver_->sources();
    record_.source_cells_note = source_cells_note(config());
    std::vector<std::int64_t> cells = solver_->level().cells_of_material();
    plan_.world.all_reduce<std::int64_t>(cells, ReduceOp::sum);
    record_.materials.clear();
    for (std::size_t i = 0; i < cells.size() && !config().materials.empty(); ++i)
      if (i < config().materials.size() || cells[i] > 0)  // beyond the materials: cells of the keyword void
        record_.materials.push_back({material_of_number(config(), i), cells[i]});
  }

  // On rank 0. A failure is only a warning, as the run does not need the file.
  void keep_tuning_found(const Config& config) {
    if (config.solver.tuning_file.empty() || !autotuner_ || !is_root()) return;
    const MethodRecord& m = record_.method;
    try {
      keep_tuning(config.solver.tuning_file, tuning_key_,
                  {m, autotuner_->sweep_seconds(), m.tuning.seconds, m.tuning.complete});
    } catch (const Error& e) {
      console_.warn(fmt::format("the tuning is not kept: {}", e.what()));
    }
  }

  void record_outcome(const Config& config, const LoopOutcome& outcome) {
    record_solver();
    if (outcome.halo_cost) halo_cost_ = outcome.halo_cost;
    keep_tuning_found(config);
    record_.cells = config.grid.cells;
    record_.residual = outcome.residual;
    record_.continuation.checkpoints = std::ssize(outcome.checkpoints);
    if (!outcome.checkpoints.empty())
      record_.continuation.newest = std::filesystem::path(outcome.checkpoints.back()).filename();
    record_.continuation.stopped_by = outcome.stopped_by;
    add_times(phases_, solver_->times(), outcome);
    profile_ = phases_;
    if (const auto bins = solver_->histogram_bins())
      record_.histogram = {std::string(solver_->histogram().name), bins->count, bins->low, bins->high};
    record_.time = solver_->time();
    const auto cells = static_cast<double>(config.grid.cells.product());
    const StepCounts counts = solver_->counts();
    record_.performance.sweeps += counts.sweeps;
    record_.performance.steps += counts.parts;
    record_.performance.rejected_steps += counts.rejected;
    record_.performance.cycles += solver_->own_sweeps() / solver_->level().method().cycle();
    record_.performance.points += cells * static_cast<double>(counts.sweeps);
    record_.performance.untimed_sweeps += outcome.tuning.sweeps;
    record_.performance.untimed_points += cells * static_cast<double>(outcome.tuning.sweeps);
    record_.performance.bytes_per_point = solver_->bytes_per_point();
    const bool sound = outcome.divergence.empty();
    record_.answer = sound ? Answer::finite : Answer::not_finite;
    record_.end_state.reset();
    const Timer timer;
    if (sound) record_end(config, *solver_, record_);
    warn_of_cold(config);
    phases_[Phase::diagnostics] += timer.seconds();
    // After record_end(), as the measurement overwrites the field before the last sweep.
    if (plan_.world.size() > 1 && !halo_cost_ && sound) halo_cost_ = solver_->measure_halo_cost();
    if (sound && !is_series()) record_.performance.values_seconds = solver_->measure_values();
    if (!record_.halo.cost && halo_cost_) {
      record_.halo.cost = halo_cost_;
      console_.say(fmt::format("  {:<13}{}", "halo", halo_lines(record_.halo).back()));
    }
  }

  void warn_of_cold(const Config& config) {
    constexpr double rounding = 1e-3;  // K
    if (!is_root() || !record_.end_state || !record_.end_state->lowest) return;
    const double lowest = record_.end_state->lowest->temperature_K;
    if (lowest < lowest_temperature(config) - rounding)
      console_.warn(fmt::format(
          "the field is below absolute zero, down to {:.4g} K; look at the signs of fluxes and sources",
          lowest));
  }

  void judge() {
    record_.exit_code = ExitCode::done;
    if (record_.residual.convergence == Convergence::not_reached ||
        record_.residual.convergence == Convergence::stalled)
      record_.exit_code = ExitCode::not_converged;
    if (!record_.verification) return;
    record_.verification->verdict = verdict(*record_.verification);
    if (record_.verification->verdict == Verdict::failed) record_.exit_code = ExitCode::diverged;
  }

  // A record that cannot be written fails the run, but does not replace an earlier error.
  void write_record() {
    try {
      on_root(plan_.world, [&] { write_file_atomically(directory_.record(), to_json(record_)); });
    } catch (const CollectiveError& error) {
      if (is_root() && !record_.message.empty()) console_.warn(error.what());
      if (record_.message.empty()) fail(error);
    }
  }

  const RunPlan& plan_;
  std::optional<std::int64_t> resumed_here_;  // the checkpoint's sweep, if the directory is the same
  WallLimit limit_;
  std::unique_ptr<Solver<T>> solver_;
  std::unique_ptr<Autotuner<T>> autotuner_;              // of the solver; none: nothing is left to measure
  Tuning::Source tuning_source_ = Tuning::Source::deck;  // without an autotuner
  std::optional<HaloCost> halo_cost_;                    // of the steps that the run uses
  TuningKey tuning_key_;                                 // of its entry in solver.tuning_file
  Console console_;
  Progress progress_;
  RunDirectory directory_;
  RunRecord record_;
  PhaseTimes phases_;   // the parts of exchanges are known only after Solver::time_phases()
  PhaseTimes profile_;  // the same at the end of the loop, without later work
};

}  // namespace

Verdict verdict(const Verification& v) {
  if (!std::isfinite(v.max_error_K)) return Verdict::failed;
  if (v.tolerance_K && !(v.max_error_K <= *v.tolerance_K)) return Verdict::failed;
  if (v.misses_order()) return Verdict::failed;
  return v.tolerance_K || !v.order.empty() ? Verdict::passed : Verdict::reported;
}

// All ranks copy at the same time, as in sweeps; a round takes as long as its slowest rank. Returns the
// median rate of the rounds, because the reported rate of sweeps is an average too. Rounds move at most the
// bytes of the run's sweeps, so that the measurement for a short run takes no longer than the run.
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
  do {
    world.barrier();
    seconds.push_back(world.all_reduce(watch.seconds(copy), ReduceOp::max));
  } while (world.all(static_cast<double>(seconds.size()) < passes_of_run &&
                     (seconds.size() < 3 || timer.seconds() < 0.25)));
  return world.all_reduce(2.0 * static_cast<double>(bytes), ReduceOp::sum) / median(std::move(seconds));
}

int solve_and_report(const RunPlan& plan) {
  return with_number(plan.session.deck.config.precision, [&]<class T>(T) {
    Run<T> run(plan);
    run.open();
    for (const Config& each : plan.session.cases)
      if (!run.solve(each)) break;
    return run.report();
  });
}

}  // namespace isotherm
