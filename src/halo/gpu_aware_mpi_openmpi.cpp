// Open MPI's extension.
#include "core/mpi_native.hpp"
// After mpi.h, which it needs.
#include <mpi-ext.h>

#include "halo/gpu_aware_mpi.hpp"

namespace isotherm {

std::optional<bool> mpi_takes_device_memory() {
  return MPIX_Query_cuda_support() != 0;
}

}  // namespace isotherm
