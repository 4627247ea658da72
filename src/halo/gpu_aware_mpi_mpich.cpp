// MPICH's extension, since 4.0.
#include "core/mpi_native.hpp"
#include "halo/gpu_aware_mpi.hpp"

namespace isotherm {

std::optional<bool> mpi_takes_device_memory() {
  int supported = 0;
  check_mpi(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported), "MPIX_GPU_query_support");
  return supported != 0;
}

}  // namespace isotherm
