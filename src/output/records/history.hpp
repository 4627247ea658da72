// history.csv: a line for every sweep at which a residual or diagnostics were due; other values are empty. If
// it cannot be written, the run warns and continues. The columns of heat are empty at sweep 0.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/timer.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

class Console;

// A text file that grows by lines, each of which begins with its sweep.
class LineFile {
 public:
  // Writes `head` at once. `loss`: "its history", for the warning if the file cannot be written. `resumed`:
  // keeps lines up to this sweep and removes later ones; a file with another head is backed up.
  LineFile(const std::filesystem::path& path, Console& console, std::string head, std::string loss,
           std::optional<std::int64_t> resumed = {});
  ~LineFile();  // writes the buffer
  LineFile& operator=(LineFile&&) = delete;

  void add(std::string_view line);  // `line` ends in a newline
  void flush();                     // all lines are on the disk on return
  void finish();                    // the file is complete on return

 private:
  void write_out();
  void abandon();  // warns once, with the reason in errno; nothing more is written

  std::string name_, loss_;
  Console& console_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::string buffer_;
  Timer since_flush_;
};

// probes.csv begins with lines of '#' with the positions of the probes, then the column names.
std::string probes_head(const ProbesConfig& probes);
std::string probes_line(std::int64_t sweep, double time, const std::vector<double>& kelvins);

struct HistoryLine {
  std::int64_t sweep = 0;
  double time = 0;                   // s of the problem; 0 in a steady one
  std::optional<double> residual{};  // K, in the deck's norm
  std::optional<double> relative{};  // residual over the first residual of the run
  double wall = 0;                   // s since the first sweep
  std::optional<Diagnostics> diagnostics{};
};

using DiagnosticsColumns = std::optional<DiagnosticsPlan>;

std::string history_head(const DiagnosticsColumns& columns = {});  // the column names, with units
// Shortest digits that read back to the same number.
std::string history_line(const HistoryLine& line, const DiagnosticsColumns& columns = {});

}  // namespace isotherm
