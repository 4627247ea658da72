#include "app/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/field_outputs.hpp"
#include "app/loop_progress.hpp"
#include "app/record.hpp"
#include "app/time_loop.hpp"
#include "app/verification.hpp"
#include "config/deck.hpp"
#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "output/console/progress.hpp"
#include "output/console/report.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/run_directory.hpp"
#include "output/safe_file.hpp"
#include "tune/autotuner.hpp"
#include "tune/tuning_file.hpp"

namespace isotherm {
namespace {

// The sweep of the checkpoint, where the run is resumed in its own directory.
std::optional<std::int64_t> resumed_here(const std::optional<Restart>& restart) {
  return restart && restart->same_directory ? std::optional(restart->sweep()) : std::nullopt;
}

// False where the entry names what the deck does not leave open, or this program does not have.
template <class T>
bool use_recalled(const TuningChoice& choice, const KernelChoices<T>& choices, Solver<T>& solver) {
  const auto sweep = std::ranges::find_if(choices.sweeps, [&](const SweepChoice<T>& c) {
    return c.kernel->name == choice.kernel && c.time_block == choice.time_block &&
           c.kernel->tiles[static_cast<std::size_t>(c.tile)] == choice.tile;
  });
  const auto reduction = std::ranges::find(choices.reductions, choice.reduction, &ReductionKernel<T>::name);
  if (sweep == choices.sweeps.end() || reduction == choices.reductions.end() || !sweep->suits(*reduction))
    return false;
  const Level<T>& level = solver.level();
  const int least = exchanges(level.sides()) ? sweep->time_block : 1;  // layers that a launch needs
  if (choice.halo_width < least || choice.halo_width > ghost_layers(level.config())) return false;
  StepPlan<T> plan{*sweep, choice.halo_width, Overlap::off,
                   choice.graph && level.halo().why_not_recordable().empty()};
  solver.use(plan, **reduction);
  plan.overlap = choice.overlap;
  if (plan.overlap == Overlap::in_kernel && !solver.step().can_store_faces()) return false;
  solver.use(plan, **reduction);
  return true;
}

template <class T>
class RunOf final : public Run {
 public:
  explicit RunOf(const RunPlan& plan)
      : plan_(plan),
        console_(plan.world.rank()),
        progress_(choose_style(plan.command.progress, can_rewrite_lines(plan.world.size())), console_) {}

  void open() override {
    const auto& restart = plan_.restart;
    const bool same_directory = restart && restart->same_directory;
    limit_ = find_wall_limit(config(), plan_.world, plan_.started);
    make_solver(plan_.session.cases.front());
    directory_ =
        open_run_directory(config(), plan_.session.deck.text, to_yaml(config()), plan_.world,
                           {same_directory, force_of(plan_.command), restart ? restart->lock : nullptr});
    if (is_root()) console_.open_log(directory_->log(), same_directory);
    record_ =
        describe_run(plan_.command, plan_.session, plan_.device, plan_.world, directory_->path.string());
    record_solver();
    record_.performance.copy_bandwidth = plan_.copy_bandwidth;
    if (restart) record_.continuation.restarted = {restart->file, restart->sweep()};
    times_.phases[Phase::setup] = plan_.started.seconds();
    console_.say(banner(record_));
    if (restart) resume();
    if (!limit_.source.empty())
      console_.say(fmt::format("  {:<13}{}, with a checkpoint", "ends before", limit_.source));
    if (is_root()) warn_of_plan();
  }

  bool solve(const Config& config) override {
    try {
      solve_case(config);
      return true;
    } catch (const CollectiveError& error) {
      fail(error);
      return false;
    }
  }

  int report() override {
    if (record_.message.empty()) judge();
    times_.finish(plan_.started.seconds());
    record_.phases = gather_phases(times_.phases, plan_.world);
    if (plan_.command.profile) record_.profile = gather_profiles(times_.profile, plan_.world);
    record_.ranks = gather_ranks(describe_rank(plan_.session, plan_.device, plan_.world), plan_.world);
    record_.finished = utc_now();
    record_.warnings = console_.warnings();
    console_.say(final_table(record_));
    if (!viewer_file_.empty()) console_.say(fmt::format("  {:<13}{}\n", "ParaView", escaped(viewer_file_)));
    write_record();
    console_.say(closing_lines(record_));
    if (!record_.message.empty()) throw CollectiveError(record_.exit_code, record_.message);
    return static_cast<int>(record_.exit_code);
  }

 private:
  // The files of one case, each where the deck asks for it.
  struct Outputs {
    Outputs(RunOf& run, const Config& config, bool last) : files(why_in_step(config, run.plan_.world)) {
      const Communicator& world = run.plan_.world;
      const std::string path = run.directory_->path.string();
      const auto resumed = resumed_here(run.plan_.restart);
      const auto origin = [&] { return provenance(run.plan_.session, run.record_); };
      if (last && config.output.snapshots) {
        snapshots.emplace(config, grid_of_snapshots(config), world, path, origin(), &files);
        if (resumed) snapshots->continue_series(*resumed);
      }
      if (last)
        fields.emplace(config, world, run.solver_->subdomain(), *run.directory_, origin(), run.console_,
                       files, resumed);
      if (!run.is_series() && config.output.checkpoint.write && moves_data(config))
        checkpoints.emplace(config, world, path, origin(), &files);
      if (config.output.history && world.is_root())
        history.emplace(
            run.directory_->history(), run.console_,
            config.output.diagnostics ? DiagnosticsColumns(plan_diagnostics(config)) : std::nullopt,
            run.plan_.restart ? std::optional(run.plan_.restart->last_line()) : std::nullopt);
    }

    std::vector<std::string> warnings() const {
      std::vector<std::string> all;
      const auto add = [&](const std::vector<std::string>& more) {
        std::ranges::copy(more, std::back_inserter(all));
      };
      if (snapshots) add(snapshots->remarks());
      if (fields) add(fields->remarks());
      if (checkpoints) add(checkpoints->remarks());
      return all;
    }
    LoopOutputs<T> of_loop(Progress* progress, Console& console) {
      const auto pointer = [](auto& optional) { return optional ? &*optional : nullptr; };
      return {pointer(history), progress, pointer(snapshots), pointer(fields), pointer(checkpoints),
              &console,         &files};
    }

    FileThread files;  // outlives the writers that queue work for it
    std::optional<SnapshotWriter> snapshots;
    std::optional<FieldOutputs<T>> fields;
    std::optional<CheckpointWriter> checkpoints;
    std::optional<History> history;
  };

  const Config& config() const { return plan_.session.deck.config; }
  bool is_series() const { return plan_.session.cases.size() > 1; }
  bool is_root() const { return plan_.world.is_root(); }

  // All ranks know them.
  void warn_of_plan() {
    if (!limit_.warning.empty()) console_.warn(limit_.warning);
    if (!directory_->lock->warning().empty()) console_.warn(directory_->lock->warning());
    for (const std::string& warning : record_.warnings) console_.warn(warning);
    if (plan_.command.profile && solver_->is_asynchronous())
      console_.warn("--profile waits for the device behind every phase: figures are lower than without it");
  }

  void make_solver(const Config& config) {
    const Communicator& world = plan_.world;
    const Placement& placement = plan_.session.placement;
    const Decomposition decomposition = decompose(config, world.size(), placement.backend);
    const int threads = placement.ranks[static_cast<std::size_t>(world.rank())].threads;
    autotuner_.reset();
    solver_.reset();  // before the next takes its memory
    const KernelChoices<T> choices = common_choices<T>(config, decomposition, world, plan_.device);
    std::optional<TuningChoice> recalled;
    // Sweeps alone are no cycle of multigrid: there is nothing to measure, and nothing measured to use.
    const bool is_tuned = !make_method(config).is_taken_whole();
    if (!config.solver.tuning_file.empty() && is_tuned) {
      tuning_key_ = tuning_key(config, decomposition, plan_.device, threads);
      recalled = recall_tuning(config, tuning_key_, world);
    }
    std::optional<StoredField> stored;
    if (const auto& restart = plan_.restart) stored = {restart->file, temperature_dataset, restart->sweep()};
    solver_ = std::make_unique<Solver<T>>(config, decomposition, world, plan_.device,
                                          default_kernels(config, choices), true, stored);
    if (plan_.command.profile) solver_->time_phases();
    tuning_source_ = choices.open() ? Tuning::Source::defaults : Tuning::Source::deck;
    if (recalled && use_recalled(*recalled, choices, *solver_)) {
      tuning_source_ = Tuning::Source::file;
    } else if (is_tuned) {
      autotuner_ = make_autotuner(config, *solver_, choices);
      if (!autotuner_->open()) autotuner_.reset();
    }
    halo_cost_.reset();
    if (!autotuner_ && world.size() > 1) halo_cost_ = solver_->measure_halo_cost();
  }

  // Collective: what the device holds is what the checkpoint says; what the directory holds of later sweeps
  // is not in the way.
  void resume() {
    const Restart& restart = *plan_.restart;
    if (moves_data(config()) && solver_->fingerprint() != restart.header.meta.fingerprint)
      throw CollectiveError(ExitCode::io,
                            fmt::format("{}: what was read is not what was looked at before (the file or its "
                                        "disk changes); try again, or name another one",
                                        restart.file));
    all_or_throw(plan_.world, [&] {
      if (is_root() && restart.same_directory)
        set_aside_later(directory_->path.string(), config().name, restart.sweep());
    });
    console_.say(fmt::format("going on from {}, sweep {}", restart.file, restart.sweep()));
    for (const std::string& change : restart.changes) console_.say("  changed: " + change);
    if (!is_root()) return;
    for (const std::string& warning : restart.warnings) console_.warn(warning);
  }

  void solve_case(const Config& config) {
    Timer timer;
    const bool last = &config == &plan_.session.cases.back();
    if (&config != &plan_.session.cases.front()) {
      make_solver(config);
      record_solver();
    }
    Outputs outputs(*this, config, last);
    if (last && outputs.files.in_step() && config.output.asynchronous && !plan_files(config).empty())
      console_.say(fmt::format("files of the field are written in step: {}", outputs.files.why_in_step()));
    warn_new(outputs.warnings());
    times_.phases[Phase::setup] += timer.lap();

    const LoopOutcome outcome =
        run_time_loop(config, *solver_, autotuner_.get(),
                      outputs.of_loop(is_root() ? &progress_ : nullptr, console_), frame());
    progress_.finish();
    if (outputs.history) outputs.history->finish();
    if (outputs.fields) outputs.fields->finish();
    if (outputs.fields && !config.output.probes.points.empty())
      record_.files.push_back(file_name(directory_->probes().string()));
    record_outcome(config, outcome);
    if (last) {
      const SnapshotWriter* const snapshots = outputs.snapshots ? &*outputs.snapshots : nullptr;
      record_.writing = writing_of(outputs.files, snapshots, *outputs.fields, outcome, plan_.world);
      viewer_file_ = snapshots ? snapshots->viewer_file() : outputs.fields->viewer_file();
    }
    warn_new(outputs.warnings());
    end_case(config, outcome);
  }

  // Of a loop that has ended: the errors and warnings that its end calls for, and the verification.
  void end_case(const Config& config, const LoopOutcome& outcome) {
    if (!outcome.divergence.empty()) throw CollectiveError(ExitCode::diverged, outcome.divergence);
    if (moves_data(config)) record_.fingerprint = solver_->fingerprint();
    if (!outcome.stopped_by.empty())
      throw CollectiveError(ExitCode::stopped, stopped_text(outcome, solver_->sweeps(), next(outcome)));
    const std::string end = steady_end_text(
        config, outcome, solver_->sweeps(),
        next(outcome, config.problem.max_cycles ? "problem.max_cycles" : "problem.max_sweeps"));
    if (is_root() && !end.empty()) console_.warn(end);
    if (config.verify.solution != ExactSolution::none) verify_case(config);
  }

  // Of all writers, which often say the same. All ranks know them.
  void warn_new(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
      if (is_root() && std::ranges::count(console_.warnings(), warning) == 0) console_.warn(warning);
  }

  LoopFrame frame() const {
    LoopFrame frame{plan_.world, plan_.started, limit_};
    if (plan_.restart) frame.resumed = &plan_.restart->state();
    frame.last_checkpoint = resumed_here(plan_.restart);
    return frame;
  }

  std::string next(const LoopOutcome& outcome, std::string_view anew = {}) const {
    const bool has_checkpoint = !outcome.checkpoints.empty() || resumed_here(plan_.restart);
    return next_command(plan_.command, directory_->path.string(), has_checkpoint, anew);
  }

  // Into the record, what the sweeps are made with.
  void record_solver() {
    MethodRecord& method = record_.method;
    method.tuning.source = tuning_source_;
    describe_steps(*solver_, autotuner_.get(), method);
    method.tuning.file = config().solver.tuning_file;
    record_.halo = {gather_pairs(solver_->halo_links(), plan_.world), halo_cost_};
    method.transport = transports_in_use(record_.halo);
    if (solver_->has_sources()) record_.sources = {solver_->sources().power, solver_->sources().cells};
  }

  // Of rank 0. A run does not need it.
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

  // Into the record, what this case adds to it.
  void record_outcome(const Config& config, const LoopOutcome& outcome) {
    record_solver();
    if (outcome.halo_cost) halo_cost_ = outcome.halo_cost;
    keep_tuning_found(config);
    record_.cells = config.grid.cells;
    record_.residual = outcome.residual;
    for (const std::string& file : outcome.files) record_.files.push_back(file_name(file));
    record_.continuation.checkpoints = std::ssize(outcome.checkpoints);
    if (!outcome.checkpoints.empty()) record_.continuation.newest = file_name(outcome.checkpoints.back());
    record_.continuation.stopped_by = outcome.stopped_by;
    times_.add(solver_->times(), outcome);
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
    record_.performance.untimed_sweeps += outcome.untimed_sweeps;
    record_.performance.untimed_points += cells * static_cast<double>(outcome.untimed_sweeps);
    record_.performance.bytes_per_point = solver_->bytes_per_point();
    record_.answer = outcome.divergence.empty() ? Answer::finite : Answer::not_finite;
    const Timer timer;
    record_.end_state = outcome.divergence.empty() ? find_end_state(config, *solver_) : std::nullopt;
    times_.phases[Phase::diagnostics] += timer.seconds();
    // Last, as it needs the field before the last sweep.
    if (plan_.world.size() > 1 && !halo_cost_ && outcome.divergence.empty())
      halo_cost_ = solver_->measure_halo_cost();
    if (!record_.halo.cost && halo_cost_) {
      record_.halo.cost = halo_cost_;
      console_.say(fmt::format("  {:<13}{}", "halo", halo_lines(record_.halo).back()));
    }
  }

  void verify_case(const Config& config) {
    const auto coarser = std::exchange(record_.verification, verify(config, plan_.world, *solver_));
    if (!is_series()) return;
    add_level(*record_.verification, coarser, config, solver_->own_sweeps());
    console_.say(level_line(record_.verification->levels));
  }

  // The exit code of a run that came to its end.
  void judge() {
    record_.exit_code = ExitCode::done;
    if (record_.residual.convergence == Convergence::not_reached ||
        record_.residual.convergence == Convergence::stalled)
      record_.exit_code = ExitCode::not_converged;
    if (!record_.verification) return;
    record_.verification->verdict = verdict(config(), *record_.verification);
    if (record_.verification->verdict == Verdict::failed) record_.exit_code = ExitCode::diverged;
  }

  void fail(const CollectiveError& error) {
    record_.exit_code = error.code();
    record_.message = error.what();
  }

  // A record that cannot be written fails the run, but never hides what failed it before.
  void write_record() {
    try {
      all_or_throw(plan_.world, [&] {
        if (is_root()) write_file_atomically(directory_->record(), to_json(record_));
      });
    } catch (const CollectiveError& error) {
      if (is_root() && !record_.message.empty()) console_.warn(error.what());
      if (record_.message.empty()) fail(error);
    }
  }

  const RunPlan& plan_;
  WallLimit limit_;
  std::unique_ptr<Solver<T>> solver_;
  std::unique_ptr<Autotuner<T>> autotuner_;              // of the solver; none: nothing is left to measure
  Tuning::Source tuning_source_ = Tuning::Source::deck;  // without an autotuner
  std::optional<HaloCost> halo_cost_;                    // of the steps as they are made
  TuningKey tuning_key_;                                 // of its entry in solver.tuning_file
  Console console_;
  Progress progress_;
  std::optional<RunDirectory> directory_;
  RunRecord record_;
  RankTimes times_;
  std::string viewer_file_;  // rank 0's: what to open in ParaView; empty: nothing
};

}  // namespace

std::unique_ptr<Run> make_run(const RunPlan& plan) {
  if (plan.session.deck.config.precision == Precision::fp32) return std::make_unique<RunOf<float>>(plan);
  return std::make_unique<RunOf<double>>(plan);
}

}  // namespace isotherm
