#include "solver/solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/all_or_throw.hpp"
#include "kernels/field_algebra.hpp"
#include "kernels/fingerprint.hpp"

namespace isotherm {
namespace {

// Copies values from device memory.
template <class T>
std::vector<T> on_host(const Level<T>& level, const T* from, Index count) {
  std::vector<T> copy(static_cast<std::size_t>(count));
  level.device().copy(copy.data(), from, copy.size() * sizeof(T), level.compute());
  level.device().synchronize(level.compute());
  return copy;
}

// A plane, from its first interior cell to its last.
template <class T>
std::vector<T> plane_on_host(const Level<T>& level, FieldView<const T> field, Index z) {
  return on_host(level, &field(0, 0, z), (field.extent.y - 1) * field.pitch_y + field.extent.x);
}

// K that a flux boundary adds to each of its cells per sweep, in the order of Boundary::b_field. Empty: this
// subdomain has no flux boundary at that face.
template <class T>
std::vector<double> flux_into(const Level<T>& level, Face f) {
  Boundary<T> boundary = level.boundaries().boundaries().faces[static_cast<int>(f)];
  if (!boundary.is_boundary || !is_of_flux(level.config(), f)) return {};
  const auto [p, q] = face_axes(f);
  const Int3 n = level.extent();
  std::vector<T> values;
  if (boundary.b_field) {
    values = on_host(level, boundary.b_field, (n[q] - 1) * boundary.pitch + n[p]);
    boundary.b_field = values.data();
  }
  const Coefficients<T>& c = level.coefficients();
  const auto scale = static_cast<double>(std::array{c.cx, c.cy, c.cz}[static_cast<std::size_t>(axis_of(f))]);
  std::vector<double> added;
  for (Index j = 0; j < n[q]; ++j)
    for (Index i = 0; i < n[p]; ++i) added.push_back(scale * static_cast<double>(boundary.b_at(i, j)));
  return added;
}

// Scratch bytes for the norms of the kernel's launches: of the whole, or of interior and exterior.
template <class T>
std::size_t norm_scratch_bytes(Int3 extent, const GhostSides& sides, const SweepChoice<T>& choice) {
  const Box whole{{0, 0, 0}, extent};
  const StencilKernel<T>& kernel = *choice.kernel;
  std::size_t most = kernel.norm_scratch_bytes(whole, choice.tile);
  // The last launch of a period returns the norm; it may be the first one too.
  for (int sweeps = 1; sweeps <= choice.time_block; ++sweeps) {
    const PeriodLaunch launch = launches_of_period(extent, sides, sweeps, sweeps).front();
    const SweepPlan plan{launch.sweeps, choice.tile};
    most = std::max(
        most, split_scratch_bytes(kernel, whole, interior_of(kernel, whole, launch.interior, plan), plan));
  }
  return most;
}

}  // namespace

template <class T>
Solver<T>::Solver(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                  Device& device, const SolverKernels<T>& kernels, bool time_halos,
                  const std::optional<StoredField>& stored)
    : kernels_(kernels),
      level_(config, decomposition, communicator, device, {.time_halos = time_halos}),
      sources_(level_.fill_sources() + product_totals(config)),
      step_(level_, fitting(kernels.sweep, config, decomposition)),
      queue_limit_(own_event(device)) {
  StepPlan<T> plan = step_.plan();
  plan.graph =
      all_or_throw(communicator, [&] { return settle_graph(config, kernels_.graph, level_.why_no_graph()); });
  step_.use(plan);
  make_check();
  stored ? level_.read(*stored) : level_.initialise();
  if (takes_long_steps(config)) {
    auto super_step = std::make_unique<SuperStep<T>>(step_);
    super_step_ = super_step.get();
    whole_cycle_ = std::move(super_step);
  } else if (level_.method().by_correction) {
    whole_cycle_ = make_correction(step_);
  } else if (level_.method().has_coarse_grids) {
    whole_cycle_ = make_multigrid(step_);
  }
  if (has_cycles() && is_asynchronous()) residual();  // loads its kernels, as a graph loads those of a cycle
  step_.clock.times = {};
  synchronize();
  device.record(queue_limit_, level_.compute());
  // Constructed before the first sweep: the bins depend on the extremes of the initial state.
  if (config.output.diagnostics) diagnosis_.emplace(level_, histogram());
  if (stored) first_ = stored->sweep;
  level_.count_from(first_);
}

// Allocates memory for partial results of the reduction, or for norms of all regions that a step sweeps.
template <class T>
void Solver<T>::make_check() {
  const ReductionKernel<T>& reduction = *kernels_.reduction;
  std::size_t scratch = reduction.fused
                            ? norm_scratch_bytes(level_.extent(), level_.sides(),
                                                 has_cycles() ? kernels_.probe : step_.plan().sweep)
                            : reduction.scratch_bytes(level_.whole());
  const auto of_defect = ChangeTransfer<T, T>::on(level_.device().backend()).norm_scratch_bytes;
  if (reduction.fused && has_cycles() && of_defect) scratch = std::max(scratch, of_defect(level_.whole()));
  check_.emplace(level_.config(), level_.communicator(), level_.device(), reduction, scratch,
                 level_.body().count);
  last_alone_ = !has_cycles() && (!reduction.fused || level_.config().output.diagnostics);
}

template <class T>
HaloCost Solver<T>::measure_halo_cost() {
  const PhaseTimes before = step_.clock.times;
  step_.invalidate_ghosts();
  const HaloCost cost = isotherm::measure_halo_cost(
      level_.communicator(), level_.device(), level_.compute(),
      [&](StepPart part) { step_.queue_part(part); }, plan().graph);
  step_.clock.times = before;
  return cost;
}

// Updates the values of the last launch again: values for a sweep after the end of a run may not be finite.
template <class T>
std::optional<double> Solver<T>::measure_values() {
  const std::int64_t now = sweeps(), count = std::min<std::int64_t>(time_block(), own_sweeps());
  if (!values_vary_by_sweep(level_.config()) || count == 0) return std::nullopt;  // the same on all ranks
  const auto update = [&] {
    level_.update_values(static_cast<int>(count));
    level_.sweep_source_boxes(static_cast<int>(count), level_.whole());
  };
  level_.wait_for_copy(true);  // boxes are swept in the other field
  level_.count_from(now - count);
  const double seconds = measure_seconds(level_.communicator(), level_.device(), level_.compute(), update);
  level_.count_from(now);
  return seconds / static_cast<double>(count);
}

// A reason only where launches could fuse sweeps: by the run's kernel, or by others that `auto` may choose.
template <class T>
std::string Solver<T>::why_single(const std::string& otherwise) const {
  if (time_block() > 1) return "";
  const Config& config = level_.config();
  const bool several = has_several_materials(config);
  const bool can = plan().sweep.is_temporal() || (config.solver.kernel == "auto" &&
                                                  has_temporal_kernel<T>(level_.device().backend(), several));
  if (!can) return "";
  if (several ? coefficients_use_time(config) : has_varying_coefficients(config))
    return "coefficients of boundaries vary";
  if (sources_fill_a_field(config)) return "sources vary in time";
  if (config.parallel.overlap == Overlap::in_kernel && level_.communicator().size() > 1)
    return "sweeps store their faces";
  if (config.solver.time_block == 1) return "solver.time_block is 1";
  if (config.solver.halo_width == 1) return "solver.halo_width is 1";
  if (longest_time_block(config) == 1) return "something is due after every sweep";
  return exchanges(level_.sides()) && ghost_layers(config) == 1 ? "fields have one layer of ghosts"
                                                                : otherwise;
}

template <class T>
void Solver<T>::sweep(std::int64_t count, bool last_alone) {
  const std::int64_t end = sweeps() + count;
  const UpdateNorm norm = kernels_.reduction->fused && !has_cycles() ? check_->norm_of_sweep() : UpdateNorm{};
  while (sweeps() < end) {
    if (check_->under_way()) {
      const TraceRange range(Phase::reduction);
      step_.clock.timed(Phase::reduction, [&] { check_->poll(); });
    }
    const std::int64_t before = sweeps();
    if (whole_cycle_)
      whole_cycle_->take(before == 0);
    else
      step_.advance_towards(end, last_alone || last_alone_, norm);
    if (sweeps() == before) return;  // the run must stop
  }
}

template <class T>
void Solver<T>::start_residual() {
  const TraceRange range(Phase::reduction);
  if (probes_update()) {
    const UpdateNorm norm = kernels_.reduction->fused ? check_->norm_of_sweep() : UpdateNorm{};
    const bool found = norm.result && whole_cycle_ && whole_cycle_->find_norm(norm);
    if (!found) probe(norm);
  }
  step_.clock.timed(Phase::reduction,
                    [&] { check_->start(level_.field(), level_.before(), level_.compute()); });
}

template <class T>
double Solver<T>::finish_residual() {
  const TraceRange range(Phase::reduction);
  double value = 0;
  step_.clock.timed(Phase::sweep, [&] { check_->wait_for_sweeps(); });
  step_.clock.timed(Phase::reduction, [&] { value = check_->finish(); });
  return value;
}

template <class T>
std::uint64_t Solver<T>::fingerprint() {
  return level_.communicator().all_reduce(
      isotherm::fingerprint<T>(host_field(), subdomain().lo, level_.config().grid.cells), ReduceOp::sum);
}

template <class T>
LostHeat Solver<T>::lost_heat() {
  if (!level_.materials().empty()) return {};  // the heat that a sweep adds differs by material
  synchronize();
  const FieldView<const T> field = level_.field(), source = level_.source();
  const Int3 n = field.extent;
  std::array<std::vector<double>, face_count> fluxes;
  bool any = has_sources();
  for (std::size_t f = 0; f < face_count; ++f) {
    fluxes[f] = flux_into(level_, static_cast<Face>(f));
    any = any || !fluxes[f].empty();
  }
  const auto flux_at = [&](Int3 cell) {
    double sum = 0;
    for (std::size_t i = 0; i < face_count; ++i) {
      const auto f = static_cast<Face>(i);
      if (fluxes[i].empty() || cell[axis_of(f)] != (is_max(f) ? n[axis_of(f)] - 1 : 0)) continue;
      const auto [p, q] = face_axes(f);
      sum += fluxes[i][static_cast<std::size_t>(cell[p] + n[p] * cell[q])];
    }
    return sum;
  };
  double all = 0, lost = 0;
  for (Index z = 0; any && z < n.z; ++z) {
    const std::vector<T> temperature = plane_on_host(level_, field, z);
    const std::vector<T> of_source = source.empty()
                                         ? std::vector<T>(temperature.size(), level_.coefficients().heat)
                                         : plane_on_host(level_, source, z);
#pragma omp parallel for schedule(static) reduction(+ : all, lost)
    for (Index y = 0; y < n.y; ++y) {
      for (Index x = 0; x < n.x; ++x) {
        const double added = static_cast<double>(of_source[x + y * source.pitch_y]) + flux_at({x, y, z});
        const T here = temperature[x + y * field.pitch_y];
        all += std::abs(added);
        if (static_cast<T>(static_cast<double>(here) + added) == here) lost += std::abs(added);
      }
    }
  }
  const Communicator& ranks = level_.communicator();
  return {ranks.all_reduce(all, ReduceOp::sum), ranks.all_reduce(lost, ReduceOp::sum)};
}

template <class T>
Diagnostics Solver<T>::diagnose() {
  if (!diagnosis_) throw Error(ExitCode::internal, "diagnostics were not asked for; please report it");
  std::optional<StepFields<T>> step;
  if (own_sweeps() > 0) step = fields_of_update();  // may sweep: that time is counted separately
  synchronize();
  const TraceRange range(Phase::diagnostics);
  Diagnostics found;
  step_.clock.timed(Phase::diagnostics, [&] { found = diagnosis_->reduce(step); });
  return found;
}

template <class T>
TemperatureExtremes Solver<T>::extremes() {
  const auto is_void = [this](Index x, Index y, Index z) { return level_.is_void(x, y, z); };
  return over_ranks(
      temperature_extremes<T>(host_field(), subdomain().lo, level_.config().grid.cells, is_void),
      level_.communicator());
}

template <class T>
std::vector<TemperatureExtremes> Solver<T>::material_extremes() {
  std::vector<TemperatureExtremes> all = all_or_throw(level_.communicator(), [&] {
    return isotherm::material_extremes<T>(level_.config(), host_field(), subdomain());
  });
  for (TemperatureExtremes& each : all) each = over_ranks(each, level_.communicator());
  return all;
}

template <class T>
std::optional<HeatFlows> Solver<T>::heat_flows() {
  if (!plan_diagnostics(level_.config()).flows) return std::nullopt;
  const bool steady = level_.config().problem.kind == ProblemKind::steady;
  if (!steady && (own_sweeps() == 0 || !(probes_update() || level_.has_before()))) return std::nullopt;
  const StepFields<T> step = steady ? StepFields<T>{level_.field(), level_.field()} : fields_of_update();
  synchronize();
  const TraceRange range(Phase::diagnostics);
  if (!diagnosis_) diagnosis_.emplace(level_, histogram());
  return diagnosis_->heat_flows(step);
}

template class Solver<float>;
template class Solver<double>;

}  // namespace isotherm
