#include "output/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/console.hpp"

namespace isotherm {
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
