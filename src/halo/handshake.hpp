// What neighbours tell each other before they exchange halos.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/communicator.hpp"

namespace isotherm {

// Text i, of any length, goes to peer i, and theirs come back in that order. The peers call it too.
std::vector<std::string> swap_texts(const Communicator& communicator, std::span<const int> peers,
                                    std::span<const std::string> mine);

// Values in such a text, as the bytes that both sides have them in.
template <class Value>
void append(std::string& text, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
template <class Value>
Value take(std::string_view& text) {
  Value value;
  std::memcpy(&value, text.data(), sizeof(value));
  text.remove_prefix(sizeof(value));
  return value;
}

// Tells these peers that this rank is done with what they share, and waits for them to say the same, so long
// at the most: for destructors, where a peer may never come.
void take_leave(const Communicator& communicator, std::span<const int> peers, double seconds) noexcept;

}  // namespace isotherm
