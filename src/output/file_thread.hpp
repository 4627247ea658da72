// The thread that writes files of fields during the sweeps. It also controls the use of HDF5: the library is
// not thread safe, so no other part of the program may use it while a file is being written.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace isotherm {

// Writes files in the order of start(), the same on all ranks. If a file throws, wait() for it or for a later
// one rethrows the exception, and later files are not written.
class FileThread {
 public:
  using Ticket = std::int64_t;  // number of a file; 0: no file

  // `why_in_step` not empty: there is no thread, and start() writes. The same on all ranks.
  explicit FileThread(std::string why_in_step);

  bool in_step() const { return !thread_.joinable(); }
  const std::string& why_in_step() const { return why_in_step_; }

  // Returns at once. Until wait() the caller must not use HDF5, nor change data that `write` reads.
  Ticket start(std::function<void()> write);
  // Waits for this file and all before it.
  void wait(Ticket ticket);
  // Waits for all files; then the caller may use HDF5 until the next start().
  void finish() { wait(started_); }
  void settle() noexcept;  // as finish(), but ignores errors

  // Does not wait. Has a file failed on this rank? Other ranks may know of it later, or never.
  bool failed() const;
  // Estimated seconds to finish all files: each takes as long as the longest before it.
  double backlog() const;
  // Seconds that callers have waited: the cost of the files for the sweeps.
  double waited() const { return waited_; }

  // For writers: a warning about how files are written, kept once; empty: none. Rank 0 has all of them.
  void warn(const std::string& text);
  const std::vector<std::string>& warnings() const { return warnings_; }  // after finish(); usually none

 private:
  void serve(const std::stop_token& stop);

  std::string why_in_step_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queue_;
  Ticket started_ = 0;  // only the caller's thread changes it
  Ticket done_ = 0;     // written or skipped
  Ticket failed_ = 0;   // the first that threw
  std::exception_ptr error_;
  double longest_ = 0;  // s, of a file
  double waited_ = 0;
  std::vector<std::string> warnings_;
  std::jthread thread_;  // last: it finishes all started files before the members above are destroyed
};

}  // namespace isotherm
