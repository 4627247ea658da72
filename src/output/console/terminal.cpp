#include "output/console/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "core/communicator.hpp"
#include "core/error.hpp"

namespace isotherm {

void print_now(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw Error(ExitCode::io, "standard output cannot be written; check where it goes");
}

namespace {

constexpr int usual_columns = 80;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool wants_colour(bool on_terminal) {
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view force = variable("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return on_terminal && variable("CLICOLOR") != "0";
}

int columns_of_environment() {
  const std::string_view word = variable("COLUMNS");
  int columns = 0;
  const auto [rest, problem] = std::from_chars(word.data(), word.data() + word.size(), columns);
  return problem == std::errc() && rest == word.data() + word.size() && columns > 0 ? columns : usual_columns;
}

// Straight to the file descriptor: the line must be neither buffered nor logged, and nobody minds its loss.
void put(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

std::optional<int> columns_of(int stream) {
  winsize size{};
  if (ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

bool in_background() {
  const pid_t foreground = tcgetpgrp(STDERR_FILENO);
  return foreground != -1 && foreground != getpgrp();
}

}  // namespace

Terminal find_terminal(int processes) {
  Terminal terminal;
  terminal.processes = processes;
  terminal.under_launcher = is_under_launcher();
  const std::string_view kind = variable("TERM");
  terminal.stderr_is_terminal = isatty(STDERR_FILENO) && !kind.empty() && kind != "dumb";
  terminal.colour = wants_colour(terminal.stderr_is_terminal);
  const std::optional<int> columns = stderr_columns();
  terminal.columns = columns ? *columns : columns_of_environment();
  return terminal;
}

bool can_move(const Terminal& terminal) {
  return terminal.processes == 1 && !terminal.under_launcher && terminal.stderr_is_terminal;
}

std::optional<int> stderr_columns() {
  return columns_of(STDERR_FILENO);
}

std::optional<int> stdout_columns() {
  return is_under_launcher() ? std::nullopt : columns_of(STDOUT_FILENO);
}

void MovingLine::show(std::string_view line) {
  if (in_background()) return;
  put(fmt::format("\r{}\033[K", line));
  shown_ = true;
}

void MovingLine::clear() {
  if (!shown_) return;
  shown_ = false;
  if (!in_background()) put("\r\033[K");
}

}  // namespace isotherm
