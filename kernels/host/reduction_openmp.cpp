// Threads and vectors with the same bits for any number of threads and any register width: the region is cut
// into fixed chunks of rows; a chunk is summed in eight fixed lanes; the sums of the chunks are added in
// order. Traffic per cell: one read of each field.
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {
namespace {

constexpr Index chunk_cells = 4096;
constexpr Index lanes = 8;

Index chunks_in_row(Box region) { return (region.extent().x + chunk_cells - 1) / chunk_cells; }

template <ReductionOp op>
double combine_lanes(const double (&lane)[lanes]) {
  double total = lane[0];
  for (Index i = 1; i < lanes; ++i) total = combine<op>(total, lane[i]);
  return total;
}

// Reduces difference(x) for 0 <= x < cells.
template <ReductionOp op, class Difference>
ISOTHERM_INLINE double reduce_chunk(Index cells, const Difference& difference) {
  double lane[lanes] = {};
  Index x = 0;
  for (; x + lanes <= cells; x += lanes) {
    for (Index i = 0; i < lanes; ++i) lane[i] = accumulate<op>(lane[i], difference(x + i));
  }
  for (; x < cells; ++x) lane[x % lanes] = accumulate<op>(lane[x % lanes], difference(x));
  return combine_lanes<op>(lane);
}

template <ReductionOp op, class T>
double reduce(const ReductionArgs<T>& args) {
  const Box box = args.region;
  const Int3 n = box.extent();
  const Index chunks = chunks_in_row(box);
  double* partial = static_cast<double*>(args.scratch);
#pragma omp parallel for collapse(3) schedule(static) if (box.cells() >= cells_worth_threads)
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      for (Index chunk = 0; chunk < chunks; ++chunk) {
        const Index x0 = chunk * chunk_cells;
        const Index cells = n.x - x0 < chunk_cells ? n.x - x0 : chunk_cells;
        const Index at = args.a.offset(box.lo.x + x0, box.lo.y + y, box.lo.z + z);
        const T* a = args.a.origin + at;
        double& result = partial[(z * n.y + y) * chunks + chunk];
        if (args.b.empty()) {
          result = reduce_chunk<op>(cells, [=](Index x) { return static_cast<double>(a[x]); });
        } else {
          const T* b = &args.b(box.lo.x + x0, box.lo.y + y, box.lo.z + z);
          result = reduce_chunk<op>(
              cells, [=](Index x) { return static_cast<double>(a[x]) - static_cast<double>(b[x]); });
        }
      }
    }
  }
  double total = 0;
  for (Index i = 0; i < n.z * n.y * chunks; ++i) total = combine<op>(total, partial[i]);
  return total;
}

template <class T>
void launch(const ReductionArgs<T>& args, Stream) {
  *args.result =
      args.region.empty() ? 0.0 : with_operation(args.op, [&]<ReductionOp op>() { return reduce<op>(args); });
}

std::size_t scratch_bytes(Box region) {
  if (region.empty()) return 0;
  const Int3 n = region.extent();
  return static_cast<std::size_t>(n.y * n.z * chunks_in_row(region)) * sizeof(double);
}

}  // namespace

template <class Isa, class T>
void reduction_openmp(ReductionKernel<T>& kernel) {
  kernel.launch = launch<T>;
  kernel.scratch_bytes = scratch_bytes;
}

ISOTHERM_INSTANTIATE(reduction_openmp, ReductionKernel);

}  // namespace isotherm::host
