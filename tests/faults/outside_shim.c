/* Preloaded by test_paths.py: a line of the file ISOTHERM_OUTSIDE for every file or folder that this process opens for
   writing, makes, renames or removes ("write PATH"), for every program that it starts ("start PATH"), and for every library
   that it loads by hand ("load PATH"). */
#include "shim.h"
#include <limits.h>

static void note(const char* what, const char* path) {
  char line[2 * PATH_MAX], here[PATH_MAX] = "";
  const char* log = getenv("ISOTHERM_OUTSIDE");
  if (!log || !path) return;
  if (path[0] != '/' && !getcwd(here, sizeof here)) return;
  const int length = snprintf(line, sizeof line, "%s %s%s%s\n", what, here, *here ? "/" : "", path);
  const int fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, line, (size_t)length) != length) abort();
  close(fd);
}

static int note_open(const char* path, int flags) {
  if (flags & (O_WRONLY | O_RDWR | O_CREAT)) note("write", path);
  return 0;
}
OPEN(open, note_open(path, flags) + REAL(open)(path, flags, mode))
OPEN(open64, note_open(path, flags) + REAL(open64)(path, flags, mode))

#define FOPEN(name)                                  \
  FILE* name(const char* path, const char* mode) {   \
    if (mode[strcspn(mode, "wa+")]) note("write", path); \
    return REAL(name)(path, mode);                   \
  }
FOPEN(fopen)
FOPEN(fopen64)

int mkdir(const char* path, mode_t mode) {
  note("write", path);
  return REAL(mkdir)(path, mode);
}
int unlink(const char* path) {
  note("write", path);
  return REAL(unlink)(path);
}
int rename(const char* from, const char* to) {
  note("write", from);
  note("write", to);
  return REAL(rename)(from, to);
}
int execve(const char* path, char* const argv[], char* const envp[]) {
  note("start", path);
  return REAL(execve)(path, argv, envp);
}
int execvp(const char* path, char* const argv[]) {
  note("start", path);
  return REAL(execvp)(path, argv);
}
int system(const char* command) {
  note("start", command);
  return REAL(system)(command);
}
FILE* popen(const char* command, const char* mode) {
  note("start", command);
  return REAL(popen)(command, mode);
}
