// The row `temporal_openmp` with what it chooses by the caches of this machine left to the caller: for tests.
#pragma once

#include "kernels/host/rows.hpp"

namespace isotherm::host {

// tile_bytes: what the queues of a tile, and the planes of `in` that it reads, may fill.
template <class Isa, class T>
void sweep_temporal_openmp(const SweepArgs<T>& args, SweepPlan plan, Store store, std::size_t tile_bytes);

}  // namespace isotherm::host
