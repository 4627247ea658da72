// What `isotherm bench` measured, as plain numbers: its tables and its JSON are made of this.
//
// The JSON (schema "isotherm-bench", version 2) follows the rules of run.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/statistics.hpp"
#include "output/records/bench_options.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {

inline constexpr int bench_schema_version = 2;  // rises as run_schema_version does

// A sample is a batch of launches, right beside one of copies, or reads: on shared machines bandwidth drifts.
struct BenchSamples {
  std::int64_t launches = 1;             // a sample
  std::vector<double> seconds;           // of one launch; of a difference, what it takes longer than the base
  std::vector<double> base_seconds;      // of a difference: of its base; empty where `seconds` are none
  std::vector<double> copy_bytes_per_s;  // beside it; empty where no copy bandwidth was measured
  std::vector<double> read_bytes_per_s;
};

enum class BenchVerdict { right, wrong, skipped };
ISOTHERM_WORDS(BenchVerdict, "right", "wrong", "skipped");

struct BenchEntry {  // one kernel of a table, one way to launch it, on one grid
  std::string kernel, tile;
  int time_block = 1;  // sweeps per launch fuses
  Precision precision = Precision::fp64;
  Int3 cells;
  BenchVerdict verdict = BenchVerdict::skipped;
  std::string note;  // why it is wrong or was skipped
  BenchSamples samples;
  double points = 0;  // cell updates of a launch; 0 where nothing is updated
  double bytes = 0;   // least traffic of a launch
  // Of a reduction: its distance from an exact sum over the sum of magnitudes; whether its bits repeat.
  std::optional<double> error;
  std::optional<bool> same_bits;
};

struct BenchRecord {
  BuildInfo build = build_info();
  BenchOptions options;
  std::string command_line, started, finished, host;
  DeviceInfo device;
  std::string instruction_set, threads_note;  // of the host kernels; empty on a GPU
  std::vector<Json> entries;                  // of kernels, transports, files or methods
  int ranks = 1;
  std::vector<std::string> warnings;
};

Json spread_json(const std::vector<double>& values);  // their quantiles; null of none
// The kernels of one grid and precision as JSON, with what follows from their samples. points_per_s: null
// where nothing is updated, or a difference is below its noise (p90 - p10), which has no bandwidth or shares
// either. Shares: medians over samples, each against what was measured right before it; of differences,
// medians against medians. speedup: over the first right kernel.
std::vector<Json> ladder_json(const std::vector<BenchEntry>& ladder);
bool all_right(const BenchRecord& record);  // nothing that was measured is wrong

std::string to_json(const BenchRecord& record);                                   // ends in a newline
std::string bench_banner(const BenchRecord& record);                              // lines before the work
std::string bench_table(const BenchOptions& options, std::vector<Json> entries);  // of one grid and precision
// One line of all transports that could not be measured, and why; empty where all could.
std::string skipped_line(const std::vector<Json>& entries);

}  // namespace isotherm
