// The residual of an update in two halves: start() queues its norm and the copy to the host and waits for
// nothing; finish() has the value. Sweeps may be queued in between, and the all-reduce goes on beside them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "physics/operator.hpp"

namespace isotherm {

// Over the first residual, or another; 0 where that is 0.
inline double relative_residual(double first, double value) {
  return first > 0 ? value / first : 0;
}

// The residual, K, of a tolerance of 1: of an error at least the lowest lambda, by a sweep of weight 1.
inline double tolerance_unit(const Config& config, double first) {
  if (config.problem.criterion == Criterion::error) return sweep_spectrum(config).lowest;
  return config.problem.criterion == Criterion::relative ? first : 1;
}

// `first`, `value`: K. Never in a transient problem, nor with a tolerance of 0.
inline bool has_converged(const Config& config, double first, double value) {
  const ProblemConfig& problem = config.problem;
  if (problem.kind != ProblemKind::steady || !(problem.tolerance > 0)) return false;
  return relative_residual(tolerance_unit(config, first), value) <= problem.tolerance;
}

// Whether a residual still falls. A sweep is a symmetric operator: while the slowest mode falls to a tenth,
// any residual falls below half, whatever modes it holds. One that does not is what rounding leaves. Only
// values of residuals decide, so that all ranks, kernels and restarts decide alike.
class Stagnation {
 public:
  struct Lowest {
    double residual;  // K
    std::int64_t sweep;
  };

  // `decay`: of the slowest mode per sweep (Method); 0: never. `interval`: sweeps between checks.
  Stagnation(const ProblemConfig& problem, double decay, std::int64_t interval)
      : patience_(problem.kind == ProblemKind::steady && problem.tolerance > 0 && decay > 0
                      ? std::max(std::log(10.0) / decay, least_checks * static_cast<double>(interval))
                      : std::numeric_limits<double>::infinity()) {}

  void go_on_from(Lowest lowest) { lowest_ = lowest; }
  // A residual that is hardly lower is no progress: noise has new minima for ever.
  void checked(std::int64_t sweep, double residual) {
    if (residual <= 0.75 * lowest_.residual) lowest_ = {residual, sweep};
  }
  bool reached(std::int64_t sweep) const {
    return static_cast<double>(sweep - lowest_.sweep) >= patience_ && std::isfinite(lowest_.residual);
  }
  std::optional<Lowest> lowest() const {  // none before the first check
    return std::isfinite(lowest_.residual) ? std::optional(lowest_) : std::nullopt;
  }

 private:
  static constexpr double least_checks = 2;
  double patience_;  // sweeps
  Lowest lowest_{std::numeric_limits<double>::infinity(), 0};
};

// The largest residual that rounding may leave, K: 3 units in the last place were seen. Above: stalled.
template <class T>
double rounding_level(double largest_temperature) {
  return 16 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest_temperature;
}

template <class T>
class ResidualCheck {
 public:
  // `cells`: of the body. `kernel` may be the fused one. `device` must outlive it. Collective; errors are
  // thrown on all ranks.
  ResidualCheck(const Config& config, const Communicator& communicator, Device& device,
                const ReductionKernel<T>& kernel, std::size_t scratch_bytes, std::int64_t cells);

  // Where a sweep leaves a fused norm; a later one may too: start() has queued the copy ahead of it.
  UpdateNorm norm_of_sweep() const { return {op_, &result_.as<Result>()->value, scratch_.data(), false}; }

  // Of `now` - `before`, on this device, behind `stream`. finish() comes before the next start().
  void start(FieldView<const T> now, FieldView<const T> before, Stream stream);
  bool under_way() const { return under_way_; }
  // Starts the all-reduce once the value is on the host, and lets MPI go on with it. Does not wait.
  void poll();
  void wait_for_sweeps() {  // for what the stream held at start(), so that the rest is the check's own time
    if (under_way_) device_.synchronize(swept_);
  }
  // K: the norm over all ranks, over the weight if steady; NaN: an update is not finite. Waits for start().
  double finish();

 private:
  // What a reduction kernel leaves.
  struct Result {
    double value;
    LongAccumulator unrounded;
  };

  bool is_exact() const { return kernel_->sum_bits == SumBits::exact && op_ != ReductionOp::max_abs; }
  void start_all_reduce();

  ProblemConfig problem_;
  double cells_;
  ReductionOp op_;
  // Its own: the all-reduce starts when this rank's device is done, in no order with other collectives.
  Communicator communicator_;
  Device& device_;
  const ReductionKernel<T>* kernel_;
  Buffer result_, result_host_, scratch_;
  Owned<Event> swept_, copied_;
  bool under_way_ = false;
  std::optional<PendingAllReduce> all_reduce_;  // none: not started
};

}  // namespace isotherm
