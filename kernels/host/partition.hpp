// Who sweeps what: the static split of a box among threads; and the arithmetic of indices for it, which is
// always inlined, as std::min would be shared by instruction sets (rows.hpp).
#pragma once

#include "core/box.hpp"

namespace isotherm::host {

// Below this many cells, waking the threads costs more than they save.
inline constexpr Index cells_worth_threads = 16384;

static inline __attribute__((always_inline)) Index smaller(Index a, Index b) {
  return a < b ? a : b;
}
static inline __attribute__((always_inline)) Index larger(Index a, Index b) {
  return a < b ? b : a;
}

struct Range {
  Index lo, hi;
};

// Part `part` of `parts` of [lo, hi): equal to one.
static inline Range part_of(Range whole, Index part, Index parts) {
  const Index n = whole.hi - whole.lo;
  return {whole.lo + n * part / parts, whole.lo + n * (part + 1) / parts};
}

// The share of one thread: threads stand in a grid over y and z, the one with the smallest largest share. Of
// equal ones the one that cuts z most is taken: its shares are contiguous in memory. `beyond`: rows and
// planes that a share sweeps beside its own, as many cells of work as it has of them on the mean.
static inline Box share(Box whole, int thread, int threads, Index beyond = 0) {
  const Int3 n = whole.extent();
  Index best_z = 1, least = -1;
  for (Index in_z = threads; in_z >= 1; --in_z) {
    if (threads % in_z != 0) continue;
    const Index in_y = threads / in_z;
    const Index rows = ((n.y + in_y - 1) / in_y + beyond) * ((n.z + in_z - 1) / in_z + beyond);
    if (least < 0 || rows < least) {
      least = rows;
      best_z = in_z;
    }
  }
  const Index in_y = threads / best_z;
  const Range y = part_of({whole.lo.y, whole.hi.y}, thread % in_y, in_y);
  const Range z = part_of({whole.lo.z, whole.hi.z}, thread / in_y, best_z);
  return {{whole.lo.x, y.lo, z.lo}, {whole.hi.x, y.hi, z.hi}};
}

}  // namespace isotherm::host
