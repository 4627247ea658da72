// The one thread that writes files of fields while sweeps go on, and the one place that knows who may use
// HDF5 when: the library is not thread safe, so nothing else of the program may while a file is written.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace isotherm {

// Files in the order in which they were started, on all ranks the same. What a file throws is thrown again by
// who waits for it, or for a later one, and files behind it are not written.
class FileThread {
 public:
  using Ticket = std::int64_t;  // of a file; 0: of none

  // `why_in_step` not empty: there is no thread, and start() writes. The same on all ranks.
  explicit FileThread(std::string why_in_step);

  bool in_step() const { return !thread_.joinable(); }
  const std::string& why_in_step() const { return why_in_step_; }

  // Returns at once. `write` is left alone with HDF5, and with what it looks at until it was waited for.
  Ticket start(std::function<void()> write);
  // For this file and all before it.
  void wait(Ticket ticket);
  // For all; then HDF5 is the caller's until the next start().
  void finish() { wait(started_); }
  void settle() noexcept;  // as finish(), where an error is under way already

  // Does not wait. Of this rank: others may know of it later, or never.
  bool failed() const;
  // Seconds that what is under way may still take: each file as long as the longest before it.
  double backlog() const;
  // Seconds in which callers have waited here: what the files have cost the sweeps.
  double waited() const { return waited_; }

 private:
  void serve(const std::stop_token& stop);

  std::string why_in_step_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queue_;
  Ticket started_ = 0;  // the caller's
  Ticket done_ = 0;     // written, or left out
  Ticket failed_ = 0;   // the first that threw
  std::exception_ptr error_;
  double longest_ = 0;  // s, of a file
  double waited_ = 0;
  std::jthread thread_;  // last: its end, with that of all that was started, is before that of the above
};

}  // namespace isotherm
