// The solver of a run: level, step, residual and diagnostics. Opens no file, prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "physics/diagnostics.hpp"
#include "solver/diagnosis.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/level.hpp"
#include "solver/multigrid.hpp"
#include "solver/residual_check.hpp"
#include "solver/step.hpp"
#include "solver/super_step.hpp"

namespace isotherm {

// Heat of sources and flux boundaries, K per sweep: sums of magnitudes. `lost`: the part lost by rounding.
struct LostHeat {
  double all = 0, lost = 0;
};

template <class T>
class Solver {
 public:
  // Allocates, tests the transports, and computes the initial state or reads `stored`, to resume from it.
  // `time_halos`: time the transports in any case. Collective; errors of one rank are thrown on all.
  Solver(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
         Device& device, const SolverKernels<T>& kernels, bool time_halos = false,
         const std::optional<StoredField>& stored = {});

  // Asynchronous on a GPU. The last sweep returns a fused norm, except where an extra sweep finds it: with
  // cycles, or after a step that jumps divide. Halos are exchanged at the first sweep and every unit()
  // sweeps. Ranks that sweep different counts must end at exchanges (whole_periods()); with graphs, counts
  // must be equal. The last sweep is a launch of its own where its update is read, and with `last_alone`, so
  // that heat_flows() has the field before it.
  void sweep(std::int64_t count, bool last_alone = false);
  // From now on sweep() returns before `count` where the run must stop within a step.
  void stop_by(const StopTime& stop) {
    if (super_step_) super_step_->stop_by(stop);
  }
  std::int64_t unit() const { return step_.unit(); }  // sweeps that are queued as a whole
  // Sets how steps are executed and norms reduced, while no residual is under way. Collective.
  void use(const StepPlan<T>& plan, const ReductionKernel<T>& reduction) {
    step_.use(plan);
    kernels_.reduction = &reduction;
    make_check();
  }
  const StepPlan<T>& plan() const { return step_.plan(); }
  const ReductionKernel<T>& reduction() const { return *kernels_.reduction; }
  const HistogramKernel<T>& histogram() const { return *kernels_.histogram; }
  Level<T>& level() { return level_; }
  Step<T>& step() { return step_; }
  int time_block() const { return plan().sweep.time_block; }  // the most sweeps of a launch
  // Why time_block() is 1 though kernels could fuse more; else empty. `otherwise`: text for other reasons.
  std::string why_single(const std::string& otherwise = "") const;
  // The residual of the last update, in two collective halves. With cycles, or where a value jumped within
  // the last step, that of an extra sweep whose result is discarded.
  void start_residual();
  double finish_residual();
  double residual() {  // both
    start_residual();
    return finish_residual();
  }
  // Collective; requires output.diagnostics. Diagnostics of the field, and the heat of the last sweep.
  Diagnostics diagnose();
  TemperatureExtremes extremes();                        // of the field as it is
  std::vector<TemperatureExtremes> material_extremes();  // by number, of a deck with `materials`; collective
  // Transient: flows of the last step, if it was a launch of its own; where probes_update(), of an extra
  // sweep of the unit weight. Steady: flows of the field. None where the deck lacks the material for them.
  std::optional<HeatFlows> heat_flows();
  std::optional<Bins> histogram_bins() const {  // none without a histogram
    if (!diagnosis_ || level_.config().output.histogram.bins == 0) return std::nullopt;
    return diagnosis_->bins();
  }
  LostHeat lost_heat();         // now, by one pass over the field; zeros with several materials
  std::uint64_t fingerprint();  // of the whole field
  void synchronize() {
    step_.clock.timed(Phase::sweep, [&] { level_.synchronize(); });
  }
  // The host waits for the work queued before the previous call, so it is never far ahead of a busy device.
  void limit_queue() {
    if (!is_asynchronous()) return;
    step_.clock.timed(Phase::sweep, [&] {
      level_.device().synchronize(queue_limit_);
      level_.device().record(queue_limit_, level_.compute());
    });
  }
  bool is_asynchronous() const { return !level_.on_host(); }  // sweep() only queues

  std::int64_t sweeps() const { return level_.sweeps(); }               // since the initial state
  std::int64_t own_sweeps() const { return level_.sweeps() - first_; }  // of this solver
  double time() const { return level_.time(); }                         // s; 0 in a steady problem
  // Counts of parts of steps (StepControl), while sweeps() counts whole steps; without long steps only
  // sweeps. Sweeps beyond those of the method's cycles are included.
  StepCounts counts() const {
    StepCounts counts = super_step_ ? super_step_->counts() : StepCounts{.sweeps = own_sweeps()};
    counts.sweeps += extra_sweeps();
    return counts;
  }
  std::int64_t extra_sweeps() const { return whole_cycle_ ? whole_cycle_->extra_sweeps() : 0; }
  int step_halvings() const { return super_step_ ? super_step_->halvings() : 0; }
  void resume_from_halvings(int halvings) {
    if (halvings > 0 && super_step_) super_step_->resume_from(halvings);
  }
  bool has_cycles() const { return level_.method().cycle() > 1; }
  Box subdomain() const { return level_.subdomain(); }
  FieldView<const T> host_field() { return level_.host_field(); }
  std::vector<T> host_cells(const std::vector<Box>& boxes) { return level_.host_cells(boxes); }

  // From now on times() includes the phases of exchanges. On a GPU the host waits after each phase for the
  // work it has queued: no overlap, no graphs, and times are those of the device.
  void time_phases() {
    step_.use_no_graphs();
    for (const TimedGrid& each : timed()) each.clock->waits = true;
    reset_times();
  }
  void reset_times() {  // times() restarts from 0
    for (const TimedGrid& each : timed()) each.clock->times = {};
    if (step_.clock.waits) level_.halo().time_phases();
  }

  const std::vector<HaloLink>& halo_links() const { return level_.halo().links(); }
  // The cost of exchanges with the current plan. Keeps the current field, except ghosts. Collective.
  HaloCost measure_halo_cost();
  // Seconds per step to update values of boundaries and sources that vary; none without these. Collective.
  std::optional<double> measure_values();
  bool has_sources() const { return !level_.source().empty() || level_.has_uniform_source(); }
  const HeatTotals& sources() const { return sources_; }  // of the whole domain, the same on all ranks
  // Least traffic of a sweep: its share of the traffic of a launch.
  double bytes_per_point() const {
    return (least_bytes_per_cell<T>(!level_.source().empty()) + (level_.materials().empty() ? 0 : 1)) /
           time_block();
  }
  // Times of all grids together, with the derived sums.
  PhaseTimes times() {
    PhaseTimes t = level_.halo().times();
    for (const TimedGrid& each : timed()) t += each.clock->times;
    t[Phase::sweeps] = t[Phase::interior] + t[Phase::exterior] + t[Phase::sweep];
    t[Phase::boundaries] = t[Phase::halo] - t[Phase::pack] - t[Phase::wire] - t[Phase::unpack];
    return t;
  }
  // Times of each grid, the finest first.
  std::vector<TimedGrid> timed() {
    std::vector<TimedGrid> all{{level_.config().grid.cells, &step_.clock}};
    if (whole_cycle_)
      for (const TimedGrid& each : whole_cycle_->timed()) all.push_back(each);
    return all;
  }

 private:
  void make_check();
  // Must an extra sweep, which is discarded, find the update, because the last step was several sweeps?
  bool probes_update() const {
    return has_cycles() || (own_sweeps() > 0 && level_.next_divided(sweeps() - 1) == sweeps() - 1);
  }
  void probe(const UpdateNorm& norm) { step_.probe(has_cycles() ? kernels_.probe : plan().sweep, norm); }
  // The fields before and after the last step or, where probes_update(), that extra sweep. In a steady
  // problem with cycles both are the current field.
  StepFields<T> fields_of_update() {
    if (!probes_update()) return {level_.before(), level_.field()};
    if (level_.config().problem.kind == ProblemKind::steady) return {level_.field(), level_.field()};
    probe({});
    return {level_.field(), level_.before()};
  }

  SolverKernels<T> kernels_;
  Level<T> level_;
  HeatTotals sources_;
  Step<T> step_;
  std::unique_ptr<WholeCycle> whole_cycle_;  // null: cycles are sweeps only
  SuperStep<T>* super_step_ = nullptr;       // whole_cycle_ in methods of long steps; else null
  std::optional<ResidualCheck<T>> check_;
  Owned<Event> queue_limit_;
  bool last_alone_ = false;  // sweep(): the update of the last sweep is read, not only its norm
  std::optional<Diagnosis<T>> diagnosis_;
  std::int64_t first_ = 0;
};

}  // namespace isotherm
