// A text file that grows by lines while a run goes on: history.csv, probes.csv. A line begins with the sweep
// that it tells of. Its loss is a warning, never the end of a run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/timer.hpp"

namespace isotherm {

class Console;

class LineFile {
 public:
  // Writes `head` at once. `loss`: "its history", what the run goes on without where the file is lost.
  // `resumed`: the sweep from which the run goes on. Lines of the file up to it stay, later ones are of
  // sweeps that are done again; where it has another head, the old file is kept aside.
  LineFile(const std::filesystem::path& path, Console& console, std::string head, std::string loss,
           std::optional<std::int64_t> resumed = {});
  ~LineFile();  // what is buffered is written
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  void add(std::string_view line);  // which ends in a newline
  void flush();                     // what was added is on the disk on return
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
