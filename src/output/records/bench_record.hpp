// The results of `isotherm bench` as plain numbers, the source of its tables and its JSON.
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

// A sample is a batch of launches, right after one of copies or reads: on shared machines bandwidth drifts.
struct BenchSamples {
  std::int64_t launches = 1;             // per sample
  std::vector<double> seconds;           // of one launch; of a difference: in excess of its base
  std::vector<double> base_seconds;      // of the base of a difference; else empty
  std::vector<double> copy_bytes_per_s;  // right before the launches; empty: not measured
  std::vector<double> read_bytes_per_s;
};

enum class BenchVerdict { right, wrong, skipped };
ISOTHERM_WORDS(BenchVerdict, "right", "wrong", "skipped");

struct BenchEntry {  // one kernel of a table, one way to launch it, on one grid
  std::string kernel, tile;
  int time_block = 1;  // sweeps per launch
  Precision precision = Precision::fp64;
  Int3 cells;
  BenchVerdict verdict = BenchVerdict::skipped;
  std::string note;  // why it is wrong or was skipped
  BenchSamples samples;
  double points = 0;  // cell updates of a launch; 0 where nothing is updated
  double bytes = 0;   // least traffic of a launch
  // Of a reduction: its error over the sum of magnitudes; whether its bits are the same when repeated.
  std::optional<double> error;
  std::optional<bool> same_bits;
};

struct BenchRecord {
  BuildInfo build = build_info();
  BenchOptions options;
  std::string command_line, started, finished, host;
  std::string deck_contents;  // contents_text() of the body of options.deck, resolved
  DeviceInfo device;
  std::string instruction_set, threads_note;  // of the host kernels; empty on a GPU
  std::vector<Json> entries;                  // of kernels, transports, files or methods
  int ranks = 1;
  std::vector<std::string> warnings;
};

Json spread_json(const std::vector<double>& values);  // their quantiles; null if there are none
// The kernels of one grid and precision as JSON, with the figures derived from their samples. points_per_s is
// null if nothing is updated, or if a difference is below its noise (p90 - p10); the latter has no bandwidth
// or shares either. Shares are medians over samples, each relative to the bandwidth measured right before it;
// of differences, medians over medians. speedup: relative to the first right kernel.
std::vector<Json> ladder_json(const std::vector<BenchEntry>& ladder);
bool all_right(const BenchRecord& record);  // nothing that was measured is wrong

std::string to_json(const BenchRecord& record);                                   // ends in a newline
std::string bench_banner(const BenchRecord& record);                              // lines before the work
std::string bench_table(const BenchOptions& options, std::vector<Json> entries);  // of one grid and precision
// One line of all transports that could not be measured, and why; empty where all could.
std::string skipped_line(const std::vector<Json>& entries);

}  // namespace isotherm
