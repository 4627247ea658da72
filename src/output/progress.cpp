#include "output/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/console.hpp"

namespace isotherm {
namespace {

constexpr double bar_seconds = 0.1;  // a terminal is redrawn ten times a second

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// The way from the first residual down to the tolerance, 0 to 1, if both are known.
std::optional<double> way_to_tolerance(const ProgressState& s) {
  if (!s.residual || !s.first_residual || !s.tolerance) return std::nullopt;
  if (!(*s.residual > 0) || !(*s.tolerance > 0) || !(*s.first_residual > *s.tolerance)) return std::nullopt;
  return std::clamp(std::log(*s.first_residual / *s.residual) / std::log(*s.first_residual / *s.tolerance),
                    0.0, 1.0);
}

// What both forms show.
std::string numbers(const ProgressState& state) {
  std::string text = fmt::format("{:.1f} %", 100 * fraction_done(state));
  if (state.time) text += fmt::format("  t {:.6g} s", *state.time);
  if (state.residual) text += fmt::format("  residual {:.2e}", *state.residual);
  text += fmt::format("  {}", human_rate(state.points_a_second));
  if (const auto left = seconds_left(state)) text += fmt::format("  ETA {}", human_duration(*left));
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

Terminal find_terminal(int processes) {
  Terminal terminal;
  terminal.processes = processes;
  terminal.under_launcher = std::ranges::any_of(
      std::array{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_ID"}, is_set);
  const char* kind = std::getenv("TERM");
  terminal.stderr_is_terminal = isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
  terminal.colour = !is_set("NO_COLOR");
  terminal.columns = terminal_columns();
  return terminal;
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
  const bool moving = terminal.processes == 1 && !terminal.under_launcher && terminal.stderr_is_terminal;
  return moving ? ProgressStyle::bar : ProgressStyle::lines;
}

double fraction_done(const ProgressState& state) {
  const double sweeps =
      state.last_sweep > 0
          ? std::clamp(static_cast<double>(state.sweep) / static_cast<double>(state.last_sweep), 0.0, 1.0)
          : 1.0;
  return std::max(sweeps, way_to_tolerance(state).value_or(0));
}

std::optional<double> seconds_left(const ProgressState& state) {
  const double done = fraction_done(state);
  if (done < 1e-3) return std::nullopt;
  return state.wall * (1 - done) / done;
}

std::string progress_line(const ProgressState& state) {
  return fmt::format("step {}/{}  {}", state.sweep, state.last_sweep, numbers(state));
}

std::string progress_bar(const ProgressState& state, int columns, bool colour) {
  constexpr std::size_t longest = 30, shortest = 8, frame = 4;  // frame: "[", "]" and two spaces
  const std::size_t room = static_cast<std::size_t>(std::max(columns, 2)) - 1;
  std::string text = progress_line(state);
  if (text.size() + frame + shortest > room)
    text = numbers(state);  // 80 columns: the bar stands for the step
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
  show(progress_bar(state, terminal_.columns, terminal_.colour));
  bar_shown_ = true;
}

void Progress::finish() {
  if (bar_shown_) show("");
  bar_shown_ = false;
}

// Straight to the file descriptor: the line must be neither buffered nor logged, and nobody minds its loss.
void Progress::show(std::string_view line) {
  const std::string text = fmt::format("\r{}\033[K", line);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace isotherm
