// The options of `isotherm bench`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/enum_words.hpp"
#include "kernels/reduction.hpp"

namespace isotherm {

enum class BenchSubject { stencil, reduction, bandwidth, formula, halo, io, solve };
ISOTHERM_WORDS(BenchSubject, "stencil", "reduction", "bandwidth", "formula", "halo", "io", "solve");

ISOTHERM_WORDS(ReductionOp, "sum", "max", "l1", "l2");

struct BenchOptions {
  BenchSubject subject = BenchSubject::stencil;
  std::vector<Int3> sizes;  // cells; empty: the default of the subject and the device
  std::vector<Precision> precisions{Precision::fp32, Precision::fp64};
  std::vector<std::string> names;  // of kernels, transports, methods; empty: all of the device
  bool all_tiles = false;
  std::vector<int> time_blocks;      // empty: all that a kernel has
  std::vector<int> ghosts{1, 2, 4};  // halo: layers
  DeviceChoice device = DeviceChoice::automatic;
  std::optional<ReductionOp> norm;  // stencil: with the kernel's fused norm
  ReductionOp op = ReductionOp::sum_squares;
  bool boundaries = false;  // stencil: with six boundaries, and the ghosts that the kernel reads
  bool source = false;      // stencil: with a source field
  bool overlap = false;     // stencil: interior and exterior separately, as in a step with overlap
  double seconds = 1;       // of measurement per kernel
  std::uint64_t seed = 1;
  // formula: a spot that moves over a face.
  std::string formula = "1e6*exp(-((y-0.3-0.1*t)^2+(x-0.5)^2)/(2*0.05^2))";
  std::string folder = ".";  // io: the folder in which a temporary one is made
  int repeats = 5;           // io: files per way to write; solve: solutions
  std::string deck;          // solve: of the body, path; empty: a uniform cube
  std::string json;          // path; empty: none
};

}  // namespace isotherm
