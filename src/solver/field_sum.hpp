// Exact sums of fields over cells: not rounded, so the same bits for any order of cells and ranks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/field_reductions.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The cells of the domain that are not voids.
struct BodyCells {
  std::int64_t count = 0;  // over all ranks
  double volume = 0;       // of these cells, over that of the grid's first cell
  // By class, on the device: MaterialCells::body(), is_body(). Null: 1 for all classes.
  const double *weights = nullptr, *cells = nullptr;
  std::vector<std::pair<double, std::int64_t>> voids{};  // temperature of a void, K, and its cells
};

// Collective.
inline LongAccumulator over_ranks(LongAccumulator mine, const Communicator& communicator) {
  communicator.all_reduce<std::int64_t>(mine.word, ReduceOp::sum);
  return mine;
}

// Copies to the host what launch(result) stores in device memory; waits for the stream.
template <class Part, class Launch>
Part from_device(Device& device, const Buffer& result, Stream stream, const Launch& launch) {
  launch(result.as<Part>());
  Part part{};
  device.copy(&part, result.data(), sizeof(Part), stream);
  device.synchronize(stream);
  return part;
}

// Sums over cells of this rank; each waits for the stream.
template <class T>
class FieldSum {
 public:
  // Of fields of `subdomain` cells on this rank. `device` must outlive it.
  FieldSum(Device& device, Int3 subdomain, Stream stream)
      : device_(device),
        stream_(stream),
        kernel_(exact_reduction<T>(device.backend())),
        result_(device, sizeof(Sum)),
        scratch_(device, kernel_.scratch_bytes({{0, 0, 0}, subdomain})) {}
  LongAccumulator over(Box region, FieldView<const T> field) const {
    const Sum sum = from_device<Sum>(device_, result_, stream_, [&](Sum* to) {
      kernel_.launch({field, {}, region, ReductionOp::sum, &to->rounded, scratch_.data(), &to->unrounded},
                     stream_);
    });
    return sum.unrounded;
  }
  // Each cell of the field times the weight of its class, on the device; null: 1.
  LongAccumulator weighted(FieldView<const T> field, Materials<T> materials, const double* weights) const {
    if (!weights) return over(field.interior(), field);
    materials.heat = weights;
    return from_device<LongAccumulator>(device_, result_, stream_, [&](LongAccumulator* result) {
      field_reductions<T>(device_.backend()).heat_sum({field, materials}, result, stream_);
    });
  }

 private:
  // The result of a reduction kernel.
  struct Sum {
    double rounded;
    LongAccumulator unrounded;
  };

  Device& device_;
  Stream stream_;
  const ReductionKernel<T>& kernel_;
  Buffer result_, scratch_;
};

}  // namespace isotherm
