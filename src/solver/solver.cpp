#include "solver/solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/all_or_throw.hpp"
#include "kernels/fingerprint.hpp"

namespace isotherm {
namespace {

// With no more sweeps fused than boundaries and ghosts allow.
template <class T>
SolverKernels<T> fitting(SolverKernels<T> kernels, const Config& config, const Decomposition& decomposition) {
  kernels.sweep.time_block = std::min(kernels.sweep.time_block, longest_time_block(config, decomposition));
  return kernels;
}

// Runs of a device's memory, one after the other, where the host can read them.
template <class T>
class Reader {
 public:
  Reader(const Level<T>& level, Index most) : level_(level) {
    if (!level.on_host())
      staging_ = Buffer(level.device(), static_cast<std::size_t>(most) * sizeof(T), Memory::staging);
  }

  // Valid until the next call.
  const T* read(const T* from, Index count) {
    if (level_.on_host()) return from;
    level_.device().copy(staging_.data(), from, static_cast<std::size_t>(count) * sizeof(T),
                         level_.compute());
    level_.device().synchronize(level_.compute());
    return staging_.template as<T>();
  }

 private:
  const Level<T>& level_;
  Buffer staging_;
};

// From the first interior cell of a plane to its last.
template <class T>
Index plane_length(FieldView<const T> field) {
  return (field.extent.y - 1) * field.pitch_y + field.extent.x;
}

// What a flux boundary adds to its cells in a sweep, K.
template <class T>
class Flux {
 public:
  Flux(const Level<T>& level, Face f) : wall_(level.boundaries().boundaries().faces[static_cast<int>(f)]) {
    const Coefficients<T>& c = level.coefficients();
    const Int3 extent = level.extent();
    const int axis = axis_of(f);
    scale_ = axis == 0 ? c.cx : axis == 1 ? c.cy : c.cz;
    there_ = wall_.is_boundary &&
             level.config().boundaries[static_cast<std::size_t>(f)].kind == BoundaryKind::flux;
    if (!there_ || !wall_.b_field) return;
    const Index width = axis == 0 ? extent.y : extent.x, rows = axis == 2 ? extent.y : extent.z;
    const Index count = (rows - 1) * wall_.pitch + width;
    Reader<T> reader(level, count);
    const T* values = reader.read(wall_.b_field, count);
    values_.assign(values, values + count);
    wall_.b_field = values_.data();
  }

  bool there() const { return there_; }
  double at(Index p, Index q) const {
    return static_cast<double>(scale_) * static_cast<double>(wall_.b_at(p, q));
  }

 private:
  Boundary<T> wall_;
  T scale_ = 0;
  bool there_ = false;
  std::vector<T> values_;
};

template <class T>
using Fluxes = std::vector<Flux<T>>;  // by Face

template <class T>
double flux_into(const Fluxes<T>& fluxes, Int3 extent, Index x, Index y, Index z) {
  const Index at[] = {x, y, z}, last[] = {extent.x - 1, extent.y - 1, extent.z - 1};
  const std::array<Index, 2> tangents[] = {{y, z}, {x, z}, {x, y}};
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    for (const bool max : {false, true}) {
      const Flux<T>& flux = fluxes[static_cast<std::size_t>(face(axis, max))];
      if (flux.there() && at[axis] == (max ? last[axis] : 0))
        sum += flux.at(tangents[axis][0], tangents[axis][1]);
    }
  }
  return sum;
}

}  // namespace

template <class T>
Solver<T>::Solver(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                  Device& device, const SolverKernels<T>& kernels, bool time_halos,
                  const std::optional<StoredField>& stored)
    : kernels_(fitting(kernels, config, decomposition)),
      level_(config, decomposition, communicator, device, time_halos),
      step_(level_, kernels_.sweep, times_),
      paced_(own_event(device)) {
  StepPlan<T> plan = step_.plan();
  plan.graph = all_or_throw(
      communicator, [&] { return settle_graph(config, kernels_.graph, level_.halo().why_not_recordable()); });
  step_.use(plan);
  make_check();
  sources_ = level_.fill_sources();
  stored ? level_.read(*stored) : level_.initialise();
  if (level_.method().has_coarse_grids) multigrid_.emplace(level_, step_, times_);  // of what is there
  if (level_.method().by_correction) correction_ = make_correction(level_, step_, times_);
  if (takes_long_steps(config)) super_step_.emplace(level_, step_, correction_.get(), times_);
  if (has_cycles() && is_asynchronous()) residual();  // loads its kernels, as a graph loads those of a cycle
  times_ = {};
  synchronize();
  device.record(paced_, level_.compute());
  if (config.output.diagnostics) diagnosis_.emplace(make_diagnosis());
  if (stored) first_ = stored->sweep;
  level_.count_from(first_);
}

// With memory for the partial results of the reduction, or of the norms of all regions that a step sweeps.
template <class T>
void Solver<T>::make_check() {
  const ReductionKernel<T>& reduction = *kernels_.reduction;
  const std::size_t scratch = reduction.fused
                                  ? norm_scratch_bytes(level_.extent(), level_.sides(),
                                                       has_cycles() ? kernels_.probe : step_.plan().sweep)
                                  : reduction.scratch_bytes(level_.whole());
  check_.emplace(level_.config(), level_.communicator(), level_.device(), reduction, scratch);
  last_alone_ = !has_cycles() && (!reduction.fused || level_.config().output.diagnostics);
}

template <class T>
void Solver<T>::use(const StepPlan<T>& plan, const ReductionKernel<T>& reduction) {
  step_.use(plan);
  kernels_.reduction = &reduction;
  make_check();
}

template <class T>
HaloCost Solver<T>::measure_halo_cost() {
  const SolverTimes before = times_;
  step_.forget_ghosts();
  const HaloCost cost = isotherm::measure_halo_cost(
      level_.communicator(), level_.device(), level_.compute(),
      [&](StepPart part) { step_.queue_part(part); }, queues_graphs());
  times_ = before;
  return cost;
}

// Where launches could fuse some: by the kernel of the run, or by others that `auto` might have taken.
template <class T>
std::string Solver<T>::why_single(const std::string& otherwise) const {
  if (time_block() > 1) return "";
  const Config& config = level_.config();
  const bool can = plan().sweep.is_temporal() ||
                   (config.solver.kernel == "auto" && has_temporal_kernel<T>(level_.device().backend()));
  if (!can) return "";
  if (boundaries_vary_by_sweep(config)) return "boundaries vary in time";
  if (config.parallel.overlap == Overlap::in_kernel && level_.communicator().size() > 1)
    return "sweeps store their faces";
  if (config.solver.time_block == 1) return "solver.time_block is 1";
  if (config.solver.halo_width == 1 || (exchanges(level_.sides()) && ghost_layers(config) == 1))
    return "solver.halo_width is 1";
  return longest_time_block(config) == 1 ? "something is due after every sweep" : otherwise;
}

template <class T>
void Solver<T>::sweep(std::int64_t count, bool last_alone) {
  const std::int64_t end = sweeps() + count;
  const UpdateNorm norm = kernels_.reduction->fused && !has_cycles() ? check_->norm_of_sweep() : UpdateNorm{};
  last_alone = last_alone || last_alone_;
  // A launch that returns a norm is not in the graph, nor is one that is alone.
  const std::int64_t end_of_graphs = norm.result || (last_alone && time_block() > 1) ? end - 1 : end;
  while (sweeps() < end) {
    poll_residual();
    if (level_.method().is_taken_whole()) {
      whole_cycle();
      continue;
    }
    if (step_.graph(end_of_graphs)) continue;
    const auto length = static_cast<int>(std::min<std::int64_t>(exchange_interval(), end - sweeps()));
    const bool last = sweeps() + length == end;
    step_.period(length, last && last_alone, last ? norm : UpdateNorm{});
  }
}

template <class T>
void Solver<T>::whole_cycle() {
  if (super_step_) return super_step_->cycle();
  const bool from_the_start = sweeps() == 0;
  if (multigrid_) return multigrid_->cycle(from_the_start);
  correction_->solve(1, 1, from_the_start);
  level_.advance_by_graph(level_.method().cycle(), false);
}

template <class T>
GridsBelow* Solver<T>::grids_below() {
  if (correction_) return correction_.get();
  return multigrid_ ? &*multigrid_ : nullptr;
}

template <class T>
void Solver<T>::synchronize() {
  const Timer timer;
  level_.synchronize();
  times_.sweep += timer.seconds();
}

template <class T>
void Solver<T>::keep_pace() {
  if (!is_asynchronous()) return;
  const Timer timer;
  level_.device().synchronize(paced_);
  level_.device().record(paced_, level_.compute());
  times_.sweep += timer.seconds();
}

template <class T>
void Solver<T>::time_phases() {
  step_.time_phases();
  if (GridsBelow* const below = grids_below()) below->time_phases();
  forget_times();
}

template <class T>
void Solver<T>::forget_times() {
  for (const TimedGrid& each : timed()) *each.times = {};
  if (step_.times_phases()) level_.halo().time_phases();
}

template <class T>
std::vector<TimedGrid> Solver<T>::timed() {
  std::vector<TimedGrid> all{{level_.config().grid.cells, &times_}};
  if (GridsBelow* const below = grids_below())
    for (const TimedGrid& each : below->timed()) all.push_back(each);
  return all;
}

template <class T>
SolverTimes Solver<T>::times() {
  SolverTimes times;
  for (const TimedGrid& each : timed()) times = times + *each.times;
  times.exchange = level_.halo().times();
  return times;
}

template <class T>
void Solver<T>::start_residual() {
  const TraceRange range(Phase::reduction);
  Timer timer;
  if (has_cycles())
    step_.probe(kernels_.probe, kernels_.reduction->fused ? check_->norm_of_sweep() : UpdateNorm{});
  step_.settle();  // the sweeps are no part of it
  times_.sweep += timer.lap();
  check_->start(level_.field(), level_.before(), level_.compute());
  step_.settle();
  times_.reduction += timer.seconds();
}

template <class T>
void Solver<T>::poll_residual() {
  if (!check_->under_way()) return;
  const TraceRange range(Phase::reduction);
  const Timer timer;
  check_->poll();
  times_.reduction += timer.seconds();
}

template <class T>
double Solver<T>::finish_residual() {
  const TraceRange range(Phase::reduction);
  Timer timer;
  check_->wait_for_sweeps();
  times_.sweep += timer.lap();
  const double value = check_->finish();
  times_.reduction += timer.seconds();
  return value;
}

template <class T>
double Solver<T>::residual() {
  start_residual();
  return finish_residual();
}

template <class T>
void Solver<T>::copy_to(HostCopy<T>& copy) {
  copy.take(level_.current(), level_.compute());
  level_.protect_until(copy.copied());
}

template <class T>
std::uint64_t Solver<T>::fingerprint() {
  return level_.communicator().all_reduce(
      isotherm::fingerprint<T>(host_field(), subdomain().lo, level_.config().grid.cells), ReduceOp::sum);
}

template <class T>
ExtremeCell Solver<T>::most_extreme_cell() {
  const FieldView<const T> field = host_field();
  const Int3 n = field.extent, lo = subdomain().lo, cells = level_.config().grid.cells;
  const auto magnitude = [&](Index x, Index y, Index z) {
    const double value = std::abs(static_cast<double>(field(x, y, z)));
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      for (Index x = 0; x < n.x; ++x) largest = std::max(largest, magnitude(x, y, z));
    }
  }
  largest = level_.communicator().all_reduce(largest, ReduceOp::max);

  Index first = cells.product();
#pragma omp parallel for schedule(static) reduction(min : first)
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      for (Index x = 0; x < n.x; ++x) {
        const Int3 cell = lo + Int3{x, y, z};
        if (magnitude(x, y, z) == largest)
          first = std::min(first, cell.x + cells.x * (cell.y + cells.y * cell.z));
      }
    }
  }
  first = level_.communicator().all_reduce(first, ReduceOp::min);
  return {{first % cells.x, first / cells.x % cells.y, first / cells.x / cells.y}, largest};
}

template <class T>
SwallowedHeat Solver<T>::swallowed_heat() {
  synchronize();
  const FieldView<const T> field = level_.field(), source = level_.source();
  const Int3 n = field.extent;
  Fluxes<T> fluxes;
  bool any = !source.empty();
  for (int f = 0; f < face_count; ++f) {
    fluxes.emplace_back(level_, static_cast<Face>(f));
    any = any || fluxes.back().there();
  }
  double all = 0, lost = 0;
  const Index most = any ? plane_length(field) : 0;
  Reader<T> fields(level_, most), sources(level_, most);
  for (Index z = 0; any && z < n.z; ++z) {
    const T* temperature = fields.read(&field(0, 0, z), plane_length(field));
    const T* heat = source.empty() ? nullptr : sources.read(&source(0, 0, z), plane_length(source));
#pragma omp parallel for schedule(static) reduction(+ : all, lost)
    for (Index y = 0; y < n.y; ++y) {
      for (Index x = 0; x < n.x; ++x) {
        const double added =
            (heat ? static_cast<double>(heat[x + y * source.pitch_y]) : 0) + flux_into(fluxes, n, x, y, z);
        const T here = temperature[x + y * field.pitch_y];
        all += std::abs(added);
        if (static_cast<T>(static_cast<double>(here) + added) == here) lost += std::abs(added);
      }
    }
  }
  const Communicator& ranks = level_.communicator();
  return {ranks.all_reduce(all, ReduceOp::sum), ranks.all_reduce(lost, ReduceOp::sum)};
}

// Where the bins lie depends on the initial state: it is looked at before the first sweep.
template <class T>
Diagnosis<T> Solver<T>::make_diagnosis() {
  Diagnosis<T> diagnosis(level_.config(), level_.communicator(), level_.extent(), level_.device(),
                         kernels_.histogram, level_.compute());
  diagnosis.start(level_.field(), level_.source());
  return diagnosis;
}

// Between cycles no fields differ by one sweep: a sweep that is not kept says what flows. Where nothing is
// stored the field alone does.
template <class T>
StepFields<T> Solver<T>::step_between_cycles() {
  if (level_.config().problem.kind == ProblemKind::steady) return {level_.field(), level_.field()};
  step_.probe(kernels_.probe, UpdateNorm{});
  return {level_.field(), level_.before()};
}

template <class T>
Diagnostics Solver<T>::diagnose() {
  if (!diagnosis_) throw Error(ExitCode::internal, "diagnostics were not asked for; please report it");
  synchronize();
  const TraceRange range(Phase::diagnostics);
  const Timer timer;
  std::optional<StepFields<T>> step;
  if (own_sweeps() > 0)
    step = has_cycles() ? step_between_cycles() : StepFields<T>{level_.before(), level_.field()};
  const Diagnostics found = diagnosis_->look(level_.field(), step, level_.boundaries().boundaries());
  times_.diagnostics += timer.seconds();
  return found;
}

template <class T>
TemperatureExtremes Solver<T>::extremes() {
  return over_ranks(temperature_extremes<T>(host_field(), subdomain().lo, level_.config().grid.cells),
                    level_.communicator());
}

template <class T>
std::optional<HeatFlows> Solver<T>::heat_flows() {
  if (!plan_diagnostics(level_.config()).flows) return std::nullopt;
  const bool steady = level_.config().problem.kind == ProblemKind::steady;
  if (!steady && (own_sweeps() == 0 || !(has_cycles() || level_.has_before()))) return std::nullopt;
  const StepFields<T> step =
      steady || has_cycles() ? step_between_cycles() : StepFields<T>{level_.before(), level_.field()};
  synchronize();
  const TraceRange range(Phase::diagnostics);
  if (!diagnosis_) diagnosis_.emplace(make_diagnosis());
  return diagnosis_->heat_flows(step, level_.boundaries().boundaries());
}

template <class T>
std::optional<Bins> Solver<T>::histogram_bins() const {
  if (!diagnosis_ || level_.config().output.histogram.bins == 0) return std::nullopt;
  return diagnosis_->bins();
}

template class Solver<float>;
template class Solver<double>;

}  // namespace isotherm
