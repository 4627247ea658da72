/* Preloaded by test_checkpoint_faults.py: records what a disk would hold after a power failure. The file
   ISOTHERM_POWER_LOG has a line for every change, with names as the program gives them or absolute:
   "create NAME" of a file or folder, "rename NAME NAME", "unlink NAME", "sync NAME COPY": the content of a
   file reaches the disk, and is stored in COPY, "names NAME": the names in a folder reach the disk. */
#include "shim.h"
#include <sys/sendfile.h>

#define NOTE(...) append_line("ISOTHERM_POWER_LOG", __VA_ARGS__)

static void note_sync(int fd) {
  static int copies;
  const char* name = path_of(fd);
  struct stat status;
  if (!name) return;
  if (fstat(fd, &status) != 0) abort();
  if (S_ISDIR(status.st_mode)) return NOTE("names %s\n", name);
  char link[64], copy[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  snprintf(copy, sizeof copy, "%s.%d.%d", getenv("ISOTHERM_POWER_LOG"), (int)getpid(), ++copies);
  const int from = REAL(open)(link, O_RDONLY | O_CLOEXEC);
  const int to = REAL(open)(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (from < 0 || to < 0) abort();
  off_t at = 0;
  while (at < status.st_size && sendfile(to, from, &at, (size_t)(status.st_size - at)) > 0) {
  }
  close(from);
  close(to);
  NOTE("sync %s %s\n", name, copy);
}

static int opened(int fd, const char* path, int flags) {
  if (fd >= 0 && (flags & O_CREAT)) NOTE("create %s\n", path);
  return fd;
}
OPEN(open, opened(REAL(open)(path, flags, mode), path, flags))
OPEN(open64, opened(REAL(open64)(path, flags, mode), path, flags))

/* A function that is logged if it succeeds. */
#define NOTED(name, parameters, arguments, note) \
  int name parameters {                          \
    const int result = REAL(name) arguments;     \
    if (result == 0) note;                       \
    return result;                               \
  }
NOTED(fsync, (int fd), (fd), note_sync(fd))
NOTED(mkdir, (const char* path, mode_t mode), (path, mode), NOTE("create %s\n", path))
NOTED(rename, (const char* from, const char* to), (from, to), NOTE("rename %s %s\n", from, to))
NOTED(unlink, (const char* path), (path), NOTE("unlink %s\n", path))
