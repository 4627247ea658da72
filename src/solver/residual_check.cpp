#include "solver/residual_check.hpp"

#include <vector>

#include "core/all_or_throw.hpp"
#include "core/error.hpp"

namespace isotherm {

// By Norm.
constexpr ReductionOp operations[] = {ReductionOp::max_abs, ReductionOp::sum_squares, ReductionOp::sum_abs};

template <class T>
ResidualCheck<T>::ResidualCheck(const Config& config, const Communicator& communicator, Device& device,
                                const ReductionKernel<T>& kernel, std::size_t scratch_bytes,
                                std::int64_t cells)
    : problem_(config.problem),
      cells_(static_cast<double>(cells)),
      op_(operations[static_cast<int>(config.problem.norm)]),
      communicator_(communicator.duplicate()),
      device_(device),
      kernel_(&kernel),
      result_(device, sizeof(Result)),
      result_host_(device, sizeof(Result), Memory::staging),
      scratch_(all_or_throw(communicator, [&] { return Buffer(device, scratch_bytes); })),
      swept_(own_event(device)),
      copied_(own_event(device)) {}

template <class T>
void ResidualCheck<T>::start(FieldView<const T> now, FieldView<const T> before, Stream stream) {
  if (under_way_) throw Error(ExitCode::internal, "two residual checks at once; please report it");
  Result* const there = result_.as<Result>();
  device_.record(swept_, stream);
  if (!kernel_->fused)
    kernel_->launch({now, before, now.interior(), op_, &there->value, scratch_.data(),
                     is_exact() ? &there->unrounded : nullptr},
                    stream);
  device_.copy(result_host_.data(), there, is_exact() ? sizeof(Result) : sizeof(double), stream);
  device_.record(copied_, stream);
  under_way_ = true;
  poll();
}

template <class T>
void ResidualCheck<T>::poll() {
  if (!under_way_) return;
  if (!all_reduce_) {
    if (!device_.passed(copied_)) return;
    start_all_reduce();
  }
  all_reduce_->done();
}

// MPI_MAX may drop a NaN, and a sum says so of itself only: whether a rank's value is finite goes beside it.
template <class T>
void ResidualCheck<T>::start_all_reduce() {
  const Result& mine = *result_host_.as<Result>();
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

template <class T>
double ResidualCheck<T>::finish() {
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

template class ResidualCheck<float>;
template class ResidualCheck<double>;

}  // namespace isotherm
