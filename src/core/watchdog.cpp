#include "core/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "core/text.hpp"

namespace isotherm {

Watchdog::Watchdog(Seconds limit, std::string what, const char* phase, std::optional<int> rank)
    : limit_(limit), what_(std::move(what)), rank_(rank), phase_(phase) {
  if (limit_.count() > 0) thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

void Watchdog::phase(const char* name) {
  {
    const std::lock_guard lock(mutex_);
    phase_ = name;
    ++phases_;
  }
  changed_.notify_one();
}

void Watchdog::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const long seen = phases_;
    if (changed_.wait_for(lock, stop, limit_, [&] { return phases_ != seen; }) || stop.stop_requested())
      continue;
    const std::string message = fmt::format(
        "{}{}: {} did not finish within {:g} s (the file system stalls, or another rank has left); check the "
        "file system, or raise ISOTHERM_IO_TIMEOUT\n",
        rank_ ? fmt::format("rank {}: ", *rank_) : "", what_, phase_, limit_.count());
    // Nothing that could wait: no buffers, no exit handlers (HDF5's would close files collectively).
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
    ::_exit(static_cast<int>(ExitCode::io));
  }
}

Watchdog::Seconds io_timeout() {
  const char* text = std::getenv("ISOTHERM_IO_TIMEOUT");
  if (!text) return Watchdog::Seconds(300);
  const auto seconds = read_number<double>(text);
  if (!(seconds >= 0.0) || seconds > 1e6)
    throw error_of(ExitCode::command_line,
                   "ISOTHERM_IO_TIMEOUT is '{}' (not a number of seconds from 0 to 1e6); unset it, or give "
                   "the longest time that a file system may stall, 0 for ever",
                   text);
  return Watchdog::Seconds(*seconds);
}

}  // namespace isotherm
