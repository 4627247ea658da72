// What `isotherm bench` is asked for: from words of the command line to values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "kernels/reduction.hpp"
#include "output/records/bench_record.hpp"

namespace isotherm {

// As typed; empty: not given.
struct BenchWords {
  std::string subject, sizes, precision, rows, policies, depths, ghosts, device, norm, op, seconds, seed,
      folder, repeats;
  bool walls = false, source = false, overlap = false;
  std::string json;
};

struct BenchOptions {
  BenchSubject subject = BenchSubject::stencil;
  std::vector<Int3> sizes;  // cells; empty: what fits the device
  std::vector<Precision> precisions{Precision::fp32, Precision::fp64};
  std::vector<std::string> rows;  // empty: all of the device
  bool all_policies = false;
  std::vector<int> depths;           // empty: all that a row has
  std::vector<int> ghosts{1, 2, 4};  // halo: layers
  DeviceChoice device = DeviceChoice::automatic;
  std::optional<ReductionOp> norm;  // stencil: with the row's fused norm
  ReductionOp op = ReductionOp::sum_squares;
  bool walls = false;    // stencil: six walls, and what the row needs of them
  bool source = false;   // stencil: with a source field
  bool overlap = false;  // stencil: in the parts of a step that overlaps its exchange
  double seconds = 1;    // of measuring, a row
  std::uint64_t seed = 1;
  std::string folder = ".";  // io: where the files lie while they are measured
  int repeats = 5;           // io: files of each way
  std::string json;          // path; empty: none
};

// All throw Error(command_line) that names the option and the valid words.
BenchOptions parse_bench(const BenchWords& words);
std::vector<Int3> parse_sizes(const std::string& text);  // "256,20x7x9"

const char* norm_word(ReductionOp op);  // "sum", "max", "l1", "l2"

}  // namespace isotherm
