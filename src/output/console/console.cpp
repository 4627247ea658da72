#include "output/console/console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/communicator.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // open() returns the lowest free descriptor, which is the closed stream.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1 && open("/dev/null", O_RDWR) != stream) return;
}

void print_now(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw Error(ExitCode::io, "standard output cannot be written; check where it goes");
}

bool can_rewrite_lines(int processes) {
  const char* terminal = std::getenv("TERM");
  const std::string_view kind = terminal ? terminal : "";
  return processes == 1 && !is_under_launcher() && isatty(STDERR_FILENO) && !kind.empty() && kind != "dumb";
}

namespace {

constexpr double fading = 120;      // s, after which data has the weight 1/e
constexpr double least_seen = 0.5;  // s

constexpr double rewrite_seconds = 0.1;  // a terminal is rewritten ten times per second

// Writes the text with a final newline, and flushes. False on failure: a closed terminal must not end a run.
bool put(std::FILE* file, std::string_view text) {
  const std::string lines = fmt::format("{}{}", text, text.ends_with('\n') ? "" : "\n");
  return std::fwrite(lines.data(), 1, lines.size(), file) == lines.size() && std::fflush(file) == 0;
}

}  // namespace

void Console::open_log(const std::filesystem::path& path, bool append) {
  if (rank_ != 0) return;
  log_.reset(std::fopen(path.c_str(), append ? "ab" : "wb"));
  if (!log_) lose_log();
}

void Console::say(std::string_view text) {
  if (rank_ != 0) return;
  rewrite_line("");
  put(stdout, text);
  log_only(text);
}

void Console::log_only(std::string_view text) {
  if (log_ && !put(log_.get(), text)) lose_log();
}

void Console::warn(std::string_view problem) {
  warnings_.emplace_back(problem);
  const std::string line =
      rank_ == 0 ? fmt::format("warning: {}", problem) : fmt::format("warning: rank {}: {}", rank_, problem);
  rewrite_line("");
  put(stderr, line);
  log_only(line);
}

// Writes directly to the file descriptor, not to the log. With DECAWM off the terminal truncates long lines.
void Console::rewrite_line(std::string_view line) {
  if (line.empty() && !line_shown_) return;
  line_shown_ = false;
  const pid_t foreground = tcgetpgrp(STDERR_FILENO);
  if (foreground != -1 && foreground != getpgrp()) return;
  line_shown_ = !line.empty();
  const std::string text = line.empty() ? "\r\033[K" : fmt::format("\r\033[?7l{}\033[K\033[?7h", line);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void Console::lose_log() {
  const int reason = errno;
  log_.reset();
  warn(fmt::format("run.log cannot be written ({}); the run continues without it", std::strerror(reason)));
}

void ProgressRate::reached(std::int64_t sweep, double seconds) {
  if (reached_) {
    const double passed = std::max(seconds - reached_->seconds, 0.0), fade = std::exp(-passed / fading);
    sweeps_ = fade * sweeps_ + static_cast<double>(sweep - reached_->sweep);
    seconds_ = fade * seconds_ + passed;
    seen_ += passed;
  }
  reached_ = {sweep, seconds};
}

void ProgressRate::checked(std::int64_t sweep, double residual) {
  if (!(residual > 0) || !std::isfinite(residual)) return;
  if (checked_ && sweep <= checked_->sweep) return;
  if (checked_) {
    const double share = static_cast<double>(checked_->sweep) / static_cast<double>(sweep);
    decayed_ = share * share * decayed_ + std::log(checked_->residual / residual);
    decay_sweeps_ = share * share * decay_sweeps_ + static_cast<double>(sweep - checked_->sweep);
    log_sweeps_ = share * share * log_sweeps_ - std::log(share);
  }
  checked_ = {sweep, residual};
}

std::optional<double> ProgressRate::sweeps_per_second() const {
  if (!(sweeps_ > 0) || !(seconds_ > 0)) return std::nullopt;
  return sweeps_ / seconds_;
}

// The residual follows its power law until it falls no faster than the slowest mode.
std::optional<double> ProgressRate::sweeps_down(double way) const {
  const bool falls = decay_sweeps_ > 0 && decayed_ > 0;
  if (!(slowest_ > 0)) return falls ? std::optional(way / (decayed_ / decay_sweeps_)) : std::nullopt;
  const double here = static_cast<double>(checked_->sweep);
  const double power = log_sweeps_ > 0 ? decayed_ / log_sweeps_ : 0, slow_from = power / slowest_;
  if (slow_from <= here) return way / slowest_;
  const double way_until = power * std::log(slow_from / here);
  return way <= way_until ? here * std::expm1(way / power) : slow_from - here + (way - way_until) / slowest_;
}

Forecast ProgressRate::forecast(std::int64_t last_sweep, std::optional<double> tolerance) const {
  const auto rate = sweeps_per_second();
  if (!rate || seen_ < least_seen) return {};
  const double left = static_cast<double>(std::max<std::int64_t>(last_sweep - reached_->sweep, 0));
  if (!tolerance) return {left / *rate};
  const auto needed = checked_ && *tolerance > 0
                          ? sweeps_down(std::max(std::log(checked_->residual / *tolerance), 0.0))
                          : std::nullopt;
  if (!needed) return {std::nullopt, left / *rate};
  const double to_tolerance = std::max(*needed - static_cast<double>(reached_->sweep - checked_->sweep), 0.0);
  if (!(decay_sweeps_ > 0))
    return {std::nullopt, std::min(to_tolerance, left) / *rate};  // after one check only
  return {std::min(to_tolerance, left) / *rate, left / *rate, to_tolerance > left};
}

std::string eta_text(const Forecast& forecast) {
  if (forecast.seconds)
    return human_duration(*forecast.seconds) + (forecast.misses_tolerance ? ", unconverged" : "");
  return forecast.most ? "unknown, < " + human_duration(*forecast.most) : "unknown";
}

double fraction_done(const ProgressState& s) {
  const double sweeps = s.last_sweep > 0 ? static_cast<double>(s.sweep) / s.last_sweep : 1.0;
  double way = 0;  // share of the fall to the tolerance, if that is known
  if (s.residual > 0.0 && s.tolerance > 0.0 && s.first_residual > s.tolerance)
    way = std::log(*s.first_residual / *s.residual) / std::log(*s.first_residual / *s.tolerance);
  return std::clamp(std::max(sweeps, way), 0.0, 1.0);
}

std::string progress_line(const ProgressState& s) {
  std::string text = fmt::format("step {}/{}  {:.1f} %", s.sweep, s.last_sweep, 100 * fraction_done(s));
  if (s.sweep < s.last_sweep) text += "  ETA " + eta_text(s.left);
  text += "  " + human_rate(s.points_per_second);
  if (s.residual) text += fmt::format("  residual {:.2e}", *s.residual);
  if (s.time) text += fmt::format("  t {:.6g} s", *s.time);
  return text;
}

bool LineSchedule::due(double wall) {
  if (wall < next_) return false;
  const double interval = wall < 60 ? 10 : wall < 600 ? 30 : 60;
  next_ = (std::floor(wall / interval) + 1) * interval;
  return true;
}

void Progress::update(const ProgressState& state) {
  if (style_ == ProgressStyle::off) return;
  if (lines_.due(state.wall)) {
    const std::string line = progress_line(state);
    style_ == ProgressStyle::lines ? console_.say(line) : console_.log_only(line);
  }
  if (style_ != ProgressStyle::bar || (rewritten_ && rewritten_->seconds() < rewrite_seconds)) return;
  rewritten_.emplace();
  console_.rewrite_line(progress_line(state));
}

void Progress::finish() {
  console_.rewrite_line("");
  rewritten_.reset();
  lines_ = {};
}

}  // namespace isotherm
