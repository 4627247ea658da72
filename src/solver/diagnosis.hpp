// Diagnostics of the field in device memory. They cost nothing until they are computed.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/all_or_throw.hpp"
#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/field_reductions.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

// Fields before and after a sweep of weight euler_dt(); in a steady problem they may be the same field.
template <class T>
struct StepFields {
  FieldView<const T> before, after;
};

// The cells of the domain that are not voids.
struct BodyCells {
  std::int64_t count = 0;  // over all ranks
  double volume = 0;       // of these cells, over that of the grid's first cell
  // By class, on the device: MaterialCells::body(), is_body(). Null: 1 for all classes.
  const double *weights = nullptr, *cells = nullptr;
  std::vector<std::pair<double, std::int64_t>> voids{};  // temperature of a void, K, and its cells
};

inline BodyCells all_cells(Int3 cells) {
  return {cells.product(), static_cast<double>(cells.product())};
}

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

// The sum of a field over the cells of all ranks, exact.
template <class T>
class FieldSum {
 public:
  // Of fields of `subdomain` cells on this rank. `device` must outlive it.
  FieldSum(const Communicator& communicator, Device& device, Int3 subdomain, Stream stream)
      : communicator_(communicator),
        device_(&device),
        stream_(stream),
        kernel_(&exact_reduction<T>(device.backend())),
        result_(device, sizeof(Sum)),
        scratch_(device, kernel_->scratch_bytes({{0, 0, 0}, subdomain})) {}
  // Not rounded; waits for the stream. mine(): over `region` on this rank; of(): over all ranks, collective.
  LongAccumulator mine(FieldView<const T> field, Box region) {
    const Sum mine = from_device<Sum>(*device_, result_, stream_, [&](Sum* sum) {
      kernel_->launch({field, {}, region, ReductionOp::sum, &sum->rounded, scratch_.data(), &sum->unrounded},
                      stream_);
    });
    return mine.unrounded;
  }
  LongAccumulator of(FieldView<const T> field, Box region) {
    return over_ranks(mine(field, region), communicator_);
  }
  // Over this subdomain, each cell times the weight of its class, on the device; null: 1.
  LongAccumulator mine(FieldView<const T> field, Materials<T> materials, const double* weights) {
    if (!weights) return mine(field, field.interior());
    materials.heat = weights;
    return from_device<LongAccumulator>(*device_, result_, stream_, [&](LongAccumulator* result) {
      field_reductions<T>(device_->backend()).heat_sum({field, materials}, result, stream_);
    });
  }
  // Mean over the volume without voids. Collective; rounded once: the same bits for any decomposition.
  double mean(FieldView<const T> field, const Materials<T>& materials, const BodyCells& body) {
    return over_ranks(mine(field, materials, body.weights), communicator_).rounded() / body.volume;
  }

 private:
  // The result of a reduction kernel.
  struct Sum {
    double rounded;
    LongAccumulator unrounded;
  };

  Communicator communicator_;
  Device* device_;
  Stream stream_;
  const ReductionKernel<T>* kernel_;
  Buffer result_, scratch_;
};

template <class T>
class Diagnosis {
 public:
  // For fields of `subdomain` cells on this rank. `device` must outlive it; all work is queued on `stream`
  // and waited for. `histogram` may be null if the deck has no bins. `materials` may be empty.
  Diagnosis(const Config& config, const Communicator& communicator, Int3 subdomain, Device& device,
            const HistogramKernel<T>* histogram, Stream stream, const Materials<T>& materials = {},
            const std::optional<BodyCells>& body = {})
      : config_(config),
        plan_(plan_diagnostics(config)),
        communicator_(communicator),
        device_(&device),
        stream_(stream),
        reductions_(&field_reductions<T>(device.backend())),
        histogram_(histogram),
        materials_(materials),
        body_(body.value_or(all_cells(config.grid.cells))) {
    if (plan_.bins > 0 && !histogram)
      throw Error(ExitCode::internal, "a histogram without a kernel to count it; please report it");
    all_or_throw(communicator, [&] {
      sum_.emplace(communicator, device, subdomain, stream);
      result_ = Buffer(device, std::max(sizeof(Extremes), sizeof(LongAccumulator)));
      scratch_ = Buffer(device, reductions_->scratch_bytes);
      if (plan_.bins > 0)
        counts_ = Buffer(device, static_cast<std::size_t>(plan_.bins + 3) * sizeof(std::uint64_t));
    });
  }

  // Chooses the bins from the initial state and sums the sources. `source` may be empty. Collective. Sources
  // are stored for the volume of the grid's first cell, so their sums need no weights.
  void start(FieldView<const T> initial, FieldView<const T> source) {
    if (plan_.bins > 0) {
      const Extremes of_initial = extremes(initial);
      bins_ = choose_bins(config_, of_initial.min, of_initial.max);
    }
    if (!source.empty()) find_source([&](const auto& sum) { return sum(source); });
  }
  // Call it before look() where sources vary. source_sum(sum) sums over this subdomain, sum(field) one field.
  using SourceSum =
      std::function<LongAccumulator(const std::function<LongAccumulator(FieldView<const T>)>& sum)>;
  void find_source(const SourceSum& source_sum) {
    if (!plan_.flows) return;
    const LongAccumulator mine =
        source_sum([&](FieldView<const T> field) { return sum_->mine(field, materials_, body_.cells); });
    source_ = plan_.watts_a_source_kelvin * value_of(over_ranks(mine, communicator_));
  }

  // Diagnoses the field, and the heat of `step` with `boundaries`. Collective; the same on every rank.
  Diagnostics look(FieldView<const T> now, const std::optional<StepFields<T>>& step,
                   const Boundaries<T>& boundaries) {
    const Extremes of_now = extremes(now);
    const LongAccumulator sum_of_now = over_ranks(sum_->mine(now, materials_, body_.weights), communicator_);
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
  HeatFlows heat_flows(const StepFields<T>& step, const Boundaries<T>& boundaries) {  // alone
    return flows(plan_.rate ? heat_sum(step.after) : LongAccumulator{}, step.before, boundaries);
  }
  const Bins& bins() const { return bins_; }  // after start()

 private:
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // The one rounding of a sum; NaN where a summand is not finite.
  static double value_of(const LongAccumulator& sum) { return sum.all_finite() ? sum.rounded() : nan; }

  // Over all ranks.
  Extremes extremes(FieldView<const T> field) {
    const auto mine = from_device<Extremes>(*device_, result_, stream_, [&](Extremes* result) {
      reductions_->extremes({field, materials_}, result, scratch_.data(), stream_);
    });
    const std::int64_t void_cells = config_.grid.cells.product() - body_.count;
    return {communicator_.all_reduce(mine.min, ReduceOp::min),
            communicator_.all_reduce(mine.max, ReduceOp::max),
            communicator_.all_reduce(mine.nans, ReduceOp::sum) - void_cells};
  }
  // Sum over all ranks of what launch(result) stores, on ranks with `any_here`.
  template <class Launch>
  LongAccumulator sum(const Launch& launch, bool any_here = true) {
    LongAccumulator mine{};
    if (any_here) mine = from_device<LongAccumulator>(*device_, result_, stream_, launch);
    return over_ranks(mine, communicator_);
  }
  // K, each cell times its rho c over that of the first class.
  LongAccumulator heat_sum(FieldView<const T> field) {
    if (materials_.empty()) return sum_->of(field, field.interior());
    return sum([&](LongAccumulator* result) { reductions_->heat_sum({field, materials_}, result, stream_); });
  }

  // Neither sum is rounded, so their difference is exact, however small it is.
  HeatFlows flows(const LongAccumulator& heat_after, FieldView<const T> before,
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
      const BoundaryJump<T> jump{before, boundaries.faces[f], f};
      const auto launch = [&](LongAccumulator* result) { reductions_->jump_sum(jump, result, stream_); };
      flows.boundaries[f] = plan_.conductance[f] * value_of(sum(launch, jump.boundary.is_boundary));
    }
    for (const DiagnosticsPlan::Void& each : plan_.voids) {
      LongAccumulator all{};
      for (const int of_class : each.classes)
        all.add(sum([&](LongAccumulator* result) {
          reductions_->void_flow_sum({before, materials_, of_class}, result, stream_);
        }));
      all.normalise();
      flows.voids.push_back(plan_.watts_a_void_unit * value_of(all));
    }
    close_balance(flows);
    return flows;
  }
  Histogram count(FieldView<const T> now) {
    histogram_->launch({now, now.interior(), bins_, counts_.as<std::uint64_t>()}, stream_);
    Histogram histogram{bins_, std::vector<std::int64_t>(static_cast<std::size_t>(bins_.slots()))};
    device_->copy(histogram.counts.data(), counts_.data(), counts_.bytes(), stream_);
    device_->synchronize(stream_);
    communicator_.all_reduce<std::int64_t>(histogram.counts, ReduceOp::sum);
    for (const auto& [held, cells] : body_.voids)
      histogram.counts[static_cast<std::size_t>(bins_.slot(held))] -= cells;
    return histogram;
  }

  Config config_;
  DiagnosticsPlan plan_;
  Communicator communicator_;
  Device* device_;
  Stream stream_;
  const FieldReductions<T>* reductions_;
  const HistogramKernel<T>* histogram_;
  Materials<T> materials_;
  BodyCells body_;
  std::optional<FieldSum<T>> sum_;
  Buffer result_, scratch_, counts_;
  Bins bins_;
  double source_ = 0;  // W
};

}  // namespace isotherm
