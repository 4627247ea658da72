// A rank and its peers that set something up together, in stages.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "core/communicator.hpp"
#include "halo/handshake.hpp"

namespace isotherm {

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
