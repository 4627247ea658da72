#include "app/loop_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "core/text.hpp"
#include "solver/method.hpp"
#include "solver/residual_check.hpp"
#include "solver/schedule.hpp"

namespace isotherm {

namespace {

constexpr double share_of_slack = 0.01, least_slack = 1, most_slack = 60;       // of the limit; s
constexpr double share_to_judge = 0.1, least_to_judge = 1, most_to_judge = 60;  // likewise

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

double WallLimit::latest_stop(double write) const {
  return seconds - 2 * write - std::clamp(share_of_slack * seconds, least_slack, most_slack);
}

double WallLimit::time_to_judge() const {
  if (source.empty()) return std::numeric_limits<double>::infinity();
  return std::clamp(share_to_judge * seconds, least_to_judge, most_to_judge);
}

WallLimit find_wall_limit(const Config& config, const Communicator& world, const Timer& started) {
  WallLimit limit;
  if (config.solver.walltime) {
    limit.seconds = *config.solver.walltime;
    limit.source = fmt::format("solver.walltime {} s", *config.solver.walltime);
  }
  double job = std::numeric_limits<double>::infinity();
  if (const char* text = std::getenv("SLURM_JOB_END_TIME"); text && *text) {
    const std::string_view word(text);
    double end = 0;
    const auto [rest, problem] = std::from_chars(word.data(), word.data() + word.size(), end);
    if (problem == std::errc() && rest == word.data() + word.size()) {
      job = end - seconds_since_1970() + started.seconds();
    } else {
      limit.warning = fmt::format(
          "SLURM_JOB_END_TIME is {} (no number of seconds since 1970); the run does not stop for it: set "
          "solver.walltime",
          in_quotes(word));
    }
  }
  job = world.all_reduce(job, ReduceOp::min);
  if (job < limit.seconds) {
    limit.seconds = job;
    limit.source = fmt::format("the Slurm job's end in {:.0f} s", job);
  }
  return limit;
}

namespace {

constexpr double margin = 1.1;  // by which a run may be faster in the end than it looked

}  // namespace

LoopProgress::LoopProgress(const Config& config, Progress* progress, Console* console, const WallLimit& limit)
    : config_(config),
      progress_(progress),
      console_(console),
      limit_(limit),
      last_sweep_(Schedule(config).last()),
      cells_(static_cast<double>(config.grid.cells.product())),
      writes_checkpoints_(config.output.checkpoint.write),
      pace_(make_method(config).decay) {}

void LoopProgress::tell(std::int64_t sweep, std::optional<double> time, const Residual& residual,
                        double elapsed) {
  if (!progress_) return;
  const ProgressState state = state_at(sweep, time, residual);
  progress_->update(state);
  warn_of_limit(state, elapsed);
}

ProgressState LoopProgress::state_at(std::int64_t sweep, std::optional<double> time, const Residual& r) {
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
  if (const auto rate = pace_.sweeps_per_second()) state.points_per_second = cells_ * *rate;
  state.left = pace_.forecast(last_sweep_, r.tolerance);
  return state;
}

// Better now than after hours.
void LoopProgress::warn_of_limit(const ProgressState& state, double elapsed) {
  if (warned_of_limit_ || !console_ || !state.left.seconds || state.wall < limit_.time_to_judge()) return;
  const double needed = *state.left.seconds, granted = limit_.latest_stop(0) - elapsed;
  if (granted <= 0 || needed < margin * granted) return;
  warned_of_limit_ = true;
  console_->warn(fmt::format("about {} more are needed at the present rate, but {} leaves {}; {}",
                             human_duration(needed), limit_.source, human_duration(granted),
                             writes_checkpoints_
                                 ? "the run will stop with a checkpoint: go on from it with --restart latest"
                                 : "the run will stop without a checkpoint: give it more time"));
}

}  // namespace isotherm
