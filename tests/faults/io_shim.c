/* Preloaded by test_snapshot_io.py: fails or delays the N-th call of one kind on a `.part` of a snapshot.
   ISOTHERM_SHIM="kind:first:action", kind write | fsync | rename | close, action an errno, "stall", or
   "slow": this one and all after it take 0.2 s. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int spoiled(const char* kind, const char* path) {
  static int seen;
  char wanted[16] = "", action[16] = "";
  int first = 0;
  const char* text = getenv("ISOTHERM_SHIM");
  if (!text || sscanf(text, "%15[^:]:%d:%15s", wanted, &first, action) != 3) return 0;
  if (strcmp(kind, wanted) != 0 || !strstr(path, ".hdf.part") || ++seen < first) return 0;
  if (strcmp(action, "stall") == 0) {
    sleep(1000);
    return 0;
  }
  if (strcmp(action, "slow") == 0) {
    usleep(200000);
    return 0;
  }
  errno = atoi(action);
  return 1;
}

static int spoiled_fd(const char* kind, int fd) {
  char link[64], path[4096];
  int before = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  if (length <= 0) return 0;
  path[length] = 0;
  return spoiled(kind, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* data, size_t size) {
  return spoiled_fd("write", fd) ? -1 : REAL(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  return spoiled_fd("write", fd) ? -1 : REAL(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  return spoiled_fd("write", fd) ? -1 : REAL(pwrite64)(fd, data, size, at);
}
int fsync(int fd) {
  return spoiled_fd("fsync", fd) ? -1 : REAL(fsync)(fd);
}
int close(int fd) {
  return spoiled_fd("close", fd) ? (REAL(close)(fd), errno = EIO, -1) : REAL(close)(fd);
}
int rename(const char* from, const char* to) {
  return spoiled("rename", from) ? -1 : REAL(rename)(from, to);
}
