// Lets the disk begin while a file is still being written.
#pragma once

#include <string>

namespace isotherm {

// Opens the file for itself; where it cannot, nothing happens.
class Writeback {
 public:
  explicit Writeback(const std::string& path);
  ~Writeback();
  Writeback(const Writeback&) = delete;
  Writeback& operator=(const Writeback&) = delete;

  // What was written so far goes to the disk from now on. Waits for nothing but a full queue. Otherwise the
  // system keeps it in memory until fsync, and a large file is copied first and written afterwards.
  void start() const;

 private:
  int descriptor_;
};

}  // namespace isotherm
