// The tables of rows, and which backend's functions stand behind the interfaces that have no rows. A row is
// in the table of every build; where its backend was not compiled, its launch is null.
#include "core/error.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/fingerprint.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

#if ISOTHERM_HAVE_CUDA
#include "kernels/cuda/rows.hpp"
#define CUDA_ROW(function) function
#else
#define CUDA_ROW(function) nullptr
#endif

namespace isotherm {
namespace {

// The functions of a host row for the instruction set of this processor.
template <template <class Isa, class T> class Row, class T>
auto host_launch() {
  return host::for_this_cpu([](auto isa) { return &Row<decltype(isa), T>::launch; });
}
template <template <class Isa, class T> class Row, class T>
auto host_scratch() {
  return host::for_this_cpu([](auto isa) { return &Row<decltype(isa), T>::scratch_bytes; });
}

[[noreturn, maybe_unused]] void no_cuda() {
  throw Error(ExitCode::unavailable,
              "no CUDA device (this build has no CUDA); use parallel.device cpu or build with nvcc");
}

}  // namespace

template <class T>
std::span<const StencilKernel<T>> stencil_kernels() {
  using host::StencilOpenmp, host::StencilReference;
  static const StencilKernel<T> table[] = {
      {"reference", Backend::host, 1, host_launch<StencilReference, T>(), "plain loops, one thread"},
      {"openmp",
       Backend::host,
       1,
       host_launch<StencilOpenmp, T>(),
       "threads, vectors, blocks in cache, streaming stores",
       {true, false, false}},
      {"naive", Backend::cuda, 1, CUDA_ROW(cuda::launch_naive<T>), "one thread a cell, caches do the rest"},
  };
  return table;
}

template <class T>
std::span<const ReductionKernel<T>> reduction_kernels() {
  using host::ReductionOpenmp, host::ReductionReference;
  static const ReductionKernel<T> table[] = {
      {"reference", Backend::host, host_launch<ReductionReference, T>(),
       host_scratch<ReductionReference, T>(), "one serial loop"},
      {"openmp", Backend::host, host_launch<ReductionOpenmp, T>(), host_scratch<ReductionOpenmp, T>(),
       "fixed chunks of rows, then their sums in order: the same bits for any number of threads"},
      {"warp_shuffle", Backend::cuda, CUDA_ROW(cuda::launch_warp_shuffle<T>),
       CUDA_ROW(cuda::warp_shuffle_scratch_bytes), "shuffles in the warp, one partial a block"},
      {"cub", Backend::cuda, CUDA_ROW(cuda::launch_cub<T>), CUDA_ROW(cuda::cub_scratch_bytes),
       "NVIDIA's library"},
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
std::uint64_t fingerprint(FieldView<const T> field, Int3 global_lo, Int3 global_extent) {
  static const auto compute =
      host::for_this_cpu([](auto isa) { return &host::Fingerprint<decltype(isa), T>::compute; });
  return compute(field, global_lo, global_extent);
}

std::unique_ptr<CopyProbe> make_copy_probe(Device& device, std::size_t bytes) {
  if (device.backend() == Backend::host) return host::make_copy_probe(device, bytes);
#if ISOTHERM_HAVE_CUDA
  return cuda::make_copy_probe_cuda(device, bytes);
#else
  no_cuda();
#endif
}

template std::span<const StencilKernel<float>> stencil_kernels();
template std::span<const StencilKernel<double>> stencil_kernels();
template std::span<const ReductionKernel<float>> reduction_kernels();
template std::span<const ReductionKernel<double>> reduction_kernels();
template const FaceCopy<float>& face_copy(Backend);
template const FaceCopy<double>& face_copy(Backend);
template std::uint64_t fingerprint(FieldView<const float>, Int3, Int3);
template std::uint64_t fingerprint(FieldView<const double>, Int3, Int3);

}  // namespace isotherm
