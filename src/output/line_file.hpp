// A text file that grows by lines while a run goes on: history.csv, probes.csv. Its loss is a warning, never
// the end of a run.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/timer.hpp"

namespace isotherm {

class Console;

class LineFile {
 public:
  // Writes `head` at once. `loss`: "its history", what the run goes on without where the file is lost.
  LineFile(const std::filesystem::path& path, Console& console, std::string head, std::string loss);
  ~LineFile();  // what is buffered is written
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void add(std::string_view line);  // which ends in a newline
  void finish();                    // the file is complete on return

 private:
  void write_out();
  void lose();  // says so once, with errno's reason; nothing more is written

  std::string name_, loss_;
  Console& console_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string buffer_;
  Timer since_flush_;
};

}  // namespace isotherm
