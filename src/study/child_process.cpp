#include "study/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/error.hpp"
#include "core/text.hpp"

extern char** environ;

namespace isotherm {
namespace {

// A descriptor that closes itself, and is closed in what is started.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

Descriptor open_stream(const std::string& path, bool append) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
  if (fd < 0)
    throw Error(ExitCode::cannot_create,
                fmt::format("cannot write {} ({}); check the folder and its free space", in_quotes(path),
                            std::strerror(errno)));
  return Descriptor(fd);
}

std::vector<std::string> whole_environment(const ChildCommand& command) {
  std::vector<std::string> all;
  for (char** each = environ; *each; ++each) all.emplace_back(*each);
  for (const auto& [name, value] : command.environment) {
    const std::string start = name + "=";
    std::erase_if(all, [&](const std::string& each) { return each.starts_with(start); });
    all.push_back(start + value);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// What was set up for this program is not for another: signals that it ignores or blocks.
void restore_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGCHLD, SIGINT, SIGTERM, SIGUSR1, SIGUSR2})
    std::signal(number, SIG_DFL);
}

// In the new process, where no memory may be allocated any more. Returns only where the program cannot start.
void become(char* const* words, char* const* environment, int out, int err, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // it died before it could be watched
  restore_signals();
  if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) return;
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) return;
  if (nothing != STDIN_FILENO) ::close(nothing);
  execvpe(words[0], words, environment);
}

}  // namespace

ChildProcess::ChildProcess(const ChildCommand& command) {
  const Descriptor out = open_stream(command.out, command.append),
                   err = open_stream(command.err, command.append);
  std::vector<std::string> words = command.words, environment = whole_environment(command);
  const std::vector<char*> arguments = pointers(words), variables = pointers(environment);
  // Closed by a program that has started, else it says why it has not.
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(ExitCode::unavailable, fmt::format("no pipe to a new process ({}); end other programs, or "
                                                   "raise the limits",
                                                   std::strerror(errno)));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t parent = getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become(arguments.data(), variables.data(), out.get(), err.get(), parent);
    const int why = errno;
    [[maybe_unused]] const ssize_t told = ::write(to.get(), &why, sizeof why);
    _exit(127);
  }
  if (pid_ < 0)
    throw Error(
        ExitCode::unavailable,
        fmt::format("no new process ({}); end other programs, or raise the limits", std::strerror(errno)));
  setpgid(pid_, pid_);  // whichever of the two is first
  to = Descriptor();
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(from.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof why) return;
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  throw Error(ExitCode::unavailable, fmt::format("cannot start {} ({}); {}", in_quotes(words.front()),
                                                 std::strerror(why), command.advice));
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<ChildEnd> ChildProcess::look() {
  int status = 0;
  if (pid_ < 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  if (WIFSIGNALED(status)) return ChildEnd{128 + WTERMSIG(status), WTERMSIG(status)};
  return ChildEnd{WEXITSTATUS(status), 0};
}

void ChildProcess::send(int signal) const {
  if (pid_ > 0) ::kill(-pid_, signal);
}

void expect_children() {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &children, nullptr);
}

void wait_for_child(double seconds) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  const auto whole = static_cast<time_t>(seconds);
  const timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  sigtimedwait(&children, nullptr, &time);
}

}  // namespace isotherm
