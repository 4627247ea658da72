#include "solver/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/agree.hpp"

namespace isotherm {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool is_finite(const Extremes& e) {
  return e.nans == 0 && std::isfinite(e.min) && std::isfinite(e.max);
}

bool is_empty(const Extremes& e) {
  return e.min > e.max && e.nans == 0;
}

}  // namespace

template <class T>
double Diagnosis<T>::Total::value() const {
  return finite ? exact_value(sum, scale) : nan;
}

template <class T>
Diagnosis<T>::Diagnosis(const Config& config, const Communicator& communicator, Device& device,
                        const HistogramKernel<T>* histogram, Stream stream)
    : config_(config),
      plan_(plan_diagnostics(config)),
      communicator_(communicator),
      device_(&device),
      stream_(stream),
      survey_(&field_survey<T>(device.backend())),
      histogram_(histogram) {
  if (plan_.bins > 0 && !histogram) {
    throw Error(ExitCode::internal, "a histogram without a row to count it; please report it");
  }
  agree(communicator, [&] {
    result_ = Buffer(device, std::max(sizeof(Extremes), sizeof(ExactSum)));
    scratch_ = Buffer(device, survey_->scratch_bytes);
    if (plan_.bins > 0) {
      counts_ = Buffer(device, static_cast<std::size_t>(plan_.bins + 3) * sizeof(std::uint64_t));
    }
  });
}

// What launch(result, scratch) leaves in the device's memory.
template <class T>
template <class Part, class Launch>
Part Diagnosis<T>::fetch(const Launch& launch) {
  launch(result_.as<Part>(), scratch_.data());
  Part part = Part::none();
  device_->copy(&part, result_.data(), sizeof(Part), stream_);
  device_->synchronize(stream_);
  return part;
}

template <class T>
Extremes Diagnosis<T>::over_ranks(Extremes mine) {
  return {communicator_.all_reduce(mine.min, ReduceOp::min),
          communicator_.all_reduce(mine.max, ReduceOp::max),
          communicator_.all_reduce(mine.nans, ReduceOp::sum)};
}

template <class T>
Extremes Diagnosis<T>::extremes(FieldView<const T> field) {
  return over_ranks(fetch<Extremes>(
      [&](Extremes* result, void* scratch) { survey_->extremes(field, result, scratch, stream_); }));
}

// sum_of_this_rank(scale) is an ExactSum.
template <class T>
template <class Sum>
auto Diagnosis<T>::total(const Extremes& all, const Sum& sum_of_this_rank) -> Total {
  Total total;
  if (is_empty(all)) return total;
  total.finite = is_finite(all);
  if (!total.finite) return total;
  total.scale = exact_scale(std::max(std::abs(all.min), std::abs(all.max)));
  total.sum = sum_of_this_rank(total.scale);
  communicator_.all_reduce(total.sum.digit, ReduceOp::sum);
  return total;
}

template <class T>
auto Diagnosis<T>::total(FieldView<const T> field, const Extremes& all) -> Total {
  return total(all, [&](double scale) {
    return fetch<ExactSum>(
        [&](ExactSum* result, void* scratch) { survey_->sum(field, scale, result, scratch, stream_); });
  });
}

template <class T>
auto Diagnosis<T>::total(const WallJump<T>* jump) -> Total {
  const Extremes mine = !jump ? Extremes::none() : fetch<Extremes>([&](Extremes* result, void* scratch) {
    survey_->jump_extremes(*jump, result, scratch, stream_);
  });
  return total(over_ranks(mine), [&](double scale) {
    if (!jump) return ExactSum::none();
    return fetch<ExactSum>(
        [&](ExactSum* result, void* scratch) { survey_->jump_sum(*jump, scale, result, scratch, stream_); });
  });
}

template <class T>
void Diagnosis<T>::start(FieldView<const T> initial, FieldView<const T> source) {
  if (plan_.bins > 0) {
    const Extremes of_initial = extremes(initial);
    bins_ = choose_bins(config_, of_initial.min, of_initial.max);
  }
  if (plan_.flows && !source.empty()) {
    source_ = plan_.watts_a_source_kelvin * total(source, extremes(source)).value();
  }
}

template <class T>
Diagnostics Diagnosis<T>::look(FieldView<const T> now, FieldView<const T> before, const Walls<T>& walls) {
  const Extremes of_now = extremes(now);
  const double sum = total(now, of_now).value();
  const bool any = of_now.min <= of_now.max;
  Diagnostics found;
  found.min = any ? of_now.min + 0.0 : nan;  // ranks may differ in the sign of a zero
  found.max = any ? of_now.max + 0.0 : nan;
  found.nan_cells = of_now.nans;
  found.mean = sum / static_cast<double>(config_.grid.cells.product());
  if (plan_.heat_capacity) found.heat = *plan_.heat_capacity * sum;
  if (plan_.flows && !before.empty()) found.flows = flows(now, before, of_now, walls);
  if (plan_.bins > 0) found.histogram = count(now);
  return found;
}

// Both fields are summed with one scale: the difference of their sums is exact, small as it is beside them.
template <class T>
HeatFlows Diagnosis<T>::flows(FieldView<const T> now, FieldView<const T> before, const Extremes& of_now,
                              const Walls<T>& walls) {
  HeatFlows flows;
  flows.source = source_;
  if (plan_.rate) {
    Extremes both = of_now;
    both.join(extremes(before));
    Total change = total(now, both);
    change.sum = exact_difference(change.sum, total(before, both).sum);
    flows.rate = *plan_.heat_capacity * change.value() / plan_.dt;
  }
  for (int f = 0; f < face_count; ++f) {
    const auto face = static_cast<std::size_t>(f);
    if (!plan_.walls[face]) continue;
    const WallJump<T> jump{before, walls.faces[f], f};
    flows.walls[face] = plan_.conductance[face] * total(walls.faces[f].is_wall ? &jump : nullptr).value();
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
  communicator_.all_reduce(histogram.counts, ReduceOp::sum);
  return histogram;
}

template class Diagnosis<float>;
template class Diagnosis<double>;

}  // namespace isotherm
