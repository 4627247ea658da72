// Diagnostics of the field in device memory. They cost nothing until they are computed.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "core/all_or_throw.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/field_reductions.hpp"
#include "kernels/histogram.hpp"
#include "kernels/stencil.hpp"
#include "physics/diagnostics.hpp"
#include "solver/level.hpp"

namespace isotherm {

// Fields before and after a sweep of weight euler_dt(); in a steady problem they may be the same field.
template <class T>
struct StepFields {
  FieldView<const T> before, after;
};

template <class T>
class Diagnosis {
 public:
  // Chooses the bins from the initial state, which `level` holds, and sums the sources; `level` must outlive
  // the object. Collective, like all functions below.
  Diagnosis(Level<T>& level, const HistogramKernel<T>& histogram)
      : level_(level),
        plan_(plan_diagnostics(level.config())),
        reductions_(FieldReductions<T>::on(level.device().backend())),
        histogram_(histogram) {
    all_or_throw(level.communicator(), [&] {
      Device& device = level.device();
      result_ = Buffer(device, std::max(sizeof(Extremes), sizeof(LongAccumulator)));
      scratch_ = Buffer(device, reductions_.scratch_bytes);
      if (plan_.bins > 0) counts_ = Buffer(device, (plan_.bins + 3) * sizeof(std::uint64_t));
    });
    if (plan_.bins > 0) {
      const Extremes of_initial = extremes();
      bins_ = choose_bins(level.config(), of_initial.min, of_initial.max);
    }
    find_source();
  }

  // Computes diagnostics of the field, and the heat flows of `step`. Every rank returns the same.
  Diagnostics reduce(const std::optional<StepFields<T>>& step) {
    const FieldView<const T> now = level_.field();
    const Extremes of_now = extremes();
    const LongAccumulator sum_of_now = level_.sum(now, level_.body().weights);
    const bool any = of_now.min <= of_now.max;
    Diagnostics found;
    found.min = any ? of_now.min + 0.0 : nan;  // ranks may differ in the sign of a zero
    found.max = any ? of_now.max + 0.0 : nan;
    found.nan_cells = of_now.nans;
    found.mean = value_of(sum_of_now) / level_.body().volume;
    const LongAccumulator heat_of_now = level_.materials().empty() ? sum_of_now : heat_sum(now);
    if (plan_.heat_capacity) found.heat = *plan_.heat_capacity * value_of(heat_of_now);
    if (plan_.flows && step) {
      const bool ends_here = step->after.origin == now.origin;
      found.flows = flows(ends_here ? heat_of_now : heat_sum(step->after), step->before);
    }
    if (plan_.bins > 0) found.histogram = count(now);
    return found;
  }
  HeatFlows heat_flows(const StepFields<T>& step) {  // only these
    return flows(plan_.rate ? heat_sum(step.after) : LongAccumulator{}, step.before);
  }
  const Bins& bins() const { return bins_; }

 private:
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // Rounds a sum, once; NaN where a summand is not finite.
  static double value_of(const LongAccumulator& sum) { return sum.all_finite() ? sum.rounded() : nan; }

  // Sources are stored for the volume of the grid's first cell, so their sums need no weights.
  void find_source() {
    if (plan_.flows) source_ = plan_.watts_a_source_kelvin * value_of(level_.source_sum());
  }
  // The extremes over all ranks.
  Extremes extremes() {
    const Communicator& ranks = level_.communicator();
    const auto mine = of_launch<Extremes>([&](Extremes* result) {
      reductions_.extremes({level_.field(), level_.materials()}, result, scratch_.data(), level_.compute());
    });
    const std::int64_t void_cells = level_.config().grid.cells.product() - level_.body().count;
    return {ranks.all_reduce(mine.min, ReduceOp::min), ranks.all_reduce(mine.max, ReduceOp::max),
            ranks.all_reduce(mine.nans, ReduceOp::sum) - void_cells};
  }
  template <class Part, class Launch>
  Part of_launch(const Launch& launch) {
    return from_device<Part>(level_.device(), result_, level_.compute(), launch);
  }
  // Sums the values that launch(result) stores over all ranks; ranks without `any_here` contribute 0.
  template <class Launch>
  LongAccumulator sum(const Launch& launch, bool any_here = true) {
    const LongAccumulator mine = any_here ? of_launch<LongAccumulator>(launch) : LongAccumulator{};
    return over_ranks(mine, level_.communicator());
  }
  // K: each cell is weighted by its rho c over that of the first class.
  LongAccumulator heat_sum(FieldView<const T> field) { return level_.sum(field, level_.materials().heat); }

  // Both heat sums are unrounded, so their difference is exact, however small it is.
  HeatFlows flows(const LongAccumulator& heat_after, FieldView<const T> before) {
    const Stream stream = level_.compute();
    if (level_.sources_vary()) find_source();
    HeatFlows flows;
    flows.source = source_;
    if (plan_.rate) {
      LongAccumulator change = heat_after;
      change.subtract(heat_sum(before));
      flows.rate = *plan_.heat_capacity * value_of(change) / plan_.dt;
    }
    for (int f = 0; f < face_count; ++f) {
      if (!plan_.boundaries[f]) continue;
      const BoundaryJump<T> jump{before, level_.boundaries().boundaries().faces[f], f};
      const auto launch = [&](LongAccumulator* result) { reductions_.jump_sum(jump, result, stream); };
      flows.boundaries[f] = plan_.conductance[f] * value_of(sum(launch, jump.boundary.is_boundary));
    }
    for (const DiagnosticsPlan::Void& each : plan_.voids) {
      LongAccumulator all{};
      for (const int of_class : each.classes)
        all.add(sum([&](LongAccumulator* result) {
          reductions_.void_flow_sum({before, level_.materials(), of_class}, result, stream);
        }));
      all.normalise();
      flows.voids.push_back(plan_.watts_a_void_unit * value_of(all));
    }
    close_balance(flows);
    return flows;
  }
  Histogram count(FieldView<const T> now) {
    Device& device = level_.device();
    histogram_.launch({now, now.interior(), bins_, counts_.as<std::uint64_t>()}, level_.compute());
    Histogram histogram{bins_, std::vector<std::int64_t>(static_cast<std::size_t>(bins_.slots()))};
    device.copy(histogram.counts.data(), counts_.data(), counts_.bytes(), level_.compute());
    device.synchronize(level_.compute());
    level_.communicator().template all_reduce<std::int64_t>(histogram.counts, ReduceOp::sum);
    for (const auto& [held, cells] : level_.body().voids) histogram.counts[bins_.slot(held)] -= cells;
    return histogram;
  }

  Level<T>& level_;
  DiagnosticsPlan plan_;
  const FieldReductions<T>& reductions_;
  const HistogramKernel<T>& histogram_;
  Buffer result_, scratch_, counts_;
  Bins bins_;
  double source_ = 0;  // W
};

}  // namespace isotherm
