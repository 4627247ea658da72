// Diagnostics of the field while a run has it in memory. Costs nothing until it is asked to look.
#pragma once

#include <functional>
#include <optional>

#include "config/config.hpp"
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

// Fields before and after a sweep of the weight of euler_dt(); of a steady problem perhaps the same.
template <class T>
struct StepFields {
  FieldView<const T> before, after;
};

// The sum of a field over the cells of all ranks, exact.
template <class T>
class FieldSum {
 public:
  // Of fields of `subdomain` cells on this rank. `device` must outlive it.
  FieldSum(const Communicator& communicator, Device& device, Int3 subdomain, Stream stream);
  // Not rounded; waits for the stream. Over this block, or a part of it, and (collective) over all.
  LongAccumulator mine(FieldView<const T> field) { return mine(field, field.interior()); }
  LongAccumulator of(FieldView<const T> field) { return of(field, field.interior()); }
  LongAccumulator mine(FieldView<const T> field, Box region);
  LongAccumulator of(FieldView<const T> field, Box region);  // each rank's own
  // Of this block, each cell by the weight of its class, on the device; null: by 1.
  LongAccumulator mine(FieldView<const T> field, Materials<T> materials, const double* weights);
  double mean(FieldView<const T> field, Int3 cells) {  // of `cells` on all ranks
    return of(field).rounded() / static_cast<double>(cells.product());
  }

 private:
  Communicator communicator_;
  Device* device_;
  Stream stream_;
  const ReductionKernel<T>* kernel_;
  Buffer result_, scratch_;
};

// Which cells of the domain are body: without voids all.
struct BodyCells {
  std::int64_t count = 0;  // over all ranks
  double volume = 0;       // theirs, over that of the grid's first cell
  // By class, on the device: MaterialCells::body(), is_body(). Null: all alike.
  const double *weights = nullptr, *cells = nullptr;
  std::vector<std::pair<double, std::int64_t>> voids{};  // what cells of one hold, K, and how many there are
};

inline BodyCells all_cells(Int3 cells) {
  return {cells.product(), static_cast<double>(cells.product())};
}

template <class T>
class Diagnosis {
 public:
  // Of fields of `subdomain` cells on this rank. `device` must outlive it; all work is queued on `stream` and
  // waited for. `histogram` may be null where the deck asks for no bins. `materials` may be empty.
  Diagnosis(const Config& config, const Communicator& communicator, Int3 subdomain, Device& device,
            const HistogramKernel<T>* histogram, Stream stream, const Materials<T>& materials = {},
            const std::optional<BodyCells>& body = {});

  // Of the initial state: where the bins lie, what the sources give. `source` may be empty. Collective.
  void start(FieldView<const T> initial, FieldView<const T> source);
  // Of varying sources, before each look: source_sum(sum) over this block, of fields whose sum is sum(field).
  using SourceSum =
      std::function<LongAccumulator(const std::function<LongAccumulator(FieldView<const T>)>& sum)>;
  void find_source(const SourceSum& source_sum);

  // Of the field, and of heat in `step` with its `boundaries`. Collective; the same on every rank.
  Diagnostics look(FieldView<const T> now, const std::optional<StepFields<T>>& step,
                   const Boundaries<T>& boundaries);
  HeatFlows heat_flows(const StepFields<T>& step, const Boundaries<T>& boundaries) {  // alone
    return flows(plan_.rate ? heat_sum(step.after) : LongAccumulator{}, step.before, boundaries);
  }
  const Bins& bins() const { return bins_; }  // after start()

 private:
  // Over all ranks.
  Extremes extremes(FieldView<const T> field);
  LongAccumulator over_ranks(LongAccumulator mine);
  LongAccumulator void_flow_sum(FieldView<const T> field, int of_class);
  LongAccumulator jump_sum(const BoundaryJump<T>& jump);
  LongAccumulator heat_sum(
      FieldView<const T> field);  // K, each cell by its rho c over that of the first class

  HeatFlows flows(const LongAccumulator& heat_after, FieldView<const T> before,
                  const Boundaries<T>& boundaries);
  Histogram count(FieldView<const T> now);

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
