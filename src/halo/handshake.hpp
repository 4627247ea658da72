// Messages of neighbours before the first halo exchange, and after the last one.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/communicator.hpp"

namespace isotherm {

// Sends text i, of any length, to peer i, and returns the peers' texts in that order. The peers call it too.
std::vector<std::string> swap_texts(const Communicator& communicator, std::span<const int> peers,
                                    std::span<const std::string> mine);

// Values in such a text, as bytes; both sides represent them alike.
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

// Signals to the peers that this rank no longer uses the shared memory, and waits for their signals, at most
// `seconds`: for destructors, where a peer may never answer.
void disconnect(const Communicator& communicator, std::span<const int> peers, double seconds) noexcept;

}  // namespace isotherm
