/* Preloaded by test_power_cut.py: records what a disk would hold after a power failure. The file `log` in the folder
   ISOTHERM_POWER_LOG has a line for every change below the folder ISOTHERM_POWER_DISK (both absolute):
   "create NAME" of a file or folder, "rename NAME NAME", "unlink NAME", "sync NAME COPY": the content of a file reaches
   the disk, and is stored in COPY, "names NAME": the names in a folder reach the disk (".": the disk's root). */
#include "shim.h"
#include <sys/sendfile.h>

/* The name relative to the disk, "." for its root, or null for other paths. */
static const char* name_of(const char* path) {
  const char* disk = getenv("ISOTHERM_POWER_DISK");
  static __thread char whole[4][4096];
  static __thread int turn;
  turn = (turn + 1) % 4;
  if (!disk || !path || !realpath(path, whole[turn])) {
    /* The file does not exist, but its folder does. */
    char folder[4096];
    const char* last = path ? strrchr(path, '/') : NULL;
    snprintf(folder, sizeof folder, "%.*s", last ? (int)(last - path) : 1, last ? path : ".");
    if (!disk || !path || !realpath(folder, whole[turn])) return NULL;
    strncat(whole[turn], "/", 2);
    strncat(whole[turn], last ? last + 1 : path, 255);
  }
  const size_t length = strlen(disk);
  if (strncmp(whole[turn], disk, length) != 0) return NULL;
  if (!whole[turn][length]) return ".";
  return whole[turn][length] == '/' ? whole[turn] + length + 1 : NULL;
}

static int open_in_log(const char* name, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("ISOTHERM_POWER_LOG"), name);
  return REAL(open)(path, flags | O_CREAT | O_CLOEXEC, 0666);
}

static void note(const char* form, ...) {
  char line[1024];
  va_list rest;
  va_start(rest, form);
  const int length = vsnprintf(line, sizeof line, form, rest);
  va_end(rest);
  const int log = open_in_log("log", O_WRONLY | O_APPEND);
  if (write(log, line, (size_t)length) != length) abort();
  close(log);
}

static void note_sync(int fd) {
  static int copies;
  const char* name = name_of(path_of(fd));
  struct stat status;
  if (!name) return;
  if (fstat(fd, &status) != 0) abort();
  if (S_ISDIR(status.st_mode)) return note("names %s\n", name);
  char link[64], copy[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  snprintf(copy, sizeof copy, "%d.%d", (int)getpid(), ++copies);
  const int from = REAL(open)(link, O_RDONLY | O_CLOEXEC), to = open_in_log(copy, O_WRONLY);
  if (from < 0 || to < 0) abort();
  off_t at = 0;
  while (at < status.st_size && sendfile(to, from, &at, (size_t)(status.st_size - at)) > 0) {
  }
  close(from);
  close(to);
  note("sync %s %s\n", name, copy);
}

int fsync(int fd) {
  const int result = REAL(fsync)(fd);
  if (result == 0) note_sync(fd);
  return result;
}

static int opened(int fd, const char* path, int flags) {
  const char* name = fd >= 0 && (flags & O_CREAT) ? name_of(path) : NULL;
  if (name) note("create %s\n", name);
  return fd;
}
OPEN(open, opened(REAL(open)(path, flags, mode), path, flags))
OPEN(open64, opened(REAL(open64)(path, flags, mode), path, flags))

int mkdir(const char* path, mode_t mode) {
  const int result = REAL(mkdir)(path, mode);
  const char* name = result == 0 ? name_of(path) : NULL;
  if (name) note("create %s\n", name);
  return result;
}

int rename(const char* from, const char* to) {
  const char *old = name_of(from), *new = name_of(to);
  char line[600] = "";
  if (old && new) snprintf(line, sizeof line, "rename %s %s\n", old, new);
  const int result = REAL(rename)(from, to);
  if (result == 0 && *line) note("%s", line);
  return result;
}

int unlink(const char* path) {
  const char* name = name_of(path);
  const int result = REAL(unlink)(path);
  if (result == 0 && name) note("unlink %s\n", name);
  return result;
}
