#include "app/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "app/describe.hpp"
#include "app/end_state.hpp"
#include "app/ending.hpp"
#include "app/field_outputs.hpp"
#include "app/plan.hpp"
#include "app/rank_times.hpp"
#include "app/regression.hpp"
#include "app/restart.hpp"
#include "app/session.hpp"
#include "app/settle_depth.hpp"
#include "app/time_loop.hpp"
#include "app/tuning.hpp"
#include "app/verification.hpp"
#include "app/wall_limit.hpp"
#include "config/deck.hpp"
#include "core/agree.hpp"
#include "core/signals.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"
#include "output/console/console.hpp"
#include "output/console/report.hpp"
#include "output/field_files/checkpoint.hpp"
#include "output/run_directory.hpp"

namespace isotherm {
namespace {

const char* text_of(Overlap overlap) {
  return overlap == Overlap::on    ? "step beside its exchange"
         : overlap == Overlap::off ? "step after its exchange"
                                   : "step that stores its faces";
}

Force force_of(const CommandLine& command) {
  return command.force ? Force::yes : Force::no;
}

// One run from its painted field to its record. Members in the order in which they come to be: the first
// solver finds what is wrong with formulas and datasets, so it stands before the first file.
template <class T>
class Run {
 public:
  Run(const CommandLine& command, const Communicator& world, const Session& session,
      const std::optional<Restart>& restart, const Regression& regression, Device& device, double roof,
      Timer started)
      : world_(world),
        command_(command),
        profile_(command.profile),
        session_(session),
        restart_(restart),
        regression_(regression),
        device_(device),
        limit_(find_wall_limit(config(), world, started)),
        total_(started),
        solver_(make_solver(session.cases.front())),
        console_(world.rank()),
        directory_(open_run_directory(
            config(), session.deck.text, to_yaml(config()), world,
            {restart && restart->same_directory, force_of(command), restart ? restart->lock : nullptr})),
        progress_(choose_style(command.progress, can_rewrite_lines(world.size())), console_) {
    if (world.is_root()) console_.open_log(directory_.log(), restart && restart->same_directory);
    record_ = describe_run(command, session_, device_, world, directory_.path.string());
    take(tuned_);
    take_halo();
    take_sources();
    record_.performance.copy_bandwidth = roof;
    if (restart) record_.continuation.restarted = {restart->file, restart->sweep()};
    times_.phases[Phase::setup] = total_.seconds();
    console_.say(banner(record_));
    if (restart) go_on();
    if (!limit_.source.empty())
      console_.say(fmt::format("  {:<13}{}, with a checkpoint", "ends before", limit_.source));
    if (!world.is_root()) return;  // all ranks know them
    if (!limit_.warning.empty()) console_.warn(limit_.warning);
    if (!directory_.lock->warning().empty()) console_.warn(directory_.lock->warning());
    for (const std::string& warning : record_.warnings) console_.warn(warning);
    if (profile_ && solver_->is_asynchronous())
      console_.warn("--profile waits for the device behind every phase: figures are lower than without it");
    keep_tuning_found();
  }

  int finish() {
    try {
      for (const Config& each : session_.cases) solve(each);
      judge();
    } catch (const CollectiveError& e) {
      record_.exit_code = e.code();
      record_.message = e.what();
    }
    conclude();
    if (!record_.message.empty()) throw CollectiveError(record_.exit_code, record_.message);
    return static_cast<int>(record_.exit_code);
  }

 private:
  using Remarks = std::vector<std::string>;
  const Config& config() const { return session_.deck.config; }
  bool is_series() const { return session_.cases.size() > 1; }

  std::unique_ptr<Solver<T>> make_solver(const Config& config) {
    const Decomposition decomposition = decompose(config, world_.size(), session_.placement.backend);
    const int threads = session_.placement.ranks[static_cast<std::size_t>(world_.rank())].threads;
    tuned_ = tuned_rows<T>(config, decomposition, world_, device_, threads);
    std::optional<StoredField> stored;
    if (restart_) stored = {restart_->file, temperature_dataset, restart_->sweep()};
    auto solver =
        std::make_unique<Solver<T>>(config, decomposition, world_, device_, tuned_.rows, true, stored);
    if (profile_) solver->time_phases();
    return solver;
  }

  // Collective: what the device holds is what the checkpoint says; what stands behind it in the directory is
  // not in the way.
  void go_on() {
    if (moves_data(config()) && solver_->fingerprint() != restart_->header.meta.fingerprint)
      throw CollectiveError(ExitCode::io,
                            fmt::format("{}: what was read is not what was looked at before (the file "
                                        "or its disk changes); try again, or name another one",
                                        restart_->file));
    agree(world_, [&] {
      if (world_.is_root() && restart_->same_directory)
        set_aside_later(directory_.path.string(), config().name, restart_->sweep());
    });
    console_.say(fmt::format("going on from {}, sweep {}", restart_->file, restart_->sweep()));
    for (const std::string& change : restart_->changes) console_.say("  changed: " + change);
    if (!world_.is_root()) return;
    for (const std::string& warning : restart_->warnings) console_.warn(warning);
  }

  // The deck, or one grid of its series, of which the last is the one that is kept.
  void solve(const Config& config) {
    Timer timer;
    const bool last = &config == &session_.cases.back();
    if (&config != &session_.cases.front()) {
      solver_.reset();  // before the next takes its memory
      solver_ = make_solver(config);
      take(tuned_);
      take_halo();
      take_sources();
      if (world_.is_root()) keep_tuning_found();
    }
    const std::optional<std::int64_t> resumed =
        restart_ && restart_->same_directory ? std::optional(restart_->sweep()) : std::nullopt;
    FileThread files(why_in_step(config, world_));
    if (last && files.in_step() && config.output.asynchronous && !plan_files(config).empty())
      console_.say(fmt::format("files of the field are written in step: {}", files.why_in_step()));
    std::optional<SnapshotWriter> writer;
    if (last && config.output.snapshots) {
      writer.emplace(config, world_, directory_.path.string(), provenance(session_, record_), &files);
      if (resumed) writer->continue_series(*resumed);
    }
    std::optional<FieldOutputs<T>> fields;
    if (last)
      fields.emplace(config, world_, solver_->block(), directory_, provenance(session_, record_), console_,
                     files, resumed);
    std::optional<CheckpointWriter> checkpoints;
    if (!is_series() && config.output.checkpoint.write && moves_data(config))
      checkpoints.emplace(config, world_, directory_.path.string(), provenance(session_, record_), &files);
    std::optional<History> history;
    if (config.output.history && world_.is_root()) {
      history.emplace(directory_.history(), console_,
                      config.output.diagnostics ? DiagnosticsColumns(plan_diagnostics(config)) : std::nullopt,
                      restart_ ? std::optional(restart_->last_line()) : std::nullopt);
    }
    const auto tell_remarks = [&] {
      tell_new({writer ? writer->remarks() : Remarks{}, fields ? fields->remarks() : Remarks{},
                checkpoints ? checkpoints->remarks() : Remarks{}});
    };
    tell_remarks();
    times_.phases[Phase::setup] += timer.lap();

    const LoopOutcome outcome = run_time_loop(
        config, *solver_,
        {history ? &*history : nullptr, world_.is_root() ? &progress_ : nullptr, writer ? &*writer : nullptr,
         fields ? &*fields : nullptr, checkpoints ? &*checkpoints : nullptr, &console_, &files},
        frame());
    progress_.finish();
    if (history) history->finish();
    if (fields) fields->finish();
    if (fields && !config.output.probes.points.empty())
      record_.files.push_back(file_name(directory_.probes().string()));
    take(config, outcome);
    if (last) record_.writing = writing_of(files, writer ? &*writer : nullptr, *fields, outcome, world_);
    if (last) viewer_file_ = writer ? writer->viewer_file() : fields->viewer_file();
    tell_remarks();
    end_case(config, outcome);
  }

  // Of a loop that has ended: the errors and warnings that its end calls for, and the verification.
  void end_case(const Config& config, const LoopOutcome& outcome) {
    if (!outcome.divergence.empty()) throw CollectiveError(ExitCode::diverged, outcome.divergence);
    if (moves_data(config)) record_.fingerprint = solver_->fingerprint();
    if (!outcome.stopped_by.empty())
      throw CollectiveError(ExitCode::stopped, stopped_text(outcome, solver_->sweeps(), next(outcome)));
    const std::string end =
        steady_end_text(config, outcome, solver_->sweeps(), next(outcome, "problem.max_sweeps"));
    if (world_.is_root() && !end.empty()) console_.warn(end);
    if (config.verify.solution != ExactSolution::none) verify_case(config);
  }

  // Of all writers, which often say the same.
  void tell_new(const std::vector<Remarks>& all) {
    if (!world_.is_root()) return;  // all ranks know them
    for (const Remarks& remarks : all)
      for (const std::string& remark : remarks)
        if (std::ranges::find(console_.warnings(), remark) == console_.warnings().end())
          console_.warn(remark);
  }

  LoopFrame frame() const {
    LoopFrame frame{world_, total_, limit_};
    if (!restart_) return frame;
    frame.resumed = &restart_->state();
    if (restart_->same_directory) frame.last_checkpoint = restart_->sweep();
    return frame;
  }

  bool has_checkpoint(const LoopOutcome& outcome) const {
    return !outcome.checkpoints.empty() || frame().last_checkpoint;
  }
  std::string next(const LoopOutcome& outcome, std::string_view anew = {}) const {
    return next_command(command_, directory_.path.string(), has_checkpoint(outcome), anew);
  }

  // Into the record, what the sweeps are made with.
  void take(const TunedRows<T>& tuned) {
    const SweepChoice<T>& sweep = solver_->sweep_choice();  // it may know better than the trial
    record_.method.kernel = sweep.row->name;
    record_.method.policy = sweep.row->policies[static_cast<std::size_t>(sweep.policy)];
    std::tie(record_.method.fused, record_.method.why_single) = solver_->fused_and_why();
    record_.method.reduction = tuned.rows.reduction->name;
    record_.method.graph = solver_->queues_graphs();
    record_.method.overlap = solver_->overlap();
    record_.method.tuning = tuned.tuning;
    for (const StepTrial& trial : solver_->step_trials())
      record_.method.tuning.trials.push_back({solver_->halo_links().empty() ? "step" : text_of(trial.overlap),
                                              std::string(trial.policy), trial.seconds, trial.fused,
                                              std::string(trial.kernel)});
    if (const auto& trial = solver_->graph_trial()) {
      record_.method.tuning.trials.push_back({"launches", "", trial->launches});
      record_.method.tuning.trials.push_back({"graph", "", trial->graph});
    }
  }

  // Collective.
  void take_halo() {
    record_.halo = {gather_pairs(solver_->halo_links(), world_), solver_->halo_cost()};
    record_.method.transport = transports_in_use(record_.halo);
  }

  void take_sources() {
    if (solver_->has_sources()) record_.sources = {solver_->sources().power, solver_->sources().cells};
  }

  // Rank 0's. A run goes on without it.
  void keep_tuning_found() {
    if (!tuned_.to_keep) return;
    try {
      TuningChoice choice = tuned_.to_keep->choice;
      const Method& m = record_.method;
      std::tie(choice.kernel, choice.policy, choice.fused) = std::tie(m.kernel, m.policy, m.fused);
      keep_tuning(tuned_.tuning.file, tuned_.to_keep->key, choice);
    } catch (const Error& e) {
      console_.warn(fmt::format("the tuning is not kept: {}", e.what()));
    }
  }

  // Into the record, what this case adds to it.
  void take(const Config& config, const LoopOutcome& outcome) {
    record_.cells = config.grid.cells;
    record_.residual = outcome.residual;
    for (const std::string& file : outcome.files) record_.files.push_back(file_name(file));
    record_.continuation.checkpoints = std::ssize(outcome.checkpoints);
    if (!outcome.checkpoints.empty()) record_.continuation.newest = file_name(outcome.checkpoints.back());
    record_.continuation.stopped_by = outcome.stopped_by;
    times_.add(solver_->times(), outcome);
    if (const auto bins = solver_->histogram_bins())
      record_.histogram = {std::string(tuned_.rows.histogram->name), bins->count, bins->low, bins->high};
    record_.time = solver_->time();
    record_.performance.sweeps += solver_->own_sweeps();
    record_.performance.points +=
        static_cast<double>(config.grid.cells.product()) * static_cast<double>(solver_->own_sweeps());
    record_.performance.bytes_per_point = solver_->bytes_per_point();
    record_.answer = outcome.divergence.empty() ? Answer::finite : Answer::not_finite;
    const Timer timer;
    record_.end_state = outcome.divergence.empty() ? find_end_state(config, *solver_) : std::nullopt;
    times_.phases[Phase::diagnostics] += timer.seconds();
  }

  void verify_case(const Config& config) {
    const auto coarser = std::exchange(record_.verification, verify(config, world_, *solver_));
    if (!is_series()) return;
    add_level(*record_.verification, coarser, config, solver_->own_sweeps());
    console_.say(level_line(record_.verification->levels));
  }

  // The exit code of a run that came to its end.
  void judge() {
    record_.exit_code = ExitCode::done;
    if (record_.residual.convergence == Convergence::not_reached) record_.exit_code = ExitCode::not_converged;
    if (!record_.verification) return;
    record_.verification->verdict = verdict(config(), *record_.verification);
    if (record_.verification->verdict == Verdict::failed) record_.exit_code = ExitCode::diverged;
  }

  // Collective: table, figures of merit, run.json.
  void conclude() {
    times_.finish(total_.seconds());
    record_.phases = gather_phases(times_.phases, world_);
    if (profile_) record_.profile = gather_profiles(times_.profile, world_);
    record_.ranks = gather_ranks(describe_rank(session_, device_, world_), world_);
    record_.finished = utc_now();
    record_.warnings = console_.warnings();
    hold_against_baseline();
    console_.say(final_table(record_));
    if (!viewer_file_.empty()) console_.say(fmt::format("  {:<13}{}\n", "ParaView", escaped(viewer_file_)));
    if (record_.baseline) console_.say(baseline_table(*record_.baseline));
    write_record();
    console_.say(closing_lines(record_));
  }

  // Collective. Of a run that came to its end; its answer stays what it is.
  void hold_against_baseline() {
    if (record_.exit_code != ExitCode::done && record_.exit_code != ExitCode::not_converged) return;
    try {
      record_.baseline = regression_.judge(merits(record_));
      if (record_.baseline) refuse_worse(*record_.baseline);
    } catch (const CollectiveError& e) {
      record_.exit_code = e.code();
      record_.message = e.what();
    }
  }

  // A record that cannot be written fails the run, but never hides what failed it before.
  void write_record() {
    try {
      agree(world_, [&] {
        if (world_.is_root()) write_run_record(directory_.record(), record_);
      });
    } catch (const CollectiveError& e) {
      if (world_.is_root() && !record_.message.empty()) console_.warn(e.what());
      if (!record_.message.empty()) return;
      record_.exit_code = e.code();
      record_.message = e.what();
    }
  }

  const Communicator& world_;
  const CommandLine& command_;
  bool profile_;
  const Session& session_;
  const std::optional<Restart>& restart_;
  const Regression& regression_;
  Device& device_;
  WallLimit limit_;
  Timer total_;  // since the deck was opened
  TunedRows<T> tuned_{};
  std::unique_ptr<Solver<T>> solver_;
  Console console_;
  RunDirectory directory_;
  Progress progress_;
  RunRecord record_;
  std::string viewer_file_{};  // rank 0's: what to open in ParaView; empty: nothing
  RankTimes times_;
};

}  // namespace

int run(const CommandLine& command, const Communicator& world) {
  const Timer started;
  note_stop_signals();
  Session session = plan_session(command, world);
  const std::optional<Restart> restart = plan_restart(command.restart, force_of(command), session, world);
  if (restart) {
    if (const auto code = nothing_to_do(*restart, session.deck.config, world)) return static_cast<int>(*code);
  }
  const auto device = agree(world, [&] { return open_device(session.placement); });
  refuse_what_does_not_fit(session.memory, session.placement, world);
  const Regression regression(command.baseline, session, *device, world);
  settle_depth(session, measure_depth_costs(session, *device, world), world);
  const double roof = measure_roof(session, *device, world);
  if (session.deck.config.precision == Precision::fp32) {
    return Run<float>(command, world, session, restart, regression, *device, roof, started).finish();
  }
  return Run<double>(command, world, session, restart, regression, *device, roof, started).finish();
}

}  // namespace isotherm
