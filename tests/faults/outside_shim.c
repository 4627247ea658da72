/* Preloaded by test_paths.py: logs in the file ISOTHERM_OUTSIDE every file or folder that this process
   opens for writing, creates, renames or removes ("write PATH"), and every program that it starts ("start PATH"). */
#include "shim.h"

static void note(const char* what, const char* path) {
  char here[PATH_MAX] = "";
  if (!what || !path || (path[0] != '/' && !getcwd(here, sizeof here))) return;
  append_line("ISOTHERM_OUTSIDE", "%s %s%s%s\n", what, here, *here ? "/" : "", path);
}

static int note_open(const char* path, int flags) {
  if (flags & (O_WRONLY | O_RDWR | O_CREAT)) note("write", path);
  return 0;
}
OPEN(open, note_open(path, flags) + REAL(open)(path, flags, mode))
OPEN(open64, note_open(path, flags) + REAL(open64)(path, flags, mode))

#define NOTED(what, result, name, parameters, ...) \
  result name parameters {                         \
    note(what, path);                              \
    return REAL(name)(__VA_ARGS__);                \
  }
NOTED(mode[strcspn(mode, "wa+")] ? "write" : NULL, FILE*, fopen, (const char* path, const char* mode), path, mode)
NOTED(mode[strcspn(mode, "wa+")] ? "write" : NULL, FILE*, fopen64, (const char* path, const char* mode), path, mode)
NOTED("write", int, mkdir, (const char* path, mode_t mode), path, mode)
NOTED("write", int, unlink, (const char* path), path)
NOTED("write", int, rename, (const char* path, const char* to), path, (note("write", to), to))
NOTED("start", int, execve, (const char* path, char* const argv[], char* const envp[]), path, argv, envp)
NOTED("start", int, execvp, (const char* path, char* const argv[]), path, argv)
NOTED("start", int, system, (const char* path), path)
NOTED("start", FILE*, popen, (const char* path, const char* mode), path, mode)
