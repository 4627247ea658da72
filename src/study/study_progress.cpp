#include "study/study_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/text.hpp"

namespace isotherm {

StudyProgress::StudyProgress(double work, std::size_t cases, int jobs)
    : work_(work), cases_(cases), jobs_(std::max(1, jobs)), terminal_(find_terminal(1)) {}

StudyProgress::~StudyProgress() {
  line_.clear();
}

void StudyProgress::say(const std::string& line) {
  line_.clear();
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void StudyProgress::ended(const std::string& what, const RunningCase& ended, double seconds_of_sweeps,
                          const std::vector<RunningCase>& running) {
  ++ended_;
  ++gone_;
  gone_work_ += ended.work;
  if (seconds_of_sweeps > 0) ended_work_ += ended.work;
  seconds_ += ended.seconds;
  seconds_of_sweeps_ += std::min(seconds_of_sweeps, ended.seconds);
  say(fmt::format("[{}/{}] {}{}", gone_, cases_, what, left_text(seconds_left(running))));
}

void StudyProgress::skipped(const std::string& what, double work) {
  gone_work_ += work;
  say(fmt::format("[{}/{}] {}", ++gone_, cases_, what));
}

void StudyProgress::show(const std::vector<RunningCase>& running) {
  if (!can_move(terminal_) || running.empty()) return;
  std::string text = fmt::format("[{}/{}]", gone_, cases_);
  for (const RunningCase& each : running)
    text +=
        fmt::format("{}{} for {}", text.back() == ']' ? "  " : ", ", each.name, human_duration(each.seconds));
  text += left_text(seconds_left(running));
  line_.show(shortened(text, stderr_columns().value_or(terminal_.columns) - 1));
}

std::optional<double> StudyProgress::seconds_left(const std::vector<RunningCase>& running) const {
  if (gone_ == cases_ || !(seconds_of_sweeps_ > 0)) return std::nullopt;
  const double beside = (seconds_ - seconds_of_sweeps_) / static_cast<double>(ended_);
  const double rate = ended_work_ / seconds_of_sweeps_;
  double waiting_work = work_ - gone_work_, all = 0, longest = 0;
  for (const RunningCase& each : running) {
    const double left = std::max(beside + each.work / rate - each.seconds, 0.0);
    all += left;
    longest = std::max(longest, left);
    waiting_work -= each.work;
  }
  const std::size_t waiting = cases_ - gone_ - std::min(running.size(), cases_ - gone_);
  all += static_cast<double>(waiting) * beside + std::max(waiting_work, 0.0) / rate;
  if (all <= 0) return std::nullopt;  // they take longer than expected
  return std::max(all / jobs_, longest);
}

}  // namespace isotherm
