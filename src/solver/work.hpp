// How much work a run is, by estimate and without a device.
#pragma once

#include <cstdint>

#include "config/config.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"

namespace isotherm {

// How many sweeps a run will do: of a steady problem with a relative tolerance those that its slowest mode
// needs, where they are fewer than may be done.
std::int64_t likely_sweeps(const Config& config);

// Of all ranks, with the sweeps of coarse grids and the transfers between grids.
struct SweepWork {
  double bytes = 0;     // read and written, as far as launches of several sweeps do not spare them
  double launches = 0;  // one after the other
  // s, where all ranks together copy so many bytes per second.
  double seconds(Backend backend, double copy_bandwidth) const;
};
SweepWork sweep_work(const Config& config, const Decomposition& decomposition, Backend backend);

}  // namespace isotherm
