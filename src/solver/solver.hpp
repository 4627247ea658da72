// Owns the fields of a run and the order of one step. Opens no file, prints nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/timer.hpp"
#include "core/trace.hpp"
#include "grid/decomposition.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "halo/hiding.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "physics/diagnostics.hpp"
#include "physics/paint.hpp"
#include "physics/stored_field.hpp"
#include "physics/walls.hpp"
#include "solver/diagnosis.hpp"
#include "solver/host_copy.hpp"
#include "solver/period.hpp"
#include "solver/residual_check.hpp"
#include "solver/rows.hpp"

namespace isotherm {

// Seconds of this rank's host thread. `sweep` holds the wait for the device, and the values of walls that
// vary in time; `halo` the exchange and the ghosts of walls.
struct SolverTimes {
  double sweep = 0, halo = 0, reduction = 0, diagnostics = 0;
  double interior = 0, shells = 0;  // parts of `sweep`
  PhaseTimes exchange;              // pack, wire and unpack, parts of `halo`, after time_phases()
  double sum() const { return sweep + halo + reduction + diagnostics; }
};

// Seconds of a sweep with its share of an exchange, on the slowest rank.
struct GraphTrial {
  double launches, graph;
};
struct StepTrial {
  std::string_view kernel, policy;
  int fused;  // sweeps of a launch
  Overlap overlap;
  double seconds;
};

template <class T>
class Solver {
 public:
  // Allocates, proves the transports of halos and paints the initial state, or reads the one to go on from.
  // `time_halos`: measure what they cost even where there is nothing to choose, and how much of it sweeps
  // hide. Collective; errors of one rank are thrown on all.
  Solver(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
         Device& device, SolverRows<T> rows, bool time_halos = false,
         const std::optional<StoredField>& stored = {});

  // Asynchronous on a GPU. The last of them returns its norm where the reduction is the fused one, and is a
  // launch of its own where its update is looked at by others. Halos are
  // exchanged at the first and every depth() sweeps: ranks that take the same sweeps in other parts must cut
  // them there (whole_periods() in period.hpp); with graphs, all take the same parts. `last_alone`: the last
  // is a launch of its own in any case, so that heat_flows() finds the field before it.
  void sweep(std::int64_t count, bool last_alone = false);
  int depth() const { return depth_; }
  // Sweeps that a launch fuses, where nothing is due before.
  int fused() const { return rows_.sweep.depth; }
  // Why it is one, of a row that could fuse more; empty where it is not, or could not.
  std::string why_single() const;
  std::tuple<int, std::string> fused_and_why() const { return {fused(), why_single()}; }
  // That a graph holds.
  std::int64_t sweeps_of_a_graph() const { return isotherm::sweeps_of_a_graph(depth_, fused()); }
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
  bool is_asynchronous() const { return device_.backend() != Backend::host; }  // sweep() only queues

  std::int64_t sweeps() const { return sweeps_; }                     // since the initial state
  std::int64_t own_sweeps() const { return sweeps_ - first_; }        // of this solver
  double time() const { return static_cast<double>(sweeps_) * dt_; }  // s; 0 in a steady problem
  Box block() const { return block_; }
  // The field in host memory; waits for the device. Valid until the next sweep.
  FieldView<const T> host_field();
  // The cells of `boxes` alone, in indices of this block, dense, one box after another; waits for the device,
  // from which nothing else is moved while they are few. Collective, with boxes of each rank's own, which may
  // be none.
  std::vector<T> host_cells(const std::vector<Box>& boxes);
  // The field as it is now, for longer. Queued on a GPU: of the sweeps to come only the second waits for it,
  // which overwrites the field. `copy` lives until then, and is of this block.
  HostCopy<T> make_host_copy() { return {device_, block_.extent(), halo_depth(config_)}; }
  void copy_to(HostCopy<T>& copy);
  std::uint64_t fingerprint();      // of the whole field, collective
  ExtremeCell most_extreme_cell();  // collective

  // From now on times() has the parts of exchanges too, and on a GPU the host waits behind each phase for
  // what it has queued: nothing overlaps, nothing is queued as graphs, and times are those of the device.
  void time_phases();

  bool queues_graphs() const { return rows_.graph; }
  // Where the rows left it open; none where graphs cannot be, or sweeps are too long for them to matter.
  const std::optional<GraphTrial>& graph_trial() const { return graph_trial_; }
  // Of the ways that `rows` left to the solver; none where there was but one.
  const std::vector<StepTrial>& step_trials() const { return step_trials_; }
  const SweepChoice<T>& sweep_choice() const { return rows_.sweep; }
  Overlap overlap() const { return overlap_; }  // on, off or in_sweep
  const std::vector<HaloLink>& halo_links() const { return halo_.links(); }
  // None without neighbours, nor where it was not asked for.
  const std::optional<HaloCost>& halo_cost() const { return halo_cost_; }
  bool has_sources() const { return source_.has_value(); }
  const SourceTotals& sources() const { return sources_; }  // of the whole domain, the same on all ranks
  // Least traffic of a sweep, as a share of a launch's.
  double bytes_per_point() const { return least_bytes_per_cell<T>(source_.has_value()) / fused(); }
  SolverTimes times() const;

 private:
  std::size_t scratch_bytes() const;
  void paint_initial();
  void read_stored(const StoredField& stored);
  void paint_sources();
  Diagnosis<T> make_diagnosis();
  FieldView<T> host_side(Field<T>& field);
  void upload(Field<T>& field);
  void fill_walls(Box region);
  SweepPlan plan(const PeriodLaunch& launch) const { return {launch.sweeps, rows_.sweep.policy}; }
  Box interior(const PeriodLaunch& launch) const;
  void settle(Stream stream);
  void sweep_at_hand(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer);
  void sweep_rest(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer);
  void exchange_and_sweep(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer);
  void exchange();
  void bring_ghosts();
  void sweep_and_store(const PeriodLaunch& launch, UpdateNorm& norm, Timer& timer);
  Overlap settle_overlap();
  bool sweeps_store() const;
  void take_sweep(const SweepChoice<T>& choice);
  double trial_seconds(bool as_graph, std::int64_t count, int times);
  void try_steps();
  std::optional<GraphTrial> try_graph();
  HaloCost measure_halo_cost();
  void step(const PeriodLaunch& launch, bool first, bool with_norm);
  std::vector<PeriodLaunch> launches(int count, bool looked_at) const;
  void period(int count, bool looked_at);
  bool sweep_by_graph(std::int64_t until);
  SweepArgs<T> sweep_args(Box region, const UpdateNorm& norm);
  void queue(const PeriodLaunch& launch, Box region, UpdateNorm& norm, Phase part);
  void wait_for_copy();
  double whole(LongAccumulator mine);
  void poll_residual();

  Config config_;
  Decomposition decomposition_;
  Communicator communicator_;
  Device& device_;
  std::unique_ptr<Device> host_;
  SolverRows<T> rows_;

  Box block_;
  Field<T> current_, next_;
  std::optional<Field<T>> source_, mirror_;
  SourceTotals sources_;
  WallRules<T> walls_;
  HaloExchange<T> halo_;
  GhostSides sides_;
  int depth_;                // sweeps of a period
  bool last_alone_;          // of sweep(): its update is looked at, not its norm alone
  bool end_alone_ = false;   // the same, of the sweep() that is under way
  bool has_before_ = false;  // next_ holds the field from which the last sweep alone made the current one
  Owned<Stream> compute_, halo_stream_;
  Owned<Event> paced_;
  ResidualCheck<T> check_;
  std::optional<Diagnosis<T>> diagnosis_;
  std::vector<StepTrial> step_trials_;
  std::optional<GraphTrial> graph_trial_;
  std::optional<HaloCost> halo_cost_;

  Coefficients<T> coefficients_;
  std::optional<Owned<Graph>> graph_;   // of sweeps_of_a_graph() sweeps
  const T* graph_starts_at_ = nullptr;  // the origin of the field that it reads first

  double dt_ = 0;
  Overlap overlap_ = Overlap::off;
  // Those of the current field, where sweeps store their faces: brought by an exchange, or by the last sweeps
  // of the neighbours, which may not have ended.
  enum class Ghosts { absent, here, under_way } ghosts_ = Ghosts::absent;
  std::int64_t sweeps_ = 0, first_ = 0;
  std::int64_t mirrored_ = -1;  // the sweep of which mirror_ holds the field
  Buffer packed_;               // of the device: cells on their way to the host
  struct Copying {
    Event done;
    std::int64_t sweep;  // whose field is copied
  };
  std::optional<Copying> copying_;  // until a sweep has waited for it
  SolverTimes times_;
  bool times_phases_ = false;
};

}  // namespace isotherm
