#include "app/time_loop.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "physics/boundaries.hpp"
#include "physics/coverage.hpp"
#include "physics/operator.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/method.hpp"
#include "solver/residual_check.hpp"

namespace isotherm {
namespace {

constexpr double serious_share = 0.01;  // of heat that rounding loses
constexpr double largest_update = 1e9;  // K per sweep; only unstable sweeps exceed it

// The largest boundary, initial or source value, "boundaries.x_min.value is 1e11"; empty if all are ordinary.
std::string extraordinary_value(const Config& config) {
  constexpr double ordinary = 1e6;  // K
  double largest = ordinary;
  std::string text;
  const auto check = [&](const std::string& key, double value, double kelvin) {
    if (!(std::abs(kelvin) > largest)) return;
    largest = std::abs(kelvin);
    text = fmt::format("{} is {:g}", config.at(key), value);
  };
  for (int f = 0; f < face_count; ++f) {
    for (const PlacedLaw& law : laws_of(config, static_cast<Face>(f))) {
      if (law.kind == BoundaryKind::periodic || !law.value.is_constant()) continue;
      const double value = law.value(0, 0, 0, 0);
      const double slope = law.has_temperature() && !is_plain(config.boundaries[f])
                               ? 1
                               : boundary_law(config, static_cast<Face>(f)).slope;
      check(law.value_key(), value, value * slope);
    }
  }
  for (std::size_t i = 0; i < config.initial.size(); ++i)
    if (const auto value = config.initial[i].value) check(fmt::format("initial.{}.value", i), *value, *value);
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const RegionValue& source = config.sources[i];
    check(fmt::format("sources.{}.{}", i, source.power ? "power" : "value"),
          source.power ? (*source.power)(0, 0, 0) : source.value.value_or(0),
          source_strength(config, source) * source_scale(config));
  }
  return text;
}

std::string remedy_of(const Config& config, double residual) {
  if (config.problem.kind == ProblemKind::transient && euler_dt(config) > stable_dt(config))
    return fmt::format(
        "keep problem.dt below the stability limit {:.6g} s and look at boundaries and sources",
        stable_dt(config));
  std::string why;
  if (std::isfinite(residual))
    why = fmt::format("it changed by {:.3g} K in a sweep, more than 1e9 K; ", residual);
  if (config.problem.kind == ProblemKind::transient)
    why += fmt::format("problem.dt is stable (at most {:.6g} s); ", stable_dt(config));
  const std::string value = extraordinary_value(config);
  return why +
         (value.empty() ? "look at boundaries and sources" : "look at the values of the deck: " + value);
}

// Describes a divergence by the most extreme cell. `checked`: the sweep whose `residual` (K) showed it.
std::string divergence(const Config& config, const NumberedTemperature& extreme, std::int64_t sweeps,
                       std::int64_t checked, double residual) {
  const Int3 cell = extreme.cell(config.grid.cells);
  const std::string what = fmt::format(
      "cell ({}, {}, {}) {}", cell.x, cell.y, cell.z,
      std::isinf(extreme.value) ? "is not finite" : fmt::format("has reached {:.3g} K", extreme.value));
  return fmt::format(
      "diverged: {} after sweep {} (residuals are checked every {} sweeps{}); {}", what, sweeps,
      config.problem.check_interval * sweeps_of_cycle(config),
      checked < sweeps ? fmt::format(" and evaluated late: that of sweep {} showed it", checked) : "",
      remedy_of(config, residual));
}

// A warning that the precision loses heat of sources and flux boundaries; empty: no reason to warn.
std::string lost_heat_text(const Config& config, const LostHeat& heat) {
  if (!(heat.lost > serious_share * heat.all)) return {};  // rounding always loses the tails of a gaussian
  const bool transient = config.problem.kind == ProblemKind::transient;
  std::string longer;
  if (transient && !takes_long_steps(config) && time_plan(config).dt < 0.99 * stable_dt(config))
    longer = fmt::format(", or a larger problem.dt (the stability limit is {:.6g} s)", stable_dt(config));
  return fmt::format(
      "fp32 loses {:.3g} % of the heat of sources and flux boundaries: a {} adds less than half the last "
      "digit of their temperature to these cells, so they do not change; use precision: fp64{}",
      100 * heat.lost / heat.all, transient ? "step" : "sweep", longer);
}

// For several materials in fp32: the change of a cell's update per kelvin of an error of the field. Rounding
// can hide an error whose change is too small. 0: not known. The residual of a steady problem loses changes
// below half a last digit, so an error of the slowest mode may remain. Implicit steps compute the heat
// between cells from differences, which lose no digits, but the heat at boundaries from ghosts a T + b: an
// error common to all cells changes this heat by only 1 - a times the error.
double visible_share(const Config& config) {
  if (!has_several_materials(config)) return 0;
  if (config.problem.kind == ProblemKind::steady) return sweep_spectrum(config).lowest;
  double share = 0;
  if (!is_implicit(config) || has_void_law(config)) return share;
  for (int f = 0; f < face_count; ++f) {
    if (config.boundaries[f].kind == BoundaryKind::periodic) continue;
    double k = 0;
    for (const MaterialClass& each : material_classes(config).classes)
      k = std::max(k, each.conductivity[axis_of(static_cast<Face>(f))]);
    share = std::max(share, 1 - mean_a(config, static_cast<Face>(f), k));
  }
  return share;
}

// `hottest`: the largest magnitude in the field, K; `range`: of its values, K. Empty: no reason to warn.
std::string hidden_error_text(const Config& config, double share, double hottest, double range) {
  constexpr double serious = 0.01, least_range = 0.01;  // of the range; of `hottest`, for small ranges
  const double hidden = std::numeric_limits<float>::epsilon() / 2 * hottest / share;
  if (!(hidden > serious * std::max(range, least_range * hottest))) return {};
  const bool may_be_mixed = is_implicit(config) || config.problem.method == MethodName::multigrid;
  return fmt::format(
      "fp32 may hide an error of up to {:.2g} K, as the rounding of {:.4g} K hides {}; use "
      "precision: fp64{}",
      hidden, hottest,
      is_implicit(config) ? "heat of boundaries as weak as these" : "how a sweep changes the slowest mode",
      may_be_mixed ? " or mixed" : "");
}

template <class T>
class Loop {
 public:
  Loop(const Config& config, Solver<T>& solver, Autotuner<T>* autotuner, LoopOutputs<T>& outputs,
       const LoopFrame& frame)
      : config_(config),
        solver_(solver),
        autotuner_(autotuner),
        outputs_(outputs),
        frame_(frame),
        schedule_(config),
        cycle_(solver.level().method().cycle()),
        unit_(static_cast<int>(solver.unit())),
        control_poll_(solver.sweeps(), unit_),
        progress_rate_(solver.level().method().decay),
        stagnation_(config, solver.level().method().decay, config.problem.check_interval * cycle_),
        written_(frame.last_checkpoint) {
    outcome_.residual.norm = config.problem.norm;
    outcome_.residual.criterion = config.problem.criterion;
    outcome_.residual.check = config.problem.check;
    if (steady()) outcome_.residual.tolerance = config.problem.tolerance;
    if (frame.resumed) restore_state(*frame.resumed);
  }
  ~Loop() { outputs_.files.settle(); }
  Loop& operator=(Loop&&) = delete;

  LoopOutcome run() {
    solver_.reset_times();  // of earlier exchanges, which belong to the set-up
    if (!frame_.resumed) {
      write_fields(Wanted::due);
      write(line_with_check(0, false));
    }
    poll_control();
    written_at_ = elapsed_;
    while (solver_.sweeps() < schedule_.last() && !ended() && !stopped()) {
      const std::int64_t due = schedule_.next_after(solver_.sweeps());
      advance(due);
      if (solver_.sweeps() == due && !ended()) handle_due_events(due);
    }
    solver_.synchronize();
    ended() || solver_.sweeps() == schedule_.last() ? finish() : stop();
    finish_files();
    outcome_.wall = wall_.seconds();
    return std::move(outcome_);
  }

 private:
  // The final state is always written.
  void finish() {
    outcome_.stopped_by.clear();  // the run is complete: nothing was stopped
    Residual& r = outcome_.residual;
    if (steady()) r.convergence = end_;
    if (!outcome_.divergence.empty()) {
      if (outputs_.fields) outcome_.divergence += outputs_.fields->write_diverged();
      return;
    }
    // If coefficients vary over a face, the slowest mode is an estimate. This suffices for multigrid, whose
    // residuals consist mostly of fast modes.
    const bool is_known = steady() && (config_.problem.method == MethodName::multigrid ||
                                       has_several_materials(config_) || !has_varying_coefficients(config_));
    const double lowest = is_known ? sweep_spectrum(config_).lowest : 0;
    if (lowest > 0 && r.last && *r.last > 0) r.error = *r.last / lowest;
    const bool misses_tolerance = steady() && end_ != Convergence::reached && config_.problem.tolerance > 0;
    if (misses_tolerance) outcome_.largest_temperature = std::abs(solver_.extremes().most_extreme().value);
    if (std::is_same_v<T, float>) warn_of_rounding();
    write_fields(Wanted::last);
    const CheckpointConfig& asked = config_.output.checkpoint;
    const bool sweeps_help =
        misses_tolerance && end_ != Convergence::stagnated && asked.final != FinalCheckpoint::off;
    if (asked.at_end() || sweeps_help) write_checkpoint();
  }

  // Stops before the end. Completes a pending check, as only some ranks may have begun its all-reduce.
  void stop() {
    settle_check();
    if (solver_.own_sweeps() > 0 || !out_of_time_) write_checkpoint();
  }

  // Restores the state that an uninterrupted run has at this sweep.
  void restore_state(const CheckpointState& state) {
    Residual& r = outcome_.residual;
    r.first = state.first_residual;
    r.last = state.last_residual;
    r.checks = state.checks;
    if (r.last) r.last_sweep = state.last_checked;
    if (state.lowest_residual) {
      stagnation_.resume_from({*state.lowest_residual, state.lowest_sweep});
    } else if (r.last) {
      stagnation_.resume_from({*r.last, state.last_checked});  // an old checkpoint lacks the lowest one
    }
    if (state.pending_residual) checked_ = {state.pending_sweep, state.pending_residual};
    if (r.last && !checked_ && has_converged(config_, *r.first, *r.last)) {
      end_ = Convergence::reached;
      r.extra_sweeps = solver_.sweeps() - state.last_checked;
    }
    wall_before_ = state.wall;
    solver_.resume_from_halvings(static_cast<int>(state.step_halvings));
  }

  bool steady() const { return config_.problem.kind == ProblemKind::steady; }

  // Advances by whole periods and graphs, the same on all ranks, so that all exchange at the same sweeps.
  void advance(std::int64_t until) {
    tune(until);
    while (solver_.sweeps() < until && !stopped() && !ended()) {
      const std::int64_t here = solver_.sweeps();
      const std::int64_t count = until_poll(here, until) - here;
      // Heat flows of the last step need the field before it; those of a steady problem do not.
      solver_.sweep(count, !steady() && here + count == schedule_.last());
      const bool has_stopped = solver_.sweeps() < here + count;
      if (has_stopped || solver_.sweeps() >= control_poll_.next()) poll_control(has_stopped);
      if (wanted_ && solver_.sweeps() < until) write_checkpoint();  // else handle_due_events() writes it
    }
  }

  // The sweep of the next poll, or `until` if earlier; always the end of a cycle, as a run may stop there.
  std::int64_t until_poll(std::int64_t here, std::int64_t until) const {
    if (cycle_ == 1) return here + whole_periods(control_poll_.next() - here, until - here, unit_);
    return std::min(until, (std::max(control_poll_.next(), here + 1) + cycle_ - 1) / cycle_ * cycle_);
  }

  // Lets the autotuner make these sweeps, except the last, which may compute a norm.
  void tune(std::int64_t until) {
    if (!autotuner_ || autotuner_->done()) return;
    settle_check();
    const Timer timer;
    const std::int64_t first = solver_.sweeps();
    const PhaseTimes before = solver_.times();
    autotuner_->advance(until - 1);
    unit_ = static_cast<int>(solver_.unit());
    control_poll_ = ControlPoll(solver_.sweeps(), unit_);
    if (autotuner_->done()) {
      if (frame_.world.size() > 1) outcome_.halo_cost = solver_.measure_halo_cost();
      MethodRecord method;
      describe_steps(solver_, autotuner_, method);
      if (outputs_.console) outputs_.console->say(kernel_line(method));
    }
    tuning_.sweeps += solver_.sweeps() - first;
    tuning_.seconds += timer.seconds();
    tuning_.times += solver_.times() - before;
    if (autotuner_->done()) outcome_.tuning = tuning_;
  }

  // Collective. A signal to one rank stops all; the time is that of the rank that started first. `must_stop`:
  // a step found that it would end too late.
  void poll_control(bool must_stop = false) {
    solver_.limit_queue();
    FileThread& files = outputs_.files;
    double seen[] = {static_cast<double>(noted_stop_signal()), frame_.started.seconds(),
                     files.failed() ? 1.0 : 0.0, files.backlog()};
    frame_.world.all_reduce<double>(seen, ReduceOp::max);
    if (seen[2] > 0) files.finish();  // throws
    // The time to the next poll, if it equals that since the last; 0 at first. A device is one poll behind.
    const double since = seen[1] - elapsed_;
    const double next = (elapsed_ == 0 ? 0 : solver_.is_asynchronous() ? 2 : 1) * since;
    control_poll_.polled(solver_.sweeps(), since);
    elapsed_ = seen[1];
    report_progress();
    const double write = (outputs_.checkpoints ? outputs_.checkpoints->seconds() : 0) + seen[3];
    const double latest = frame_.limit.latest_stop(write);
    solver_.stop_by({frame_.started, latest, elapsed_});
    if (seen[0] > 0) {
      outcome_.stopped_by = signal_name(static_cast<int>(seen[0]));
    } else if (must_stop || elapsed_ + next >= latest) {
      outcome_.stopped_by = frame_.limit.stops_by;
      out_of_time_ = true;
    }
    const std::optional<double>& every = config_.output.checkpoint.every_wall;
    wanted_ = every && elapsed_ >= written_at_ + *every;
  }

  bool stopped() const { return !outcome_.stopped_by.empty(); }
  bool converged_or_stalled() const { return end_ != Convergence::not_reached; }
  bool ended() const { return converged_or_stalled() || !outcome_.divergence.empty(); }

  void handle_due_events(std::int64_t sweep) {
    if (checked_) write(finish_check());
    write(line_with_check(sweep, schedule_.check_is_asynchronous(sweep)));
    if (sweep == schedule_.last() || ended()) return;
    write_fields(Wanted::due);
    if (wanted_ || schedule_.checkpoints.due(sweep)) write_checkpoint();
  }

  // The line with the residual and diagnostics that are due. `later`: the check may end at the next event.
  HistoryLine line_with_check(std::int64_t sweep, bool later) {
    HistoryLine line = line_of(sweep);
    if (schedule_.check_due(sweep) && !ended()) {
      solver_.start_residual();
      checked_ = {sweep, std::nullopt};
      if (!later) line = finish_check();
    }
    if (schedule_.diagnostics_due(sweep) || (converged_or_stalled() && config_.output.diagnostics))
      line.diagnostics = solver_.diagnose();
    return line;
  }

  // Completes the check, which may end the run. Returns its history line, without a divergent residual.
  HistoryLine finish_check() {
    const UnderWay check = *std::exchange(checked_, std::nullopt);
    HistoryLine line = line_of(check.sweep);
    const double value = check.residual ? *check.residual : solver_.finish_residual();
    Residual& r = outcome_.residual;
    if (!r.first) r.first = value;
    r.last = value;
    r.last_sweep = line.sweep;
    ++r.checks;
    if (std::is_same_v<T, float> && !loses_heat_) {
      const std::string text = lost_heat_text(config_, solver_.lost_heat());
      loses_heat_ = !text.empty();
      warn(text);
    }
    if (!(value <= largest_update)) {
      diverge(line.sweep, value);
    } else {
      line.residual = value;
      line.relative = relative_residual(*r.first, value);
      report_progress();
      // The error in kelvin follows from a residual only after the method has swept the field.
      const bool may_end = config_.problem.criterion != Criterion::error || line.sweep > 0;
      if (may_end && has_converged(config_, *r.first, value)) {
        end_ = Convergence::reached;
        // If fp32 rounds off all updates, the residual is 0.
        const LostHeat heat = std::is_same_v<T, float> && value == 0 ? solver_.lost_heat() : LostHeat{};
        judge_balance(heat.all > 0 ? heat.lost / heat.all : 0);
      } else {
        check_stagnation(line.sweep, value);
      }
    }
    if (ended()) r.extra_sweeps = solver_.sweeps() - line.sweep;
    return line;
  }

  // `checked`: the sweep whose residual diverged; with asynchronous checks the field is of a later sweep.
  void diverge(std::int64_t checked, double residual) {
    outcome_.divergence =
        divergence(config_, solver_.extremes().most_extreme(), solver_.sweeps(), checked, residual);
  }

  // On rank 0, as the text is the same on all ranks; empty: no warning.
  void warn(const std::string& text) {
    if (!text.empty() && outputs_.console && frame_.world.is_root()) outputs_.console->warn(text);
  }

  void warn_of_rounding() {
    const double lost = steady() || loses_heat_ == true ? 0 : unbalanced_share();
    if (lost > serious_share)
      warn(fmt::format(
          "fp32 loses {:.3g} % of the heat of sources and flux boundaries in the last step, as changes below "
          "half a last digit vanish; use precision: fp64",
          100 * lost));
    const double share = visible_share(config_);
    if (share == 0) return;
    const TemperatureExtremes found = solver_.extremes();
    warn(hidden_error_text(config_, share, std::abs(found.most_extreme().value),
                           found.highest.value - found.lowest.value));
  }

  // Ends the run if the residual no longer falls: stagnated at the level of rounding, stalled above it.
  void check_stagnation(std::int64_t sweep, double residual) {
    stagnation_.checked(sweep, residual);
    if (!stagnation_.reached(sweep)) return;
    const double rounding = rounding_level<T>(std::abs(solver_.extremes().most_extreme().value));
    end_ = residual <= rounding ? Convergence::stagnated : Convergence::stalled;
    if (residual <= rounding) judge_balance(unbalanced_share());
  }

  // A steady run that loses so much of its heat in rounding is not converged.
  void judge_balance(double share) {
    if (!(share > serious_share)) return;
    outcome_.unbalanced_share = share;
    end_ = Convergence::stalled;
  }

  // Collective. The share of the heat of sources and flux boundaries that the field does not balance. 0 if
  // they give none, as the flows are then of rounding alone, and if the flows are not known.
  double unbalanced_share() {
    const std::optional<HeatFlows> flows = solver_.heat_flows();
    if (!flows) return 0;
    double given = std::abs(flows->source);
    for (int f = 0; f < face_count; ++f)
      if (is_of_flux(config_, static_cast<Face>(f))) given += std::abs(flows->boundaries[f]);
    return given > 0 ? std::abs(flows->balance) / given : 0;
  }

  HistoryLine line_of(std::int64_t sweep) const { return {.sweep = sweep, .time = schedule_.time(sweep)}; }

  void write(HistoryLine line) {
    if (!outputs_.history || !(line.residual || line.diagnostics)) return;
    line.wall = wall_before_ + wall_.seconds();
    outputs_.history->add(history_line(line, outputs_.columns));
  }

  void report_progress() {
    if (!outputs_.progress) return;
    const ProgressState state = progress();
    outputs_.progress->update(state);
    warn_of_limit(state);
  }

  ProgressState progress() {
    const Residual& r = outcome_.residual;
    const double unit = r.tolerance && r.first && *r.first > 0 ? tolerance_unit(config_, *r.first) : 1;
    ProgressState state;
    state.sweep = solver_.sweeps();
    state.last_sweep = schedule_.last();
    if (!steady()) state.time = solver_.time();
    if (r.last) state.residual = *r.last / unit;
    if (r.first) state.first_residual = *r.first / unit;
    state.tolerance = r.tolerance;
    state.wall = wall_.seconds();
    progress_rate_.reached(state.sweep, state.wall);
    if (r.last) progress_rate_.checked(*r.last_sweep, *state.residual);
    if (const auto rate = progress_rate_.sweeps_per_second())
      state.points_per_second = *rate * static_cast<double>(config_.grid.cells.product());
    state.left = progress_rate_.forecast(state.last_sweep, r.tolerance);
    return state;
  }

  // Warns once, and early, if the time limit is too short.
  void warn_of_limit(const ProgressState& state) {
    const WallLimit& limit = frame_.limit;
    if (warned_of_limit_ || !outputs_.console || !state.left.seconds || state.wall < limit.time_to_judge())
      return;
    constexpr double margin = 1.1;  // a run may end faster than forecast by this factor
    const double needed = *state.left.seconds, granted = limit.latest_stop(0) - elapsed_;
    if (granted <= 0 || needed < margin * granted) return;
    warned_of_limit_ = true;
    outputs_.console->warn(
        fmt::format("about {} more are needed at the present rate, but {} leaves {}; {}",
                    human_duration(needed), limit.source, human_duration(granted),
                    config_.output.checkpoint.write
                        ? "the run will stop with a checkpoint: resume it with --restart latest"
                        : "the run will stop without a checkpoint: give it more time"));
  }

  // Counts the time of `work` as output, except its waits for the device, which count as sweeps.
  template <class Work>
  void count_output(const Work& work) {
    const TraceRange range(Phase::output);
    const double before = sum_of(solver_.times());
    const Timer timer;
    work();
    outcome_.output_seconds += timer.seconds() - (sum_of(solver_.times()) - before);
  }

  // Completes all files. No sweeps overlap with this.
  void finish_files() {
    const TraceRange range(Phase::output);
    const Timer timer;
    outputs_.files.finish();
    if (outputs_.fields) outputs_.fields->publish_series();
    outcome_.end_seconds = timer.seconds();
    outcome_.output_seconds += outcome_.end_seconds;
  }

  void write_fields(Wanted wanted) {
    if (!outputs_.fields) return;
    count_output([&] { outputs_.fields->write(wanted); });
  }

  // Completes the residual of a pending check; finish_check() decides later whether the run has ended.
  void settle_check() {
    if (checked_ && !checked_->residual) checked_->residual = solver_.finish_residual();
  }

  // Writes no diverged field, and only once per sweep. Flushes the lines of history and probes before.
  void write_checkpoint() {
    wanted_ = false;
    if (!outputs_.checkpoints || written_ == solver_.sweeps()) return;
    settle_check();
    const double newest = solver_.own_sweeps() > 0 ? solver_.residual() : 0;
    if (!(newest <= largest_update)) return diverge(solver_.sweeps(), newest);
    if (outputs_.history) outputs_.history->flush();
    if (outputs_.fields) outputs_.fields->flush();
    count_output([&] {
      const FieldView<const T> field = solver_.host_field();
      outcome_.checkpoints.push_back(outputs_.checkpoints->write(
          field, solver_.subdomain(), {solver_.time(), solver_.sweeps(), solver_.fingerprint()}, state()));
    });
    if (outputs_.fields) outputs_.fields->publish_series();
    written_ = solver_.sweeps();
    written_at_ = elapsed_;
  }

  CheckpointState state() {
    CheckpointState state;
    const Residual& r = outcome_.residual;
    state.first_residual = r.first;
    state.last_residual = r.last;
    state.last_checked = r.last_sweep.value_or(0);
    state.checks = r.checks;
    if (const auto lowest = stagnation_.lowest()) {
      state.lowest_residual = lowest->residual;
      state.lowest_sweep = lowest->sweep;
    }
    state.stagnated = end_ == Convergence::stagnated;
    if (checked_) {
      state.pending_sweep = checked_->sweep;
      state.pending_residual = checked_->residual;
    }
    if (const auto bins = solver_.histogram_bins()) state.histogram_range = Interval{bins->low, bins->high};
    state.wall = wall_before_ + wall_.seconds();
    state.step_halvings = solver_.step_halvings();
    if (!steady()) state.dt = time_plan(config_).dt;
    return state;
  }

  const Config& config_;
  Solver<T>& solver_;
  Autotuner<T>* autotuner_;
  LoopOutputs<T>& outputs_;
  const LoopFrame& frame_;
  Schedule schedule_;
  std::int64_t cycle_;  // sweeps
  int unit_;            // sweeps that are not split
  ControlPoll control_poll_;
  ProgressRate progress_rate_;  // of this part of the run
  bool warned_of_limit_ = false;
  Stagnation stagnation_;
  double elapsed_ = 0;  // s since the start of the run, at the last poll
  bool out_of_time_ = false;
  bool wanted_ = false;                                          // a checkpoint is due by the clock
  std::optional<std::int64_t> written_;                          // the sweep of the newest checkpoint
  double written_at_ = std::numeric_limits<double>::infinity();  // by elapsed_
  struct UnderWay {
    std::int64_t sweep;
    std::optional<double> residual;  // if known before finish_check()
  };
  std::optional<UnderWay> checked_;  // the check that is under way
  double wall_before_ = 0;           // s, of the parts of the run before this one
  Convergence end_ = Convergence::not_reached;
  std::optional<bool> loses_heat_;  // in the rounding of fp32; none before the first check
  LoopOutcome outcome_;
  TunedSweeps tuning_;  // so far
  Timer wall_;
};

}  // namespace

WallLimit find_wall_limit(const Config& config, const Communicator& world, const Timer& started) {
  WallLimit limit;
  if (config.solver.walltime) {
    limit.seconds = *config.solver.walltime;
    limit.source = fmt::format("solver.walltime {} s", *config.solver.walltime);
  }
  double job = std::numeric_limits<double>::infinity();
  if (const char* text = std::getenv("SLURM_JOB_END_TIME"); text && *text) {
    if (const auto end = read_number<double>(text)) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      job = *end - std::chrono::duration<double>(now).count() + started.seconds();
    } else {
      limit.warning = fmt::format(
          "SLURM_JOB_END_TIME is {} (no number of seconds since 1970); the run does not stop for it: set "
          "solver.walltime",
          in_quotes(text));
    }
  }
  job = world.all_reduce(job, ReduceOp::min);
  if (job < limit.seconds) {
    limit.seconds = job;
    limit.source = fmt::format("the Slurm job's end in {:.0f} s", job);
    limit.stops_by = "the end of the Slurm job";
  }
  return limit;
}

template <class T>
LoopOutcome run_time_loop(const Config& config, Solver<T>& solver, Autotuner<T>* autotuner,
                          LoopOutputs<T>& outputs, const LoopFrame& frame) {
  return Loop<T>(config, solver, autotuner, outputs, frame).run();
}

template LoopOutcome run_time_loop(const Config&, Solver<float>&, Autotuner<float>*, LoopOutputs<float>&,
                                   const LoopFrame&);
template LoopOutcome run_time_loop(const Config&, Solver<double>&, Autotuner<double>*, LoopOutputs<double>&,
                                   const LoopFrame&);

}  // namespace isotherm
