// What neighbours have to agree on before they exchange halos.
#pragma once

#include <fmt/format.h>

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

// A rank and its peers that set something up together, in stages.

// What goes wrong at one rank is known at its peers, and everyone comes through all stages: a rank that left
// early would leave those waiting that it has nothing to do with.
class Agreement {
 public:
  Agreement(const Communicator& communicator, std::span<const int> peers)
      : communicator_(communicator), peers_(peers) {}

  // `work` is left out once something is wrong.
  template <class Work>
  void attempt(Work work) {
    try {
      if (why_not_.empty()) work();
    } catch (const std::exception& e) {
      why_not_ = fmt::format("rank {}: {}", communicator_.rank(), e.what());
    }
  }
  // The peers' texts; of use only where nothing is wrong.
  std::vector<std::string> swap(std::vector<std::string> mine) {
    for (std::string& text : mine) text = why_not_.empty() ? "+" + text : "-" + why_not_;
    std::vector<std::string> theirs = swap_texts(communicator_, peers_, mine);
    for (std::string& text : theirs) {
      if (text[0] == '-' && why_not_.empty()) why_not_ = text.substr(1);
      text.erase(0, 1);
    }
    return theirs;
  }
  const std::string& why_not() const { return why_not_; }

 private:
  const Communicator& communicator_;
  std::span<const int> peers_;
  std::string why_not_;
};

}  // namespace isotherm
