// The tables of rows, and which backend's functions stand behind the interfaces that have no rows. A row is
// in the table of every build; where its backend was not compiled, its launch is null.
#include "core/error.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/fingerprint.hpp"
#include "kernels/histogram.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/peer_copy.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "kernels/survey.hpp"

#if ISOTHERM_HAVE_CUDA
#include "kernels/cuda/rows.hpp"
#define CUDA_ROW(function) function
#else
#define CUDA_ROW(function) nullptr
#endif

namespace isotherm {
namespace {

// A host row, with its functions for the instruction set of this processor.
template <template <class Isa, class T> class Row, class T>
StencilKernel<T> host_stencil(std::string_view name, std::string_view remark) {
  return host::for_this_cpu([&](auto isa) {
    using Here = Row<decltype(isa), T>;
    StencilKernel<T> row{name, Backend::host, remark};
    row.launch = &Here::launch;
    row.own_walls = Here::own_walls;
    row.policies = Here::policies;
    row.norm_scratch_bytes = &Here::norm_scratch_bytes;
    if constexpr (requires { Here::max_depth; }) row.max_depth = Here::max_depth;
    return row;
  });
}
template <template <class Isa, class T> class Row, class T>
ReductionKernel<T> host_reduction(std::string_view name, std::string_view remark) {
  return host::for_this_cpu([&](auto isa) {
    using Here = Row<decltype(isa), T>;
    return ReductionKernel<T>{name, Backend::host, remark, &Here::launch, &Here::scratch_bytes};
  });
}
template <template <class Isa, class T> class Row, class T>
HistogramKernel<T> host_histogram(std::string_view name, std::string_view remark) {
  return host::for_this_cpu([&](auto isa) {
    return HistogramKernel<T>{name, Backend::host, remark, &Row<decltype(isa), T>::launch};
  });
}

// A row whose sums are not rounded before their end.
template <class T>
ReductionKernel<T> exact(ReductionKernel<T> row) {
  row.sum_bits = SumBits::exact;
  return row;
}

// Not for `auto` to choose.
template <class Row>
Row untried(Row row) {
  row.on_trial = false;
  return row;
}

// The row that stands for the norm out of the sweep.
template <class T>
ReductionKernel<T> fused(Backend backend) {
  ReductionKernel<T> row{"fused", backend, "the sweep returns the norm of its update: no second pass"};
  row.fused = backend == Backend::host || ISOTHERM_HAVE_CUDA;
  return row;
}

// A CUDA row, completed by its own file where that was compiled.
template <class Row>
Row cuda_row(std::string_view name, std::string_view remark, void (*complete)(Row&)) {
  Row row{name, Backend::cuda, remark};
  if (complete) complete(row);
  return row;
}

// CUDA stencils without a way of their own leave thin boxes to one kernel.
template <class T>
StencilKernel<T> cuda_stencil(std::string_view name, std::string_view remark,
                              void (*complete)(StencilKernel<T>&)) {
  StencilKernel<T> row = cuda_row(name, remark, complete);
#if ISOTHERM_HAVE_CUDA
  if (row.rest == nullptr) row.rest = &cuda::thin_rest<T>();
#endif
  return row;
}

[[noreturn, maybe_unused]] void no_cuda() {
  throw Error(ExitCode::unavailable,
              "no CUDA device (this build has no CUDA); use parallel.device cpu or build with nvcc");
}

}  // namespace

template <class T>
std::span<const StencilKernel<T>> stencil_kernels() {
  static const StencilKernel<T> table[] = {
      untried(host_stencil<host::StencilReference, T>("reference", "plain loops, one thread")),
      host_stencil<host::StencilOpenmp, T>("openmp", "threads, vectors, blocks in cache, streaming stores"),
      host_stencil<host::StencilFusedOpenmp, T>(
          "fused_openmp", "several sweeps a pass over memory: overlapped tiles in L2, walls in the sweep"),
      cuda_stencil<T>("naive", "one thread a cell, caches do the rest", CUDA_ROW(cuda::stencil_naive<T>)),
      cuda_stencil<T>("shared", "a 3-D tile and its halo in shared memory",
                      CUDA_ROW(cuda::stencil_shared<T>)),
      cuda_stencil<T>("shared_cached_halo", "the tile in shared memory, its halo from the caches",
                      CUDA_ROW(cuda::stencil_shared_cached_halo<T>)),
      cuda_stencil<T>("shared_coalesced", "as shared, the halo loaded by whole warps",
                      CUDA_ROW(cuda::stencil_shared_coalesced<T>)),
      cuda_stencil<T>("streaming_25d", "2.5-D: a block walks along z, three slices in shared memory",
                      CUDA_ROW(cuda::stencil_streaming_25d<T>)),
      cuda_stencil<T>("streaming_25d_single", "2.5-D: one slice in shared memory, z neighbours in registers",
                      CUDA_ROW(cuda::stencil_streaming_25d_single<T>)),
      cuda_stencil<T>("coarsened", "several cells a thread, 16-byte accesses",
                      CUDA_ROW(cuda::stencil_coarsened<T>)),
      cuda_stencil<T>("register_tile", "planes in registers, 16-byte accesses, walls in the sweep",
                      CUDA_ROW(cuda::stencil_register_tile<T>)),
      cuda_stencil<T>("bulk_pipeline", "planes by bulk tensor copies, several ahead (compute capability 9.0)",
                      CUDA_ROW(cuda::stencil_bulk_pipeline<T>)),
      cuda_stencil<T>("fused",
                      "several sweeps in one pass: a column of tiles in registers (compute capability 9.0)",
                      CUDA_ROW(cuda::stencil_fused<T>)),
  };
  return table;
}

template <class T>
std::span<const ReductionKernel<T>> reduction_kernels() {
  using Row = ReductionKernel<T>;
  static const Row table[] = {
      untried(host_reduction<host::ReductionReference, T>("reference", "one serial loop")),
      host_reduction<host::ReductionOpenmp, T>(
          "openmp",
          "fixed chunks of rows, then their sums in order: the same bits for any number of threads"),
      untried(exact(host_reduction<host::ReductionReproducible, T>(
          "reproducible", "sums without rounding: the same bits for any ranks, threads and order"))),
      fused<T>(Backend::host),
      untried(cuda_row<Row>("global_atomic",
                            "every cell added to one address; the last digits vary from run to run",
                            CUDA_ROW(cuda::reduction_global_atomic<T>))),
      untried(cuda_row<Row>("global_pairwise", "passes over memory, each half as long",
                            CUDA_ROW(cuda::reduction_global_pairwise<T>))),
      untried(cuda_row<Row>("shared_interleaved", "a tree in shared memory; divergent",
                            CUDA_ROW(cuda::reduction_shared_interleaved<T>))),
      untried(cuda_row<Row>("shared_strided", "the same tree, contiguous threads; bank conflicts",
                            CUDA_ROW(cuda::reduction_shared_strided<T>))),
      untried(cuda_row<Row>("shared_sequential", "sequential addressing; no conflicts",
                            CUDA_ROW(cuda::reduction_shared_sequential<T>))),
      untried(cuda_row<Row>("shared_first_add", "the first join while loading",
                            CUDA_ROW(cuda::reduction_shared_first_add<T>))),
      untried(cuda_row<Row>("shared_unroll_warp", "the last warp without block barriers",
                            CUDA_ROW(cuda::reduction_shared_unroll_warp<T>))),
      untried(cuda_row<Row>("shared_unroll_full", "the whole tree unrolled",
                            CUDA_ROW(cuda::reduction_shared_unroll_full<T>))),
      cuda_row<Row>("grid_stride", "many cells a thread, then the tree",
                    CUDA_ROW(cuda::reduction_grid_stride<T>)),
      cuda_row<Row>("warp_shuffle", "shuffles in the warp, one partial a block",
                    CUDA_ROW(cuda::reduction_warp_shuffle<T>)),
      cuda_row<Row>("cub", "NVIDIA's library", CUDA_ROW(cuda::reduction_cub<T>)),
      fused<T>(Backend::cuda),
      untried(cuda_row<Row>("reproducible",
                            "sums without rounding: the same bits for any ranks, blocks and order",
                            CUDA_ROW(cuda::reduction_reproducible<T>))),
  };
  return table;
}

template <class T>
std::span<const HistogramKernel<T>> histogram_kernels() {
  using Row = HistogramKernel<T>;
  static const Row table[] = {
      host_histogram<host::HistogramReference, T>("reference", "one serial loop"),
      host_histogram<host::HistogramOpenmp, T>("openmp",
                                               "counts of its own for each thread, added at the end"),
      cuda_row<Row>("global_atomic", "every cell an atomic addition to global memory",
                    CUDA_ROW(cuda::histogram_global_atomic<T>)),
      cuda_row<Row>("shared_private", "counts of its own for each block, in shared memory",
                    CUDA_ROW(cuda::histogram_shared_private<T>)),
      cuda_row<Row>("shared_private_coarsened",
                    "the same, many cells a thread, runs of equal bins in registers",
                    CUDA_ROW(cuda::histogram_shared_private_coarsened<T>)),
  };
  return table;
}

template <class T>
const FaceCopy<T>& face_copy(Backend backend) {
  if (backend == Backend::host) {
    return *host::for_this_cpu([](auto isa) { return &host::FaceCopyRows<decltype(isa), T>::row; });
  }
#if ISOTHERM_HAVE_CUDA
  return cuda::face_copy_cuda<T>();
#else
  no_cuda();
#endif
}

template <class T>
const PeerCopy<T>& peer_copy() {
#if ISOTHERM_HAVE_CUDA
  return cuda::peer_copy_cuda<T>();
#else
  no_cuda();
#endif
}

template <class T>
const FieldSurvey<T>& field_survey(Backend backend) {
  if (backend == Backend::host) {
    return *host::for_this_cpu([](auto isa) { return &host::FieldSurveyRows<decltype(isa), T>::row; });
  }
#if ISOTHERM_HAVE_CUDA
  return cuda::field_survey_cuda<T>();
#else
  no_cuda();
#endif
}

template <class T>
std::uint64_t fingerprint(FieldView<const T> field, Int3 global_lo, Int3 global_extent) {
  static const auto compute =
      host::for_this_cpu([](auto isa) { return &host::Fingerprint<decltype(isa), T>::compute; });
  return compute(field, global_lo, global_extent);
}

template <class T>
const ReductionKernel<T>& exact_reduction(Backend backend) {
  for (const ReductionKernel<T>& row : reduction_kernels<T>()) {
    if (row.backend == backend && row.sum_bits == SumBits::exact) return row;
  }
  no_cuda();  // the host has one
}

template <class T>
LongAccumulator exact_sum(FieldView<const T> field) {
  LongAccumulator sum{};
  double rounded = 0;
  exact_reduction<T>(Backend::host)
      .launch({field, {}, field.interior(), ReductionOp::sum, &rounded, nullptr, &sum}, {});
  return sum;
}

std::unique_ptr<BandwidthProbe> make_copy_probe(Device& device, std::size_t bytes) {
  if (device.backend() == Backend::host) return host::make_copy_probe(device, bytes);
#if ISOTHERM_HAVE_CUDA
  return cuda::make_copy_probe_cuda(device, bytes);
#else
  no_cuda();
#endif
}

template <class T>
std::span<const BandwidthRow<T>> bandwidth_rows(Backend backend) {
  if (backend == Backend::host) return host::bandwidth_rows<T>();
#if ISOTHERM_HAVE_CUDA
  return cuda::bandwidth_rows<T>();
#else
  return {};
#endif
}

template std::span<const StencilKernel<float>> stencil_kernels();
template std::span<const StencilKernel<double>> stencil_kernels();
template std::span<const ReductionKernel<float>> reduction_kernels();
template std::span<const ReductionKernel<double>> reduction_kernels();
template std::span<const HistogramKernel<float>> histogram_kernels();
template std::span<const HistogramKernel<double>> histogram_kernels();
template const FieldSurvey<float>& field_survey(Backend);
template const FieldSurvey<double>& field_survey(Backend);
template const FaceCopy<float>& face_copy(Backend);
template const FaceCopy<double>& face_copy(Backend);
template const PeerCopy<float>& peer_copy();
template const PeerCopy<double>& peer_copy();
template const ReductionKernel<float>& exact_reduction(Backend);
template const ReductionKernel<double>& exact_reduction(Backend);
template LongAccumulator exact_sum(FieldView<const float>);
template LongAccumulator exact_sum(FieldView<const double>);
template std::span<const BandwidthRow<float>> bandwidth_rows(Backend);
template std::span<const BandwidthRow<double>> bandwidth_rows(Backend);
template std::uint64_t fingerprint(FieldView<const float>, Int3, Int3);
template std::uint64_t fingerprint(FieldView<const double>, Int3, Int3);

}  // namespace isotherm
