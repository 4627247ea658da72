// The emulated GPU's memory is the host's: every MPI takes it.
#include "halo/gpu_aware_mpi.hpp"

namespace isotherm {

std::optional<bool> mpi_takes_device_memory() {
  return true;
}

}  // namespace isotherm
