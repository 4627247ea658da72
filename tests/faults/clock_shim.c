/* Preloaded by tests/support/clock.py: clocks that a test moves. ISOTHERM_CLOCK="uptime:file": the file holds two doubles, the
   seconds that the test has moved the monotonic clock and the clock on the wall by; where uptime is not negative, the monotonic
   clock begins there. It is for the program alone, not for its launcher, and for the deadlines of its threads too. */
#include "shim.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile double* moved; /* monotonic, wall */
static double shift;                 /* of the monotonic clock, from its beginning */

static double seconds_of(const struct timespec* t) {
  return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char* text = getenv("ISOTHERM_CLOCK");
  double uptime = -1;
  char name[4096];
  if (!text || strcmp(program_invocation_short_name, "isotherm") != 0) return;
  if (sscanf(text, "%lf:%4095[^\n]", &uptime, name) != 2) return;
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  void* map = mmap(NULL, 2 * sizeof(double), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) abort();
  struct timespec now;
  REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  if (uptime >= 0) shift = uptime - seconds_of(&now);
  moved = map;
}

static void add(struct timespec* t, double seconds) {
  const long whole = (long)seconds, rest = (long)((seconds - (double)whole) * 1e9);
  t->tv_sec += whole;
  t->tv_nsec += rest;
  if (t->tv_nsec >= 1000000000) ++t->tv_sec, t->tv_nsec -= 1000000000;
  if (t->tv_nsec < 0) --t->tv_sec, t->tv_nsec += 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec* t) {
  const int result = REAL(clock_gettime)(clock, t);
  if (result != 0 || !moved) return result;
  if (clock == CLOCK_MONOTONIC) add(t, shift + moved[0]);
  if (clock == CLOCK_REALTIME) add(t, moved[1]);
  return result;
}

int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}

/* A deadline is a reading of the clock above, which may pass it in a jump: so in short waits by the real one. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  if (!moved || clock != CLOCK_MONOTONIC) return REAL(pthread_cond_clockwait)(condition, mutex, clock, until);
  struct timespec now, slice;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (seconds_of(&now) >= seconds_of(until)) return ETIMEDOUT;
  REAL(clock_gettime)(CLOCK_MONOTONIC, &slice);
  add(&slice, 0.01);
  /* A spurious wakeup: what the caller waits for may have been met, and notified, between two waits. */
  const int result = REAL(pthread_cond_clockwait)(condition, mutex, CLOCK_MONOTONIC, &slice);
  return result == ETIMEDOUT ? 0 : result;
}
