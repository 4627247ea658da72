#include "solver/solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/agree.hpp"
#include "kernels/face_copy.hpp"
#include "physics/diagnostics.hpp"
#include "physics/operator.hpp"
#include "physics/paint.hpp"
#include "solver/host_copy.hpp"
#include "solver/rows.hpp"

namespace isotherm {
namespace {

// Touched first by the threads that will sweep it, before anything else writes to it.
template <class T>
Field<T> make_field(const Communicator& communicator, Device& device, Int3 extent, int ghosts) {
  return agree(communicator, [&] {
    Field<T> field(device, extent, ghosts);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    face_copy<T>(device.backend()).fill(field.view(), T(0), stream);
    device.synchronize(stream);
    return field;
  });
}

// With no more sweeps fused than walls and ghosts allow.
template <class T>
SolverRows<T> fitting(SolverRows<T> rows, const Config& config, const Decomposition& decomposition) {
  const int most = most_fused(config, decomposition);
  rows.sweep.depth = std::min(rows.sweep.depth, most);
  for (SweepChoice<T>& choice : rows.close) choice.depth = std::min(choice.depth, most);
  return rows;
}

TransportSettings transport_settings(const Config& config, bool timed) {
  const ParallelConfig& parallel = config.parallel;
  return {parallel.transport, config.at("parallel.transport"), parallel.probe_timeout, timed};
}

}  // namespace

template <class T>
Solver<T>::Solver(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                  Device& device, SolverRows<T> rows, bool time_halos,
                  const std::optional<StoredField>& stored)
    : config_(config),
      decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      host_(make_host_of(device)),
      rows_(fitting(rows, config, decomposition)),
      block_(decomposition.block(communicator.rank())),
      current_(make_field<T>(communicator, device, block_.extent(), halo_depth(config))),
      next_(make_field<T>(communicator, device, block_.extent(), halo_depth(config))),
      walls_(agree(communicator,
                   [&] {
                     return WallRules<T>(config, device, block_, halo_depth(config),
                                         decomposition.walls(communicator.rank()));
                   })),
      halo_(decomposition, communicator, device, {halo_field(current_), halo_field(next_)},
            transport_settings(config, time_halos)),
      sides_(ghost_sides(decomposition, communicator.rank())),
      depth_(period_of(config, sides_, fused())),
      last_alone_(!rows.reduction->fused || config.output.diagnostics),
      compute_(own_stream(device, Priority::normal)),
      halo_stream_(own_stream(device, Priority::high)),
      paced_(own_event(device)),
      check_(config, communicator, device, *rows.reduction, scratch_bytes()),
      coefficients_(rounded_coefficients<T>(sweep_coefficients(config))),
      dt_(config.problem.kind == ProblemKind::transient ? time_plan(config).dt : 0),
      overlap_(settle_overlap()) {
  rows_.graph =
      agree(communicator, [&] { return settle_graph(config, rows.graph, halo_.why_not_recordable()); });
  paint_sources();
  if (!walls_vary_in_time(config)) try_steps();
  if (rows_.try_graph && halo_.why_not_recordable().empty()) graph_trial_ = try_graph();
  for (const StencilKernel<T>& row : stencil_kernels<T>())
    if (row.memory) row.memory->release();                   // of rows that were tried, and are not taken
  const FaceCopy<T>& copy = face_copy<T>(device.backend());  // transports were proved with the fields
  copy.fill(current_.view(), T(0), compute_);
  copy.fill(next_.view(), T(0), compute_);
  stored ? read_stored(*stored) : paint_initial();
  ghosts_ = Ghosts::absent;  // trials left others
  synchronize();
  device.record(paced_, compute_);
  if (time_halos && communicator.size() > 1) halo_cost_ = measure_halo_cost();
  if (config.output.diagnostics) diagnosis_.emplace(make_diagnosis());
  if (stored) sweeps_ = first_ = stored->sweep;
}

// Where a field is read into: itself on the host, the mirror of a device.
template <class T>
FieldView<T> Solver<T>::host_side(Field<T>& field) {
  if (device_.backend() == Backend::host) return field.view();
  if (!mirror_) mirror_.emplace(*host_, block_.extent(), halo_depth(config_));
  face_copy<T>(Backend::host).fill(mirror_->view(), T(0), {});
  return mirror_->view();
}

template <class T>
void Solver<T>::upload(Field<T>& field) {
  if (device_.backend() == Backend::host) return;
  device_.copy(field.data(), mirror_->data(), field.bytes(), compute_);
  device_.synchronize(compute_);
}

// Of the deck's reduction, or of the norms of all regions that a step sweeps.
template <class T>
std::size_t Solver<T>::scratch_bytes() const {
  const Box whole{{0, 0, 0}, block_.extent()};
  if (!rows_.reduction->fused) return rows_.reduction->scratch_bytes(whole);
  std::size_t most = 0;
  const auto count = [&](const SweepChoice<T>& choice) {
    const StencilKernel<T>& row = *choice.row;
    const int policy = choice.policy;
    // The last launch of a period has the norm, also where it is the first.
    for (int sweeps = 1; sweeps <= choice.depth; ++sweeps) {
      const PeriodLaunch launch = launches_of_period(block_.extent(), sides_, sweeps, {sweeps}).front();
      const SweepPlan plan{launch.sweeps, policy};
      const Box interior = interior_of(row, whole, launch.interior, plan);
      most = std::max(
          {most, row.norm_scratch_bytes(whole, policy), parts_scratch_bytes(row, whole, interior, plan)});
    }
  };
  count(rows_.sweep);
  for (const SweepChoice<T>& choice : rows_.close) count(choice);
  return most;
}

template <class T>
void Solver<T>::paint_sources() {
  const std::vector<Paint> entries = all_sources(config_);
  if (entries.empty()) return;
  source_.emplace(make_field<T>(communicator_, device_, block_.extent(), halo_depth(config_)));
  std::optional<HaloExchange<T>> halo;  // sweeps reach into the ghosts
  if (halo_depth(config_) > 1) {
    halo.emplace(decomposition_, communicator_, device_, std::vector{halo_field(*source_)},
                 TransportSettings{.name = "host", .timed = false});
  }
  agree(communicator_, [&] {
    const Painter painter(config_, entries, "sources");
    PaintTotals totals;
    face_copy<T>(device_.backend()).fill(source_->view(), T(0), compute_);
    fill_from_host<T>(*source_, block_, device_, compute_, [&](Box cells, FieldView<T> view) {
      totals = totals + painter.paint(source_scale(config_), cells, view);
    });
    sources_ = source_totals(config_, totals);
  });
  sources_ = {communicator_.all_reduce(sources_.power, ReduceOp::sum),
              communicator_.all_reduce(sources_.cells, ReduceOp::sum)};
  if (!halo) return;
  halo->start(source_->view(), compute_, halo_stream_);
  halo->finish(source_->view(), compute_, halo_stream_);
  synchronize();
}

template <class T>
void Solver<T>::paint_initial() {
  LongAccumulator sum{};
  const auto fill = [&](const std::function<void(FieldView<T>)>& each_slab) {
    agree(communicator_, [&] {
      const Painter painter(config_, config_.initial, "initial");
      fill_from_host<T>(current_, block_, device_, compute_, [&](Box cells, FieldView<T> view) {
        painter.paint(1.0, cells, view);
        each_slab(view);
      });
    });
  };
  if (!mean_is_free(config_)) return fill([](FieldView<T>) {});
  // No boundary holds the temperature: the mean of the initial state is moved to the deck's. Jacobi sweeps of
  // a balanced problem keep it.
  fill([&](FieldView<T> view) { sum.add(exact_sum<T>(view)); });
  const double mean = whole(sum) / static_cast<double>(config_.grid.cells.product());
  fill([&](FieldView<T> view) { shift<T>(view, *config_.problem.mean_temperature - mean); });
}

template <class T>
void Solver<T>::read_stored(const StoredField& stored) {
  agree(communicator_, [&] { read_field(stored, config_.grid.cells, block_, host_side(current_)); });
  upload(current_);
}

// The sum over all ranks, rounded once: of the same bits for any decomposition.
template <class T>
double Solver<T>::whole(LongAccumulator mine) {
  communicator_.all_reduce(mine.word, ReduceOp::sum);
  return mine.rounded();
}

// Where launches could fuse some: by the row of the run, or by others that `auto` might have taken.
template <class T>
std::string Solver<T>::why_single() const {
  if (fused() > 1) return "";
  const bool can =
      rows_.sweep.can_fuse() || (config_.solver.kernel == "auto" && has_row_that_fuses<T>(device_.backend()));
  if (!can) return "";
  if (walls_vary_in_time(config_)) return "walls vary in time";
  if (config_.parallel.overlap == Overlap::in_sweep && communicator_.size() > 1)
    return "sweeps store their faces";
  if (config_.solver.depth == 1 || (exchanges(sides_) && halo_depth(config_) == 1))
    return "solver.depth is 1";
  if (most_fused(config_) == 1) return "something is due after every sweep";
  return rows_.why_single.empty() ? "the fastest by trial" : rows_.why_single;
}

template <class T>
void Solver<T>::synchronize() {
  Timer timer;
  device_.synchronize(halo_stream_);
  device_.synchronize(compute_);
  times_.sweep += timer.seconds();
}

template <class T>
void Solver<T>::keep_pace() {
  if (!is_asynchronous()) return;
  Timer timer;
  device_.synchronize(paced_);
  device_.record(paced_, compute_);
  times_.sweep += timer.seconds();
}

template <class T>
void Solver<T>::time_phases() {
  times_phases_ = true;
  times_ = {};
  rows_.graph = false;
  graph_.reset();
  halo_.time_phases();
}

template <class T>
SolverTimes Solver<T>::times() const {
  SolverTimes times = times_;
  times.exchange = halo_.times();
  return times;
}

template <class T>
void Solver<T>::start_residual() {
  const TraceRange range(Phase::reduction);
  Timer timer;
  settle(compute_);  // the sweeps are no part of it
  times_.sweep += timer.lap();
  check_.start(std::as_const(current_).view(), std::as_const(next_).view(), compute_);
  settle(compute_);
  times_.reduction += timer.seconds();
}

template <class T>
void Solver<T>::poll_residual() {
  if (!check_.under_way()) return;
  const TraceRange range(Phase::reduction);
  Timer timer;
  check_.poll();
  times_.reduction += timer.seconds();
}

template <class T>
double Solver<T>::finish_residual() {
  const TraceRange range(Phase::reduction);
  Timer timer;
  check_.wait_for_sweeps();
  times_.sweep += timer.lap();
  const double value = check_.finish();
  times_.reduction += timer.seconds();
  return value;
}

template <class T>
double Solver<T>::residual() {
  start_residual();
  return finish_residual();
}

template <class T>
SwallowedHeat Solver<T>::swallowed_heat() {
  synchronize();
  const FieldView<const T> source = source_ ? std::as_const(*source_).view() : FieldView<const T>{};
  const SwallowedHeat mine = isotherm::swallowed_heat(config_, device_, std::as_const(current_).view(),
                                                      source, walls_.walls(), coefficients_, compute_);
  return {communicator_.all_reduce(mine.all, ReduceOp::sum),
          communicator_.all_reduce(mine.lost, ReduceOp::sum)};
}

// Where the bins lie depends on the initial state: it is looked at before the first sweep.
template <class T>
Diagnosis<T> Solver<T>::make_diagnosis() {
  const FieldView<const T> source = source_ ? std::as_const(*source_).view() : FieldView<const T>{};
  Diagnosis<T> diagnosis(config_, communicator_, block_.extent(), device_, rows_.histogram, compute_);
  diagnosis.start(std::as_const(current_).view(), source);
  return diagnosis;
}

template <class T>
Diagnostics Solver<T>::diagnose() {
  if (!diagnosis_) throw Error(ExitCode::internal, "diagnostics were not asked for; please report it");
  synchronize();
  const TraceRange range(Phase::diagnostics);
  Timer timer;
  const FieldView<const T> before = own_sweeps() > 0 ? std::as_const(next_).view() : FieldView<const T>{};
  const Diagnostics found = diagnosis_->look(std::as_const(current_).view(), before, walls_.walls());
  times_.diagnostics += timer.seconds();
  return found;
}

template <class T>
TemperatureExtremes Solver<T>::extremes() {
  return over_ranks(temperature_extremes<T>(host_field(), block_.lo, config_.grid.cells), communicator_);
}

template <class T>
std::optional<HeatFlows> Solver<T>::heat_flows() {
  const bool steady = config_.problem.kind == ProblemKind::steady;
  if (!plan_diagnostics(config_).flows || !(steady || (own_sweeps() > 0 && has_before_))) return std::nullopt;
  synchronize();
  const TraceRange range(Phase::diagnostics);
  if (!diagnosis_) diagnosis_.emplace(make_diagnosis());
  const FieldView<const T> now = std::as_const(current_).view();
  return diagnosis_->heat_flows(now, steady ? now : std::as_const(next_).view(), walls_.walls());
}

template <class T>
std::optional<Bins> Solver<T>::histogram_bins() const {
  if (!diagnosis_ || config_.output.histogram.bins == 0) return std::nullopt;
  return diagnosis_->bins();
}

template class Solver<float>;
template class Solver<double>;

}  // namespace isotherm
