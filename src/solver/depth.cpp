#include "solver/depth.hpp"

#include <algorithm>

#include "halo/messages.hpp"
#include "solver/period.hpp"

namespace isotherm {
namespace {

constexpr double hardly = 0.05;  // of the time of a sweep

// The second block of an axis has two neighbours, where there are three.
int busiest_rank(const Decomposition& decomposition) {
  const Int3 grid = decomposition.process_grid();
  Int3 at;
  for (int axis = 0; axis < 3; ++axis) at[axis] = grid[axis] > 2 ? 1 : 0;
  return static_cast<int>(at.x + grid.x * (at.y + grid.y * at.z));
}

DepthEstimate estimate(const Decomposition& decomposition, int depth, const DepthSetting& setting,
                       const ExchangeCosts& costs) {
  const int rank = busiest_rank(decomposition);
  const ExchangeTraffic traffic = exchange_traffic(decomposition, rank, depth);
  const double bytes = static_cast<double>(traffic.cells) * static_cast<double>(setting.cell_bytes);
  const double exchange =
      costs.seconds_an_exchange + traffic.messages * costs.seconds_a_message + bytes / costs.bytes_a_second;
  const std::vector<PeriodLaunch> sweeps =
      launches_of_period(decomposition.block(rank).extent(), ghost_sides(decomposition, rank), depth, {});
  const double rate = costs.best_seconds_a_cell(depth);
  const auto seconds = [&](double cells) { return cells * rate; };
  double cells = 0;
  for (const PeriodLaunch& sweep : sweeps) cells += static_cast<double>(sweep.region.cells());
  double period = exchange + seconds(cells);
  if (setting.overlap) {
    const Box interior = sweeps.front().interior;
    period -= std::min(exchange, seconds(static_cast<double>(interior.cells())));
  }
  return {depth, period / depth, static_cast<double>(traffic.messages) / depth, cells / depth};
}

}  // namespace

double ExchangeCosts::best_seconds_a_cell(int depth) const {
  double best = seconds_a_cell;
  for (std::size_t fused = 2; fused < fused_seconds_a_cell.size() && static_cast<int>(fused) <= depth;
       ++fused) {
    const double seconds = fused_seconds_a_cell[fused];
    if (seconds > 0) best = std::min(best, seconds);
  }
  return best;
}

int deepest_to_weigh(const Decomposition& decomposition, const DepthSetting& setting) {
  if (exchange_traffic(decomposition, busiest_rank(decomposition), 1).messages == 0) return 1;
  const Index thickest = decomposition.deepest_halo().value_or(1);
  return static_cast<int>(std::max<Index>(1, std::min<Index>(setting.most, thickest)));
}

std::vector<DepthEstimate> weigh_depths(std::span<const Decomposition> by_depth, const DepthSetting& setting,
                                        const ExchangeCosts& costs) {
  std::vector<DepthEstimate> weighed;
  for (const Decomposition& decomposition : by_depth) {
    weighed.push_back(estimate(decomposition, static_cast<int>(weighed.size()) + 1, setting, costs));
  }
  return weighed;
}

int choose_depth(const std::vector<DepthEstimate>& weighed) {
  const auto cheaper = [](const DepthEstimate& a, const DepthEstimate& b) { return a.seconds < b.seconds; };
  const auto cheapest = std::min_element(weighed.begin(), weighed.end(), cheaper);
  for (const DepthEstimate& estimate : weighed)
    if (estimate.seconds <= (1 + hardly) * cheapest->seconds) return estimate.depth;
  return 1;
}

}  // namespace isotherm
