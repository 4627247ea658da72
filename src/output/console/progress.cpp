#include "output/console/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/console/console.hpp"

namespace isotherm {

namespace {

constexpr double memory = 120;      // s, after which what was seen counts 1/e
constexpr double least_seen = 0.5;  // s

}  // namespace

void Pace::reached(std::int64_t sweep, double seconds) {
  if (reached_) {
    const double passed = std::max(seconds - reached_->seconds, 0.0), fade = std::exp(-passed / memory);
    sweeps_ = fade * sweeps_ + static_cast<double>(sweep - reached_->sweep);
    seconds_ = fade * seconds_ + passed;
    seen_ += passed;
  }
  reached_ = {sweep, seconds};
}

void Pace::checked(std::int64_t sweep, double residual) {
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

std::optional<double> Pace::sweeps_a_second() const {
  if (!(sweeps_ > 0) || !(seconds_ > 0)) return std::nullopt;
  return sweeps_ / seconds_;
}

std::optional<double> Pace::decay() const {
  if (!(decay_sweeps_ > 0) || !(decayed_ > 0)) return std::nullopt;
  return decayed_ / decay_sweeps_;
}

// The residual goes on as the power of the sweeps that it was, until that falls no faster than the slowest
// mode.
std::optional<double> Pace::sweeps_down(double way) const {
  const std::optional<double> measured = decay();
  if (!(slowest_ > 0)) return measured ? std::optional(way / *measured) : std::nullopt;
  const double here = static_cast<double>(checked_->sweep);
  const double power = log_sweeps_ > 0 ? decayed_ / log_sweeps_ : 0, slow_from = power / slowest_;
  if (slow_from <= here) return way / slowest_;
  const double way_until = power * std::log(slow_from / here);
  return way <= way_until ? here * std::expm1(way / power) : slow_from - here + (way - way_until) / slowest_;
}

Forecast Pace::forecast(std::int64_t last_sweep, std::optional<double> tolerance) const {
  const auto rate = sweeps_a_second();
  if (!rate || seen_ < least_seen) return {};
  const double left = static_cast<double>(std::max<std::int64_t>(last_sweep - reached_->sweep, 0));
  if (!tolerance) return {left / *rate};
  const auto needed = checked_ && *tolerance > 0
                          ? sweeps_down(std::max(std::log(checked_->residual / *tolerance), 0.0))
                          : std::nullopt;
  if (!needed) return {std::nullopt, left / *rate};
  const double to_tolerance = std::max(*needed - static_cast<double>(reached_->sweep - checked_->sweep), 0.0);
  if (!(decay_sweeps_ > 0))
    return {std::nullopt, std::min(to_tolerance, left) / *rate};  // of one check alone
  return {std::min(to_tolerance, left) / *rate, left / *rate, to_tolerance > left};
}

std::string eta_text(const Forecast& forecast) {
  if (forecast.seconds)
    return human_duration(*forecast.seconds) + (forecast.misses_tolerance ? ", unconverged" : "");
  return forecast.most ? "unknown, < " + human_duration(*forecast.most) : "unknown";
}

namespace {

constexpr double bar_seconds = 0.1;  // a terminal is redrawn ten times a second

// The way from the first residual down to the tolerance, 0 to 1, if both are known.
std::optional<double> way_to_tolerance(const ProgressState& s) {
  if (!s.residual || !s.first_residual || !s.tolerance) return std::nullopt;
  if (!(*s.residual > 0) || !(*s.tolerance > 0) || !(*s.first_residual > *s.tolerance)) return std::nullopt;
  return std::clamp(std::log(*s.first_residual / *s.residual) / std::log(*s.first_residual / *s.tolerance),
                    0.0, 1.0);
}

// What a line tells, from the most important on.
enum class Detail { end, rate, numbers, step };

std::string text_of(const ProgressState& state, Detail detail) {
  std::string text =
      detail >= Detail::step ? fmt::format("step {}/{}  ", state.sweep, state.last_sweep) : std::string();
  text += fmt::format("{:.1f} %", 100 * fraction_done(state));
  if (detail >= Detail::numbers && state.time) text += fmt::format("  t {:.6g} s", *state.time);
  if (detail >= Detail::numbers && state.residual) text += fmt::format("  residual {:.2e}", *state.residual);
  if (detail >= Detail::rate) text += fmt::format("  {}", human_rate(state.points_a_second));
  if (state.sweep < state.last_sweep) text += "  ETA " + eta_text(state.left);
  return text;
}

}  // namespace

ProgressChoice parse_progress(const std::string& word) {
  if (word == "auto") return ProgressChoice::automatic;
  if (word == "bar") return ProgressChoice::bar;
  if (word == "lines") return ProgressChoice::lines;
  if (word == "off") return ProgressChoice::off;
  throw Error(ExitCode::command_line,
              fmt::format("unknown --progress {} (it is no style of progress); use auto, bar, lines or off",
                          in_quotes(word)));
}

ProgressStyle choose_style(ProgressChoice choice, const Terminal& terminal) {
  switch (choice) {
    case ProgressChoice::bar:
      return ProgressStyle::bar;
    case ProgressChoice::lines:
      return ProgressStyle::lines;
    case ProgressChoice::off:
      return ProgressStyle::off;
    case ProgressChoice::automatic:
      break;
  }
  return can_move(terminal) ? ProgressStyle::bar : ProgressStyle::lines;
}

double fraction_done(const ProgressState& state) {
  const double sweeps =
      state.last_sweep > 0
          ? std::clamp(static_cast<double>(state.sweep) / static_cast<double>(state.last_sweep), 0.0, 1.0)
          : 1.0;
  return std::max(sweeps, way_to_tolerance(state).value_or(0));
}

std::string progress_line(const ProgressState& state) {
  return text_of(state, Detail::step);
}

std::string progress_bar(const ProgressState& state, int columns, bool colour) {
  constexpr std::size_t longest = 30, shortest = 8, frame = 4;  // frame: "[", "]" and two spaces
  const std::size_t room = static_cast<std::size_t>(std::max(columns, 2)) - 1;
  std::string text;
  for (const Detail detail : {Detail::step, Detail::numbers, Detail::rate, Detail::end}) {
    text = text_of(state, detail);
    if (text.size() + frame + shortest <= room) break;
  }
  if (text.size() + frame + shortest > room) return text.substr(0, room);
  const std::size_t length = std::min(longest, room - text.size() - frame);
  const auto full = static_cast<std::size_t>(fraction_done(state) * static_cast<double>(length));
  const std::string done(full, '#'), rest(length - full, '.');
  return colour ? fmt::format("[\033[32m{}\033[0m{}]  {}", done, rest, text)
                : fmt::format("[{}{}]  {}", done, rest, text);
}

bool LineSchedule::due(double wall) {
  if (wall < next_) return false;
  const double interval = wall < 60 ? 10 : wall < 600 ? 30 : 60;
  next_ = (std::floor(wall / interval) + 1) * interval;
  return true;
}

Progress::Progress(ProgressStyle style, const Terminal& terminal, Console& console)
    : style_(style), terminal_(terminal), console_(console) {}

Progress::~Progress() {
  finish();
}

void Progress::update(const ProgressState& state) {
  if (style_ == ProgressStyle::off) return;
  if (lines_.due(state.wall)) {
    const std::string line = progress_line(state);
    if (style_ == ProgressStyle::lines) {
      console_.say(line);
    } else {
      console_.log_only(line);
    }
  }
  if (style_ != ProgressStyle::bar || (bar_shown_ && since_bar_.seconds() < bar_seconds)) return;
  since_bar_.lap();
  terminal_.columns =
      stderr_columns().value_or(terminal_.columns);  // its window may have another size by now
  console_.move(progress_bar(state, terminal_.columns, terminal_.colour));
  bar_shown_ = true;
}

void Progress::finish() {
  if (bar_shown_) console_.move("");
  bar_shown_ = false;
  lines_ = {};
}

}  // namespace isotherm
