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
struct Sum {
  double rounded;
  LongAccumulator unrounded;
};

// What launch(result) leaves in the device's memory.
template <class Part, class Launch>
Part fetch(Device& device, const Buffer& result, Stream stream, const Launch& launch) {
  launch(result.as<Part>());
  Part part{};
  device.copy(&part, result.data(), sizeof(Part), stream);
  device.synchronize(stream);
  return part;
}

}  // namespace

template <class T>
FieldSum<T>::FieldSum(const Communicator& communicator, Device& device, Int3 subdomain, Stream stream)
    : communicator_(communicator),
      device_(&device),
      stream_(stream),
      kernel_(&exact_reduction<T>(device.backend())),
      result_(device, sizeof(Sum)),
      scratch_(device, kernel_->scratch_bytes({{0, 0, 0}, subdomain})) {}

template <class T>
LongAccumulator FieldSum<T>::mine(FieldView<const T> field, Box region) {
  const Sum mine = fetch<Sum>(*device_, result_, stream_, [&](Sum* sum) {
    kernel_->launch({field, {}, region, ReductionOp::sum, &sum->rounded, scratch_.data(), &sum->unrounded},
                    stream_);
  });
  return mine.unrounded;
}
template <class T>
LongAccumulator FieldSum<T>::mine(FieldView<const T> field, Materials<T> materials, const double* weights) {
  if (!weights) return mine(field);
  materials.heat = weights;
  return fetch<LongAccumulator>(*device_, result_, stream_, [&](LongAccumulator* result) {
    field_reductions<T>(device_->backend()).heat_sum({field, materials}, result, stream_);
  });
}
template <class T>
LongAccumulator FieldSum<T>::of(FieldView<const T> field, Box region) {
  LongAccumulator sum = mine(field, region);
  communicator_.all_reduce<std::int64_t>(sum.word, ReduceOp::sum);
  return sum;
}

template <class T>
Diagnosis<T>::Diagnosis(const Config& config, const Communicator& communicator, Int3 subdomain,
                        Device& device, const HistogramKernel<T>* histogram, Stream stream,
                        const Materials<T>& materials, const std::optional<BodyCells>& body)
    : config_(config),
      plan_(plan_diagnostics(config)),
      communicator_(communicator),
      device_(&device),
      stream_(stream),
      reductions_(&field_reductions<T>(device.backend())),
      histogram_(histogram),
      materials_(materials),
      body_(body.value_or(all_cells(config.grid.cells))) {
  if (plan_.bins > 0 && !histogram) {
    throw Error(ExitCode::internal, "a histogram without a kernel to count it; please report it");
  }
  all_or_throw(communicator, [&] {
    sum_.emplace(communicator, device, subdomain, stream);
    result_ = Buffer(device, std::max(sizeof(Extremes), sizeof(LongAccumulator)));
    scratch_ = Buffer(device, reductions_->scratch_bytes);
    if (plan_.bins > 0) {
      counts_ = Buffer(device, static_cast<std::size_t>(plan_.bins + 3) * sizeof(std::uint64_t));
    }
  });
}

template <class T>
Extremes Diagnosis<T>::extremes(FieldView<const T> field) {
  const auto mine = fetch<Extremes>(*device_, result_, stream_, [&](Extremes* result) {
    reductions_->extremes({field, materials_}, result, scratch_.data(), stream_);
  });
  const std::int64_t void_cells = config_.grid.cells.product() - body_.count;
  return {communicator_.all_reduce(mine.min, ReduceOp::min),
          communicator_.all_reduce(mine.max, ReduceOp::max),
          communicator_.all_reduce(mine.nans, ReduceOp::sum) - void_cells};
}

template <class T>
LongAccumulator Diagnosis<T>::jump_sum(const BoundaryJump<T>& jump) {
  LongAccumulator sum{};
  if (jump.boundary.is_boundary)  // else this rank has no part of it
    sum = fetch<LongAccumulator>(*device_, result_, stream_, [&](LongAccumulator* result) {
      reductions_->jump_sum(jump, result, stream_);
    });
  communicator_.all_reduce<std::int64_t>(sum.word, ReduceOp::sum);
  return sum;
}

template <class T>
LongAccumulator Diagnosis<T>::heat_sum(FieldView<const T> field) {
  if (materials_.empty()) return sum_->of(field);
  LongAccumulator sum = fetch<LongAccumulator>(*device_, result_, stream_, [&](LongAccumulator* result) {
    reductions_->heat_sum({field, materials_}, result, stream_);
  });
  communicator_.all_reduce<std::int64_t>(sum.word, ReduceOp::sum);
  return sum;
}

template <class T>
LongAccumulator Diagnosis<T>::over_ranks(LongAccumulator mine) {
  communicator_.all_reduce<std::int64_t>(mine.word, ReduceOp::sum);
  return mine;
}

template <class T>
LongAccumulator Diagnosis<T>::void_flow_sum(FieldView<const T> field, int of_class) {
  LongAccumulator sum = fetch<LongAccumulator>(*device_, result_, stream_, [&](LongAccumulator* result) {
    reductions_->void_flow_sum({field, materials_, of_class}, result, stream_);
  });
  communicator_.all_reduce<std::int64_t>(sum.word, ReduceOp::sum);
  return sum;
}

// Sources are stored for the volume of the grid's first cell, so that their sums are plain ones.
template <class T>
void Diagnosis<T>::start(FieldView<const T> initial, FieldView<const T> source) {
  if (plan_.bins > 0) {
    const Extremes of_initial = extremes(initial);
    bins_ = choose_bins(config_, of_initial.min, of_initial.max);
  }
  if (plan_.flows && !source.empty())
    source_ = plan_.watts_a_source_kelvin * value_of(over_ranks(sum_->mine(source, materials_, body_.cells)));
}

template <class T>
void Diagnosis<T>::find_source(const SourceSum& source_sum) {
  if (!plan_.flows) return;
  LongAccumulator sum =
      source_sum([&](FieldView<const T> field) { return sum_->mine(field, materials_, body_.cells); });
  communicator_.all_reduce<std::int64_t>(sum.word, ReduceOp::sum);
  source_ = plan_.watts_a_source_kelvin * value_of(sum);
}

template <class T>
Diagnostics Diagnosis<T>::look(FieldView<const T> now, const std::optional<StepFields<T>>& step,
                               const Boundaries<T>& boundaries) {
  const Extremes of_now = extremes(now);
  const LongAccumulator sum_of_now = over_ranks(sum_->mine(now, materials_, body_.weights));
  const double total = value_of(sum_of_now);
  const bool any = of_now.min <= of_now.max;
  Diagnostics found;
  found.min = any ? of_now.min + 0.0 : nan;  // ranks may differ in the sign of a zero
  found.max = any ? of_now.max + 0.0 : nan;
  found.nan_cells = of_now.nans;
  found.mean = total / body_.volume;
  const LongAccumulator heat_of_now = materials_.empty() ? sum_of_now : heat_sum(now);
  if (plan_.heat_capacity) found.heat = *plan_.heat_capacity * value_of(heat_of_now);
  if (plan_.flows && step) {
    const bool ends_here = step->after.origin == now.origin;
    found.flows = flows(ends_here ? heat_of_now : heat_sum(step->after), step->before, boundaries);
  }
  if (plan_.bins > 0) found.histogram = count(now);
  return found;
}

// Neither sum is rounded: their difference is exact, small as it is beside them.
template <class T>
HeatFlows Diagnosis<T>::flows(const LongAccumulator& heat_after, FieldView<const T> before,
                              const Boundaries<T>& boundaries) {
  HeatFlows flows;
  flows.source = source_;
  if (plan_.rate) {
    LongAccumulator change = heat_after;
    change.subtract(heat_sum(before));
    flows.rate = *plan_.heat_capacity * value_of(change) / plan_.dt;
  }
  for (int f = 0; f < face_count; ++f) {
    if (!plan_.boundaries[f]) continue;
    flows.boundaries[f] = plan_.conductance[f] * value_of(jump_sum({before, boundaries.faces[f], f}));
  }
  for (const DiagnosticsPlan::Void& each : plan_.voids) {
    LongAccumulator sum{};
    for (const int of_class : each.classes) sum.add(void_flow_sum(before, of_class));
    sum.normalise();
    flows.voids.push_back(plan_.watts_a_void_unit * value_of(sum));
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
  for (const auto& [held, cells] : body_.voids)
    histogram.counts[static_cast<std::size_t>(bins_.slot(held))] -= cells;
  return histogram;
}

template class FieldSum<float>;
template class FieldSum<double>;
template class Diagnosis<float>;
template class Diagnosis<double>;

}  // namespace isotherm
