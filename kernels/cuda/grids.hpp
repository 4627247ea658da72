// How work is cut into grids and tiles: arithmetic for the host and the kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/box.hpp"
#include "core/host_device.hpp"

namespace isotherm::cuda {

inline constexpr Index most_blocks_per_grid = 0x7fffffff;  // along x, on every GPU that CUDA supports

// Calls launch(blocks, first) for blocks first, first + 1, ... until all are launched: once, unless there are
// more than `most`.
template <class Launch>
void for_grids(Index blocks, Launch launch, Index most = most_blocks_per_grid) {
  for (Index first = 0; first < blocks; first += most) {
    const Index rest = blocks - first;
    launch(static_cast<unsigned>(rest < most ? rest : most), first);
  }
}

// Division of a 64-bit index by a number that is known before the launch: a multiplication and a shift. A GPU
// needs some seventy instructions for a 64-bit division. With l = ceil(log2 d) and m = ceil(2^(63+l) / d),
// floor(n / d) = floor(m n / 2^(63+l)) for all 0 <= n < 2^63 (Granlund and Montgomery, Division by Invariant
// Integers using Multiplication, PLDI 1994, theorem 4.2).
class FastDivide {
 public:
  explicit FastDivide(Index divisor) {  // >= 1
    const auto d = static_cast<std::uint64_t>(divisor);
    if (d == 1) return;
    const int log2 = std::bit_width(d - 1);
    multiplier_ =
        static_cast<std::uint64_t>(((static_cast<unsigned __int128>(1) << (63 + log2)) + d - 1) / d);
    shift_ = log2 - 1;
  }

  ISOTHERM_HOST_DEVICE Index operator()(Index n) const {
    if (multiplier_ == 0) return n;
    const auto product = static_cast<unsigned __int128>(multiplier_) * static_cast<std::uint64_t>(n);
    return static_cast<Index>(static_cast<std::uint64_t>(product >> 64) >> shift_);
  }

 private:
  std::uint64_t multiplier_ = 0;  // 0: divide by one
  int shift_ = 0;
};

// Distributes columns of planes evenly among persistent thread blocks. While there are columns for all
// blocks, each block takes a whole one. The remaining columns are cut along z: a team of blocks shares some
// columns, an equal number of planes per block. So neighbouring blocks walk neighbouring columns.

struct ColumnShares {
  Index columns = 0, planes = 0;                       // planes of a column
  Index blocks = 1;                                    // that share the columns
  Index whole = 0;                                     // columns that are not cut
  Index teams = 1, team_blocks = 1, team_columns = 0;  // of the columns that are cut

  // `slots`: resident blocks of the device; `least`: the fewest planes that justify a block. A part of a
  // column costs `overhead` extra planes.
  static ColumnShares of(Index columns, Index planes, Index slots, Index least, Index overhead) {
    ColumnShares s{columns, planes, std::clamp<Index>(columns * planes / least, 1, slots)};
    s.whole = columns / s.blocks * s.blocks;
    if (s.whole < columns) s.cut(overhead);
    return s;
  }

  // The most planes that a block walks in the columns that are cut, overhead included.
  Index cost_of_teams(Index overhead) const {
    const Index parts = ceil_div(team_columns, team_blocks) + (team_columns % team_blocks != 0 ? 1 : 0);
    return ceil_div(team_columns * planes, team_blocks) + std::min(parts, team_columns) * overhead;
  }

 private:
  // The most teams that cost at most 1/16 more than the best: more teams walk neighbouring columns.
  void cut(Index overhead) {
    ColumnShares best = *this;
    Index least = 0;
    for (Index n = 1; n <= blocks; ++n) {
      best.in_teams_of(n);
      const Index cost = best.cost_of_teams(overhead);
      if (least == 0 || cost < least) least = cost;
    }
    Index n = 0;
    do in_teams_of(++n);
    while (cost_of_teams(overhead) > least + least / 16);
  }
  void in_teams_of(Index n) {
    team_blocks = n;
    teams = std::min(blocks / n, columns - whole);
    team_columns = ceil_div(columns - whole, teams);
  }
};

// Planes [from, to) of one column.
struct ColumnPart {
  Index column, from, to;
};

// Iterates over the column parts of one block.
class ColumnWalk {
 public:
  ISOTHERM_HOST_DEVICE ColumnWalk(const ColumnShares& shares, Index block)
      : shares_(shares), column_(block), team_(block % shares.teams) {
    const Index member = block / shares.teams, all = shares.team_columns * shares.planes;
    if (member >= shares.team_blocks) return;  // a block without a team
    next_ = all * member / shares.team_blocks;
    end_ = all * (member + 1) / shares.team_blocks;
  }
  ISOTHERM_HOST_DEVICE bool next(ColumnPart& part) {
    const Index planes = shares_.planes;
    if (column_ < shares_.whole) {
      part = {column_, 0, planes};
      column_ += shares_.blocks;
      return true;
    }
    if (next_ >= end_) return false;
    const Index from = next_ % planes, left = from + end_ - next_;
    part = {shares_.whole + next_ / planes * shares_.teams + team_, from, left < planes ? left : planes};
    next_ += part.to - from;
    return part.column < shares_.columns;
  }

 private:
  const ColumnShares& shares_;
  Index column_, team_, next_ = 0, end_ = 0;
};

// Overlapping tiles along one axis of a region. A tile has `length` cells. It reads but does not store the
// `halo` cells at either end, except at a boundary: beyond it there is nothing to read. Where a boundary is
// within the halo of the region, the first tile begins at the lower boundary, and the last tile ends at the
// upper boundary if possible. Then no tile contains cells beyond a boundary.
struct TileCuts {
  Index lo = 0, hi = 0;  // the region
  Index first = 0, step = 1, count = 1;
  Index length = 0, halo = 0;
  Index begin = 0, last = 0;  // first cells of the first and of the last tile
  bool aligned = true;        // all tiles store whole units, and none holds cells beyond a boundary

  // `unit`: tiles begin at multiples of `unit` cells; `length` and `halo` are multiples of it. `sector`, a
  // multiple of `unit`: the stored cells of all tiles except the first begin at multiples of it, because two
  // blocks that write to one sector at different times cost a read of it. Boundaries are below cell 0 and
  // above cell extent - 1.
  static TileCuts of(Index lo, Index hi, Index extent, bool lower_boundary, bool upper_boundary, Index length,
                     Index halo, Index unit = 1, Index sector = 1) {
    TileCuts c{lo, hi, floor_div(lo, sector) * sector - halo, length - 2 * halo, 1, length, halo};
    c.begin = lower_boundary ? std::max<Index>(c.first, 0) : c.first;
    if (c.begin > c.first) c.first = -(halo % sector);
    const Index end = upper_boundary ? std::min(hi + halo, extent) : hi + halo;  // of the cells read
    c.count = end <= c.begin + length ? 1 : ceil_div(end - (c.first + length), c.step) + 1;
    c.last = c.count == 1 ? c.begin : c.first + (c.count - 1) * c.step;
    c.aligned = floor_div(lo, unit) * unit == lo && floor_div(hi, unit) * unit == hi;
    if (upper_boundary && c.last + length > extent) {
      c.aligned = c.aligned && c.count > 1 && (extent - length) % unit == 0;
      if (c.aligned) c.last = extent - length;
    }
    return c;
  }

  ISOTHERM_HOST_DEVICE Index start(Index i) const {
    return i == 0 ? begin : i == count - 1 ? last : first + i * step;
  }
  // Tile i stores the cells [left_from(i), left_from(i + 1)).
  ISOTHERM_HOST_DEVICE Index left_from(Index i) const {
    return i == 0 ? lo : i == count ? hi : first + i * step + halo;
  }
};

}  // namespace isotherm::cuda
