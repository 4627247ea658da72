#include "support/moved_clock.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace {

constexpr std::int64_t second = 1000000000, slice = second / 100;  // ns
std::atomic<std::int64_t> moved = 0;

std::int64_t nanoseconds(const timespec& t) {
  return t.tv_sec * second + t.tv_nsec;
}
timespec as_time(std::int64_t nanoseconds) {
  return {nanoseconds / second, nanoseconds % second};
}
std::int64_t machine_now() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

}  // namespace

// In place of the system's, for the standard library too: what a program defines comes before what its
// libraries do.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_MONOTONIC) *time = as_time(nanoseconds(*time) + moved);
  return static_cast<int>(result);
}

// A jump may pass the deadline: so in short waits by the machine's clock, each of which returns as a spurious
// wakeup. The caller looks at its condition then: it may have been met, and notified, between two waits.
extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const auto machine_wait = reinterpret_cast<Wait>(::dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  if (clock != CLOCK_MONOTONIC) return machine_wait(condition, mutex, clock, until);
  if (machine_now() + moved >= nanoseconds(*until)) return ETIMEDOUT;
  const timespec next = as_time(machine_now() + slice);
  const int result = machine_wait(condition, mutex, clock, &next);
  return result == ETIMEDOUT ? 0 : result;
}

void isotherm::move_clock(double seconds) {
  moved += static_cast<std::int64_t>(seconds * static_cast<double>(second));
}
