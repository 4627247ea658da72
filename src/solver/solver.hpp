// The solver of a run: a level, the step that advances it, the check of its residual and its diagnostics.
// Opens no file, prints nothing.
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
#include "solver/host_copy.hpp"
#include "solver/host_mirror.hpp"
#include "solver/level.hpp"
#include "solver/residual_check.hpp"
#include "solver/rows.hpp"
#include "solver/step.hpp"

namespace isotherm {

template <class T>
class Solver {
 public:
  // Allocates, proves the transports of halos and computes the initial state, or reads the one to resume
  // from. `time_halos`: time transports even where there is nothing to choose. Collective; errors of one rank
  // are thrown on all.
  Solver(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
         Device& device, const SolverRows<T>& rows, bool time_halos = false,
         const std::optional<StoredField>& stored = {});

  // Asynchronous on a GPU. The last of them returns its norm where the reduction is the fused one, and is a
  // launch of its own where its update is looked at by others. Halos are
  // exchanged at the first and every depth() sweeps: ranks that take the same sweeps in other parts must cut
  // them there (whole_periods() in period.hpp); with graphs, all take the same parts. `last_alone`: the last
  // is a launch of its own in any case, so that heat_flows() finds the field before it.
  void sweep(std::int64_t count, bool last_alone = false);
  int depth() const { return step_.depth(); }
  // How steps are made from here on, and which kernel reduces norms; while no residual is under way.
  // Collective.
  void use(const StepPlan<T>& plan, const ReductionKernel<T>& reduction);
  const StepPlan<T>& plan() const { return step_.plan(); }
  const ReductionKernel<T>& reduction() const { return *rows_.reduction; }
  const HistogramKernel<T>& histogram() const { return *rows_.histogram; }
  Level<T>& level() { return level_; }
  Step<T>& step() { return step_; }
  // Sweeps that a launch fuses, where nothing is due before.
  int fused() const { return step_.fused(); }
  // Why it is one, where the kernel, or another that `auto` may take, could fuse more; else empty.
  // `otherwise`: where neither the deck nor what is due says so.
  std::string why_single(const std::string& otherwise = "") const;
  // That a graph holds.
  std::int64_t sweeps_of_a_graph() const { return step_.sweeps_of_a_graph(); }
  // The norm of the last update over all cells of all ranks, divided by the weight in a steady problem, in
  // two halves: start_residual() waits for nothing, finish_residual() for no sweep that was queued after it.
  // Both collective; one at a time.
  void start_residual();
  double finish_residual();
  double residual();  // both
  // What the field holds, and the heat that moved during the last sweep. Only where output.diagnostics is
  // set. Collective; every rank returns the same.
  Diagnostics diagnose();
  // Of the field as it is. Both collective; every rank returns the same.
  TemperatureExtremes extremes();
  // Transient: during the last step; none where there was none, or the launch that made it made others too.
  // Steady: of the field itself. None where the deck does not give the material for it.
  std::optional<HeatFlows> heat_flows();
  // Where its histogram's bins lie; none without one.
  std::optional<Bins> histogram_bins() const;
  // What of the heat of sources and flux boundaries rounding swallows now. One pass over the field, and on a
  // GPU a copy of it, plane by plane. Collective; every rank returns the same.
  SwallowedHeat swallowed_heat();
  void synchronize();
  // The host waits for what was queued before the last call of this one, so that it is never far ahead of a
  // device that still has something to do.
  void keep_pace();
  bool is_asynchronous() const { return !level_.on_host(); }  // sweep() only queues

  std::int64_t sweeps() const { return level_.sweeps(); }               // since the initial state
  std::int64_t own_sweeps() const { return level_.sweeps() - first_; }  // of this solver
  double time() const { return level_.time(); }                         // s; 0 in a steady problem
  Box block() const { return level_.block(); }
  // The field in host memory; waits for the device. Valid until the next sweep.
  FieldView<const T> host_field() { return mirror_.field(); }
  // The cells of `boxes` alone, in indices of this block, dense, one box after another; waits for the device,
  // from which nothing else is moved while they are few. Collective, with boxes of each rank's own, which may
  // be none.
  std::vector<T> host_cells(const std::vector<Box>& boxes) { return mirror_.cells(boxes); }
  // The field as it is now, for longer. Queued on a GPU: of the sweeps to come only the second waits for it,
  // which overwrites the field. `copy` lives until then, and is of this block.
  HostCopy<T> make_host_copy() { return {level_.device(), level_.extent(), level_.field().ghosts}; }
  void copy_to(HostCopy<T>& copy);
  std::uint64_t fingerprint();      // of the whole field, collective
  ExtremeCell most_extreme_cell();  // collective

  // From now on times() has the parts of exchanges too, and on a GPU the host waits behind each phase for
  // what it has queued: nothing overlaps, nothing is queued as graphs, and times are those of the device.
  void time_phases();
  void forget_times();  // times() begins anew

  bool queues_graphs() const { return step_.plan().graph; }
  const std::vector<HaloLink>& halo_links() const { return level_.halo().links(); }
  // What exchanges cost the steps as they are made now. Collective. Leaves the current field as it is, but
  // for ghosts, and in the other what the next sweep will put there.
  HaloCost measure_halo_cost();
  bool has_sources() const { return level_.source().origin != nullptr; }
  const SourceTotals& sources() const { return sources_; }  // of the whole domain, the same on all ranks
  // Least traffic of a sweep, as a share of a launch's.
  double bytes_per_point() const { return least_bytes_per_cell<T>(has_sources()) / fused(); }
  SolverTimes times() const;

 private:
  void make_check();
  Diagnosis<T> make_diagnosis();
  void poll_residual();

  SolverRows<T> rows_;
  SolverTimes times_;
  Level<T> level_;
  Step<T> step_;
  std::optional<ResidualCheck<T>> check_;
  HostMirror<T> mirror_;
  Owned<Event> paced_;
  SourceTotals sources_;
  bool last_alone_ = false;  // of sweep(): its update is looked at, not its norm alone
  std::optional<Diagnosis<T>> diagnosis_;
  std::int64_t first_ = 0;
};

}  // namespace isotherm
