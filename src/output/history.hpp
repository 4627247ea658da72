// history.csv: a line for every residual of a run. Its loss is a warning, never the end of a run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "core/timer.hpp"

namespace isotherm {

class Console;

struct HistoryRow {
  std::int64_t sweep = 0;
  double time = 0;      // s of the problem; 0 in a steady one
  double residual = 0;  // K, in the deck's norm
  double relative = 0;  // residual over the first residual of the run
  double wall = 0;      // s since the first sweep
};

std::string history_head();                       // the column names, with units
std::string history_line(const HistoryRow& row);  // shortest digits that read back to the same number

class History {
 public:
  History(const std::filesystem::path& path, Console& console);
  ~History();  // what is buffered is written
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void add(const HistoryRow& row);
  void finish();  // the file is complete on return

 private:
  void write_out();
  void lose();  // says so once, with errno's reason; nothing more is written

  std::string name_;
  Console& console_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string buffer_;
  Timer since_flush_;
};

}  // namespace isotherm
