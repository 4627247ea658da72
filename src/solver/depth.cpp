#include "solver/depth.hpp"

#include <algorithm>

#include "halo/messages.hpp"
#include "solver/period.hpp"

namespace isotherm {
namespace {

// The second block of an axis has two neighbours, where there are three.
int busiest_rank(const Decomposition& decomposition) {
  const Int3 grid = decomposition.process_grid();
  Int3 at;
  for (int axis = 0; axis < 3; ++axis) at[axis] = grid[axis] > 2 ? 1 : 0;
  return static_cast<int>(at.x + grid.x * (at.y + grid.y * at.z));
}

}  // namespace

double seconds_a_sweep(const Decomposition& decomposition, int rank, int depth, const DepthSetting& setting,
                       const ExchangeCosts& costs) {
  const ExchangeTraffic traffic = exchange_traffic(decomposition, rank, depth);
  const double bytes = static_cast<double>(traffic.cells) * static_cast<double>(setting.cell_bytes);
  const double exchange = traffic.messages * costs.seconds_a_message + bytes / costs.bytes_a_second;
  const std::vector<PeriodSweep> sweeps =
      sweeps_of_period(decomposition.block(rank).extent(), ghost_sides(decomposition, rank), depth);
  const auto seconds = [&](Index cells) { return static_cast<double>(cells) * costs.seconds_a_cell; };
  double period = exchange;
  for (const PeriodSweep& sweep : sweeps) period += seconds(sweep.region.cells());
  if (setting.overlap) period -= std::min(exchange, seconds(sweeps.back().split.interior.cells()));
  return period / depth;
}

int choose_depth(const Decomposition& decomposition, const DepthSetting& setting,
                 const ExchangeCosts& costs) {
  const int rank = busiest_rank(decomposition);
  if (exchange_traffic(decomposition, rank, 1).messages == 0) return 1;
  const Index thickest = decomposition.deepest_halo().value_or(1);
  const int most = static_cast<int>(std::min<Index>(setting.most, thickest));
  int best = 1;
  double least = seconds_a_sweep(decomposition, rank, 1, setting, costs);
  for (int depth = 2; depth <= most; ++depth) {
    const double seconds = seconds_a_sweep(decomposition, rank, depth, setting, costs);
    if (seconds >= least) continue;
    least = seconds;
    best = depth;
  }
  return best;
}

}  // namespace isotherm
