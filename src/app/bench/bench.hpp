// `isotherm bench`: whether the kernels of this build compute correct results, and how fast they are on this
// machine. A ladder is all kernels on one grid in one precision.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.hpp"
#include "app/session.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/timer.hpp"
#include "grid/field.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/stencil.hpp"
#include "output/records/bench_record.hpp"

namespace isotherm {

// Bandwidths that are measured right before every sample of a kernel; null: not measured.
struct CopyProbes {
  BandwidthProbe* copy = nullptr;
  BandwidthProbe* read = nullptr;
};

class Sampler {
 public:
  // Samples are taken until `seconds` are over, and at least `least_samples`.
  Sampler(Device& device, Stream stream, double seconds);

  struct Work {
    std::function<void()> launch;     // queues one launch on the stream
    std::function<void()> base{};     // if given, samples are the time of `launch` less that of `base`
    bool single = false;              // one launch per sample: only the first after `prepare` is relevant
    std::function<void()> prepare{};  // precedes each sample
  };
  // A sample times a batch of launches, after a warm-up; batches of `launch` and `base` alternate.
  BenchSamples measure(const Work& work, CopyProbes probes);

  static constexpr int least_samples = 7;
  static constexpr int most_samples = 1000;
  // The least time of a batch of launches: long compared with the errors of a timer or of waking threads.
  static constexpr double batch_seconds = 2e-3;

 private:
  std::int64_t launches_of_a_batch(const std::function<void()>& launch);
  double seconds_of(const std::function<void()>& launch, std::int64_t launches);  // mean of one launch

  Stopwatch watch_;
  Stream stream_;
  double seconds_;
};

struct Bench {
  const BenchOptions& options;
  const Communicator& world;
  Device& device;
  Device& host;
  Stream stream;
  Sampler& sampler;
  std::vector<std::string>& warnings;  // warnings, printed at the end

  bool on_host() const { return device.backend() == Backend::host; }
  // Collective: the maximum over all ranks.
  double slowest(double seconds) const { return world.all_reduce(seconds, ReduceOp::max); }
  // Collective: seconds of the slowest rank, after a barrier.
  template <class Work>
  double seconds(const Work& work) const {
    world.barrier();
    const Timer timer;
    work();
    return slowest(timer.seconds());
  }
};

// Peak memory use of this rank's device and of its host, bytes. On the CPU everything is host memory.
struct BenchMemory {
  double device = 0, host = 0;
};

struct Subject {
  std::vector<std::string_view> (*names)(Backend backend);  // of kernels or transports
  BenchMemory (*memory)(const Bench& bench, Int3 cells, Precision precision);
  // Collective: measures one grid and returns the entries of the record.
  std::vector<Json> (*measure)(const Bench& bench, Int3 cells, Precision precision);
  void (*validate)(const Bench& bench,
                   const std::vector<Int3>& sizes) = nullptr;  // throws Error(command_line)
};
extern const Subject stencil_subject, reduction_subject, bandwidth_subject, formula_subject, halo_subject,
    io_subject, solve_subject;

template <class Entry>
std::vector<std::string_view> names_of(std::span<const Entry> table, Backend backend) {
  std::vector<std::string_view> names;
  for (const Entry& entry : table) {
    if constexpr (requires { entry.backend; })
      if (entry.backend != backend) continue;
    names.push_back(entry.name);
  }
  return names;
}

// For bench solve --deck: contents_text() of the resolved deck without its output. It depends on the files
// that the deck reads, not on the name of the deck.
std::string deck_contents(const std::string& path);

// Whether --kernels or --transports has this name; true without such an option.
inline bool is_wanted(std::string_view name, const BenchOptions& options) {
  return options.names.empty() || std::ranges::find(options.names, name) != options.names.end();
}

// The requested kernels that run on the device's backend, in the order of the table.
template <class Entry>
std::vector<const Entry*> chosen_kernels(std::span<const Entry> table, const Bench& bench) {
  std::vector<const Entry*> chosen;
  for (const Entry& entry : table)
    if (is_wanted(entry.name, bench.options) && entry.backend == bench.device.backend())
      chosen.push_back(&entry);
  return chosen;
}

template <class T>
BenchEntry new_entry(std::string_view kernel, Int3 cells, std::string why_skipped = {}) {
  BenchEntry entry;
  entry.kernel = kernel;
  entry.tile = "-";
  entry.precision = sizeof(T) == 4 ? Precision::fp32 : Precision::fp64;
  entry.cells = cells;
  entry.note = std::move(why_skipped);
  return entry;
}

// Collective. Prints the tables and writes the JSON. Returns 70 where a kernel gave a wrong answer, else 0.
int bench(const CommandLine& command, const Communicator& world);

double field_bytes(Int3 cells, int ghosts, Precision precision);  // a lower bound; never overflows

// References for kernels: random data, the reference sweep, exact sums. In host memory.

// Fills every cell of the padded field, in [low, high), from the seed and the cell's position alone.
template <class T>
void fill_random(FieldView<T> field, std::uint64_t seed, T low, T high);

// Sweeps the whole field `time_block` times by `reference`, with the same bits as one thread: from `start`
// (boundary ghosts are filled; overwritten if time_block > 1) to `expected`, whose ghosts are poison.
template <class T>
void sweep_reference(Field<T>& start, Field<T>& expected, FieldView<const T> source, Coefficients<T> c,
                     const Boundaries<T>& boundaries, int time_block);

// Fills a result before the kernel under test runs.
template <class T>
inline constexpr T poison = std::numeric_limits<T>::quiet_NaN();

// Whether further runs of a reduction return the same bits as the first.
bool repeats(double first, const std::function<double()>& run);

// Compares padded fields bit by bit, not only the region written. Names the first cell; empty: equal.
template <class T>
std::string difference(FieldView<const T> expected, FieldView<const T> found);

// A reduction with exact sums (LongAccumulator) of exact terms.
struct ExactReduction {
  double value = 0;
  double magnitudes = 0;  // sum of the magnitudes of all terms: the scale of rounding errors
};
template <class T>
ExactReduction reduce_exactly(FieldView<const T> a, FieldView<const T> b, Box region, ReductionOp op);

// Distance from the exact value on the scale of rounding errors.
double reduction_error(const ExactReduction& exact, double found);
// The largest reduction_error() that rounding can cause, for any order of fp64 additions (Higham, Accuracy
// and Stability of Numerical Algorithms, SIAM 2002, chapter 4); 0 for a maximum.
double error_bound(Index cells, ReductionOp op);

// hypre's multigrid (Falgout and Jones, 2000), for comparison: on the CPU, if CMake finds hypre.
struct HypreSolve {
  double seconds = 0;  // of this rank, without set-up
  int cycles = 0;
  double relative_residual = 0;  // above the tolerance if it did not converge
};
bool has_hypre();
// The equations of a rank's subdomain, x fastest: for each cell the diagonal, the coefficients of the
// neighbours in the order of Face, and the right-hand side.
struct Equations {
  std::vector<double> rows, sources;
};
// Solves by conjugate gradients preconditioned by a V cycle of PFMG, from 0 to the relative l2 residual
// `tolerance`. `block`: this rank's subdomain of the grid. Collective.
HypreSolve solve_by_hypre(const Communicator& world, Box block, Equations equations, double tolerance);

}  // namespace isotherm
