// Diagnostics of the field while a run has it in memory. Costs nothing until it is asked to look.
#pragma once

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "kernels/survey.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

// The cell that stands out when a run has diverged.
struct ExtremeCell {
  Int3 cell;             // global
  double magnitude = 0;  // K; infinite where the value is not finite
};

// The cell with the largest magnitude, one that is not finite before all others, the first of equals.
// `field`: this rank's block, in host memory; `lo`: its first cell in a grid of `cells`. Collective.
template <class T>
ExtremeCell most_extreme_cell(FieldView<const T> field, Int3 lo, Int3 cells,
                              const Communicator& communicator);

// Heat that rounding swallows: what a sweep adds to a cell is less than half the last digit of its
// temperature, which therefore stays what it is.

// Of sources and flux boundaries, in kelvin a sweep: magnitudes, summed over cells.
struct SwallowedHeat {
  double all = 0, lost = 0;
};

// Of this rank's block: one pass over it. `field`, `source` (empty where there is none) and `boundaries` are
// in the device's memory, which `stream` has brought up to date.
template <class T>
SwallowedHeat swallowed_heat(const Config& config, Device& device, FieldView<const T> field,
                             FieldView<const T> source, const Boundaries<T>& boundaries,
                             const Coefficients<T>& c, Stream stream);

template <class T>
class Diagnosis {
 public:
  // Of fields of `block` cells on this rank. `device` must outlive it; all work is queued on `stream` and
  // waited for. `histogram` may be null where the deck asks for no bins.
  Diagnosis(const Config& config, const Communicator& communicator, Int3 block, Device& device,
            const HistogramKernel<T>* histogram, Stream stream);

  // Of the initial state, before the first look: where the bins lie, what the sources give. `source` may be
  // empty. Collective.
  void start(FieldView<const T> initial, FieldView<const T> source);

  // `before`: the field from which one single sweep made `now`, with `boundaries` as they were during that
  // sweep; empty where there was none. Collective; every rank returns the same.
  Diagnostics look(FieldView<const T> now, FieldView<const T> before, const Boundaries<T>& boundaries);
  // The heat that flows, and no more. `before` as of look(); in a steady problem, which has no rate, it may
  // be `now` itself.
  HeatFlows heat_flows(FieldView<const T> now, FieldView<const T> before, const Boundaries<T>& boundaries);
  const Bins& bins() const { return bins_; }  // after start()

 private:
  template <class Part, class Launch>
  Part fetch(const Launch& launch);
  LongAccumulator over_ranks(LongAccumulator mine);
  // Over all ranks.
  Extremes extremes(FieldView<const T> field);
  LongAccumulator sum(FieldView<const T> field);
  LongAccumulator jump_sum(const BoundaryJump<T>* jump);  // null: this rank has no part of the boundary

  HeatFlows flows(const LongAccumulator& sum_of_now, FieldView<const T> before,
                  const Boundaries<T>& boundaries);
  Histogram count(FieldView<const T> now);

  Config config_;
  DiagnosticsPlan plan_;
  Communicator communicator_;
  Device* device_;
  Stream stream_;
  const FieldSurvey<T>* survey_;
  const ReductionKernel<T>* reduction_;  // its sums are exact
  const HistogramKernel<T>* histogram_;
  Buffer result_, scratch_, counts_;
  Bins bins_;
  double source_ = 0;  // W
};

}  // namespace isotherm
