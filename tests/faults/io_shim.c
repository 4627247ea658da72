/* Preloaded by tests of disks: corrupts calls of one kind on files whose path contains ISOTHERM_SHIM_PATH (default
   ".hdf.part", a snapshot or checkpoint that is being written).
   ISOTHERM_SHIM="kind:first:action", from the first-th call on:
   kind    read | write | fsync | rename | close | reserve (fallocate)
   action  an errno: every call fails | EINTR, EAGAIN: every second call fails
           stall: no call returns, and the file ISOTHERM_SHIM_STALLED is created
           short: a write stores half of its data | lose: nothing is written, but the call reports success
           lose_one: only the first-th call is lost | slow: every call takes 0.2 s more */
#include "shim.h"
#include <sys/uio.h>

enum Spoiled { NO, FAILS, SHORT, LOST };

static char wanted[16] = "", action[16] = "", part[256] = ".hdf.part";
static int first;

// Before main(): later MPI changes the environment while its own threads read and write.
__attribute__((constructor)) static void read_environment(void) {
  const char *text = getenv("ISOTHERM_SHIM"), *other = getenv("ISOTHERM_SHIM_PATH");
  if (!text || sscanf(text, "%15[^:]:%d:%15s", wanted, &first, action) != 3) wanted[0] = '\0';
  if (other) snprintf(part, sizeof part, "%s", other);
}

static enum Spoiled stall(void) {
  const char* file = getenv("ISOTHERM_SHIM_STALLED");
  if (file) REAL(close)(open(file, O_CREAT | O_WRONLY, 0600));
  for (;;) pause();
}

static enum Spoiled spoiled(const char* kind, const char* path) {
  static int seen;
  if (strcmp(kind, wanted) != 0 || !strstr(path, part) || ++seen < first) return NO;
  if (strcmp(action, "short") == 0) return SHORT;
  if (strcmp(action, "lose") == 0) return LOST;
  if (strcmp(action, "lose_one") == 0) return seen == first ? LOST : NO;
  if (strcmp(action, "stall") == 0) return stall();
  if (strcmp(action, "slow") == 0) return usleep(200000), NO;
  const int eintr = strcmp(action, "EINTR") == 0, eagain = strcmp(action, "EAGAIN") == 0;
  if ((eintr || eagain) && (seen - first) % 2) return NO;
  errno = eintr ? EINTR : eagain ? EAGAIN : atoi(action);
  return FAILS;
}

static enum Spoiled spoiled_fd(const char* kind, int fd) {
  const int before = errno;
  const char* path = path_of(fd);
  errno = before;
  return path ? spoiled(kind, path) : NO;
}

#define WRITE(fd, size, call)                                     \
  switch (spoiled_fd("write", fd)) {                              \
    case FAILS:                                                   \
      return -1;                                                  \
    case LOST:                                                    \
      return (ssize_t)size;                                       \
    case SHORT:                                                   \
      size = (size + 1) / 2; /* falls through */                  \
    default:                                                      \
      return call;                                                \
  }

ssize_t read(int fd, void* data, size_t size) {
  return spoiled_fd("read", fd) ? -1 : REAL(read)(fd, data, size);
}
ssize_t pread(int fd, void* data, size_t size, off_t at) {
  return spoiled_fd("read", fd) ? -1 : REAL(pread)(fd, data, size, at);
}
ssize_t write(int fd, const void* data, size_t size) {
  WRITE(fd, size, REAL(write)(fd, data, size))
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  WRITE(fd, size, REAL(pwrite)(fd, data, size, at))
}
int fallocate(int fd, int mode, off_t at, off_t size) {
  return spoiled_fd("reserve", fd) ? -1 : REAL(fallocate)(fd, mode, at, size);
}
ssize_t pread64(int fd, void* data, size_t size, off64_t at) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) __attribute__((alias("pwrite")));
int fallocate64(int fd, int mode, off64_t at, off64_t size) __attribute__((alias("fallocate")));
int fsync(int fd) {
  return spoiled_fd("fsync", fd) ? -1 : REAL(fsync)(fd);
}
int close(int fd) {
  return spoiled_fd("close", fd) ? (REAL(close)(fd), errno = EIO, -1) : REAL(close)(fd);
}
int rename(const char* from, const char* to) {
  return spoiled("rename", from) ? -1 : REAL(rename)(from, to);
}
