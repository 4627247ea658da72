# How this MPI is asked, when the program runs, whether it takes a GPU's memory: mpi_gpu_query is openmpi, mpich or
# unknown, the name of a twin of src/halo/gpu_aware_mpi.cpp.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
set(CMAKE_REQUIRED_QUIET ON)
check_cxx_source_compiles("#include <mpi.h>
#include <mpi-ext.h>
int main() { return MPIX_Query_cuda_support(); }" ISOTHERM_MPI_HAS_QUERY_OF_OPENMPI)
check_cxx_source_compiles("#include <mpi.h>
int main() { int yes = 0; return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &yes); }"
                          ISOTHERM_MPI_HAS_QUERY_OF_MPICH)
cmake_pop_check_state()
set(mpi_gpu_query unknown)
if(ISOTHERM_MPI_HAS_QUERY_OF_OPENMPI)
  set(mpi_gpu_query openmpi)
elseif(ISOTHERM_MPI_HAS_QUERY_OF_MPICH)
  set(mpi_gpu_query mpich)
endif()
