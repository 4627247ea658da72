#include "solver/work.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/stencil.hpp"
#include "physics/region_values.hpp"
#include "solver/coarsening.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/method.hpp"
#include "solver/multigrid.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

// May launches take several sweeps?
bool shares_launches(const Config& config) {
  const auto table = stencil_kernels<double>();
  const auto named = std::ranges::find(table, config.solver.kernel, &StencilKernel<double>::name);
  return longest_time_block(config) > 1 && (named == table.end() || named->max_time_block > 1);
}

}  // namespace

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
  constexpr double launch_on_gpu = 4e-6;  // in a graph, with the boundaries between two
  return bytes / copy_bandwidth + (backend == Backend::cuda ? launches * launch_on_gpu : 0);
}

SweepWork sweep_work(const Config& config, const Decomposition& decomposition, Backend backend) {
  const Method method = make_method(config);
  const Config of_sweeps = method.by_correction ? config_of_change(config) : config;
  const bool has_coarse_grids = method.by_correction || method.has_coarse_grids;
  const bool blocks = shares_launches(of_sweeps);
  constexpr double usual_block = 4;  // sweeps of a launch; those of a V cycle before a correction too
  // How many times as fast as a pass for each sweep launches of several sweeps are (kernels/TUNING.md).
  const double gain = !blocks ? 1 : backend == Backend::cuda ? 2.8 : 1.5;
  const auto sweeps = static_cast<double>(likely_sweeps(config)),
             size = static_cast<double>(element_bytes(of_sweeps));
  SweepWork work;
  const auto add = [&](Index cells, bool has_source) {
    work.bytes += sweeps * static_cast<double>(cells) * size * (has_source ? 3 : 2) / gain;
    work.launches += sweeps / (blocks ? usual_block : 1);
    if (!has_coarse_grids) return;
    // In a V cycle restriction reads the field and the source, interpolation reads and writes the field, each
    // with an eighth of that of the next grid.
    const double cycles = sweeps / (2 * usual_block);
    work.bytes += cycles * (4 + 0.25) * static_cast<double>(cells) * size;
    work.launches += 4 * cycles;
  };
  add(config.grid.cells.product(), method.by_correction || !all_sources(config).empty());
  if (has_coarse_grids)
    for (const CoarseGrid& grid : coarse_grids(of_sweeps, decomposition))
      add(grid.config.grid.cells.product(), true);
  return work;
}

}  // namespace isotherm
