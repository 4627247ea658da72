// A file for what a target is given: libraries that read files take paths.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

namespace isotherm::fuzz {

// A file of its own, gone with the process.
class ScratchFile {
 public:
  ScratchFile() {
    char pattern[] = "/tmp/isotherm-fuzz-XXXXXX";
    file_ = mkstemp(pattern);
    path_ = pattern;
    if (file_ < 0) std::abort();
  }
  ~ScratchFile() {
    close(file_);
    unlink(path_.c_str());
  }
  const std::string& holding(const unsigned char* data, std::size_t size) const {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return path_;
  }

 private:
  int file_;
  std::string path_;
};

}  // namespace isotherm::fuzz
