// Diagnostics of the field while a run has it in memory. Costs nothing until it is asked to look.
#pragma once

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "kernels/histogram.hpp"
#include "kernels/survey.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

template <class T>
class Diagnosis {
 public:
  // `device` must outlive it; all work is queued on `stream` and waited for. `histogram` may be null where
  // the deck asks for no bins.
  Diagnosis(const Config& config, const Communicator& communicator, Device& device,
            const HistogramKernel<T>* histogram, Stream stream);

  // Of the initial state, before the first look: where the bins lie, what the sources give. `source` may be
  // empty. Collective.
  void start(FieldView<const T> initial, FieldView<const T> source);

  // `before`: the field from which one single sweep made `now`, with `walls` as they were during that sweep;
  // empty where there was none. Collective; every rank returns the same.
  Diagnostics look(FieldView<const T> now, FieldView<const T> before, const Walls<T>& walls);
  const Bins& bins() const { return bins_; }  // after start()

 private:
  // A sum over all ranks with its scale; not finite where a summand is not.
  struct Total {
    ExactSum sum = ExactSum::none();
    double scale = 1;
    bool finite = true;
    double value() const;
  };
  template <class Part, class Launch>
  Part fetch(const Launch& launch);
  Extremes over_ranks(Extremes mine);
  Extremes extremes(FieldView<const T> field);  // over all ranks
  Total total(FieldView<const T> field,
              const Extremes& all);      // `all`: of this field and those it is added to
  Total total(const WallJump<T>* jump);  // null: this rank has no part of the wall
  template <class Sum>
  Total total(const Extremes& all, const Sum& sum_of_this_rank);

  HeatFlows flows(FieldView<const T> now, FieldView<const T> before, const Extremes& of_now,
                  const Walls<T>& walls);
  Histogram count(FieldView<const T> now);

  Config config_;
  DiagnosticsPlan plan_;
  Communicator communicator_;
  Device* device_;
  Stream stream_;
  const FieldSurvey<T>* survey_;
  const HistogramKernel<T>* histogram_;
  Buffer result_, scratch_, counts_;
  Bins bins_;
  double source_ = 0;  // W
};

}  // namespace isotherm
