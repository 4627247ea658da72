// Halo messages whose rows are too short to be stored one by one, and their places in the receiver's buffer.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>

#include "halo/messages.hpp"
#include "kernels/peer_copy.hpp"

namespace isotherm {

// Messages that travel dense, of one way between two ranks: by tag, where each begins [bytes]. Both ranks lay
// the receiver's buffer out alike.
struct DenseMessages {
  std::map<int, std::size_t> places;
  std::size_t bytes = 0;
};
template <class T>
DenseMessages dense_messages(std::span<const HaloMessage> messages, int peer,
                             int (*tag)(const HaloMessage&)) {
  DenseMessages dense;
  for (const HaloMessage& m : messages) {
    const bool is_short = m.edge.extent().x * Index{sizeof(T)} < least_direct_row;
    if (m.peer == peer && is_short) dense.places[tag(m)] = m.cells() * sizeof(T);
  }
  for (auto& [each_tag, place] : dense.places) {
    const std::size_t length = std::exchange(place, dense.bytes);
    dense.bytes += (length + line_bytes - 1) / line_bytes * line_bytes;
  }
  return dense;
}

}  // namespace isotherm
