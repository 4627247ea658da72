// Replaces device_cuda.cpp in a build without CUDA.
#include "core/device.hpp"
#include "core/error.hpp"

namespace isotherm {

CudaDevices find_cuda_devices() { return {{}, "this build has no CUDA"}; }
std::unique_ptr<Device> make_cuda_device(int) {
  throw Error(ExitCode::unavailable,
              "no CUDA device (this build has no CUDA); use parallel.device cpu or build with nvcc");
}

}  // namespace isotherm
