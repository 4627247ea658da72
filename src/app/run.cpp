#include "app/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/describe.hpp"
#include "app/end_state.hpp"
#include "app/field_outputs.hpp"
#include "app/verification.hpp"
#include "config/deck.hpp"
#include "core/agree.hpp"
#include "core/text.hpp"
#include "output/console/report.hpp"
#include "output/field_files/checkpoint.hpp"

namespace isotherm {
namespace {

const char* text_of(Overlap overlap) {
  return overlap == Overlap::on    ? "step beside its exchange"
         : overlap == Overlap::off ? "step after its exchange"
                                   : "step that stores its faces";
}

Progress make_progress(const RunPlan& plan, Console& console) {
  const Terminal terminal = find_terminal(plan.world.size());
  return {choose_style(plan.command.progress, terminal), terminal, console};
}

// Exists in the directory of this run, where it goes on: the sweep of the checkpoint.
std::optional<std::int64_t> resumed_here(const std::optional<Restart>& restart) {
  return restart && restart->same_directory ? std::optional(restart->sweep()) : std::nullopt;
}

}  // namespace

// The files of one case, each where the deck asks for it.
template <class T>
struct Run<T>::Outputs {
  Outputs(Run& run, const Config& config, bool last) : files(why_in_step(config, run.plan_.world)) {
    const Communicator& world = run.plan_.world;
    const std::string path = run.directory_->path.string();
    const auto resumed = resumed_here(run.plan_.restart);
    const auto origin = [&] { return provenance(run.plan_.session, run.record_); };
    if (last && config.output.snapshots) {
      snapshots.emplace(config, world, path, origin(), &files);
      if (resumed) snapshots->continue_series(*resumed);
    }
    if (last)
      fields.emplace(config, world, run.solver_->block(), *run.directory_, origin(), run.console_, files,
                     resumed);
    if (!run.is_series() && config.output.checkpoint.write && moves_data(config))
      checkpoints.emplace(config, world, path, origin(), &files);
    if (config.output.history && world.is_root())
      history.emplace(run.directory_->history(), run.console_,
                      config.output.diagnostics ? DiagnosticsColumns(plan_diagnostics(config)) : std::nullopt,
                      run.plan_.restart ? std::optional(run.plan_.restart->last_line()) : std::nullopt);
  }

  std::vector<std::vector<std::string>> warnings() const {
    std::vector<std::vector<std::string>> all;
    if (snapshots) all.push_back(snapshots->remarks());
    if (fields) all.push_back(fields->remarks());
    if (checkpoints) all.push_back(checkpoints->remarks());
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

template <class T>
Run<T>::Run(const RunPlan& plan)
    : plan_(plan), console_(plan.world.rank()), progress_(make_progress(plan, console_)) {}

template <class T>
void Run<T>::open() {
  const auto& restart = plan_.restart;
  const bool same_directory = restart && restart->same_directory;
  limit_ = find_wall_limit(config(), plan_.world, plan_.started);
  make_solver(plan_.session.cases.front());
  directory_ =
      open_run_directory(config(), plan_.session.deck.text, to_yaml(config()), plan_.world,
                         {same_directory, force_of(plan_.command), restart ? restart->lock : nullptr});
  if (is_root()) console_.open_log(directory_->log(), same_directory);
  record_ = describe_run(plan_.command, plan_.session, plan_.device, plan_.world, directory_->path.string());
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

// All ranks know them.
template <class T>
void Run<T>::warn_of_plan() {
  if (!limit_.warning.empty()) console_.warn(limit_.warning);
  if (!directory_->lock->warning().empty()) console_.warn(directory_->lock->warning());
  for (const std::string& warning : record_.warnings) console_.warn(warning);
  if (plan_.command.profile && solver_->is_asynchronous())
    console_.warn("--profile waits for the device behind every phase: figures are lower than without it");
  keep_tuning_found();
}

template <class T>
bool Run<T>::solve(const Config& config) {
  try {
    solve_case(config);
    return true;
  } catch (const CollectiveError& error) {
    fail(error);
    return false;
  }
}

template <class T>
int Run<T>::report() {
  if (record_.message.empty()) judge();
  times_.finish(plan_.started.seconds());
  record_.phases = gather_phases(times_.phases, plan_.world);
  if (plan_.command.profile) record_.profile = gather_profiles(times_.profile, plan_.world);
  record_.ranks = gather_ranks(describe_rank(plan_.session, plan_.device, plan_.world), plan_.world);
  record_.finished = utc_now();
  record_.warnings = console_.warnings();
  judge_against_baseline();
  console_.say_fitted(final_table(record_), final_table(record_, stdout_columns()));
  if (!viewer_file_.empty()) console_.say(fmt::format("  {:<13}{}\n", "ParaView", escaped(viewer_file_)));
  if (record_.baseline) console_.say(baseline_table(*record_.baseline));
  write_record();
  console_.say(closing_lines(record_));
  if (!record_.message.empty()) throw CollectiveError(record_.exit_code, record_.message);
  return static_cast<int>(record_.exit_code);
}

template <class T>
void Run<T>::make_solver(const Config& config) {
  const Communicator& world = plan_.world;
  const Placement& placement = plan_.session.placement;
  const Decomposition decomposition = decompose(config, world.size(), placement.backend);
  const int threads = placement.ranks[static_cast<std::size_t>(world.rank())].threads;
  solver_.reset();  // before the next takes its memory
  tuned_ = tuned_rows<T>(config, decomposition, world, plan_.device, threads);
  std::optional<StoredField> stored;
  if (const auto& restart = plan_.restart) stored = {restart->file, temperature_dataset, restart->sweep()};
  solver_ =
      std::make_unique<Solver<T>>(config, decomposition, world, plan_.device, tuned_.rows, true, stored);
  if (plan_.command.profile) solver_->time_phases();
}

// Collective: what the device holds is what the checkpoint says; what the directory holds of later sweeps is
// not in the way.
template <class T>
void Run<T>::resume() {
  const Restart& restart = *plan_.restart;
  if (moves_data(config()) && solver_->fingerprint() != restart.header.meta.fingerprint)
    throw CollectiveError(ExitCode::io,
                          fmt::format("{}: what was read is not what was looked at before (the file "
                                      "or its disk changes); try again, or name another one",
                                      restart.file));
  agree(plan_.world, [&] {
    if (is_root() && restart.same_directory)
      set_aside_later(directory_->path.string(), config().name, restart.sweep());
  });
  console_.say(fmt::format("going on from {}, sweep {}", restart.file, restart.sweep()));
  for (const std::string& change : restart.changes) console_.say("  changed: " + change);
  if (!is_root()) return;
  for (const std::string& warning : restart.warnings) console_.warn(warning);
}

template <class T>
void Run<T>::solve_case(const Config& config) {
  Timer timer;
  const bool last = &config == &plan_.session.cases.back();
  if (&config != &plan_.session.cases.front()) {
    make_solver(config);
    record_solver();
    if (is_root()) keep_tuning_found();
  }
  Outputs outputs(*this, config, last);
  if (last && outputs.files.in_step() && config.output.asynchronous && !plan_files(config).empty())
    console_.say(fmt::format("files of the field are written in step: {}", outputs.files.why_in_step()));
  warn_new(outputs.warnings());
  times_.phases[Phase::setup] += timer.lap();

  const LoopOutcome outcome =
      run_time_loop(config, *solver_, outputs.of_loop(is_root() ? &progress_ : nullptr, console_), frame());
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
template <class T>
void Run<T>::end_case(const Config& config, const LoopOutcome& outcome) {
  if (!outcome.divergence.empty()) throw CollectiveError(ExitCode::diverged, outcome.divergence);
  if (moves_data(config)) record_.fingerprint = solver_->fingerprint();
  if (!outcome.stopped_by.empty())
    throw CollectiveError(ExitCode::stopped, stopped_text(outcome, solver_->sweeps(), next(outcome)));
  const std::string end =
      steady_end_text(config, outcome, solver_->sweeps(), next(outcome, "problem.max_sweeps"));
  if (is_root() && !end.empty()) console_.warn(end);
  if (config.verify.solution != ExactSolution::none) verify_case(config);
}

// Of all writers, which often say the same. All ranks know them.
template <class T>
void Run<T>::warn_new(const std::vector<std::vector<std::string>>& all) {
  if (!is_root()) return;
  for (const std::vector<std::string>& warnings : all)
    for (const std::string& warning : warnings)
      if (std::ranges::find(console_.warnings(), warning) == console_.warnings().end())
        console_.warn(warning);
}

template <class T>
LoopFrame Run<T>::frame() const {
  LoopFrame frame{plan_.world, plan_.started, limit_};
  if (plan_.restart) frame.resumed = &plan_.restart->state();
  frame.last_checkpoint = resumed_here(plan_.restart);
  return frame;
}

template <class T>
std::string Run<T>::next(const LoopOutcome& outcome, std::string_view anew) const {
  const bool has_checkpoint = !outcome.checkpoints.empty() || resumed_here(plan_.restart);
  return next_command(plan_.command, directory_->path.string(), has_checkpoint, anew);
}

// Into the record, what the sweeps are made with.
template <class T>
void Run<T>::record_solver() {
  MethodRecord& method = record_.method;
  const SweepChoice<T>& sweep = solver_->sweep_choice();  // it may know better than the trial
  method.kernel = sweep.row->name;
  method.policy = sweep.row->policies[static_cast<std::size_t>(sweep.policy)];
  std::tie(method.fused, method.why_single) = solver_->fused_and_why();
  method.reduction = tuned_.rows.reduction->name;
  method.graph = solver_->queues_graphs();
  method.overlap = solver_->overlap();
  method.tuning = tuned_.tuning;
  for (const StepTrial& trial : solver_->step_trials())
    method.tuning.trials.push_back({solver_->halo_links().empty() ? "step" : text_of(trial.overlap),
                                    std::string(trial.policy), trial.seconds, trial.fused,
                                    std::string(trial.kernel)});
  if (const auto& trial = solver_->graph_trial()) {
    method.tuning.trials.push_back({"launches", "", trial->launches});
    method.tuning.trials.push_back({"graph", "", trial->graph});
  }
  record_.halo = {gather_pairs(solver_->halo_links(), plan_.world), solver_->halo_cost()};
  method.transport = transports_in_use(record_.halo);
  if (solver_->has_sources()) record_.sources = {solver_->sources().power, solver_->sources().cells};
}

// Rank 0's. A run goes on without it.
template <class T>
void Run<T>::keep_tuning_found() {
  if (!tuned_.to_keep) return;
  try {
    TuningChoice choice = tuned_.to_keep->choice;
    const MethodRecord& m = record_.method;
    std::tie(choice.kernel, choice.policy, choice.fused) = std::tie(m.kernel, m.policy, m.fused);
    keep_tuning(tuned_.tuning.file, tuned_.to_keep->key, choice);
  } catch (const Error& e) {
    console_.warn(fmt::format("the tuning is not kept: {}", e.what()));
  }
}

// Into the record, what this case adds to it.
template <class T>
void Run<T>::record_outcome(const Config& config, const LoopOutcome& outcome) {
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
  const auto sweeps = static_cast<double>(solver_->own_sweeps());
  record_.performance.sweeps += solver_->own_sweeps();
  record_.performance.points += static_cast<double>(config.grid.cells.product()) * sweeps;
  record_.performance.bytes_per_point = solver_->bytes_per_point();
  record_.answer = outcome.divergence.empty() ? Answer::finite : Answer::not_finite;
  const Timer timer;
  record_.end_state = outcome.divergence.empty() ? find_end_state(config, *solver_) : std::nullopt;
  times_.phases[Phase::diagnostics] += timer.seconds();
}

template <class T>
void Run<T>::verify_case(const Config& config) {
  const auto coarser = std::exchange(record_.verification, verify(config, plan_.world, *solver_));
  if (!is_series()) return;
  add_level(*record_.verification, coarser, config, solver_->own_sweeps());
  console_.say(level_line(record_.verification->levels));
}

// The exit code of a run that came to its end.
template <class T>
void Run<T>::judge() {
  record_.exit_code = ExitCode::done;
  if (record_.residual.convergence == Convergence::not_reached) record_.exit_code = ExitCode::not_converged;
  if (!record_.verification) return;
  record_.verification->verdict = verdict(config(), *record_.verification);
  if (record_.verification->verdict == Verdict::failed) record_.exit_code = ExitCode::diverged;
}

// Of a run that came to its end; its answer stays what it is.
template <class T>
void Run<T>::judge_against_baseline() {
  if (record_.exit_code != ExitCode::done && record_.exit_code != ExitCode::not_converged) return;
  try {
    record_.baseline = plan_.regression.judge(merits(record_));
    if (record_.baseline) refuse_worse(*record_.baseline);
  } catch (const CollectiveError& error) {
    fail(error);
  }
}

template <class T>
void Run<T>::fail(const CollectiveError& error) {
  record_.exit_code = error.code();
  record_.message = error.what();
}

// A record that cannot be written fails the run, but never hides what failed it before.
template <class T>
void Run<T>::write_record() {
  try {
    agree(plan_.world, [&] {
      if (is_root()) write_run_record(directory_->record(), record_);
    });
  } catch (const CollectiveError& error) {
    if (is_root() && !record_.message.empty()) console_.warn(error.what());
    if (record_.message.empty()) fail(error);
  }
}

template class Run<float>;
template class Run<double>;

}  // namespace isotherm
