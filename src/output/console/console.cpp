// The only file that sees spdlog: its headers take seconds to compile.
#include "output/console/console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

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

struct Console::Sinks {
  spdlog::logger out, err;
  std::shared_ptr<spdlog::logger> log;  // null: none, not yet, or lost
  std::string early;                    // what the log will begin with
  bool log_wanted = true;               // keep `early`
  std::string log_failure;

  static spdlog::sink_ptr sink_or_none(Echo echo, bool to_stderr) {
    if (echo == Echo::no) return nullptr;
    if (to_stderr) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
    return std::make_shared<spdlog::sinks::stdout_sink_mt>();
  }
  static void set_up(spdlog::logger& logger) {
    logger.set_pattern("%v");
    logger.flush_on(spdlog::level::trace);
  }

  explicit Sinks(Echo echo) : out("out"), err("err") {
    if (auto sink = sink_or_none(echo, false)) out.sinks().push_back(sink);
    if (auto sink = sink_or_none(echo, true)) err.sinks().push_back(sink);
    set_up(out);
    set_up(err);
    // A terminal that has gone is no reason to end a run, and there is nobody to tell.
    out.set_error_handler([](const std::string&) {});
    err.set_error_handler([](const std::string&) {});
  }

  void keep(std::string_view text) {
    if (log) {
      log->log(spdlog::level::info, spdlog::string_view_t(text.data(), text.size()));
    } else if (log_wanted) {
      early.append(text).append("\n");
    }
  }
};

namespace {

std::string_view without_last_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

void put(spdlog::logger& logger, std::string_view text) {
  logger.log(spdlog::level::info, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace

Console::Console(int rank, Echo echo) : rank_(rank), sinks_(std::make_unique<Sinks>(echo)) {
  sinks_->log_wanted = rank == 0;
}
Console::~Console() = default;

void Console::open_log(const std::filesystem::path& path, bool append) {
  if (rank_ != 0) return;
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string(), !append);
    sinks_->log = std::make_shared<spdlog::logger>("log", std::move(sink));
  } catch (const std::exception& e) {
    lose_log(e.what());
    return;
  }
  Sinks::set_up(*sinks_->log);
  sinks_->log->set_error_handler(
      [sinks = sinks_.get()](const std::string& reason) { sinks->log_failure = reason; });
  const std::string early = std::move(sinks_->early);
  sinks_->early.clear();
  if (!early.empty()) log_only(early);
}

void Console::say(std::string_view text) {
  if (rank_ != 0) return;
  rewrite_line("");
  put(sinks_->out, without_last_newline(text));
  log_only(text);
}

void Console::log_only(std::string_view text) {
  if (rank_ != 0) return;
  sinks_->keep(without_last_newline(text));
  if (!sinks_->log_failure.empty()) lose_log(std::exchange(sinks_->log_failure, {}));
}

void Console::warn(std::string_view problem) {
  warnings_.emplace_back(problem);
  const std::string line =
      rank_ == 0 ? fmt::format("warning: {}", problem) : fmt::format("warning: rank {}: {}", rank_, problem);
  rewrite_line("");
  put(sinks_->err, line);
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

void Console::lose_log(std::string_view reason) {
  sinks_->log.reset();
  sinks_->log_wanted = false;
  sinks_->early.clear();
  warn(fmt::format("run.log cannot be written ({}); the run goes on without it", escaped(reason)));
}

}  // namespace isotherm
