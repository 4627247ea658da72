#include "output/console/console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/communicator.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // open() gives the lowest free number, which is the one found closed.
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

// At once, with a newline at its end. False where it cannot be written; a terminal that has gone is no reason
// to end a run, and there is nobody to tell.
bool put(std::FILE* file, std::string_view text) {
  const std::string lines = fmt::format("{}{}", text, text.ends_with('\n') ? "" : "\n");
  return std::fwrite(lines.data(), 1, lines.size(), file) == lines.size() && std::fflush(file) == 0;
}

}  // namespace

void Console::open_log(const std::filesystem::path& path, bool append) {
  if (rank_ != 0) return;
  log_.reset(std::fopen(path.c_str(), append ? "ab" : "wb"));
  log_wanted_ = false;
  if (!log_) return lose_log();
  const std::string early = std::exchange(early_, {});
  if (!early.empty()) log_only(early);
}

void Console::say(std::string_view text) {
  if (rank_ != 0) return;
  rewrite_line("");
  put(stdout, text);
  log_only(text);
}

void Console::log_only(std::string_view text) {
  if (log_wanted_) early_ += fmt::format("{}{}", text, text.ends_with('\n') ? "" : "\n");
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

// Straight to the file descriptor: the line is neither buffered nor logged, and nobody minds its loss. The
// terminal cuts what is longer than it is wide: automatic wrapping (DECAWM) is off for the line.
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
  warn(fmt::format("run.log cannot be written ({}); the run goes on without it", std::strerror(reason)));
}

}  // namespace isotherm
