// How steps are made: kernels and tiles for the deck and the device, launches between two exchanges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "halo/messages.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "solver/method.hpp"

namespace isotherm {

template <class T>
struct SweepChoice {
  const StencilKernel<T>* kernel = nullptr;
  int tile = 0;
  int time_block = 1;  // sweeps per launch, at most: fewer where something is due before

  bool is_temporal() const { return kernel->max_time_block > 1; }
  // Can norms of its sweeps be reduced by this kernel? The fused one needs a sweep that returns them.
  bool suits(const ReductionKernel<T>* reduction) const { return !reduction->fused || kernel->fuses_norm(); }
  bool operator==(const SweepChoice&) const = default;
};

// What a run sweeps and reduces with.
template <class T>
struct SolverKernels {
  SweepChoice<T> sweep;
  const ReductionKernel<T>* reduction;  // its `fused` kernel: the norm comes out of the sweep
  const HistogramKernel<T>* histogram;  // of the diagnostics
  SweepChoice<T> probe;                 // the sweep between cycles whose update is the residual
  bool graph = false;                   // sweeps between checks are queued as graphs, where halos can be
};

// How steps are made. Fields have the same bits by any plan.
template <class T>
struct StepPlan {
  SweepChoice<T> sweep;
  int halo_width = 1;              // layers that an exchange fills, and the sweeps that it serves
  Overlap overlap = Overlap::off;  // on, off or in_kernel
  bool graph = false;              // sweeps are queued as graphs

  bool operator==(const StepPlan&) const = default;
};

// What the deck leaves open: the first of each is the default, and tune/autotuner.hpp finds the fastest.
template <class T>
struct KernelChoices {
  std::vector<SweepChoice<T>> sweeps;
  std::vector<const ReductionKernel<T>*> reductions;
  const HistogramKernel<T>* histogram = nullptr;

  bool open() const { return sweeps.size() > 1 || reductions.size() > 1; }
  const ReductionKernel<T>* first_reduction(const SweepChoice<T>& sweep) const {
    return *std::ranges::find_if(reductions, [&](const auto* kernel) { return sweep.suits(kernel); });
  }
};

// The fewest sweeps between two checks, diagnostics or snapshots, where these come by sweeps.
std::int64_t sweeps_until_due(const Config& config);

// The most sweeps that a launch may fuse: 1 where a field of sources varies in time, or sweeps store their
// faces; else solver.time_block or halo_width (a launch needs as many ghosts), or until something is due.
int longest_time_block(const Config& config);
int longest_time_block(const Config& config, const Decomposition& decomposition);
// ... that a kernel of the backend can, of those that the deck leaves open.
template <class T>
int longest_launch(const Config& config, Backend backend) {
  int most = 1;
  for (const StencilKernel<T>& kernel : stencil_kernels<T>())
    if (kernel.backend == backend && (config.solver.kernel == "auto" || config.solver.kernel == kernel.name))
      most = std::max(most, kernel.max_time_block);
  return std::min(most, longest_time_block(config));
}

// With no more sweeps fused than that.
template <class T>
SweepChoice<T> fitting(SweepChoice<T> sweep, const Config& config, const Decomposition& decomposition) {
  sweep.time_block = std::min(sweep.time_block, longest_time_block(config, decomposition));
  return sweep;
}

// Layers of ghosts of a run's fields: solver.halo_width, or the most that the autotuner may try, limited by
// the shortest interval between events and by the subdomain. `most`: of the memory. Arithmetic only.
int widest_halo(const Config& config, const Decomposition& decomposition, int most = 8);

// Is there a kernel for `auto` on the current device whose launches can fuse sweeps?
template <class T>
bool has_temporal_kernel(Backend backend) {
  return std::ranges::any_of(stencil_kernels<T>(), [&](const StencilKernel<T>& kernel) {
    return kernel.backend == backend && kernel.available() && kernel.is_candidate &&
           kernel.max_time_block > 1 && kernel.why_unsupported(0).empty();
  });
}

// Why a kernel with room for so many cells along an axis has none for this block; empty where it has.
std::string why_no_room(Index longest_axis, Int3 subdomain);

// Throws Error(deck) where a kernel that the deck names does not run on `backend`, with those that do.
// Kernels that the current device cannot run, or that have no room for `subdomain`, the largest of a rank,
// are left out, or rejected by Error(unavailable) where named. Time blocks are those worth measuring.
template <class T>
KernelChoices<T> kernel_choices(const Config& config, Backend backend, Int3 subdomain = {0, 0, 0});
// The first of each: without a measurement, or while there is none.
template <class T>
SolverKernels<T> default_kernels(const Config& config, const KernelChoices<T>& choices) {
  const SweepChoice<T> sweep = choices.sweeps.front();
  SweepChoice<T> probe = sweep;
  if (sweeps_of_cycle(config) > 1) {
    const auto single = std::ranges::find_if(
        choices.sweeps, [](const SweepChoice<T>& c) { return !c.is_temporal() && c.kernel->fuses_norm(); });
    if (single != choices.sweeps.end()) probe = *single;
  }
  return {sweep, choices.first_reduction(probe), choices.histogram, probe,
          config.solver.cuda_graph == GraphChoice::on};
}
template <class T>
SolverKernels<T> choose_kernels(const Config& config, Backend backend, Int3 subdomain = {0, 0, 0}) {
  return default_kernels(config, kernel_choices<T>(config, backend, subdomain));
}

// Has any boundary or source of the deck other values in each sweep? In sweeps of a long step it has one.
bool values_vary_by_sweep(const Config& config);
bool sources_fill_a_field(const Config& config);  // of sources, and not in boxes

// Why sweeps cannot be recorded here: values that vary by sweep. Empty: they can, but for their halos.
std::string why_no_graph(const Config& config, const Device& device);
// Are sweeps queued as graphs? Throws Error(deck) where the deck insists and `why_not` says why not.
bool settle_graph(const Config& config, bool wanted, const std::string& why_not);

// Does a run overlap halos and interior, unmeasured? `auto`: with several ranks on GPUs.
inline bool overlaps(Overlap choice, Backend backend, int ranks) {
  if (choice != Overlap::automatic) return choice != Overlap::off;
  return backend != Backend::host && ranks > 1;
}

// The backend that the deck's kernels need, and the key that says so; none where the deck leaves it open.
struct RequiredBackend {
  Backend backend;
  const char* key;
};
std::optional<RequiredBackend> required_backend(const Config& config);

// Which cells the sweeps between two halo exchanges cover, and how they are cut into launches. Arithmetic
// only. An exchange of d layers lasts for d sweeps. Each sweep covers the block and as many layers of ghosts
// as sweeps follow it before the next exchange, so that these find what they read:
//
//     d = 3    exchange | block + 2 | block + 1 | block | exchange ...
//
// Ghosts are swept where they are cells of a neighbour, with the neighbour's own bits; never beyond a
// boundary. Where something is due inside a period, it ends there: the last sweep before it always covers
// exactly the block. A kernel that fuses f sweeps takes them in one launch, which covers what the last of
// them does:
//
//     d = 5, f = 2    exchange | 2 -> block + 3 | 2 -> block + 1 | 1 -> block | exchange ...

// Are there ghosts that an exchange fills? The same on all ranks: where one has a neighbour, all have.
inline bool exchanges(const GhostSides& sides) {
  return std::ranges::find(sides.filled, true) != sides.filled.end();
}

struct PeriodLaunch {
  int sweeps = 1;
  Box region;  // what the last of them covers
  // As the first of a period:
  Box available;  // what of the region holds values before the exchange; the rest are ghosts of other ranks
  Box interior;   // what can be swept before the exchange is over
};

// How launches may cut the sweeps that follow each other.
struct Fusing {
  int most = 1;             // sweeps of a launch
  bool last_alone = false;  // something looks at the last sweep's update: both of its fields are wanted
};

// The sweeps of each launch, in order: as many as may be, then what is left.
std::vector<int> launch_sizes(int count, const Fusing& fusing);
// The launches of a period of `count` sweeps, in order.
std::vector<PeriodLaunch> launches_of_period(Int3 extent, const GhostSides& sides, int count,
                                             const Fusing& fusing);

// Sweeps of a graph: whole periods, an even number of launches that fuse at most `fused`. Of a method with
// cycles one or two of these, cut into periods from its start.
std::int64_t sweeps_of_a_graph(int period, int fused = 1, std::int64_t cycle = 1);

// About `wanted` of the sweeps `left`, to the end of a period or of all: ranks exchange at the same sweeps.
inline std::int64_t whole_periods(std::int64_t wanted, std::int64_t left, int period) {
  return std::min(left, std::max<std::int64_t>(wanted / period, 1) * period);
}

}  // namespace isotherm
