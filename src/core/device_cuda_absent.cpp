// Replaces device_cuda.cpp in a build without CUDA.
#include "core/device.hpp"

namespace isotherm {

CudaDevices find_cuda_devices() { return {{}, "this build has no CUDA"}; }
std::unique_ptr<Device> make_cuda_device(int) { throw_no_cuda(); }

}  // namespace isotherm
