// A program that runs beside this one, and does not outlive it unasked.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace isotherm {

struct ChildCommand {
  std::vector<std::string> words;  // the program, by path or in PATH, and its arguments
  std::string out, err;            // files for its streams
  bool append = false;             // to what these files hold
  std::vector<std::pair<std::string, std::string>> environment{};  // on top of this process's
  const char* advice = "install it, or name another";              // where it cannot be started
};

struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // by which it ended; 0: by itself
};

// In a process group of its own, so that a terminal's Ctrl-C is ours to pass on. Where this process dies, it
// gets SIGTERM: a run then stops with a checkpoint.
class ChildProcess {
 public:
  // Throws Error(unavailable) where the program cannot be started, Error(cannot_create) for the files.
  explicit ChildProcess(const ChildCommand& command);
  ~ChildProcess();  // ends it at once if it still runs
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  std::optional<ChildEnd> look();  // how it has ended; none while it runs. Once.
  void send(int signal) const;     // to its group

 private:
  pid_t pid_ = -1;  // -1: it has ended
};

// From now on this process's children wake it in wait_for_child.
void expect_children();
void wait_for_child(double seconds);  // until one has ended, a signal has come, or the time is over

}  // namespace isotherm
