// Makes sure that a file will fit before its cells are written.
#pragma once

#include <cstdint>
#include <string>

namespace isotherm {

enum class Reserved {
  on_disk,   // the blocks are the file's: writing within it cannot run out of space
  estimated  // this file system cannot reserve; there is room for it with 10 % to spare, by its own word
};
// Whether what is reserved becomes a part of the file, or lies behind its end: for one whose size is not
// known.
enum class FileSize { grows, stays };
// Gives the existing file `path` its blocks up to `bytes`, or to its present end where that is further.
// Throws Error(io) when they are not to be had: disk full, quota, file size limit.
Reserved reserve_space(const std::string& path, std::int64_t bytes, FileSize size = FileSize::grows);
// Gives back what is reserved behind the end of the file. Throws Error(io).
void release_space(const std::string& path);

// While it lives, a write beyond the file size limit (ulimit -f) returns EFBIG and does not kill the process.
class FileSizeSignalIgnored {
 public:
  FileSizeSignalIgnored();
  ~FileSizeSignalIgnored();
  FileSizeSignalIgnored(const FileSizeSignalIgnored&) = delete;
  FileSizeSignalIgnored& operator=(const FileSizeSignalIgnored&) = delete;

 private:
  void (*previous_)(int);
};

}  // namespace isotherm
