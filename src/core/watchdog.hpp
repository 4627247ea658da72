// Ends a process that hangs in the file system.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace isotherm {

// Collective HDF5 and MPI-IO calls wait for ever if a rank has failed or a file system stalls. A helper
// thread, without MPI and HDF5, prints which phase exceeds the limit, and ends the process with exit code 74
// (io); the launcher ends the other ranks.
class Watchdog {
 public:
  using Seconds = std::chrono::duration<double>;

  // Starts to watch `phase`. limit 0: no watch. The message names `what` and `rank` (none: works alone).
  Watchdog(Seconds limit, std::string what, const char* phase, std::optional<int> rank = {});
  Watchdog& operator=(Watchdog&&) = delete;

  void phase(const char* name);  // changes the phase and restarts the clock

 private:
  void watch(const std::stop_token& stop);

  const Seconds limit_;
  const std::string what_;
  const std::optional<int> rank_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  const char* phase_;
  long phases_ = 0;
  std::jthread thread_;  // last: it uses all of the above, and ends before them
};

// Seconds of ISOTHERM_IO_TIMEOUT, else 300. Throws Error(command_line) when it is no number >= 0.
Watchdog::Seconds io_timeout();

}  // namespace isotherm
