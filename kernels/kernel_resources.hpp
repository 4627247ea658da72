// What one launch of a CUDA row takes of a multiprocessor of the current device, and how many fit there.
#pragma once

#include <cstddef>

namespace isotherm {

// From the compiled kernel and the occupancy calculator of the CUDA runtime; nothing is estimated here.
struct KernelResources {
  int threads = 0;               // a block
  int registers = 0;             // a thread
  std::size_t shared_bytes = 0;  // a block, static and dynamic
  std::size_t local_bytes = 0;   // a thread: spilled registers and arrays that are none
  int blocks = 0;                // resident on a multiprocessor
  double occupancy = 0;          // resident warps over the most that a multiprocessor holds, 0 to 1
};

}  // namespace isotherm
