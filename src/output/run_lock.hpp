// One run a directory: `run.lock` says who writes there.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

namespace isotherm {

enum class Force { no, yes };  // take a directory whose lock looks alive

// Made by O_EXCL, as locks of file systems cannot be relied on. Its lines: host, process, the start of that
// process in ticks, the job. A helper thread, which calls neither MPI nor HDF5, touches it every ten seconds.
//
// A lock whose process is gone from this host, whose job is ours (it was started again), or which nobody has
// touched for two minutes is left over from a run that was killed, and is taken.
class RunLock {
 public:
  // Throws Error(cannot_create) where another run writes to `folder`, which must exist.
  RunLock(const std::filesystem::path& folder, Force force);
  ~RunLock();  // gives the folder free
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // What to say of a lock that was taken; usually empty.
  const std::string& warning() const { return warning_; }

 private:
  void take(Force force);
  void keep_alive();

  std::filesystem::path path_;
  std::string mine_, warning_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;  // last: it sees all of the above
};

}  // namespace isotherm
