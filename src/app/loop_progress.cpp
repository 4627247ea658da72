#include "app/loop_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "core/text.hpp"

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

}  // namespace isotherm
