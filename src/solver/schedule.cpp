#include "solver/schedule.hpp"

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "physics/varying_sources.hpp"
#include "solver/coarsening.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/method.hpp"
#include "solver/multigrid.hpp"

namespace isotherm {

namespace {

// A time that is a whole number of steps, up to rounding, belongs to that step, not to the next.
constexpr double rounding_per_step = 1e-9, most_rounding = 0.5;  // steps: never a whole one

std::int64_t step_at(double time, double dt) {
  const double wanted = time / dt;
  const double step = std::ceil(std::max(wanted * (1 - rounding_per_step), wanted - most_rounding));
  return step < static_cast<double>(Recurrence::never) ? static_cast<std::int64_t>(step) : Recurrence::never;
}

}  // namespace

std::int64_t Recurrence::step_of(std::int64_t k) const {
  if (every_steps_) return k * *every_steps_;
  return std::max(k, step_at(static_cast<double>(k) * *every_time_, dt_));  // at most one per step
}

// Intervals count sweeps, or cycles where the method has some; nothing is due within a cycle.
Schedule::Schedule(const Config& config)
    : cycle_(sweeps_of_cycle(config)),
      check_interval_(config.problem.check_interval * cycle_),
      asynchronous_(config.problem.check == Check::asynchronous),
      diagnostics_(config.output.diagnostics, {}, 0, cycle_) {
  if (config.problem.kind == ProblemKind::transient) {
    const TimePlan plan = time_plan(config);
    last_ = plan.steps * cycle_;
    dt_ = plan.dt;
  } else {
    const ProblemConfig& problem = config.problem;
    last_ = problem.max_cycles ? *problem.max_cycles * cycle_
                               : std::max(problem.max_sweeps / cycle_, std::int64_t{1}) * cycle_;
  }
  const OutputConfig& output = config.output;
  const auto recurrence = [this](const OutputTimes& times) {
    return Recurrence(times.every_steps, times.every_time, dt_, cycle_);
  };
  if (output.snapshots) snapshots = {recurrence(output), last_};
  if (!output.probes.points.empty()) probes = {recurrence(output.probes.times), last_};
  for (const FieldPart& part : field_parts(config)) parts.emplace_back(recurrence(part.times), last_);
  if (output.checkpoint.write) checkpoints = recurrence(output.checkpoint);
}

std::int64_t Schedule::next_after(std::int64_t sweep) const {
  if (sweep == 0 && last_ > 0 && cycle_ == 1) return 1;
  std::int64_t next = std::min(last_, (sweep / check_interval_ + 1) * check_interval_);
  const auto take = [&](const Recurrence& due) { next = std::min(next, due.next_after(sweep)); };
  take(diagnostics_);
  take(snapshots);
  take(probes);
  take(checkpoints);
  std::ranges::for_each(parts, take);
  return next;
}

std::int64_t likely_sweeps(const Config& config) {
  const std::int64_t last = Schedule(config).last();
  const ProblemConfig& problem = config.problem;
  if (problem.kind != ProblemKind::steady || problem.criterion != Criterion::relative) return last;
  if (!(problem.tolerance > 0 && problem.tolerance < 1)) return last;
  const Method method = make_method(config);
  const auto cycle = static_cast<double>(method.cycle());
  const double needed = std::ceil(std::log(1 / *problem.tolerance) / method.decay / cycle) * cycle;
  return needed < static_cast<double>(last) ? static_cast<std::int64_t>(needed) : last;
}

double SweepWork::seconds(Backend backend, double copy_bandwidth) const {
  constexpr double launch_on_gpu = 4e-6;  // in a graph, with the boundary ghosts between two launches
  return bytes / copy_bandwidth + (backend == Backend::cuda ? launches * launch_on_gpu : 0);
}

SweepWork sweep_work(const Config& config, const Decomposition& decomposition, Backend backend) {
  const Method method = make_method(config);
  const Config of_sweeps = method.by_correction ? config_of_change(config) : config;
  const bool has_coarse_grids = method.by_correction || method.has_coarse_grids;
  // May launches take several sweeps?
  const bool blocks = !has_several_materials(of_sweeps) && !has_varying_coefficients(of_sweeps) &&
                      longest_time_block(of_sweeps) > 1 && may_fuse(of_sweeps.solver);
  constexpr double usual_block = 4;  // sweeps of a launch, and of a V cycle before a correction
  // Speed-up of launches of several sweeps over one pass per sweep (docs/tuning-log).
  const double gain = !blocks ? 1 : backend == Backend::cuda ? 2.8 : 1.5;
  const double sweeps = likely_sweeps(config), size = element_bytes(of_sweeps);
  const double of_material = has_several_materials(config) ? 1 : 0;  // bytes per cell
  SweepWork work;
  const auto add = [&](Index cells, bool has_source) {
    work.bytes += sweeps * static_cast<double>(cells) * (size * (has_source ? 3 : 2) + of_material) / gain;
    work.launches += sweeps / (blocks ? usual_block : 1);
    if (!has_coarse_grids) return;
    // Restriction reads two fields, interpolation reads and writes one; both access the next grid, an eighth.
    const double cycles = sweeps / (2 * usual_block);
    work.bytes += cycles * (4 + 0.25) * static_cast<double>(cells) * size;
    work.launches += 4 * cycles;
  };
  add(config.grid.cells.product(), method.by_correction || fields_of_sources(config) > 0);
  if (has_coarse_grids && has_several_materials(config))
    for (const HalvedGrid& grid : likely_halved_grids(config, decomposition, backend))
      add(grid.decomposition.cells().product(), true);
  else if (has_coarse_grids)
    for (const CoarseGrid& grid : coarse_grids(of_sweeps, decomposition, backend))
      add(grid.config.grid.cells.product(), true);
  return work;
}

}  // namespace isotherm
