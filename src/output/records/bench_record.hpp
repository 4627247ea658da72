// What `isotherm bench` measured, as plain numbers: its table and its JSON are made of this.
//
// The JSON (schema "isotherm-bench", version 2) follows the rules of run.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/build_info.hpp"
#include "core/device.hpp"
#include "core/enum_words.hpp"
#include "core/statistics.hpp"
#include "kernels/reduction.hpp"

namespace isotherm {

inline constexpr int bench_schema_version = 2;  // rises as run_schema_version does

enum class BenchSubject { stencil, reduction, bandwidth, halo, io };
template <>
inline constexpr auto words_of<BenchSubject> = words("stencil", "reduction", "bandwidth", "halo", "io");

template <>
inline constexpr auto words_of<ReductionOp> = words("sum", "max", "l1", "l2");

struct BenchOptions {
  BenchSubject subject = BenchSubject::stencil;
  std::vector<Int3> sizes;  // cells; empty: what fits the device
  std::vector<Precision> precisions{Precision::fp32, Precision::fp64};
  std::vector<std::string> names;  // of kernels, transports; empty: all of the device
  bool all_tiles = false;
  std::vector<int> time_blocks;      // empty: all that a kernel has
  std::vector<int> ghosts{1, 2, 4};  // halo: layers
  DeviceChoice device = DeviceChoice::automatic;
  std::optional<ReductionOp> norm;  // stencil: with the kernel's fused norm
  ReductionOp op = ReductionOp::sum_squares;
  bool boundaries = false;  // stencil: six boundaries, and what the kernel needs of them
  bool source = false;      // stencil: with a source field
  bool overlap = false;     // stencil: in the parts of a step that overlaps its exchange
  double seconds = 1;       // of measuring, a kernel
  std::uint64_t seed = 1;
  std::string folder = ".";  // io: where the files are while they are measured
  int repeats = 5;           // io: files of each way
  std::string json;          // path; empty: none
};

// A sample is a batch of launches, right beside one of copies, or reads: on shared machines bandwidth drifts.
struct BenchSamples {
  std::int64_t launches = 1;             // a sample
  std::vector<double> seconds;           // of one launch; of a difference, what it takes longer than the base
  std::vector<double> base_seconds;      // of a difference: of its base; empty where `seconds` are none
  std::vector<double> copy_bytes_per_s;  // beside it; empty where no copy bandwidth was measured
  std::vector<double> read_bytes_per_s;
};

enum class BenchVerdict { right, wrong, skipped };
template <>
inline constexpr auto words_of<BenchVerdict> = words("right", "wrong", "skipped");

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
  // Of a reduction: its distance from a compensated sum, over the sum of the magnitudes that it adds, and
  // whether a second launch gave the same bits.
  std::optional<double> error;
  std::optional<bool> same_bits;
};

// One transport across one face: every rank with a neighbour, all pairs at once. Times are of the slowest
// rank.
struct HaloBenchEntry {
  std::string transport;
  std::string face;  // "x-" ... "z+", as rank 0 has it
  int ghosts = 1;
  Precision precision = Precision::fp64;
  Int3 cells;             // of a rank
  std::size_t bytes = 0;  // each way
  bool moves = true;      // else it is there for what the rest costs
  BenchVerdict verdict = BenchVerdict::skipped;
  std::string note;
  double pack = 0, unpack = 0;              // s, of the device; 0 where the transport needs none
  double latency = 0;                       // s, of an exchange of one cell, queued among others
  std::vector<double> exchanges;            // s of one, from the pack on, queued among others: as in a run
  std::vector<double> alone;                // s of one until the host sees that its ghosts are there
  std::optional<double> wire() const;       // s: the median exchange less packing and unpacking
  std::optional<double> bandwidth() const;  // bytes per second each way, of the median exchange
};

// A way to write a field of all ranks into one file. Times are of the slowest rank.
struct IoBenchEntry {
  std::string way;
  Precision precision = Precision::fp64;
  Int3 cells;        // of all ranks
  double bytes = 0;  // of the cells
  std::vector<double> seconds;
  std::vector<double> raw_seconds;  // of plain system calls, right before it
  double bandwidth() const;         // bytes per second, of the median
  double raw_share() const;         // median over the samples, each against the raw one beside it
};

// What follows from the samples.
struct BenchFigures {
  Quantiles seconds;  // of a launch
  // None where nothing is updated, and of a difference below its noise, p90 - p10, which has no share either.
  std::optional<double> points_per_second;
  std::optional<double> bandwidth;  // bytes per second of least traffic
  // Medians over the samples, each against what was measured right beside it; of a difference, whose samples
  // may have either sign, medians against medians.
  std::optional<double> copy_share, read_share;
  std::optional<double> copy_bandwidth, read_bandwidth;  // bytes per second
  std::optional<double> speedup;  // over the lowest kernel: the first right kernel of this grid and precision
};

struct BenchRecord {
  BuildInfo build = build_info();
  BenchOptions options;
  std::string command_line, started, finished, host;
  DeviceInfo device;
  std::string instruction_set, threads_note;  // of the host kernels; empty on a GPU
  std::vector<BenchEntry> entries;            // but for halos and files
  std::vector<HaloBenchEntry> halos;
  std::vector<IoBenchEntry> files;
  int ranks = 1;
  std::vector<std::string> warnings;
};

// By entry; none where it was not measured.
std::vector<std::optional<BenchFigures>> figures(const BenchRecord& record);
bool all_right(const BenchRecord& record);  // nothing that was measured is wrong

std::string to_json(const BenchRecord& record);       // ends in a newline
std::string bench_banner(const BenchRecord& record);  // lines before the work
std::string bench_table(const BenchRecord& record);
// One line of all transports that could not be measured, and why; empty where all could.
std::string skipped_line(const std::vector<HaloBenchEntry>& entries);
std::string halo_bench_table(const std::vector<HaloBenchEntry>& entries);  // of one ladder
std::string io_bench_table(const std::vector<IoBenchEntry>& entries);      // of one grid

}  // namespace isotherm
