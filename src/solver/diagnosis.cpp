#include "solver/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/agree.hpp"

namespace isotherm {

template <class T>
ExtremeCell most_extreme_cell(FieldView<const T> field, Int3 lo, Int3 cells,
                              const Communicator& communicator) {
  const auto magnitude = [&](Index x, Index y, Index z) {
    const double value = std::abs(static_cast<double>(field(x, y, z)));
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (Index z = 0; z < field.extent.z; ++z) {
    for (Index y = 0; y < field.extent.y; ++y) {
      for (Index x = 0; x < field.extent.x; ++x) largest = std::max(largest, magnitude(x, y, z));
    }
  }
  largest = communicator.all_reduce(largest, ReduceOp::max);

  Index first = cells.product();
#pragma omp parallel for schedule(static) reduction(min : first)
  for (Index z = 0; z < field.extent.z; ++z) {
    for (Index y = 0; y < field.extent.y; ++y) {
      for (Index x = 0; x < field.extent.x; ++x) {
        const Int3 cell = lo + Int3{x, y, z};
        if (magnitude(x, y, z) == largest)
          first = std::min(first, cell.x + cells.x * (cell.y + cells.y * cell.z));
      }
    }
  }
  first = communicator.all_reduce(first, ReduceOp::min);
  return {{first % cells.x, first / cells.x % cells.y, first / cells.x / cells.y}, largest};
}

template ExtremeCell most_extreme_cell(FieldView<const float>, Int3, Int3, const Communicator&);
template ExtremeCell most_extreme_cell(FieldView<const double>, Int3, Int3, const Communicator&);

namespace {

// Runs of a device's memory, one after the other, where the host can read them.
template <class T>
class Reader {
 public:
  Reader(Device& device, Stream stream, Index most) : device_(device), stream_(stream) {
    if (device.backend() != Backend::host)
      staging_ = Buffer(device, static_cast<std::size_t>(most) * sizeof(T), Memory::staging);
  }

  // Valid until the next call.
  const T* read(const T* from, Index count) {
    if (device_.backend() == Backend::host) return from;
    device_.copy(staging_.data(), from, static_cast<std::size_t>(count) * sizeof(T), stream_);
    device_.synchronize(stream_);
    return staging_.template as<T>();
  }

 private:
  Device& device_;
  Stream stream_;
  Buffer staging_;
};

// From the first interior cell of a plane to its last.
template <class T>
Index plane_length(FieldView<const T> field) {
  return (field.extent.y - 1) * field.pitch_y + field.extent.x;
}

// What a flux boundary adds to its cells in a sweep, K.
template <class T>
class Flux {
 public:
  Flux(const Config& config, Device& device, Stream stream, Int3 extent, const Boundaries<T>& boundaries,
       Face f, const Coefficients<T>& c)
      : wall_(boundaries.faces[static_cast<int>(f)]),
        scale_(axis_of(f) == 0   ? c.cx
               : axis_of(f) == 1 ? c.cy
                                 : c.cz) {
    there_ = wall_.is_boundary && config.boundaries[static_cast<std::size_t>(f)].kind == BoundaryKind::flux;
    if (!there_ || !wall_.b_field) return;
    const Index width = axis_of(f) == 0 ? extent.y : extent.x, rows = axis_of(f) == 2 ? extent.y : extent.z;
    const Index count = (rows - 1) * wall_.pitch + width;
    Reader<T> reader(device, stream, count);
    const T* values = reader.read(wall_.b_field, count);
    values_.assign(values, values + count);
    wall_.b_field = values_.data();
  }

  bool there() const { return there_; }
  double at(Index p, Index q) const {
    return static_cast<double>(scale_) * static_cast<double>(wall_.b_at(p, q));
  }

 private:
  Boundary<T> wall_;
  T scale_;
  bool there_ = false;
  std::vector<T> values_;
};

template <class T>
using Fluxes = std::vector<Flux<T>>;  // by Face

template <class T>
double flux_into(const Fluxes<T>& fluxes, Int3 extent, Index x, Index y, Index z) {
  const Index at[] = {x, y, z}, last[] = {extent.x - 1, extent.y - 1, extent.z - 1};
  const std::array<Index, 2> tangents[] = {{y, z}, {x, z}, {x, y}};
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    for (const bool max : {false, true}) {
      const Flux<T>& flux = fluxes[static_cast<std::size_t>(face(axis, max))];
      if (flux.there() && at[axis] == (max ? last[axis] : 0))
        sum += flux.at(tangents[axis][0], tangents[axis][1]);
    }
  }
  return sum;
}

}  // namespace

template <class T>
SwallowedHeat swallowed_heat(const Config& config, Device& device, FieldView<const T> field,
                             FieldView<const T> source, const Boundaries<T>& boundaries,
                             const Coefficients<T>& c, Stream stream) {
  const Int3 n = field.extent;
  Fluxes<T> fluxes;
  bool any = !source.empty();
  for (int f = 0; f < face_count; ++f) {
    fluxes.emplace_back(config, device, stream, n, boundaries, static_cast<Face>(f), c);
    any = any || fluxes.back().there();
  }
  SwallowedHeat found;
  if (!any) return found;
  Reader<T> fields(device, stream, plane_length(field)), sources(device, stream, plane_length(field));
  double all = 0, lost = 0;
  for (Index z = 0; z < n.z; ++z) {
    const T* temperature = fields.read(&field(0, 0, z), plane_length(field));
    const T* heat = source.empty() ? nullptr : sources.read(&source(0, 0, z), plane_length(source));
#pragma omp parallel for schedule(static) reduction(+ : all, lost)
    for (Index y = 0; y < n.y; ++y) {
      for (Index x = 0; x < n.x; ++x) {
        const double added =
            (heat ? static_cast<double>(heat[x + y * source.pitch_y]) : 0) + flux_into(fluxes, n, x, y, z);
        const T here = temperature[x + y * field.pitch_y];
        all += std::abs(added);
        if (static_cast<T>(static_cast<double>(here) + added) == here) lost += std::abs(added);
      }
    }
  }
  found.all = all;
  found.lost = lost;
  return found;
}

template SwallowedHeat swallowed_heat(const Config&, Device&, FieldView<const float>, FieldView<const float>,
                                      const Boundaries<float>&, const Coefficients<float>&, Stream);
template SwallowedHeat swallowed_heat(const Config&, Device&, FieldView<const double>,
                                      FieldView<const double>, const Boundaries<double>&,
                                      const Coefficients<double>&, Stream);

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The one rounding of a sum; NaN where a summand is not finite.
double value_of(const LongAccumulator& sum) {
  return sum.all_finite() ? sum.rounded() : nan;
}

// What a reduction row leaves.
struct RowSum {
  double rounded;
  LongAccumulator unrounded;
};

}  // namespace

template <class T>
Diagnosis<T>::Diagnosis(const Config& config, const Communicator& communicator, Int3 block, Device& device,
                        const HistogramKernel<T>* histogram, Stream stream)
    : config_(config),
      plan_(plan_diagnostics(config)),
      communicator_(communicator),
      device_(&device),
      stream_(stream),
      survey_(&field_survey<T>(device.backend())),
      reduction_(&exact_reduction<T>(device.backend())),
      histogram_(histogram) {
  if (plan_.bins > 0 && !histogram) {
    throw Error(ExitCode::internal, "a histogram without a row to count it; please report it");
  }
  agree(communicator, [&] {
    result_ = Buffer(device, std::max(sizeof(Extremes), sizeof(RowSum)));
    scratch_ =
        Buffer(device, std::max(survey_->scratch_bytes, reduction_->scratch_bytes({{0, 0, 0}, block})));
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
  const auto mine =
      fetch<Extremes>([&](Extremes* result) { survey_->extremes(field, result, scratch_.data(), stream_); });
  return {communicator_.all_reduce(mine.min, ReduceOp::min),
          communicator_.all_reduce(mine.max, ReduceOp::max),
          communicator_.all_reduce(mine.nans, ReduceOp::sum)};
}

template <class T>
LongAccumulator Diagnosis<T>::over_ranks(LongAccumulator mine) {
  communicator_.all_reduce(mine.word, ReduceOp::sum);
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
  return over_ranks(
      fetch<LongAccumulator>([&](LongAccumulator* result) { survey_->jump_sum(*jump, result, stream_); }));
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
Diagnostics Diagnosis<T>::look(FieldView<const T> now, FieldView<const T> before,
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
  if (plan_.flows && !before.empty()) found.flows = flows(sum_of_now, before, boundaries);
  if (plan_.bins > 0) found.histogram = count(now);
  return found;
}

template <class T>
HeatFlows Diagnosis<T>::heat_flows(FieldView<const T> now, FieldView<const T> before,
                                   const Boundaries<T>& boundaries) {
  return flows(plan_.rate ? sum(now) : LongAccumulator{}, before, boundaries);
}

// Neither sum is rounded: their difference is exact, small as it is beside them.
template <class T>
HeatFlows Diagnosis<T>::flows(const LongAccumulator& sum_of_now, FieldView<const T> before,
                              const Boundaries<T>& boundaries) {
  HeatFlows flows;
  flows.source = source_;
  if (plan_.rate) {
    LongAccumulator change = sum_of_now;
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
  communicator_.all_reduce(histogram.counts, ReduceOp::sum);
  return histogram;
}

template class Diagnosis<float>;
template class Diagnosis<double>;

}  // namespace isotherm
