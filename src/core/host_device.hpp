// The attribute of functions that run on the CPU and on the GPU.
#pragma once

#if defined(__CUDACC__)
#define ISOTHERM_HOST_DEVICE __host__ __device__ __forceinline__
#else
// always_inline, not a hint: the host kernels are compiled once for each instruction set, and an out-of-line
// copy made for AVX-512 could be the one that the linker keeps for every caller.
#define ISOTHERM_HOST_DEVICE inline __attribute__((always_inline))
#endif
