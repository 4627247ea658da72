// How steps are executed: kernels and tiles for the deck and the device, launches between two exchanges.
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
  int time_block = 1;  // most sweeps per launch; fewer where something is due earlier

  bool is_temporal() const { return kernel->max_time_block > 1; }
  // Can `reduction` find the norms of these sweeps? A fused one needs a sweep that returns them.
  bool suits(const ReductionKernel<T>* reduction) const { return !reduction->fused || kernel->fuses_norm(); }
  bool operator==(const SweepChoice&) const = default;
};

// The kernels of a run.
template <class T>
struct SolverKernels {
  SweepChoice<T> sweep;
  const ReductionKernel<T>* reduction;  // the `fused` kernel: the sweep returns the norm
  const HistogramKernel<T>* histogram;  // for the diagnostics
  SweepChoice<T> probe;                 // the sweep between cycles whose update is the residual
  bool graph = false;                   // sweeps between checks are queued as graphs, if exchanges can be
};

// How steps are executed. Fields have the same bits with any plan.
template <class T>
struct StepPlan {
  SweepChoice<T> sweep;
  int halo_width = 1;              // layers that an exchange fills, and sweeps until the next
  Overlap overlap = Overlap::off;  // on, off or in_kernel
  bool graph = false;              // sweeps are queued as graphs

  bool operator==(const StepPlan&) const = default;
};

// Candidates that the deck allows. The first of each is the default; tune/autotuner.hpp finds the fastest.
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

// Can the kernel that the deck names fuse sweeps? True for `auto`.
bool may_fuse(const SolverConfig& solver);

// The fewest sweeps between two checks, diagnostics or snapshots, where their intervals are in sweeps.
std::int64_t sweeps_until_due(const Config& config);

// The most sweeps that a launch may fuse: 1 where a field of sources varies in time, or sweeps store their
// faces; else solver.time_block, else solver.halo_width (one layer per sweep), else until an event is due.
int longest_time_block(const Config& config);
int longest_time_block(const Config& config, const Decomposition& decomposition);
// The most sweeps that the deck's kernel (`auto`: any) can fuse on this backend, within longest_time_block().
template <class T>
int longest_launch(const Config& config, Backend backend) {
  int most = 1;
  for (const StencilKernel<T>& kernel : stencil_kernels<T>())
    if (kernel.backend == backend && (config.solver.kernel == "auto" || config.solver.kernel == kernel.name))
      most = std::max(most, kernel.max_time_block);
  return std::min(most, longest_time_block(config));
}

// `sweep` with its time block limited to longest_time_block().
template <class T>
SweepChoice<T> fitting(SweepChoice<T> sweep, const Config& config, const Decomposition& decomposition) {
  sweep.time_block = std::min(sweep.time_block, longest_time_block(config, decomposition));
  return sweep;
}

// Layers of ghosts of a run's fields: solver.halo_width, or the most that the autotuner may try, limited by
// the shortest interval between events and by the subdomain. `most`: limit by memory. Arithmetic only.
int widest_halo(const Config& config, const Decomposition& decomposition, int most = 8);

// Is there a kernel for `auto` on the current device whose launches can fuse sweeps, of `several` materials?
template <class T>
bool has_temporal_kernel(Backend backend, bool several) {
  return std::ranges::any_of(stencil_kernels<T>(), [&](const StencilKernel<T>& kernel) {
    return kernel.backend == backend && kernel.available() && kernel.is_candidate &&
           kernel.max_time_block > 1 && (kernel.sweeps_materials || !several) &&
           kernel.why_unsupported(0).empty();
  });
}

// Why the indices of a kernel cannot count the cells of this subdomain; empty if they can.
template <class T>
std::string why_no_room(const StencilKernel<T>& kernel, Int3 subdomain);

// Throws Error(deck), which lists valid names, where a kernel named in the deck does not run on `backend`.
// Omits kernels that the current device cannot run, or that are too small for `subdomain`, the largest of any
// rank; Error(unavailable) if the deck names one. Time blocks are those worth measuring.
template <class T>
KernelChoices<T> kernel_choices(const Config& config, Backend backend, Int3 subdomain = {0, 0, 0});
// The first candidate of each kind, for use without or before a measurement.
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

// Do boundaries or sources of the deck change from sweep to sweep? Within a long step they are constant.
bool values_vary_by_sweep(const Config& config);
bool sources_fill_a_field(const Config& config);  // varying sources that are not swept in boxes

// Why sweeps cannot be recorded as graphs; empty if they can. Halo exchanges are not considered.
std::string why_no_graph(const Config& config, Backend backend);
// Are sweeps queued as graphs? Throws Error(deck) where the deck demands it and `why_not` is not empty.
bool settle_graph(const Config& config, bool wanted, const std::string& why_not);

// Does a run overlap halo exchange and interior without measurement? `auto`: with several ranks on GPUs.
inline bool overlaps(Overlap choice, Backend backend, int ranks) {
  if (choice != Overlap::automatic) return choice != Overlap::off;
  return backend != Backend::host && ranks > 1;
}

// The backend that the deck's device or kernels need, and the key of these. None if they need no backend.
struct RequiredBackend {
  Backend backend;
  const char* key;
};
std::optional<RequiredBackend> required_backend(const Config& config);

// The cells that the sweeps between two halo exchanges cover, and their division into launches; examples are
// in ARCHITECTURE.md. Arithmetic only. A sweep covers the subdomain, and as many layers of ghosts as sweeps
// follow before the next exchange; a launch covers the region of its last sweep. Ghosts that are cells of a
// neighbour are swept, with the same bits as in the neighbour; ghosts beyond a boundary are not. A period
// ends early where something is due: the last sweep before it always covers exactly the subdomain.

// Are there ghosts that an exchange fills? The same on all ranks: where one has a neighbour, all have.
inline bool exchanges(const GhostSides& sides) {
  return std::ranges::find(sides.filled, true) != sides.filled.end();
}

struct PeriodLaunch {
  int sweeps = 1;
  Box region;  // cells that the last of them covers
  // For the first launch of a period:
  Box available;  // part that is valid before the exchange; the rest are ghosts from other ranks
  Box interior;   // part that can be swept before the exchange ends
};

// The sweeps of each launch, in order: at most `most`, then the rest. `last_alone`: the last sweep is a
// launch of its own, as its update is read.
std::vector<int> launch_sizes(int count, int most, bool last_alone = false);
// The launches of a period of `count` sweeps, in order.
std::vector<PeriodLaunch> launches_of_period(Int3 extent, const GhostSides& sides, int count, int most,
                                             bool last_alone = false);

// The launches of at most `fused` sweeps that `sweeps` sweeps need. A period begins at the first sweep.
std::int64_t launches_of(std::int64_t sweeps, int period, int fused);

// Sweeps of a graph: whole periods, an even number of launches of at most `fused` sweeps. With cycles: one or
// two cycles, divided into periods from their start.
std::int64_t sweeps_of_a_graph(int period, int fused = 1, std::int64_t cycle = 1);

// `wanted` sweeps in whole periods, at least one, at most `left`: all ranks exchange at the same sweeps.
inline std::int64_t whole_periods(std::int64_t wanted, std::int64_t left, int period) {
  return std::min(left, std::max<std::int64_t>(wanted / period, 1) * period);
}

}  // namespace isotherm
