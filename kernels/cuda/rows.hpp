// The CUDA rows, as the tables of registry.cpp name them. Each is one file of this folder.
#pragma once

#include <cstddef>

#include "kernels/bandwidth.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm::cuda {

template <class T>
void launch_naive(const SweepArgs<T>& args, int depth, Stream stream);

template <class T>
void launch_warp_shuffle(const ReductionArgs<T>& args, Stream stream);
std::size_t warp_shuffle_scratch_bytes(Box region);

template <class T>
void launch_cub(const ReductionArgs<T>& args, Stream stream);
std::size_t cub_scratch_bytes(Box region);  // of any device: asks none

template <class T>
const FaceCopy<T>& face_copy_cuda();

// Bytes read plus written a second; see kernels/bandwidth.hpp.
std::unique_ptr<CopyProbe> make_copy_probe_cuda(Device& device, std::size_t bytes);

}  // namespace isotherm::cuda
