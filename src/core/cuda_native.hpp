// The CUDA side of Device: its native handles, and the conversion of a failed call to an Error. Only
// core/device_cuda.cpp, CUDA kernels and CUDA transports include this. No fmt: nvcc compiles it too.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/error.hpp"
#include "core/stream.hpp"

namespace isotherm::cuda {

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.native); }
inline cudaEvent_t native(Event event) { return static_cast<cudaEvent_t>(event.native); }
inline cudaGraphExec_t native(Graph graph) { return static_cast<cudaGraphExec_t>(graph.native); }

// "out of memory, cudaErrorMemoryAllocation"
inline std::string error_text(cudaError_t code) {
  return std::string(cudaGetErrorString(code)) + ", " + cudaGetErrorName(code);
}

// Throws Error(internal) that names `call` and the device. It clears the runtime's last error first, or the
// next successful call would report it again; errors that broke the context remain.
inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  int device = -1;
  cudaGetDevice(&device);
  throw Error(ExitCode::internal, "CUDA device " + std::to_string(device) + ": " + call + " failed (" +
                                      error_text(code) +
                                      "); run it again, and if it fails again, under compute-sanitizer");
}

// Whether this binary holds machine code, or PTX that the driver can compile, for the current device; if not,
// `why` names its compute capability and the built ones. In kernels/cuda/image.cu: only nvcc knows them.
bool image_available(std::string& why);

}  // namespace isotherm::cuda
