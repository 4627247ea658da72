// The CUDA rows, as the tables of registry.cpp name them. Each is one file of this folder, and completes its
// row: what it launches, its policies, what it can do.
#pragma once

#include <cstddef>

#include "kernels/bandwidth.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/histogram.hpp"
#include "kernels/peer_copy.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "kernels/survey.hpp"

namespace isotherm::cuda {

template <class T>
void stencil_naive(StencilKernel<T>& row);
template <class T>
void stencil_shared(StencilKernel<T>& row);
template <class T>
void stencil_shared_cached_halo(StencilKernel<T>& row);
template <class T>
void stencil_shared_coalesced(StencilKernel<T>& row);
template <class T>
void stencil_streaming_25d(StencilKernel<T>& row);
template <class T>
void stencil_streaming_25d_single(StencilKernel<T>& row);
template <class T>
void stencil_coarsened(StencilKernel<T>& row);
template <class T>
void stencil_register_tile(StencilKernel<T>& row);
template <class T>
void stencil_bulk_pipeline(StencilKernel<T>& row);
template <class T>
void stencil_fused(StencilKernel<T>& row);

template <class T>
void reduction_global_atomic(ReductionKernel<T>& row);
template <class T>
void reduction_global_pairwise(ReductionKernel<T>& row);
template <class T>
void reduction_shared_interleaved(ReductionKernel<T>& row);
template <class T>
void reduction_shared_strided(ReductionKernel<T>& row);
template <class T>
void reduction_shared_sequential(ReductionKernel<T>& row);
template <class T>
void reduction_shared_first_add(ReductionKernel<T>& row);
template <class T>
void reduction_shared_unroll_warp(ReductionKernel<T>& row);
template <class T>
void reduction_shared_unroll_full(ReductionKernel<T>& row);
template <class T>
void reduction_grid_stride(ReductionKernel<T>& row);
template <class T>
void reduction_warp_shuffle(ReductionKernel<T>& row);
template <class T>
void reduction_cub(ReductionKernel<T>& row);
template <class T>
void reduction_reproducible(ReductionKernel<T>& row);

template <class T>
void histogram_global_atomic(HistogramKernel<T>& row);
template <class T>
void histogram_shared_private(HistogramKernel<T>& row);
template <class T>
void histogram_shared_private_coarsened(HistogramKernel<T>& row);

template <class T>
const RestSweep<T>& thin_rest();
template <class T>
const FaceCopy<T>& face_copy_cuda();
template <class T>
const PeerCopy<T>& peer_copy_cuda();
template <class T>
const FieldSurvey<T>& field_survey_cuda();

std::unique_ptr<BandwidthProbe> make_copy_probe_cuda(Device& device, std::size_t bytes);
template <class T>
std::span<const BandwidthRow<T>> bandwidth_rows();

}  // namespace isotherm::cuda
