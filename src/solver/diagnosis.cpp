#include "solver/diagnosis.hpp"

#include <algorithm>
#include <limits>

#include "core/all_or_throw.hpp"

namespace isotherm {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The one rounding of a sum; NaN where a summand is not finite.
double value_of(const LongAccumulator& sum) {
  return sum.all_finite() ? sum.rounded() : nan;
}

// What a reduction kernel leaves.
struct RowSum {
  double rounded;
  LongAccumulator unrounded;
};

}  // namespace

template <class T>
Diagnosis<T>::Diagnosis(const Config& config, const Communicator& communicator, Int3 subdomain,
                        Device& device, const HistogramKernel<T>* histogram, Stream stream)
    : config_(config),
      plan_(plan_diagnostics(config)),
      communicator_(communicator),
      device_(&device),
      stream_(stream),
      reductions_(&field_reductions<T>(device.backend())),
      reduction_(&exact_reduction<T>(device.backend())),
      histogram_(histogram) {
  if (plan_.bins > 0 && !histogram) {
    throw Error(ExitCode::internal, "a histogram without a kernel to count it; please report it");
  }
  all_or_throw(communicator, [&] {
    result_ = Buffer(device, std::max(sizeof(Extremes), sizeof(RowSum)));
    scratch_ = Buffer(
        device, std::max(reductions_->scratch_bytes, reduction_->scratch_bytes({{0, 0, 0}, subdomain})));
    if (plan_.bins > 0) {
      counts_ = Buffer(device, static_cast<std::size_t>(plan_.bins + 3) * sizeof(std::uint64_t));
    }
  });
}

// What launch(result) leaves in the device's memory.
template <class T>
template <class Part, class Launch>
Part Diagnosis<T>::fetch(const Launch& launch) {
  launch(result_.as<Part>());
  Part part{};
  device_->copy(&part, result_.data(), sizeof(Part), stream_);
  device_->synchronize(stream_);
  return part;
}

template <class T>
Extremes Diagnosis<T>::extremes(FieldView<const T> field) {
  const auto mine = fetch<Extremes>(
      [&](Extremes* result) { reductions_->extremes(field, result, scratch_.data(), stream_); });
  return {communicator_.all_reduce(mine.min, ReduceOp::min),
          communicator_.all_reduce(mine.max, ReduceOp::max),
          communicator_.all_reduce(mine.nans, ReduceOp::sum)};
}

template <class T>
LongAccumulator Diagnosis<T>::over_ranks(LongAccumulator mine) {
  communicator_.all_reduce<std::int64_t>(mine.word, ReduceOp::sum);
  return mine;
}

template <class T>
LongAccumulator Diagnosis<T>::sum(FieldView<const T> field) {
  const auto mine = fetch<RowSum>([&](RowSum* result) {
    reduction_->launch({field,
                        {},
                        field.interior(),
                        ReductionOp::sum,
                        &result->rounded,
                        scratch_.data(),
                        &result->unrounded},
                       stream_);
  });
  return over_ranks(mine.unrounded);
}

template <class T>
LongAccumulator Diagnosis<T>::jump_sum(const BoundaryJump<T>* jump) {
  if (!jump) return over_ranks({});
  return over_ranks(fetch<LongAccumulator>(
      [&](LongAccumulator* result) { reductions_->jump_sum(*jump, result, stream_); }));
}

template <class T>
void Diagnosis<T>::start(FieldView<const T> initial, FieldView<const T> source) {
  if (plan_.bins > 0) {
    const Extremes of_initial = extremes(initial);
    bins_ = choose_bins(config_, of_initial.min, of_initial.max);
  }
  if (plan_.flows && !source.empty()) {
    source_ = plan_.watts_a_source_kelvin * value_of(sum(source));
  }
}

template <class T>
Diagnostics Diagnosis<T>::look(FieldView<const T> now, const std::optional<StepFields<T>>& step,
                               const Boundaries<T>& boundaries) {
  const Extremes of_now = extremes(now);
  const LongAccumulator sum_of_now = sum(now);
  const double total = value_of(sum_of_now);
  const bool any = of_now.min <= of_now.max;
  Diagnostics found;
  found.min = any ? of_now.min + 0.0 : nan;  // ranks may differ in the sign of a zero
  found.max = any ? of_now.max + 0.0 : nan;
  found.nan_cells = of_now.nans;
  found.mean = total / static_cast<double>(config_.grid.cells.product());
  if (plan_.heat_capacity) found.heat = *plan_.heat_capacity * total;
  if (plan_.flows && step) {
    const bool ends_here = step->after.origin == now.origin;
    found.flows = flows(ends_here ? sum_of_now : sum(step->after), step->before, boundaries);
  }
  if (plan_.bins > 0) found.histogram = count(now);
  return found;
}

template <class T>
HeatFlows Diagnosis<T>::heat_flows(const StepFields<T>& step, const Boundaries<T>& boundaries) {
  return flows(plan_.rate ? sum(step.after) : LongAccumulator{}, step.before, boundaries);
}

// Neither sum is rounded: their difference is exact, small as it is beside them.
template <class T>
HeatFlows Diagnosis<T>::flows(const LongAccumulator& sum_of_after, FieldView<const T> before,
                              const Boundaries<T>& boundaries) {
  HeatFlows flows;
  flows.source = source_;
  if (plan_.rate) {
    LongAccumulator change = sum_of_after;
    change.subtract(sum(before));
    flows.rate = *plan_.heat_capacity * value_of(change) / plan_.dt;
  }
  for (int f = 0; f < face_count; ++f) {
    const auto face = static_cast<std::size_t>(f);
    if (!plan_.boundaries[face]) continue;
    const BoundaryJump<T> jump{before, boundaries.faces[f], f};
    flows.boundaries[face] =
        plan_.conductance[face] * value_of(jump_sum(boundaries.faces[f].is_boundary ? &jump : nullptr));
  }
  close_balance(flows);
  return flows;
}

template <class T>
Histogram Diagnosis<T>::count(FieldView<const T> now) {
  histogram_->launch({now, now.interior(), bins_, counts_.as<std::uint64_t>()}, stream_);
  Histogram histogram{bins_, std::vector<std::int64_t>(static_cast<std::size_t>(bins_.slots()))};
  device_->copy(histogram.counts.data(), counts_.data(), counts_.bytes(), stream_);
  device_->synchronize(stream_);
  communicator_.all_reduce<std::int64_t>(histogram.counts, ReduceOp::sum);
  return histogram;
}

template class Diagnosis<float>;
template class Diagnosis<double>;

}  // namespace isotherm
