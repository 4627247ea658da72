#include "app/time_loop.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "app/record.hpp"
#include "core/all_or_throw.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "core/trace.hpp"
#include "output/console/report.hpp"
#include "physics/operator.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/method.hpp"
#include "solver/residual_check.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

constexpr double largest_update = 1e9;  // K a sweep: no heat problem, but an unstable one

// Reports progress, and warns once where the time limit is too short. Of rank 0; progress and console may be
// null.
class LoopProgress {
 public:
  LoopProgress(const Config& config, Progress* progress, Console* console, const WallLimit& limit)
      : config_(config),
        progress_(progress),
        console_(console),
        limit_(limit),
        last_sweep_(Schedule(config).last()),
        pace_(make_method(config).decay) {}

  // `time`: s of the problem; none in a steady one. `elapsed`: s since the start of the run.
  void tell(std::int64_t sweep, std::optional<double> time, const Residual& residual, double elapsed) {
    if (!progress_) return;
    const ProgressState state = state_at(sweep, time, residual);
    progress_->update(state);
    warn_of_limit(state, elapsed);
  }

 private:
  ProgressState state_at(std::int64_t sweep, std::optional<double> time, const Residual& r) {
    const double unit = r.tolerance && r.first && *r.first > 0 ? tolerance_unit(config_, *r.first) : 1;
    ProgressState state;
    state.sweep = sweep;
    state.last_sweep = last_sweep_;
    state.time = time;
    if (r.last) state.residual = *r.last / unit;
    if (r.first) state.first_residual = *r.first / unit;
    state.tolerance = r.tolerance;
    state.wall = wall_.seconds();
    pace_.reached(sweep, state.wall);
    if (r.last) pace_.checked(*r.last_sweep, *state.residual);
    if (const auto rate = pace_.sweeps_per_second())
      state.points_per_second = *rate * static_cast<double>(config_.grid.cells.product());
    state.left = pace_.forecast(last_sweep_, r.tolerance);
    return state;
  }

  // Better now than after hours.
  void warn_of_limit(const ProgressState& state, double elapsed) {
    if (warned_of_limit_ || !console_ || !state.left.seconds || state.wall < limit_.time_to_judge()) return;
    constexpr double margin = 1.1;  // by which a run may be faster in the end than it looked
    const double needed = *state.left.seconds, granted = limit_.latest_stop(0) - elapsed;
    if (granted <= 0 || needed < margin * granted) return;
    warned_of_limit_ = true;
    console_->warn(
        fmt::format("about {} more are needed at the present rate, but {} leaves {}; {}",
                    human_duration(needed), limit_.source, human_duration(granted),
                    config_.output.checkpoint.write
                        ? "the run will stop with a checkpoint: go on from it with --restart latest"
                        : "the run will stop without a checkpoint: give it more time"));
  }

  const Config& config_;
  Progress* progress_;
  Console* console_;
  WallLimit limit_;
  std::int64_t last_sweep_;
  Pace pace_;  // of this part of the run
  bool warned_of_limit_ = false;
  Timer wall_;
};

template <class T>
class Loop {
 public:
  Loop(const Config& config, Solver<T>& solver, Autotuner<T>* autotuner, const LoopOutputs<T>& outputs,
       const LoopFrame& frame)
      : config_(config),
        solver_(solver),
        autotuner_(autotuner),
        outputs_(outputs),
        frame_(frame),
        schedule_(config),
        cycle_(solver.level().method().cycle()),
        unit_(unit_of(solver)),
        lookout_(solver.sweeps(), unit_),
        telling_(config, outputs.progress, outputs.console, frame.limit),
        stagnation_(config.problem, solver.level().method().decay, config.problem.check_interval * cycle_),
        written_(frame.last_checkpoint) {
    outcome_.residual.norm = config.problem.norm;
    outcome_.residual.criterion = config.problem.criterion;
    outcome_.residual.check = config.problem.check;
    if (steady()) outcome_.residual.tolerance = config.problem.tolerance;
    if (frame.resumed) take_over(*frame.resumed);
    if (outputs.snapshots && beside_sweeps()) {
      copy_.emplace(all_or_throw(frame.world, [&] { return solver.make_host_copy(); }));
      solver.copy_to(*copy_);  // touches its memory, which else the first snapshot would pay for
    }
  }
  ~Loop() {
    if (outputs_.files) outputs_.files->settle();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  LoopOutcome run() {
    if (!frame_.resumed) start();
    poll_control();
    written_at_ = elapsed_;
    while (solver_.sweeps() < schedule_.last() && !ended() && !stopped()) {
      const std::int64_t due = schedule_.next_after(solver_.sweeps());
      advance(due);
      if (solver_.sweeps() == due && !ended()) do_what_is_due(due);
    }
    solver_.synchronize();
    ended() || solver_.sweeps() == schedule_.last() ? finish() : stop();
    finish_files();
    outcome_.wall = wall_.seconds();
    return std::move(outcome_);
  }

 private:
  void start() {
    if (schedule_.snapshot_due(0) && schedule_.last() > 0) write_snapshot();
    write_fields(Wanted::due);
    HistoryLine line = line_of(0);
    if (schedule_.check_due(0)) {
      solver_.start_residual();
      checked_ = {0, std::nullopt};
      line = finish_check();
    }
    if (schedule_.diagnostics_due(0)) line.diagnostics = solver_.diagnose();
    write(std::move(line));
  }

  // The final state is always written.
  void finish() {
    outcome_.stopped_by.clear();  // it came too late
    const Convergence end = converged_   ? Convergence::reached
                            : stagnated_ ? Convergence::stagnated
                            : stalled_   ? Convergence::stalled
                                         : Convergence::not_reached;
    Residual& r = outcome_.residual;
    if (steady()) r.convergence = end;
    if (!outcome_.divergence.empty()) return keep_diverged();
    const double lowest = steady() ? sweep_spectrum(config_).lowest : 0;
    if (lowest > 0 && r.last) r.error = *r.last / lowest;
    const bool misses_tolerance = steady() && !converged_ && config_.problem.tolerance > 0;
    if (misses_tolerance) outcome_.largest_temperature = solver_.most_extreme_cell().magnitude;
    if (config_.output.snapshots) write_snapshot();
    write_fields(Wanted::last);
    const CheckpointConfig& asked = config_.output.checkpoint;
    const bool sweeps_help = misses_tolerance && !stagnated_ && asked.final != FinalCheckpoint::off;
    if (asked.at_end() || sweeps_help) write_checkpoint();
  }

  // Before the end. No check is left under way, as some ranks may have begun its all-reduce and others not.
  void stop() {
    settle_check();
    if (solver_.own_sweeps() > 0 || !out_of_time_) write_checkpoint();
  }

  // What an uninterrupted run would know here.
  void take_over(const CheckpointState& state) {
    Residual& r = outcome_.residual;
    r.first = state.first_residual;
    r.last = state.last_residual;
    r.checks = state.checks;
    if (r.last) r.last_sweep = state.last_checked;
    if (state.lowest_residual) {
      stagnation_.go_on_from({*state.lowest_residual, state.lowest_sweep});
    } else if (r.last) {
      stagnation_.go_on_from({*r.last, state.last_checked});  // of a checkpoint that does not know it
    }
    if (state.pending_residual) checked_ = {state.pending_sweep, state.pending_residual};
    if (r.last && !checked_) converged_ = has_converged(config_, *r.first, *r.last);
    if (converged_) r.extra_sweeps = solver_.sweeps() - state.last_checked;
    wall_before_ = state.wall;
    solver_.go_on_from_halvings(static_cast<int>(state.step_halvings));
  }

  bool steady() const { return config_.problem.kind == ProblemKind::steady; }

  // In parts of whole periods, and of whole graphs, on all ranks alike: so the exchanges stay at the same
  // sweeps.
  void advance(std::int64_t until) {
    tune(until);
    while (solver_.sweeps() < until && !stopped() && !ended()) {
      const std::int64_t here = solver_.sweeps();
      const std::int64_t count = until_look(here, until) - here;
      // The heat of the last step needs the field before it; of a steady problem, the field alone.
      solver_.sweep(count, !steady() && here + count == schedule_.last());
      if (solver_.sweeps() >= lookout_.next()) poll_control();
      if (wanted_ && solver_.sweeps() < until) write_checkpoint();  // else after what is due at `until`
    }
  }

  // The end of the sweeps to take before the next look: between cycles, as a run may stop there.
  std::int64_t until_look(std::int64_t here, std::int64_t until) const {
    if (cycle_ == 1) return here + whole_periods(lookout_.next() - here, until - here, unit_);
    return std::min(until, (std::max(lookout_.next(), here + 1) + cycle_ - 1) / cycle_ * cycle_);
  }

  static int unit_of(const Solver<T>& solver) {
    return solver.queues_graphs() ? static_cast<int>(solver.sweeps_of_a_graph()) : solver.exchange_interval();
  }

  // The autotuner's share of the sweeps until then. The last is not its: that one may leave a norm. Times are
  // those of what it has chosen, from there on.
  void tune(std::int64_t until) {
    if (!autotuner_ || autotuner_->done()) return;
    settle_check();
    const Timer timer;
    autotuner_->advance(until - 1);
    unit_ = unit_of(solver_);
    lookout_ = ControlPoll(solver_.sweeps(), unit_);
    if (autotuner_->done()) {
      if (frame_.world.size() > 1) outcome_.halo_cost = solver_.measure_halo_cost();
      solver_.forget_times();
      outcome_.untimed_sweeps = solver_.own_sweeps();
      MethodRecord method;
      describe_steps(solver_, autotuner_, method);
      if (outputs_.console) outputs_.console->say(kernel_line(method));
    }
    outcome_.tuning_seconds += timer.seconds();
  }

  // All ranks at once. A signal to any of them is one to all; the clock is that of the rank that started
  // first.
  void poll_control() {
    solver_.keep_pace();
    const FileThread* files = outputs_.files;
    double seen[] = {static_cast<double>(noted_stop_signal()), frame_.started.seconds(),
                     files && files->failed() ? 1.0 : 0.0, files ? files->backlog() : 0};
    frame_.world.all_reduce<double>(seen, ReduceOp::max);
    if (seen[2] > 0) outputs_.files->finish();  // throws
    lookout_.looked(solver_.sweeps(), seen[1] - elapsed_);
    elapsed_ = seen[1];
    tell_progress();
    const double write = (outputs_.checkpoints ? outputs_.checkpoints->seconds() : 0) + seen[3];
    if (seen[0] > 0) {
      outcome_.stopped_by = signal_name(static_cast<int>(seen[0]));
    } else if (elapsed_ >= frame_.limit.latest_stop(write)) {
      outcome_.stopped_by = "the wall time";
      out_of_time_ = true;
    }
    const std::optional<double>& every = config_.output.checkpoint.every_wall;
    wanted_ = every && elapsed_ >= written_at_ + *every;
  }

  bool stopped() const { return !outcome_.stopped_by.empty(); }
  bool at_rest() const { return converged_ || stagnated_ || stalled_; }
  bool ended() const { return at_rest() || !outcome_.divergence.empty(); }

  void do_what_is_due(std::int64_t sweep) {
    if (checked_) write(finish_check());
    HistoryLine line = line_of(sweep);
    if (schedule_.check_due(sweep) && !ended()) {
      solver_.start_residual();
      checked_ = {sweep, std::nullopt};
      if (!schedule_.check_is_asynchronous(sweep)) line = finish_check();
    }
    if (schedule_.diagnostics_due(sweep) || (at_rest() && config_.output.diagnostics))
      line.diagnostics = solver_.diagnose();
    write(std::move(line));
    if (sweep == schedule_.last() || ended()) return;
    if (schedule_.snapshot_due(sweep)) write_snapshot();
    write_fields(Wanted::due);
    if (wanted_ || schedule_.checkpoint_due(sweep)) write_checkpoint();
  }

  // The row of the sweep that was checked, with its residual; without where the run has diverged. Finds out
  // whether the run has ended.
  HistoryLine finish_check() {
    const UnderWay check = *std::exchange(checked_, std::nullopt);
    HistoryLine line = line_of(check.sweep);
    const double value = check.residual ? *check.residual : solver_.finish_residual();
    Residual& r = outcome_.residual;
    if (!r.first) r.first = value;
    r.last = value;
    r.last_sweep = line.sweep;
    ++r.checks;
    if (std::is_same_v<T, float> && !std::exchange(heat_was_looked_at_, true)) warn_of_swallowed_heat();
    if (!(value <= largest_update)) {
      outcome_.divergence = divergence(config_, solver_, line.sweep, value);
    } else {
      line.residual = value;
      line.relative = relative_residual(*r.first, value);
      tell_progress();
      converged_ = has_converged(config_, *r.first, value);
      if (!converged_) look_for_stagnation(line.sweep, value);
    }
    if (ended()) r.extra_sweeps = solver_.sweeps() - line.sweep;
    return line;
  }

  void warn_of_swallowed_heat() {
    const std::string text = swallowed_heat_text(config_, solver_.swallowed_heat());
    if (!text.empty() && outputs_.console && frame_.world.is_root()) outputs_.console->warn(text);
  }

  // What no longer falls ends the run: at rest where it is as small as rounding leaves it.
  void look_for_stagnation(std::int64_t sweep, double residual) {
    stagnation_.checked(sweep, residual);
    if (!stagnation_.reached(sweep)) return;
    stagnated_ = residual <= rounding_level<T>(solver_.most_extreme_cell().magnitude);
    stalled_ = !stagnated_;
  }

  HistoryLine line_of(std::int64_t sweep) const {
    HistoryLine line;
    line.sweep = sweep;
    line.time = schedule_.time(sweep);
    return line;
  }

  // Where there is something to write.
  void write(HistoryLine line) {
    if (!outputs_.history || !(line.residual || line.diagnostics)) return;
    line.wall = wall_before_ + wall_.seconds();
    outputs_.history->add(line);
  }

  void tell_progress() {
    if (outputs_.progress)
      telling_.tell(solver_.sweeps(), steady() ? std::nullopt : std::optional(solver_.time()),
                    outcome_.residual, elapsed_);
  }

  // What `work` takes, without its waits for the device, which are the sweeps'.
  template <class Work>
  void count_output(const Work& work) {
    const TraceRange range(Phase::output);
    const double before = solver_.times().sum();
    const Timer timer;
    work();
    outcome_.output_seconds += timer.seconds() - (solver_.times().sum() - before);
  }

  void write_snapshot() {
    if (!outputs_.snapshots) return;
    count_output([&] {
      write_or_warn(config_, frame_.world, outputs_.console, [&] {
        outcome_.files.push_back(
            outputs_.snapshots->start(take_field(), solver_.subdomain(), solver_.time(), solver_.sweeps()));
      });
    });
  }

  bool beside_sweeps() const { return outputs_.files && !outputs_.files->in_step(); }

  // What a snapshot is written from: the field, or a copy that the sweeps leave alone. There is one copy, so
  // that they wait for a disk that is slower than they are.
  std::function<CellsView()> take_field() {
    if (!copy_) return [field = solver_.host_field()] { return field; };
    outputs_.snapshots->wait();
    count_copy();
    solver_.copy_to(*copy_);
    copied_ = true;
    return [this] { return copy_->view(); };
  }

  // Once its file is there: a device's copy is queued.
  void count_copy() {
    if (std::exchange(copied_, false)) outcome_.copy_seconds += copy_->seconds();
  }

  // Behind the last sweep nothing hides them.
  void finish_files() {
    const TraceRange range(Phase::output);
    const Timer timer;
    if (outputs_.files) outputs_.files->finish();
    publish_series();
    count_copy();
    outcome_.end_seconds = timer.seconds();
    outcome_.output_seconds += outcome_.end_seconds;
  }

  // For the post-mortem; in no series, because it is no state of the problem.
  void keep_diverged() {
    if (!outputs_.snapshots) return;
    if (outputs_.files) outputs_.files->finish();  // what fails here is no loss of this field
    outcome_.divergence += write_diverged(config_, solver_, *outputs_.snapshots, outcome_.files);
  }

  void write_fields(Wanted wanted) {
    if (!outputs_.fields) return;
    count_output([&] {
      const std::vector<std::string> files = outputs_.fields->write(solver_, wanted);
      outcome_.files.insert(outcome_.files.end(), files.begin(), files.end());
    });
  }

  // Names what is written by now, for who looks at it from here on.
  void publish_series() {
    write_or_warn(config_, frame_.world, outputs_.console, [&] {
      if (outputs_.snapshots) outputs_.snapshots->publish_series();
      if (outputs_.fields) outputs_.fields->publish_series();
    });
  }

  // Its value, before its turn: whether the run has ended is still found out when that comes.
  void settle_check() {
    if (checked_ && !checked_->residual) checked_->residual = solver_.finish_residual();
  }

  // Of no field that has diverged, and of none that there is a file of. The lines of history and probes up to
  // here are a part of what the file goes on from.
  void write_checkpoint() {
    wanted_ = false;
    if (!outputs_.checkpoints || written_ == solver_.sweeps()) return;
    settle_check();
    const double newest = solver_.own_sweeps() > 0 ? solver_.residual() : 0;
    if (!(newest <= largest_update)) {
      outcome_.divergence = divergence(config_, solver_, solver_.sweeps(), newest);
      return;
    }
    if (outputs_.history) outputs_.history->flush();
    if (outputs_.fields) outputs_.fields->flush();
    count_output([&] {
      const FieldView<const T> field = solver_.host_field();
      outcome_.checkpoints.push_back(outputs_.checkpoints->write(
          field, solver_.subdomain(), {solver_.time(), solver_.sweeps(), solver_.fingerprint()}, state()));
    });
    publish_series();
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
    state.stagnated = stagnated_;
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
  LoopOutputs<T> outputs_;
  const LoopFrame& frame_;
  Schedule schedule_;
  std::int64_t cycle_;  // sweeps
  int unit_;            // sweeps that are not parted
  ControlPoll lookout_;
  LoopProgress telling_;
  Stagnation stagnation_;
  double elapsed_ = 0;  // s since the start of the run, at the last look
  bool out_of_time_ = false;
  bool wanted_ = false;                                          // a checkpoint, by the clock
  std::optional<std::int64_t> written_;                          // the sweep of the newest checkpoint
  double written_at_ = std::numeric_limits<double>::infinity();  // by elapsed_
  struct UnderWay {
    std::int64_t sweep;
    std::optional<double> residual;  // once it was waited for, before its turn
  };
  std::optional<UnderWay> checked_;  // the sweep whose residual is under way
  std::optional<HostCopy<T>> copy_;  // of what is written beside the sweeps
  bool copied_ = false;              // into it, and not counted yet
  double wall_before_ = 0;           // s, of the parts of the run before this one
  bool converged_ = false, stagnated_ = false, stalled_ = false, heat_was_looked_at_ = false;
  LoopOutcome outcome_;
  Timer wall_;
};

}  // namespace

template <class T>
LoopOutcome run_time_loop(const Config& config, Solver<T>& solver, Autotuner<T>* autotuner,
                          const LoopOutputs<T>& outputs, const LoopFrame& frame) {
  return Loop<T>(config, solver, autotuner, outputs, frame).run();
}

template LoopOutcome run_time_loop(const Config&, Solver<float>&, Autotuner<float>*,
                                   const LoopOutputs<float>&, const LoopFrame&);
template LoopOutcome run_time_loop(const Config&, Solver<double>&, Autotuner<double>*,
                                   const LoopOutputs<double>&, const LoopFrame&);

}  // namespace isotherm
