#include "solver/period.hpp"

#include <algorithm>
#include <numeric>

namespace isotherm {
namespace {

constexpr int reach = 1;                    // cells away that a sweep reads
constexpr std::int64_t enough_sweeps = 16;  // of a graph, so that its own launch is cheap beside theirs

}  // namespace

std::vector<PeriodSweep> sweeps_of_period(Int3 extent, const GhostSides& sides, int depth) {
  std::array<bool, face_count> own{};  // ghosts that are copies of this block
  for (std::size_t f = 0; f < face_count; ++f) own[f] = sides.filled[f] && !sides.remote[f];
  std::vector<PeriodSweep> sweeps;
  for (int layers = 0; layers < depth; ++layers) {
    const Box region = widened_block(extent, sides.filled, layers);
    sweeps.push_back(
        {region, widened_block(extent, own, layers), interior_box(extent, region, sides.remote, reach)});
  }
  return sweeps;
}

std::int64_t sweeps_of_a_graph(int depth) {
  const std::int64_t unit = std::lcm(std::int64_t{depth}, std::int64_t{2});
  return (enough_sweeps + unit - 1) / unit * unit;
}

std::int64_t whole_periods(std::int64_t wanted, std::int64_t left, int depth) {
  return std::min(left, std::max<std::int64_t>(wanted / depth, 1) * depth);
}

}  // namespace isotherm
