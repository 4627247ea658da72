/* Preloaded by test_clocks.py: clocks that jump. ISOTHERM_CLOCK="uptime:jump:file": the monotonic clock begins at
   `uptime` seconds, and once the file is there the clock on the wall shows `jump` seconds more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static double first_reading, uptime, jump;
static char file[4096];

static double real_monotonic(void) {
  struct timespec t;
  REAL(clock_gettime)(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char* text = getenv("ISOTHERM_CLOCK");
  if (text && sscanf(text, "%lf:%lf:%4095s", &uptime, &jump, file) == 3) first_reading = real_monotonic();
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
  if (result != 0 || first_reading == 0) return result;
  if (clock == CLOCK_MONOTONIC) add(t, uptime - first_reading);
  if (clock == CLOCK_REALTIME && access(file, F_OK) == 0) add(t, jump);
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

/* Deadlines of threads are readings of the clock above. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec real = *until;
  if (clock == CLOCK_MONOTONIC && first_reading != 0) add(&real, first_reading - uptime);
  return REAL(pthread_cond_clockwait)(condition, mutex, clock, &real);
}
