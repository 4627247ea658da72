#include "output/run_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr auto heartbeat = std::chrono::seconds(10);
constexpr double longest_silence = 120;  // s
constexpr int attempts = 5;

struct Owner {
  std::string host;
  pid_t process = 0;
  std::string started;  // ticks since the host's start: process numbers come again
  std::string job;      // of Slurm; "-" without one
};

struct ProcessState {
  char state = '?';           // Z: it has ended, and nobody has asked how
  std::string started = "?";  // ticks since the host's start
};

// The third and the 22nd field of /proc/PID/stat, behind a name that may hold anything up to the last ')'.
ProcessState state_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  ProcessState found;
  fields >> found.state;
  for (int n = 4; n <= 22; ++n) fields >> found.started;
  return fields ? found : ProcessState{};
}

Owner this_process() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  const char* job = std::getenv("SLURM_JOB_ID");
  return {host, getpid(), state_of(getpid()).started, job && *job ? job : "-"};
}

std::string text_of(const Owner& owner) {
  return fmt::format("{}\n{}\n{}\n{}\n", owner.host, owner.process, owner.started, owner.job);
}

Owner owner_of(const fs::path& path) {
  std::ifstream file(path);
  Owner owner;
  std::string process;
  std::getline(file, owner.host);
  std::getline(file, process);
  std::getline(file, owner.started);
  std::getline(file, owner.job);
  owner.process = static_cast<pid_t>(std::atoi(process.substr(0, 9).c_str()));
  return owner;
}

bool has_ended(const Owner& owner) {
  if (owner.process <= 0) return false;  // being written, or not ours: its age decides
  if (::kill(owner.process, 0) != 0 && errno == ESRCH) return true;
  const ProcessState found = state_of(owner.process);
  return found.state == 'Z' || found.state == 'X' || (found.started != "?" && found.started != owner.started);
}

// Why the lock is left over; empty where its run may be alive.
std::string why_stale(const Owner& owner, const struct stat& status) {
  const Owner self = this_process();
  if (owner.host == self.host && has_ended(owner))
    return fmt::format("process {} is gone from this host", owner.process);
  if (owner.job != "-" && owner.job == self.job && owner.host != self.host)
    return fmt::format("job {} was started again", owner.job);
  const double silence = std::difftime(std::time(nullptr), status.st_mtime);
  if (owner.host != self.host && silence > longest_silence)
    return fmt::format("no sign of life for {:.0f} s", silence);
  return {};
}

}  // namespace

RunLock::RunLock(const fs::path& folder, Force force)
    : path_(folder / "run.lock"), mine_(text_of(this_process())) {
  take(force);
  thread_ = std::thread([this] { keep_alive(); });
}

RunLock::~RunLock() {
  {
    const std::lock_guard guard(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (text_of(owner_of(path_)) == mine_)
    ::unlink(path_.c_str());  // else another run has been told to take it
}

// Of several that find a lock left over one renames the very file that it has looked at; all try again.
void RunLock::take(Force force) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      const ssize_t written = ::write(fd, mine_.data(), mine_.size());
      ::close(fd);
      if (written == static_cast<ssize_t>(mine_.size())) return;
      ::unlink(path_.c_str());
    }
    if (fd >= 0 || errno != EEXIST)
      throw Error(ExitCode::cannot_create,
                  fmt::format("cannot write {} ({}); check the folder and its free space",
                              in_quotes(path_.string()), std::strerror(errno)));
    struct stat seen {};
    if (::stat(path_.c_str(), &seen) != 0) continue;  // it has just gone
    const Owner owner = owner_of(path_);
    const std::string stale = force == Force::yes ? std::string("--force") : why_stale(owner, seen);
    if (stale.empty())
      throw Error(
          ExitCode::cannot_create,
          fmt::format("cannot use {} as run directory (process {} on {} writes to it); wait for its end, or "
                      "take the directory with --force where that run is gone",
                      in_quotes(path_.parent_path().string()), owner.process, escaped(owner.host)));
    const std::string old = fmt::format("{}.{}.{}", path_.string(), this_process().host, getpid());
    if (::rename(path_.c_str(), old.c_str()) != 0) continue;
    struct stat taken {};
    if (::stat(old.c_str(), &taken) == 0 && taken.st_ino != seen.st_ino) {
      // Somebody was faster, and this is his.
      if (::link(old.c_str(), path_.c_str()) == 0) ::unlink(old.c_str());
      continue;
    }
    ::unlink(old.c_str());
    warning_ = fmt::format("{} of process {} on {} was taken ({})", in_quotes(path_.string()), owner.process,
                           escaped(owner.host), stale);
  }
  throw Error(ExitCode::cannot_create, fmt::format("cannot get {} (other runs are after it too); try again",
                                                   in_quotes(path_.string())));
}

void RunLock::keep_alive() {
  std::unique_lock guard(mutex_);
  while (!changed_.wait_for(guard, heartbeat, [this] { return done_; }))
    ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
}

}  // namespace isotherm
