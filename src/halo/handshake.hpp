// What neighbours tell each other before they exchange halos.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/communicator.hpp"

namespace isotherm {

// Text i, of any length, goes to peer i, and theirs come back in that order. The peers call it too.
std::vector<std::string> swap_texts(const Communicator& communicator, std::span<const int> peers,
                                    std::span<const std::string> mine);

template <class Value>
Value swap_value(const Communicator& communicator, int peer, const Value& mine) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::string text(reinterpret_cast<const char*>(&mine), sizeof(mine));
  Value theirs;
  std::memcpy(&theirs, swap_texts(communicator, {&peer, 1}, {&text, 1}).front().data(), sizeof(theirs));
  return theirs;
}

// Tells these peers that this rank is done with what they share, and waits for them to say the same, so long
// at the most: for destructors, where a peer may never come. Were all there?
bool take_leave(const Communicator& communicator, std::span<const int> peers, double seconds) noexcept;

}  // namespace isotherm
