// How blocks that stay share columns of planes evenly, whatever their number. As long as there are columns
// for all of them each takes a whole one. Those that are left are cut along z: so many blocks take so many
// columns together, each the same number of planes, and all such teams cut alike. So blocks side by side walk
// columns side by side, and what one reads at its edge is in L2 when the next one wants it. For .cu files
// only.
#pragma once

#include <algorithm>

#include "core/box.hpp"
#include "core/host_device.hpp"

namespace isotherm::cuda {

struct ColumnShares {
  Index columns = 0, planes = 0;                       // planes of a column
  Index blocks = 1;                                    // that share them
  Index whole = 0;                                     // columns that are not cut
  Index teams = 1, team_blocks = 1, team_columns = 0;  // of those that are

  // `slots`: blocks that the device holds at once; `least`: planes that are worth a block. A part of a column
  // costs `overhead` planes more than it has.
  static ColumnShares of(Index columns, Index planes, Index slots, Index least, Index overhead) {
    ColumnShares s{columns, planes, std::clamp<Index>(columns * planes / least, 1, slots)};
    s.whole = columns / s.blocks * s.blocks;
    if (s.whole < columns) s.cut(overhead);
    return s;
  }

  // The most planes that a block walks in the columns that are cut, with what its parts cost.
  Index cost_of_teams(Index overhead) const {
    const Index parts = ceil_div(team_columns, team_blocks) + (team_columns % team_blocks != 0 ? 1 : 0);
    return ceil_div(team_columns * planes, team_blocks) + std::min(parts, team_columns) * overhead;
  }

 private:
  // As many teams as cost little more than the best: more of them walk side by side.
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

// The parts of one block, one after another.
class ColumnWalk {
 public:
  ISOTHERM_HOST_DEVICE ColumnWalk(const ColumnShares& shares, Index block)
      : shares_(shares), column_(block), team_(block % shares.teams) {
    const Index member = block / shares.teams, all = shares.team_columns * shares.planes;
    if (member >= shares.team_blocks) return;  // one of those that are left over
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

}  // namespace isotherm::cuda
