// The solver of a run: a level, the step that advances it, the check of its residual and its diagnostics.
// Opens no file, prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
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
#include "solver/step_trials.hpp"

namespace isotherm {

template <class T>
class Solver {
 public:
  // Allocates, proves the transports of halos and computes the initial state, or reads the one to resume
  // from. `time_halos`: measure what they cost even where there is nothing to choose, and how much of it
  // sweeps hide. Collective; errors of one rank are thrown on all.
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
  // Sweeps that a launch fuses, where nothing is due before.
  int fused() const { return step_.fused(); }
  // Why it is one, of a row that could fuse more; empty where it is not, or could not.
  std::string why_single() const;
  std::tuple<int, std::string> fused_and_why() const { return {fused(), why_single()}; }
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

  bool queues_graphs() const { return step_.uses_graph(); }
  // Where the rows left it open; none where graphs cannot be, or sweeps are too long for them to matter.
  const std::optional<GraphTrial>& graph_trial() const { return graph_trial_; }
  // Of the ways that `rows` left to the solver; none where there was but one.
  const std::vector<StepTrial>& step_trials() const { return step_trials_; }
  const SweepChoice<T>& sweep_choice() const { return step_.sweep(); }
  Overlap overlap() const { return step_.overlap(); }  // on, off or in_sweep
  const std::vector<HaloLink>& halo_links() const { return level_.halo().links(); }
  // None without neighbours, nor where it was not asked for.
  const std::optional<HaloCost>& halo_cost() const { return halo_cost_; }
  bool has_sources() const { return level_.source().origin != nullptr; }
  const SourceTotals& sources() const { return sources_; }  // of the whole domain, the same on all ranks
  // Least traffic of a sweep, as a share of a launch's.
  double bytes_per_point() const { return least_bytes_per_cell<T>(has_sources()) / fused(); }
  SolverTimes times() const;

 private:
  std::size_t scratch_bytes() const;
  void settle_step();
  Diagnosis<T> make_diagnosis();
  void poll_residual();

  SolverRows<T> rows_;
  SolverTimes times_;
  Level<T> level_;
  Step<T> step_;
  ResidualCheck<T> check_;
  HostMirror<T> mirror_;
  Owned<Event> paced_;
  SourceTotals sources_;
  bool last_alone_;  // of sweep(): its update is looked at, not its norm alone
  std::optional<Diagnosis<T>> diagnosis_;
  std::vector<StepTrial> step_trials_;
  std::optional<GraphTrial> graph_trial_;
  std::optional<HaloCost> halo_cost_;
  std::int64_t first_ = 0;
};

}  // namespace isotherm
