// Which GPUs this binary was compiled for, and whether the current one is among them.
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

// Compiled for the same architectures as every other kernel of this folder, so it represents them.
__global__ void probe() {}

// "8.0, 9.0"
std::string built_capabilities() {
  std::string text;
  for (const int arch : {__CUDA_ARCH_LIST__}) {  // 800, 900
    text += (text.empty() ? "" : ", ") + std::to_string(arch / 100) + "." + std::to_string(arch % 100 / 10);
  }
  return text;
}

}  // namespace

bool image_available(std::string& why) {
  cudaFuncAttributes attributes{};
  const cudaError_t code = cudaFuncGetAttributes(&attributes, probe);
  if (code == cudaSuccess) return true;
  cudaGetLastError();
  why = "it has compute capability " + compute_capability() + ", this build was made for " +
        built_capabilities() + ": " + error_text(code);
  return false;
}

}  // namespace isotherm::cuda
