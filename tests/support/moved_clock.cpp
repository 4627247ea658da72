// Clocks that a test moves, in nanoseconds: move_clock() moves those of its own process, faults/conftest.py
// those of the program by preloading this. ISOTHERM_CLOCK="uptime:file" applies to the program alone, not to
// its launcher: the file holds the offsets of the monotonic clock and of the wall clock. An uptime >= 0 is
// the start of the monotonic clock in seconds. Functions of the program or a preloaded library precede those
// of others.
#include "moved_clock.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr std::int64_t second = 1000000000, slice = second / 100;
enum Which { monotonic, wall };
std::int64_t own[2];
std::int64_t* moved = own;
std::int64_t shift = 0;  // offset of the monotonic clock at the start of the process

std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * second + t.tv_nsec; }
timespec as_time(std::int64_t nanoseconds) { return {nanoseconds / second, nanoseconds % second}; }
std::int64_t by(Which clock) { return __atomic_load_n(&moved[clock], __ATOMIC_RELAXED); }
std::int64_t machine_now() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}
std::int64_t moved_now() { return machine_now() + shift + by(monotonic); }

__attribute__((constructor)) void read_environment() {
  const char* const text = std::getenv("ISOTHERM_CLOCK");
  double uptime = -1;
  char name[4096];
  if (!text || std::strcmp(program_invocation_short_name, "isotherm") != 0) return;
  if (std::sscanf(text, "%lf:%4095[^\n]", &uptime, name) != 2) return;
  const int file = ::open(name, O_RDONLY | O_CLOEXEC);
  void* const map = ::mmap(nullptr, sizeof own, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (map == MAP_FAILED) std::abort();
  moved = static_cast<std::int64_t*>(map);
  if (uptime >= 0) shift = static_cast<std::int64_t>(uptime * static_cast<double>(second)) - machine_now();
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* at) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, at);
  if (result == 0 && clock == CLOCK_MONOTONIC) *at = as_time(nanoseconds(*at) + shift + by(monotonic));
  if (result == 0 && clock == CLOCK_REALTIME) *at = as_time(nanoseconds(*at) + by(wall));
  return static_cast<int>(result);
}

extern "C" std::time_t time(std::time_t* at) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}

// A jump may pass the deadline, so this waits in short slices of the machine's clock; each ends as a spurious
// wakeup, after which the caller checks its condition: it may have been met between two slices.
extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  const auto machine_wait =
      reinterpret_cast<decltype(&pthread_cond_clockwait)>(::dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  if (clock != CLOCK_MONOTONIC) return machine_wait(condition, mutex, clock, until);
  if (moved_now() >= nanoseconds(*until)) return ETIMEDOUT;
  const timespec next = as_time(machine_now() + slice);
  const int result = machine_wait(condition, mutex, clock, &next);
  return result == ETIMEDOUT ? 0 : result;
}

void isotherm::move_clock(double seconds) {
  __atomic_add_fetch(&own[monotonic], static_cast<std::int64_t>(seconds * static_cast<double>(second)),
                     __ATOMIC_RELAXED);
}
