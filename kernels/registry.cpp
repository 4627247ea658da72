// The kernel registry, and the backends' functions behind the interfaces that have no kernels to choose from.
// The table of every build holds all kernels; where a backend was not compiled, their launch is null.
#include "core/device.hpp"
#include "kernels/fingerprint.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/mixed_cells.hpp"
#include "kernels/peer_copy.hpp"
#include "kernels/source_product.hpp"

namespace isotherm {

// The lists of kernels, by the deck's keyword: HOST(stencil, openmp, ...) is completed by stencil_openmp() of
// host/stencil_openmp.cpp, CUDA(stencil, naive, ...) by stencil_naive() of lectures/stencil/01_naive.cu. A
// `lecture` is in lectures/, in teaching order; `production` kernels on a GPU are in production/. The kernels
// of a backend are in order of speed. `auto` measures those that are `tried`; without measurements it takes
// the last of them, with temporal blocking for multigrid, implicit and rkl, and without for other methods.
constexpr bool tried = true, untried = false;
constexpr Purpose lecture = Purpose::lecture, production = Purpose::production;

// clang-format off
#define ISOTHERM_STENCILS(HOST, CUDA) \
  HOST(stencil, reference, lecture, untried, "plain loops, one thread") \
  HOST(stencil, vectorised, lecture, untried, "threads over rows, vectors along x") \
  HOST(stencil, cache_blocked, lecture, untried, "rows in blocks of which three planes fit in cache") \
  HOST(stencil, cache_temporal, lecture, untried, "temporal blocking: overlapped tiles in cache, planes of all sweeps") \
  HOST(stencil, openmp, production, tried, "threads, vectors, blocks in cache, streaming stores") \
  HOST(stencil, temporal_openmp, production, tried, "temporal blocking: overlapped tiles in L2, boundaries in the kernel") \
  CUDA(stencil, naive, lecture, tried, "one thread per cell, neighbours from the caches") \
  CUDA(stencil, shared, lecture, tried, "a 3-D tile and its halo in shared memory") \
  CUDA(stencil, shared_cached_halo, lecture, tried, "the tile in shared memory, its halo from the caches") \
  CUDA(stencil, shared_coalesced, lecture, tried, "as shared, the halo loaded by whole warps") \
  CUDA(stencil, temporal_shared, production, tried, "temporal blocking: a tile and its layers in shared memory, for small grids") \
  CUDA(stencil, streaming_25d, lecture, tried, "2.5-D: blocks walk along z, three slices in shared memory") \
  CUDA(stencil, streaming_25d_single, lecture, tried, "2.5-D: one slice in shared memory, z neighbours in registers") \
  CUDA(stencil, coarsened, lecture, tried, "several cells per thread, 16-byte accesses") \
  CUDA(stencil, streaming_async, lecture, untried, "2.5-D: a multistage pipeline of asynchronous copies") \
  CUDA(stencil, streaming_tma, lecture, untried, "2.5-D: the pipeline filled by TMA (compute capability 9.0)") \
  CUDA(stencil, streaming_temporal, lecture, untried, "2.5-D: temporal blocking, a slice for each sweep") \
  CUDA(stencil, register_tile, production, tried, "planes in registers, 16-byte accesses, boundaries in the kernel") \
  CUDA(stencil, tma_pipeline, production, tried, "planes by TMA, multistage pipeline (compute capability 9.0)") \
  CUDA(stencil, temporal, production, tried, "temporal blocking: a column of tiles in registers (compute capability 9.0)")

// `fused` is the norm that a sweep returns.
#define ISOTHERM_REDUCTIONS(HOST, CUDA) \
  HOST(reduction, reference, lecture, untried, "one serial loop") \
  HOST(reduction, openmp, production, tried, "fixed chunks of rows, then their sums in order: the same bits for any number of threads") \
  HOST(reduction, reproducible, production, untried, "sums without rounding: the same bits for any ranks, threads and order") \
  HOST(reduction, fused, production, tried, "the sweep returns the norm of its update: no second pass") \
  CUDA(reduction, global_atomic, lecture, untried, "every cell added to one address; the last digits vary from run to run") \
  CUDA(reduction, global_pairwise, lecture, untried, "passes over memory, each half as long") \
  CUDA(reduction, shared_interleaved, lecture, untried, "a tree in shared memory; divergent") \
  CUDA(reduction, shared_strided, lecture, untried, "the same tree, contiguous threads; bank conflicts") \
  CUDA(reduction, shared_sequential, lecture, untried, "sequential addressing; no conflicts") \
  CUDA(reduction, shared_first_add, lecture, untried, "the first addition while loading") \
  CUDA(reduction, shared_unroll_warp, lecture, untried, "the last warp without block barriers") \
  CUDA(reduction, shared_unroll_full, lecture, untried, "the whole tree unrolled") \
  CUDA(reduction, grid_stride, lecture, tried, "many cells per thread, then the tree") \
  CUDA(reduction, warp_shuffle, lecture, tried, "shuffles in the warp, one partial per block") \
  CUDA(reduction, cub, lecture, tried, "NVIDIA's library") \
  CUDA(reduction, fused, production, tried, "the sweep returns the norm of its update: no second pass") \
  CUDA(reduction, reproducible, production, untried, "sums without rounding: the same bits for any ranks, blocks and order")

#define ISOTHERM_HISTOGRAMS(HOST, CUDA) \
  HOST(histogram, reference, lecture, tried, "one serial loop") \
  HOST(histogram, openmp, production, tried, "private counts for each thread, added at the end") \
  CUDA(histogram, global_atomic, lecture, tried, "one atomic addition to global memory per cell") \
  CUDA(histogram, shared_private, lecture, tried, "private counts for each block, in shared memory") \
  CUDA(histogram, shared_private_coarsened, lecture, tried, "the same, many cells per thread, runs of equal bins in registers")
// clang-format on

template <class T>
using stencil_entry = StencilKernel<T>;
template <class T>
using reduction_entry = ReductionKernel<T>;
template <class T>
using histogram_entry = HistogramKernel<T>;

// The functions that complete kernels are declared only here: a new kernel recompiles only this file and its
// own.
#define NO_ENTRY(...)
#define DECLARE_HOST(kind, word, ...) \
  template <class Isa, class T>       \
  void kind##_##word(kind##_entry<T>& row);
#define DECLARE_CUDA(kind, word, ...) \
  template <class T>                  \
  void kind##_##word(kind##_entry<T>& row);
namespace host {
ISOTHERM_STENCILS(DECLARE_HOST, NO_ENTRY)
ISOTHERM_REDUCTIONS(DECLARE_HOST, NO_ENTRY)
ISOTHERM_HISTOGRAMS(DECLARE_HOST, NO_ENTRY)

template <class Isa, class T>
void reduction_fused(ReductionKernel<T>& kernel) {
  kernel.fused = true;
}
}  // namespace host
#if ISOTHERM_HAVE_CUDA
namespace cuda {
ISOTHERM_STENCILS(NO_ENTRY, DECLARE_CUDA)
ISOTHERM_REDUCTIONS(NO_ENTRY, DECLARE_CUDA)
ISOTHERM_HISTOGRAMS(NO_ENTRY, DECLARE_CUDA)

template <class T>
void reduction_fused(ReductionKernel<T>& kernel) {
  kernel.fused = true;
}
template <class T>
const ExteriorSweep<T>& thin_exterior();
}  // namespace cuda
#define CUDA_FUNCTION(function) cuda::function<T>
#else
#define CUDA_FUNCTION(function) nullptr
#endif

namespace {

// `complete` null: the backend is not in this build.
template <template <class T> class Entry, class T>
Entry<T> completed(std::string_view name, Backend backend, Purpose purpose, bool is_candidate,
                   std::string_view description, void (*complete)(Entry<T>&)) {
  Entry<T> entry{{name, backend, description, purpose, is_candidate}};
  if (complete) complete(entry);
#if ISOTHERM_HAVE_CUDA
  // CUDA stencils without an `exterior` share one kernel for it.
  if constexpr (requires { entry.exterior; }) {
    if (backend == Backend::cuda && !entry.exterior) entry.exterior = &cuda::thin_exterior<T>();
  }
#endif
  return entry;
}
#define HOST_ENTRY(kind, word, purpose, is_candidate, description)                     \
  completed<kind##_entry, T>(#word, Backend::host, purpose, is_candidate, description, \
                             host::kind##_##word<Isa, T>),
#define CUDA_ENTRY(kind, word, purpose, is_candidate, description)                     \
  completed<kind##_entry, T>(#word, Backend::cuda, purpose, is_candidate, description, \
                             CUDA_FUNCTION(kind##_##word)),

template <class Interface>
const Interface& of_cuda() {
#if ISOTHERM_HAVE_CUDA
  return cuda::functions<Interface>();
#else
  throw_no_cuda();
#endif
}
template <class Interface>
const Interface& of_this_cpu() {
  return *host::for_this_cpu([]<class Isa>(Isa) { return &host::functions<Isa, Interface>(); });
}
template <class Interface>
const Interface& of_any_cpu() {
  return host::functions<host::AnySet, Interface>();
}

}  // namespace

// The table of a list of kernels.
#define DEFINE_KERNELS(Kernel, function, list)                                               \
  template <class T>                                                                         \
  std::span<const Kernel<T>> function(InstructionSet set) {                                  \
    return host::for_instruction_set(set, []<class Isa>(Isa) -> std::span<const Kernel<T>> { \
      static const Kernel<T> table[] = {list(HOST_ENTRY, CUDA_ENTRY)};                       \
      return table;                                                                          \
    });                                                                                      \
  }                                                                                          \
  template std::span<const Kernel<float>> function(InstructionSet);                          \
  template std::span<const Kernel<double>> function(InstructionSet);
DEFINE_KERNELS(StencilKernel, stencil_kernels, ISOTHERM_STENCILS)
DEFINE_KERNELS(ReductionKernel, reduction_kernels, ISOTHERM_REDUCTIONS)
DEFINE_KERNELS(HistogramKernel, histogram_kernels, ISOTHERM_HISTOGRAMS)

// The functions of an interface on a backend.
#define DEFINE_FUNCTIONS(Interface, of_host)                                             \
  template <class T>                                                                     \
  const Interface<T>& Interface<T>::on(Backend backend) {                                \
    return backend == Backend::cuda ? of_cuda<Interface<T>>() : of_host<Interface<T>>(); \
  }                                                                                      \
  template const Interface<float>& Interface<float>::on(Backend);                        \
  template const Interface<double>& Interface<double>::on(Backend);
DEFINE_FUNCTIONS(FaceCopy, of_this_cpu)
DEFINE_FUNCTIONS(FieldAlgebra, of_this_cpu)
DEFINE_FUNCTIONS(FieldReductions, of_this_cpu)
DEFINE_FUNCTIONS(GridTransfer, of_this_cpu)
DEFINE_FUNCTIONS(Semicoarsening, of_this_cpu)
DEFINE_FUNCTIONS(ConjugateSteps, of_this_cpu)
DEFINE_FUNCTIONS(FormulaGrids, of_any_cpu)
DEFINE_FUNCTIONS(SourceSums, of_any_cpu)

template <class T, class Change>
const ChangeTransfer<T, Change>& ChangeTransfer<T, Change>::on(Backend backend) {
  return backend == Backend::cuda ? of_cuda<ChangeTransfer>() : of_this_cpu<ChangeTransfer>();
}
template const ChangeTransfer<float, float>& ChangeTransfer<float, float>::on(Backend);
template const ChangeTransfer<double, double>& ChangeTransfer<double, double>::on(Backend);
template const ChangeTransfer<double, float>& ChangeTransfer<double, float>::on(Backend);

template <class T>
const MixedCellSearch<T>& MixedCellSearch<T>::on_gpu() {
  return of_cuda<MixedCellSearch>();
}
template <class T>
const PeerCopy<T>& PeerCopy<T>::on_gpu() {
  return of_cuda<PeerCopy>();
}

template <class T>
std::uint64_t fingerprint(FieldView<const T> field, Int3 global_lo, Int3 global_extent) {
  static const auto compute =
      host::for_this_cpu([](auto isa) { return &host::fingerprint<decltype(isa), T>; });
  return compute(field, global_lo, global_extent);
}

template <class T>
const ReductionKernel<T>& exact_reduction(Backend backend) {
  for (const ReductionKernel<T>& kernel : reduction_kernels<T>()) {
    if (kernel.backend == backend && kernel.sum_bits == SumBits::exact) return kernel;
  }
  throw_no_cuda();  // the host has one
}

template <class T>
std::span<const BandwidthEntry<T>> bandwidth_registry(Backend backend) {
  if (backend == Backend::host) return host::bandwidth_registry<T>();
#if ISOTHERM_HAVE_CUDA
  return cuda::bandwidth_registry<T>();
#else
  return {};
#endif
}

std::unique_ptr<BandwidthProbe> make_copy_probe(Device& device, std::size_t bytes) {
  const auto probes = bandwidth_registry<double>(device.backend());
  if (probes.empty()) throw_no_cuda();
  return probes.front().make(device, bytes, 0);
}

#define ISOTHERM_PRECISION(T)                                              \
  template const MixedCellSearch<T>& MixedCellSearch<T>::on_gpu();         \
  template const PeerCopy<T>& PeerCopy<T>::on_gpu();                       \
  template const ReductionKernel<T>& exact_reduction(Backend);             \
  template std::span<const BandwidthEntry<T>> bandwidth_registry(Backend); \
  template std::uint64_t fingerprint(FieldView<const T>, Int3, Int3);
ISOTHERM_PRECISION(float)
ISOTHERM_PRECISION(double)

}  // namespace isotherm
