#include "halo/gpu_aware_mpi.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "core/mpi_native.hpp"

// The queries of Open MPI and of MPICH since 4.0. Weak: null in a library that has none.
extern "C" {
int MPIX_Query_cuda_support() __attribute__((weak));
int MPIX_GPU_query_support(int gpu_type, int* is_supported) __attribute__((weak));
}

namespace isotherm {
namespace {

std::optional<bool> mpi_takes_device_memory() {
  constexpr int cuda = 0;  // MPIX_GPU_SUPPORT_CUDA
  int supported = 0;
  if (MPIX_Query_cuda_support) return MPIX_Query_cuda_support() != 0;
  if (!MPIX_GPU_query_support) return std::nullopt;
  check_mpi(MPIX_GPU_query_support(cuda, &supported), "MPIX_GPU_query_support");
  return supported != 0;
}

bool started() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized && !finalized;
}

}  // namespace

std::string judge_device_memory(std::optional<bool> answer, const std::string& library,
                                std::string_view cray_switch) {
  if (strcasestr(library.c_str(), "cray")) {  // "CRAY MPICH version 8.1.28" has been written in other ways
    if (cray_switch != "1") {
      return fmt::format(
          "the GPU support of {} is off; set MPICH_GPU_SUPPORT_ENABLED=1, in a program that was built "
          "with the accelerator's module loaded",
          library);
    }
    if (!answer) return {};  // its MPI_Init would have failed without the library for GPUs
  }
  if (!answer) {
    return fmt::format(
        "{} has no query that says whether it takes device memory; build with an Open MPI or an MPICH "
        "(4.0 or later) that knows CUDA",
        library);
  }
  if (*answer) return {};
  return fmt::format("{} says that it was built without CUDA, or runs without it; use one that has it",
                     library);
}

std::string why_mpi_takes_no_device_memory() {
  if (!started())
    return "MPI can be asked only when it has started; isotherm check does, where the deck names this "
           "transport";
  const char* cray_switch = std::getenv("MPICH_GPU_SUPPORT_ENABLED");
  return judge_device_memory(mpi_takes_device_memory(), mpi_library_version(),
                             cray_switch ? cray_switch : "");
}

}  // namespace isotherm
