// Replaces sched_yield() in test programs and, preloaded, in the ranks that tests start: a waiting thread
// sleeps. Where other programs use all processors, each real yield would cost a time slice of 3 ms, and a
// test yields thousands of times.
#include <ctime>

extern "C" int sched_yield() noexcept {
  constexpr timespec shortest{0, 1};
  return ::nanosleep(&shortest, nullptr);
}
