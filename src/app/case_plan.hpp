// What a case of a study needs, by arithmetic alone, and what refuses it before it starts.
#pragma once

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
};

// Throws Error for what a run on so many ranks would be refused for: on this host, or on any.
void validate_case(const Config& config, int ranks, Host host, const CudaDevices& found);

CasePlan plan_case(const Config& config, int ranks, const CudaDevices& found);

// Measured: bytes per second that a copy by all threads of this process moves, the median of some passes.
double measure_copy_bandwidth(Backend backend, std::size_t field_bytes);

}  // namespace isotherm
