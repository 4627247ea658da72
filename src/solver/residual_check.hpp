// The residual of an update, in two halves: start() queues its norm and the copy to the host, without
// waiting; finish() returns the value. Sweeps queued in between run concurrently with the all-reduce.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "config/config.hpp"
#include "core/all_or_throw.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "physics/operator.hpp"

namespace isotherm {

// `value` over `first`; 0 where `first` is 0.
inline double relative_residual(double first, double value) { return first > 0 ? value / first : 0; }

// The residual, K, at tolerance 1. Criterion error: an error of 1 K has a residual >= the lowest lambda.
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

// Checks without progress that are tolerated: the residual of conjugate gradients may rise while errors fall,
// and that of mixed precision rises above a uniform guess while the mean of the body changes.
inline int least_checks(const Config& config) {
  return config.problem.accelerate == Acceleration::cg || config.precision == Precision::mixed ? 10 : 2;
}

// Detects a residual that no longer falls. A sweep is a symmetric operator: while the slowest mode falls to a
// tenth, any residual falls below half, whatever its modes. A residual that does not is due to rounding. The
// decision depends on residuals only, so it is the same on all ranks, with all kernels and after restarts.
class Stagnation {
 public:
  struct Lowest {
    double residual;  // K
    std::int64_t sweep;
  };

  // `decay`: of the slowest mode per sweep (Method); 0: never. `interval`: sweeps between checks.
  Stagnation(const Config& config, double decay, std::int64_t interval)
      : patience_(config.problem.kind == ProblemKind::steady && config.problem.tolerance > 0 && decay > 0
                      ? std::max(std::log(10.0) / decay, least_checks(config) * static_cast<double>(interval))
                      : std::numeric_limits<double>::infinity()) {}

  void resume_from(Lowest lowest) { lowest_ = lowest; }
  // A slightly lower residual is no progress: noise keeps reaching new minima.
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
  double patience_;  // sweeps
  Lowest lowest_{std::numeric_limits<double>::infinity(), 0};
};

// The largest residual due to rounding, K (3 units in the last place were observed). Stalled runs exceed it.
template <class T>
double rounding_level(double largest_temperature) {
  return 16 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest_temperature;
}

// The result of a reduction kernel.
struct ReductionResult {
  double value;
  LongAccumulator unrounded;
};

template <class T>
class ResidualCheck {
 public:
  // `cells`: those that are not voids. `kernel` may be the fused one. `device` must outlive it. Collective;
  // errors are thrown on all ranks.
  ResidualCheck(const Config& config, const Communicator& communicator, Device& device,
                const ReductionKernel<T>& kernel, std::size_t scratch_bytes, std::int64_t cells)
      : problem_(config.problem),
        cells_(static_cast<double>(cells)),
        op_(by_norm[static_cast<int>(config.problem.norm)]),
        communicator_(communicator.duplicate()),
        device_(device),
        kernel_(&kernel),
        result_(device, sizeof(ReductionResult)),
        result_host_(device, sizeof(ReductionResult), Memory::staging),
        scratch_(all_or_throw(communicator, [&] { return Buffer(device, scratch_bytes); })),
        swept_(own_event(device)),
        copied_(own_event(device)) {}

  // Where a sweep stores a fused norm. A later sweep may overwrite it: start() queues the copy before.
  UpdateNorm norm_of_sweep() const {
    return {op_, &result_.as<ReductionResult>()->value, scratch_.data(), false};
  }

  // Norm of `now` - `before` on this device, in the order of `stream`. Call finish() before starting again.
  void start(FieldView<const T> now, FieldView<const T> before, Stream stream) {
    if (under_way_) throw Error(ExitCode::internal, "two residual checks at once; please report it");
    ReductionResult* const there = result_.as<ReductionResult>();
    device_.record(swept_, stream);
    if (!kernel_->fused)
      kernel_->launch({now, before, now.interior(), op_, &there->value, scratch_.data(),
                       is_exact() ? &there->unrounded : nullptr},
                      stream);
    device_.copy(result_host_.data(), there, is_exact() ? sizeof(ReductionResult) : sizeof(double), stream);
    device_.record(copied_, stream);
    under_way_ = true;
    poll();
  }
  bool under_way() const { return under_way_; }
  // Starts the all-reduce once the value is on the host, and lets MPI progress it. Does not wait.
  void poll() {
    if (!under_way_) return;
    if (!all_reduce_) {
      if (!device_.passed(copied_)) return;
      start_all_reduce();
    }
    all_reduce_->done();
  }
  void wait_for_sweeps() {  // queued before start(): the rest is the check's own time
    if (under_way_) device_.synchronize(swept_);
  }
  // K: the norm over all ranks, divided by the weight if steady; NaN if an update is not finite. Waits.
  double finish() {
    if (!under_way_) throw Error(ExitCode::internal, "no residual check is under way; please report it");
    device_.synchronize(copied_);
    if (!all_reduce_) start_all_reduce();
    const PendingAllReduce::Values all = all_reduce_->wait();
    double value = 0;
    if (const auto* words = std::get_if<std::vector<std::int64_t>>(&all)) {
      LongAccumulator sum{};
      std::ranges::copy(*words, sum.word);
      value = sum.rounded();
    } else {
      const auto& value_and_lost = std::get<std::vector<double>>(all);
      value = value_and_lost[1] > 0 ? std::numeric_limits<double>::quiet_NaN() : value_and_lost[0];
    }
    all_reduce_.reset();
    under_way_ = false;
    if (problem_.norm == Norm::l2) value = std::sqrt(value / cells_);
    if (problem_.norm == Norm::l1) value /= cells_;
    if (problem_.kind == ProblemKind::steady) value /= problem_.weight;
    return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  static constexpr ReductionOp by_norm[] = {ReductionOp::max_abs, ReductionOp::sum_squares,
                                            ReductionOp::sum_abs};

  bool is_exact() const { return kernel_->sum_bits == SumBits::exact && op_ != ReductionOp::max_abs; }
  // MPI_MAX may drop a NaN, so each rank also sends whether its value is finite.
  void start_all_reduce() {
    const ReductionResult& mine = *result_host_.as<ReductionResult>();
    if (is_exact()) {
      const auto& words = mine.unrounded.word;
      all_reduce_ = communicator_.start_all_reduce(
          std::vector<std::int64_t>(std::begin(words), std::end(words)), ReduceOp::sum);
      return;
    }
    const bool lost = !std::isfinite(mine.value);
    all_reduce_ = communicator_.start_all_reduce(std::vector<double>{lost ? 0 : mine.value, lost ? 1.0 : 0.0},
                                                 op_ == ReductionOp::max_abs ? ReduceOp::max : ReduceOp::sum);
  }

  ProblemConfig problem_;
  double cells_;
  ReductionOp op_;
  // A duplicate: the all-reduce starts when this rank's device is done, in any order with other collectives.
  Communicator communicator_;
  Device& device_;
  const ReductionKernel<T>* kernel_;
  Buffer result_, result_host_, scratch_;
  Owned<Event> swept_, copied_;
  bool under_way_ = false;
  std::optional<PendingAllReduce> all_reduce_;  // none: not started
};

}  // namespace isotherm
