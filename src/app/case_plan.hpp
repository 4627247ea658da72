// What a case of a study needs, by arithmetic alone, and what refuses it before it starts.
#pragma once

#include <cstdint>

#include "app/placement.hpp"
#include "core/device.hpp"

namespace isotherm {

struct CasePlan {
  Int3 cells{};              // of the largest grid of a series
  std::int64_t sweeps = 0;   // at most, in a steady problem
  double memory_bytes = 0;   // of all ranks, where they compute
  double file_bytes = 0;     // of the field, checkpoints included
  double traffic_bytes = 0;  // the least that its sweeps move
  Backend backend = Backend::host;
  Int3 process_grid{1, 1, 1};  // the cheapest by estimate, where the deck leaves it open
};

// Throws Error for what a run on so many ranks would be refused for: on this host, or on any.
void validate_case(const Config& config, int ranks, Host host, const CudaDevices& found);

// The same for one combination of `isotherm compare`, on the devices of this host: also what a run finds out
// when it starts, and a transport without bits to compare.
void validate_combination(const Config& config, int ranks, const CudaDevices& found);

// The deck as a run of so many sweeps, for `isotherm compare`. What is due in the deck still bounds its time
// blocks; history.csv is the only file.
Config short_run(Config config, std::int64_t sweeps);

CasePlan plan_case(const Config& config, int ranks, const CudaDevices& found);

// Measured: bytes per second that a copy by all threads of this process moves, the median of some passes.
double measure_copy_bandwidth(Backend backend, std::size_t field_bytes);

}  // namespace isotherm
