// From the deck's words for kernel, policy and reduction to rows of the tables, for the device that was
// chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "halo/regions.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

template <class T>
struct SweepChoice {
  const StencilKernel<T>* row = nullptr;
  int policy = 0;
  int depth = 1;  // sweeps that a launch fuses, at most: fewer where something is due before

  bool can_fuse() const { return row->max_depth > 1; }
  bool operator==(const SweepChoice&) const = default;
};

// What a run sweeps and reduces with.
template <class T>
struct SolverRows {
  SweepChoice<T> sweep;
  const ReductionKernel<T>* reduction;  // its `fused` row: the norm comes out of the sweep
  const HistogramKernel<T>* histogram;  // of the diagnostics
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
struct RowChoices {
  std::vector<SweepChoice<T>> sweeps;
  std::vector<const ReductionKernel<T>*> reductions;
  const HistogramKernel<T>* histogram = nullptr;

  bool open() const { return sweeps.size() > 1 || reductions.size() > 1; }
};

// From one look at the field to the next, where checks, diagnostics and snapshots come by sweeps.
std::int64_t sweeps_until_due(const Config& config);

// The most sweeps that a launch may fuse, whatever the row: 1 where boundaries vary in time, as a launch has
// one value of each; else solver.time_block or halo_width, or where both are open, as long as nothing is due
// after fewer.
int most_fused(const Config& config);

// ... on this decomposition: where ghosts are cells of a neighbour, or of the block itself around a periodic
// axis, a launch needs as many layers of them as it fuses sweeps. 1 where the sweeps are to store their
// faces.
int most_fused(const Config& config, const Decomposition& decomposition);

// Layers of ghosts for the fields of a run: solver.halo_width, or the most that the autotuner may try, which
// no period between two events, and no block, is too short for. `most`: of the memory. Arithmetic only.
int widest_halo(const Config& config, const Decomposition& decomposition, int most = 8);

// Is there a row for `auto` on the current device whose launches can fuse sweeps?
template <class T>
bool has_row_that_fuses(Backend backend);

// Why the row has no room for a block of so many cells; empty where it has.
template <class T>
std::string why_no_room(const StencilKernel<T>& row, Int3 block);

// Throws Error(deck) where what the deck names does not run on `backend`, with what does. Rows that need more
// than the current device has, or have no room for `block`, the largest of a rank, are left out, or refused
// by Error(unavailable) where they are named. Fused depths are those that a trial should weigh.
template <class T>
RowChoices<T> row_choices(const Config& config, Backend backend, Int3 block = {0, 0, 0});

// Without a trial.
template <class T>
SolverRows<T> choose_rows(const Config& config, Backend backend, Int3 block = {0, 0, 0});

// Of any boundary of the deck, whether it is this rank's or not: what depends on it all ranks do alike.
bool boundaries_vary_in_time(const Config& config);

// Why the sweeps of this deck cannot be recorded on this device: boundaries whose values the host computes
// for every sweep. Empty: they can, where the halos among them can (HaloExchange::why_not_recordable()).
std::string why_no_graph(const Config& config, const Device& device);
// Are sweeps queued as graphs, where `wanted` says so? Throws Error(deck) where the deck insists and
// `why_not` says why they cannot be.
bool settle_graph(const Config& config, bool wanted, const std::string& why_not);

// Does a run overlap halos and interior, unless it finds out by trial? It cuts the sweep in two, disturbs
// what runs beside the exchange, and hides that: `auto` is on with several ranks on GPUs.
bool overlaps(Overlap choice, Backend backend, int ranks);

// The backend that the deck's rows need, and the key that says so: `kernel: naive` needs CUDA. None where the
// deck leaves it open.
struct RequiredBackend {
  Backend backend;
  const char* key;
};
std::optional<RequiredBackend> required_backend(const Config& config);

}  // namespace isotherm
