// The residual of an update in two halves: start() queues its norm and the norm's way to the host and waits
// for nothing; finish() has the value. Sweeps may be queued in between: a device keeps its work, and the
// all-reduce goes on beside it. A check that is looked at at once is start() and finish().
#pragma once

#include <cstddef>
#include <optional>
#include <variant>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

template <class T>
class ResidualCheck {
 public:
  // `row` may be the fused one. `device` must outlive it. Collective; errors of one rank are thrown on all.
  ResidualCheck(const Config& config, const Communicator& communicator, Device& device,
                const ReductionKernel<T>& row, std::size_t scratch_bytes);

  // Where a sweep leaves its norm, where the row is the fused one. A later sweep may do so before finish():
  // start() has queued the copy of this one ahead of it.
  UpdateNorm norm_of_sweep() const;

  // Of `now` - `before`, both in this device's memory, after what `stream` holds. finish() comes before the
  // next start().
  void start(FieldView<const T> now, FieldView<const T> before, Stream stream);
  bool under_way() const { return under_way_; }
  // Starts the all-reduce once the value is on the host, and lets MPI go on with it. Does not wait.
  void poll();
  void wait_for_sweeps();  // for what the stream held at start(), so that the rest is the check's own time
  // K: the norm over all cells of all ranks, divided by the weight in a steady problem; NaN where a cell's
  // update is not finite. Waits for what start() queued, and for nothing that was queued later.
  double finish();

 private:
  // What a reduction row leaves.
  struct Result {
    double value;
    LongAccumulator unrounded;
  };
  using Doubles = PendingAllReduce<double>;
  using Words = PendingAllReduce<std::int64_t>;

  bool is_exact() const;
  void start_all_reduce();
  double over_ranks();

  ProblemConfig problem_;
  double cells_;
  ReductionOp op_;
  // Its own: the all-reduce starts when this rank's device is done, in no order with other collectives.
  Communicator communicator_;
  Device& device_;
  const ReductionKernel<T>* row_;
  Buffer result_, result_host_, scratch_;
  Owned<Event> swept_, copied_;
  bool under_way_ = false;
  std::variant<std::monostate, Doubles, Words> all_reduce_;  // none: not started
};

}  // namespace isotherm
