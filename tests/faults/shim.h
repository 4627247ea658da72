/* Shared by the preloaded libraries: access to the functions that they replace, and the rank of this process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A function that opens a file as open() does, and returns `value`, an expression of path, flags and mode. */
#define OPEN(name, value)                                           \
  int name(const char* path, int flags, ...) {                      \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                   \
    return value;                                                   \
  }

/* The path of an open file, or null. */
static inline const char* path_of(int fd) {
  static __thread char path[4096];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  return length > 0 ? path : NULL;
}

/* Appends a line to the file that this environment variable names, if it is set. */
__attribute__((format(printf, 2, 3))) static inline void append_line(const char* variable, const char* form, ...) {
  char line[3 * PATH_MAX];
  const char* log = getenv(variable);
  if (!log) return;
  va_list rest;
  va_start(rest, form);
  const int length = vsnprintf(line, sizeof line, form, rest);
  va_end(rest);
  const int fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, line, (size_t)length) != length) abort();
  close(fd);
}

static inline int rank_of_this_process(void) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = getenv("PMIX_RANK");
  if (!rank) rank = getenv("PMI_RANK");
  return rank ? atoi(rank) : 0;
}
