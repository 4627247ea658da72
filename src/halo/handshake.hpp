// What neighbours have to agree on before they exchange halos.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/communicator.hpp"

namespace isotherm {

// Both ranks of a pair call it; each gets what the other gave. Equally many bytes.
void swap_bytes(const Communicator& communicator, int peer, std::span<const std::byte> mine,
                std::span<std::byte> theirs);

template <class Value>
Value swap_value(const Communicator& communicator, int peer, const Value& mine) {
  static_assert(std::is_trivially_copyable_v<Value>);
  Value theirs;
  swap_bytes(communicator, peer, std::as_bytes(std::span(&mine, 1)),
             std::as_writable_bytes(std::span(&theirs, 1)));
  return theirs;
}

// With several ranks at once: text i, of any length, goes to peer i, and theirs come back in that order.
std::vector<std::string> swap_texts(const Communicator& communicator, std::span<const int> peers,
                                    std::span<const std::string> mine);

// Tells these peers that this rank is done with what they share, and waits for them to say the same, so long
// at the most: for destructors, where a peer may never come. Were all there?
bool take_leave(const Communicator& communicator, std::span<const int> peers, double seconds) noexcept;

}  // namespace isotherm
