// An MPI that has neither Open MPI's query nor MPICH's.
#include "halo/gpu_aware_mpi.hpp"

namespace isotherm {

std::optional<bool> mpi_takes_device_memory() {
  return std::nullopt;
}

}  // namespace isotherm
