// Sums that are rounded only once, at the end. They have the same bits for any order of the cells, number of
// threads and split among ranks, because a LongAccumulator holds every digit. The maximum needs none of this
// and is that of the kernel `openmp`. The method: sliced_sum.hpp.
//
// Traffic per cell: one read of each field; the batch stays in L1.
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/sliced_sum.hpp"

namespace isotherm::host {

// Defined in reduction_openmp.cpp.
template <class Isa, class T>
void reduction_openmp(ReductionKernel<T>& kernel);

namespace {

template <class Isa, ReductionOp op, class T>
LongAccumulator sum(const ReductionArgs<T>& args) {
  const Box box = args.region;
  LongAccumulator total{};
#pragma omp parallel if (box.cells() >= cells_worth_threads)
  {
    SlicedSum<Isa, op, T> mine;
    // Not for_each_row_of_thread(): the captures by reference of a lambda cost 2 % in fp64.
#pragma omp for collapse(2) schedule(static) nowait
    for (Index z = box.lo.z; z < box.hi.z; ++z) {
      for (Index y = box.lo.y; y < box.hi.y; ++y) {
        mine.add_row(&args.a(box.lo.x, y, z), args.b.empty() ? nullptr : &args.b(box.lo.x, y, z),
                     box.hi.x - box.lo.x);
      }
    }
    const LongAccumulator part_of_total = mine.total();
#pragma omp critical(isotherm_reproducible)
    total.add(part_of_total);
  }
  total.normalise();
  return total;
}

template <class Isa, class T>
void launch(const ReductionArgs<T>& args, Stream stream) {
  if (args.op == ReductionOp::max_abs) {
    ReductionKernel<T> openmp{};
    reduction_openmp<Isa>(openmp);
    return openmp.launch(args, stream);
  }
  LongAccumulator total{};
  with_operation(args.op, [&]<ReductionOp op>() {
    if constexpr (op != ReductionOp::max_abs) total = sum<Isa, op>(args);
  });
  *args.result = total.rounded();
  if (args.unrounded) *args.unrounded = total;
}

}  // namespace

template <class Isa, class T>
void reduction_reproducible(ReductionKernel<T>& kernel) {
  reduction_openmp<Isa>(kernel);  // for the maximum
  kernel.launch = launch<Isa, T>;
  kernel.sum_bits = SumBits::exact;
}

ISOTHERM_INSTANTIATE(reduction_reproducible, ReductionKernel);

}  // namespace isotherm::host
