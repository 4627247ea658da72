#include "app/run.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "config/deck.hpp"
#include "config/problems.hpp"
#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/records/json_value.hpp"
#include "solver/residual_check.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

// Where to search: a folder, for its newest checkpoint, or one file.
struct Asked {
  fs::path folder;
  std::string file;  // empty: the newest
};

Asked find_asked(const std::string& word, const Config& config) {
  if (word == "latest") return {config.output.directory, ""};
  const fs::path path(word);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return {path.has_filename() ? path : path.parent_path(), ""};
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (path.filename() == "latest") return {folder, ""};  // names the newest checkpoint in its folder
  return {folder, word};
}

// Rejects a link out of its folder, which could name any file.
void check_link(const fs::path& file) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(file, error))) return;
  const fs::path target = fs::canonical(file, error);
  if (error || target.parent_path() != fs::weakly_canonical(file.parent_path(), error))
    throw error_of(ExitCode::deck, "{}: a link to another folder, or to no file; name the file itself",
                   file.string());
}

// Collective. Each rank reads the cells that it will own; their fingerprint must be that of the header.
void verify_cells(const std::string& file, const SnapshotHeader& header, const Session& session,
                  const Communicator& world) {
  const Config& config = session.deck.config;
  const Box subdomain = session.decomposition.subdomain(world.rank());
  const Index slab = SnapshotWriter::default_slab_bytes;
  const std::uint64_t mine = all_or_throw(
      world, [&] { return fingerprint_on_disk(file, subdomain, config.grid.cells, config.precision, slab); });
  const std::uint64_t found = world.all_reduce(mine, ReduceOp::sum);
  if (found != header.meta.fingerprint)
    throw error_of<CollectiveError>(ExitCode::deck,
                                    "{}: its cells have fingerprint {}, its header says {} (a value was "
                                    "changed since it was written); use another one",
                                    file, fingerprint_text(found), fingerprint_text(header.meta.fingerprint));
}

// May steps of this deck have the length `dt`? With dt: auto any; with end_time, at least half problem.dt.
bool may_have_step(const ProblemConfig& problem, double dt) {
  const double share = dt / problem.dt.value_or(dt);
  return std::abs(share - 1) <= 1e-9 || (problem.end_time && share > 0.5 && share < 1);
}

// Steps of another length would lead to another state. A deck with another end keeps the checkpoint's step,
// and problem.steps replaces end_time, as end_time / steps may differ from that step in the last digit.
void keep_step(Config& now, double dt) {
  ProblemConfig& problem = now.problem;
  if (problem.kind == ProblemKind::steady || time_plan(now).dt == dt) return;
  problem.dt = dt;
  if (time_plan(now).dt == dt) return;
  const double steps = std::round(*problem.end_time / dt);  // end_time is set: else the step above is dt
  if (std::abs(*problem.end_time - steps * dt) > 1e-9 * dt * steps)
    throw deck_error(now, "problem.end_time",
                     "{} s is no whole number of the checkpoint's steps of {} s (other steps lead to another "
                     "state); end at a multiple of them, or give problem.steps={:.0f} problem.dt={} instead",
                     *problem.end_time, dt, std::ceil(*problem.end_time / dt), dt);
  problem.steps = static_cast<std::int64_t>(steps);
  problem.end_time.reset();
}

// Throws Error(deck), with all differences, if the deck is of another problem. Returns the allowed changes.
std::vector<std::string> apply_deck_of(const SnapshotHeader& header, const std::string& file, Config& now) {
  const Config before = stored_config(header.provenance, file);
  std::string forbidden;
  std::vector<std::string> allowed;
  for (const Change& change : changes(before, now)) {
    const bool step_stays = change.key == "problem.dt" && may_have_step(now.problem, header.checkpoint->dt);
    if (step_stays && !now.problem.dt) continue;
    if (std::error_code ignored; change.key == "output.directory" &&
                                 fs::equivalent(before.output.directory, now.output.directory, ignored))
      continue;
    if (change.allowed || step_stays) {
      allowed.push_back(fmt::format("{} {} -> {}{}", change.key, change.before, change.now,
                                    step_stays ? ", the steps stay as they are" : ""));
    } else {
      forbidden += fmt::format("{}: {} in the checkpoint, {} in the deck\n", now.at(change.key),
                               change.before, change.now);
    }
  }
  if (!forbidden.empty())
    throw Error(ExitCode::deck, forbidden + fmt::format("{}: is of another problem (these keys cannot change "
                                                        "at a restart); undo the changes, or start a new run",
                                                        file));
  if (header.meta.sweep > 0) keep_step(now, header.checkpoint->dt);  // else no step was taken
  if (now.output.histogram.bins > 0 && !now.output.histogram.range)
    now.output.histogram.range = header.checkpoint->histogram_range;
  return allowed;
}

// The checkpoints to try, the best first.
std::vector<std::string> candidates(const Asked& asked, const std::string& run_name) {
  if (!asked.file.empty()) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(asked.file, ignored))) return {asked.file};
    throw error_of(ExitCode::file_missing, "no checkpoint {} (--restart); name one, its folder, or latest",
                   in_quotes(asked.file));
  }
  std::vector<std::string> files;
  for (const std::int64_t sweep : find_checkpoints(asked.folder.string(), run_name))
    files.push_back((asked.folder / checkpoint_name(run_name, sweep)).string());
  return files;
}

// Collective: the first candidate that is sound. The deck must be of the same problem as this candidate and
// all better ones whose header could be read.
std::optional<Restart> first_sound(const std::vector<std::string>& files, Session& session,
                                   const Communicator& world, std::vector<std::string>& passed_over) {
  for (const std::string& file : files) {
    bool is_newer = false;
    const auto is_sound = [&](auto&& read) {
      try {
        read();
        return true;
      } catch (const CollectiveError& e) {
        // It is sound, and a run from an earlier one would replace it.
        if (world.any(is_newer))
          throw CollectiveError(e.code(), e.what() + std::string(", or name an earlier checkpoint"));
        passed_over.emplace_back(e.what());
        return false;
      }
    };
    Restart restart;
    restart.file = file;
    Config config = session.deck.config;
    const auto read_header = [&] {
      check_link(file);
      try {
        return read_checkpoint_header(file);
      } catch (const NewerVersion&) {
        is_newer = true;
        throw;
      }
    };
    if (!is_sound([&] { restart.header = all_or_throw(world, read_header); })) continue;
    restart.sweep = restart.header.meta.sweep;
    restart.changes = all_or_throw(world, [&] { return apply_deck_of(restart.header, file, config); });
    if (!is_sound([&] { verify_cells(file, restart.header, session, world); })) continue;
    session.deck.config = config;
    return restart;
  }
  return std::nullopt;
}

// Does a run from a checkpoint in `folder` resume there? A deck with another directory starts a branch.
bool resumes_in(const fs::path& folder, const Config& config) {
  if (!config.places.contains("output.directory")) return true;
  std::error_code ignored;
  return fs::equivalent(folder, config.output.directory, ignored);
}

Json record_of(const fs::path& file) {  // a discarded value if there is none
  std::ifstream stream(file.parent_path() / "run.json", std::ios::binary);
  return Json::parse(stream, nullptr, false);
}

// Sets the time and the sweeps of the run that wrote this checkpoint and of those before it, from its record;
// the record counts the sweeps only if that run ended at the checkpoint.
void count_earlier_runs(Restart& restart) {
  restart.sweeps = restart.sweep;
  const Json record = record_of(restart.file);
  try {
    const Json found = record.at("continuation").at("restarted_from");
    const Json before = found.is_null() ? Json::object() : found;
    restart.wall =
        record.at("phases_s").at("total").at("max").get<double>() + before.value("earlier_wall_s", 0.0);
    if (record.at("end_state").at("sweep") == restart.sweep)
      restart.sweeps = record.at("performance").at("sweeps").get<std::int64_t>() +
                       before.value("earlier_sweeps", before.value("sweep", std::int64_t{0}));
  } catch (const Json::exception&) {  // no record, or none of a run
  }
}

// Whether the errors in the run.json next to this checkpoint are too large, judged by `config`. False without
// its run's record.
bool failed_verification(const fs::path& file, const Config& config) {
  if (config.verify.solution == ExactSolution::none) return false;
  const Json record = record_of(file);
  try {
    const Json& found = record.at("verification");
    if (found.is_null() || !record.at("continuation").at("stopped_by").is_null()) return false;
    if (record.at("continuation").at("newest_checkpoint") != file.filename().string()) return false;
    const Json& error = found.at("max_error_K");  // null: it was not finite
    Verification v;
    v.max_error_K = error.is_null() ? std::numeric_limits<double>::quiet_NaN() : error.get<double>();
    v.tolerance_K = config.verify.tolerance;
    return verdict(v) == Verdict::failed;
  } catch (const Json::exception&) {  // no record, or none of a run
    return false;
  }
}

}  // namespace

std::optional<Restart> plan_restart(const std::string& asked_for, Force force, Session& session,
                                    const Communicator& world) {
  if (asked_for.empty()) return std::nullopt;
  Config& config = session.deck.config;
  if (!config.verify.order.empty())
    throw error_of<CollectiveError>(
        ExitCode::deck, "{}: a series of grids has no checkpoints; start it again without --restart",
        config.at("verify.order"));
  // Only rank 0 searches: others may not see new files yet.
  Asked asked;
  std::vector<std::string> files;
  std::shared_ptr<RunLock> lock;
  on_root(world, [&] {
    asked = find_asked(asked_for, config);
    std::error_code ignored;
    if (resumes_in(asked.folder, config) && fs::is_directory(asked.folder, ignored))
      lock = std::make_shared<RunLock>(asked.folder, force);
    files = candidates(asked, config.name);
    if (files.empty())
      throw error_of(ExitCode::file_missing,
                     "no checkpoint of {} in {} (--restart {}); name a file, or start without --restart",
                     in_quotes(config.name), in_quotes(asked.folder.string()), escaped(asked_for));
  });
  asked.folder = world.broadcast(asked.folder.string());
  // Set before the decks are compared, so that the directory is no change.
  if (!config.places.contains("output.directory")) config.output.directory = asked.folder.string();
  files.resize(static_cast<std::size_t>(world.all_reduce(std::ssize(files), ReduceOp::max)));
  for (std::string& file : files) file = world.broadcast(file);

  std::vector<std::string> passed_over;
  std::optional<Restart> restart = first_sound(files, session, world, passed_over);
  if (!restart)
    throw error_of<CollectiveError>(
        ExitCode::deck,
        "{}\nno sound checkpoint of {} for --restart {}; name another one, or start without it",
        fmt::join(passed_over, "\n"), in_quotes(config.name), escaped(asked_for));
  for (const std::string& why : passed_over)
    restart->warnings.push_back(fmt::format("passed over: {}; resuming from {}", why, restart->file));
  const auto has_edge = [](const RegionValue& source) { return source.shape != Shape::constant; };
  if (restart->state().version == 1 && config.problem.kind == ProblemKind::transient &&
      std::ranges::any_of(config.sources, has_edge))
    restart->warnings.push_back(
        fmt::format("{}: its sources heated the cells whose centres they contain, and now heat each cell by "
                    "its share (the field mixes both); start a new run for exact power",
                    restart->file));
  restart->same_directory = world.all(resumes_in(asked.folder, config));
  if (world.is_root() && restart->same_directory) count_earlier_runs(*restart);
  restart->lock = std::move(lock);
  session.cases = {config};
  return restart;
}

std::optional<ExitCode> nothing_to_do(const Restart& restart, const Config& config,
                                      const Communicator& world) {
  const CheckpointState& state = restart.state();
  const Schedule schedule(config);
  const bool steady = config.problem.kind == ProblemKind::steady;
  const bool checked = state.last_residual && !state.pending_residual;
  const bool converged = checked && has_converged(config, *state.first_residual, *state.last_residual);
  const bool stagnated = checked && state.stagnated && config.problem.tolerance > 0;
  if (!converged && !stagnated && restart.sweep < schedule.last()) return std::nullopt;
  const bool failed = world.any(world.is_root() && failed_verification(restart.file, config));
  if (world.is_root()) {
    for (const std::string& warning : restart.warnings) fmt::print(stderr, "warning: {}\n", warning);
    const char* place =
        restart.sweep > schedule.last() ? "beyond the end of the run" : "where the run has ended";
    const std::string end = converged   ? "where the run has reached its tolerance"
                            : stagnated ? "where its residual has stopped falling at rounding"
                                        : fmt::format("{} (at {})", place, schedule.last());
    const std::string further =
        !steady ? fmt::format("a later problem.end_time, or more problem.steps with problem.dt={}", state.dt)
        : converged ? "a smaller problem.tolerance"
        : stagnated ? "no sweep: a smaller residual takes precision: fp64 and a new run"
                    : "a larger problem.max_sweeps";
    fmt::print("nothing to do: {} is of sweep {}, {}{}; continue with {}\n", restart.file, restart.sweep, end,
               failed ? " and FAILED its verification (run.json)" : "", further);
  }
  if (failed) return ExitCode::diverged;
  return steady && !converged && !stagnated ? ExitCode::not_converged : ExitCode::done;
}

}  // namespace isotherm
