// Work in a row of blocks, cut into grids that a launch may have.
#pragma once

#include "core/box.hpp"

namespace isotherm::cuda {

inline constexpr Index most_blocks_a_grid = 0x7fffffff;  // along x, of every GPU that CUDA still knows

// Calls launch(blocks, first) for blocks first, first + 1, ... until all are launched: once, but for more
// than `most` of them.
template <class Launch>
void for_grids(Index blocks, Launch launch, Index most = most_blocks_a_grid) {
  for (Index first = 0; first < blocks; first += most) {
    const Index rest = blocks - first;
    launch(static_cast<unsigned>(rest < most ? rest : most), first);
  }
}

}  // namespace isotherm::cuda
