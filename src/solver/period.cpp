#include "solver/period.hpp"

#include <algorithm>

namespace isotherm {
namespace {

constexpr std::int64_t enough_sweeps = 16;  // of a graph, so that its own launch is cheap beside theirs

}  // namespace

bool exchanges(const GhostSides& sides) {
  return std::any_of(sides.filled.begin(), sides.filled.end(), [](bool filled) { return filled; });
}

std::vector<int> fused_sweeps(int count, const Fusing& fusing) {
  const int alone = fusing.last_alone && count > 0 ? 1 : 0;
  std::vector<int> launches;
  for (int left = count - alone; left > 0; left -= launches.back())
    launches.push_back(std::min(left, fusing.most));
  if (alone) launches.push_back(1);
  return launches;
}

std::vector<PeriodLaunch> launches_of_period(Int3 extent, const GhostSides& sides, int count,
                                             const Fusing& fusing) {
  std::array<bool, face_count> own{};  // ghosts that are copies of this block
  for (std::size_t f = 0; f < face_count; ++f) own[f] = sides.filled[f] && !sides.remote[f];
  std::vector<PeriodLaunch> launches;
  int after = count;
  for (const int sweeps : fused_sweeps(count, fusing)) {
    after -= sweeps;
    const Box region = widened_block(extent, sides.filled, after);
    launches.push_back({sweeps, region, widened_block(extent, own, after),
                        interior_box(extent, region, sides.remote, sweeps)});
  }
  return launches;
}

std::int64_t even_periods(std::int64_t wanted, int depth, int fused) {
  const std::int64_t launches = std::ssize(fused_sweeps(depth, {fused}));
  const std::int64_t unit = launches % 2 == 0 ? depth : 2 * std::int64_t{depth};
  return std::max<std::int64_t>(1, (wanted + unit - 1) / unit) * unit;
}

std::int64_t sweeps_of_a_graph(int depth, int fused) {
  return even_periods(enough_sweeps, depth, fused);
}

std::int64_t whole_periods(std::int64_t wanted, std::int64_t left, int depth) {
  return std::min(left, std::max<std::int64_t>(wanted / depth, 1) * depth);
}

}  // namespace isotherm
