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

// The sweeps of a period, of which launches fuse some.
struct PeriodWork {
  double seconds = 0, cells = 0;
  double interior_seconds = 0;  // of what the first launch sweeps beside the exchange
};

PeriodWork work_of(const std::vector<PeriodLaunch>& launches, int fused, const ExchangeCosts& costs) {
  PeriodWork work;
  for (const PeriodLaunch& launch : launches) {
    const double known = costs.fused_seconds_a_cell[static_cast<std::size_t>(launch.sweeps)];
    const double most = costs.fused_seconds_a_cell[static_cast<std::size_t>(fused)];
    const double rate = launch.sweeps == 1 ? costs.seconds_a_cell : known > 0 ? known : most;
    const auto seconds = [&](const Box& box) {
      return rate * static_cast<double>(box.cells()) * launch.sweeps;
    };
    if (&launch == &launches.front()) work.interior_seconds = seconds(launch.interior);
    work.seconds += seconds(launch.region);
    work.cells += static_cast<double>(launch.region.cells()) * launch.sweeps;
  }
  return work;
}

DepthEstimate estimate(const Decomposition& decomposition, int depth, const DepthSetting& setting,
                       const ExchangeCosts& costs) {
  const int rank = busiest_rank(decomposition);
  const ExchangeTraffic traffic = exchange_traffic(decomposition, rank, depth);
  const Index moved = traffic.messages > 0 ? traffic.cells : copied_cells(decomposition, rank, depth);
  const double bytes = static_cast<double>(moved) * static_cast<double>(setting.cell_bytes);
  const double exchange =
      costs.seconds_an_exchange + traffic.messages * costs.seconds_a_message + bytes / costs.bytes_a_second;
  DepthEstimate best{depth, 0, static_cast<double>(traffic.messages) / depth, 0};
  const int most = std::min(depth, static_cast<int>(costs.fused_seconds_a_cell.size()) - 1);
  for (int fused = 1; fused <= most; ++fused) {
    if (fused > 1 && !(costs.fused_seconds_a_cell[static_cast<std::size_t>(fused)] > 0)) continue;
    const PeriodWork work = work_of(launches_of_period(decomposition.block(rank).extent(),
                                                       ghost_sides(decomposition, rank), depth, {fused}),
                                    fused, costs);
    const double hidden = setting.overlap ? std::min(exchange, work.interior_seconds) : 0;
    const double seconds = (exchange + work.seconds - hidden) / depth;
    if (fused > 1 && seconds >= best.seconds) continue;
    best.seconds = seconds;
    best.cells = work.cells / depth;
  }
  return best;
}

}  // namespace

int deepest_to_weigh(const Decomposition& decomposition, const DepthSetting& setting) {
  const bool alone = exchange_traffic(decomposition, busiest_rank(decomposition), 1).messages == 0;
  if (alone && !setting.fuses) return 1;
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
