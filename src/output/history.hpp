// history.csv: a line for every sweep at which a residual or diagnostics were due; what was not due is empty.
// Its loss is a warning, never the end of a run.
//
// Columns: sweep, time_s, residual, relative_residual, wall_s. With diagnostics min_K, max_K, mean_K; heat_J
// where the deck says rho c; where it says the conductivity, and rho c in a transient problem, the heat of
// the last sweep: rate_W (transient), wall_<face>_W for each face that is not periodic, source_W, balance_W,
// relative_balance (physics/diagnostics.hpp; empty at sweep 0); with bins hist_under, hist_0, hist_1, ...,
// hist_over; nan_cells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "output/line_file.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

struct HistoryRow {
  std::int64_t sweep = 0;
  double time = 0;                 // s of the problem; 0 in a steady one
  std::optional<double> residual;  // K, in the deck's norm
  std::optional<double> relative;  // residual over the first residual of the run
  double wall = 0;                 // s since the first sweep
  std::optional<Diagnostics> diagnostics{};
};

// The columns of the diagnostics; none without them.
using DiagnosticsColumns = std::optional<DiagnosticsPlan>;

std::string history_head(const DiagnosticsColumns& columns = {});  // the column names, with units
// Shortest digits that read back to the same number.
std::string history_line(const HistoryRow& row, const DiagnosticsColumns& columns = {});

class History {
 public:
  // `resumed`: the sweep from which the run goes on, as LineFile has it.
  History(const std::filesystem::path& path, Console& console, const DiagnosticsColumns& columns = {},
          std::optional<std::int64_t> resumed = {});

  void add(const HistoryRow& row);
  void flush();   // what was added is on the disk on return
  void finish();  // the file is complete on return

 private:
  DiagnosticsColumns columns_;
  LineFile file_;
};

}  // namespace isotherm
