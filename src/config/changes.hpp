// What two decks say differently: what may change when a run goes on, and what may not.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

struct Change {
  std::string key;          // "problem.steps"
  std::string before, now;  // as YAML; "nothing" where the key holds or means nothing
  bool allowed =
      false;  // a run that goes on may have it: it ends elsewhere, or is computed or told otherwise
};

// By the key table, in its order; keys that may be left out count with what they mean then.
std::vector<Change> changes(const Config& before, const Config& now);

// The deck that to_yaml() wrote, key by key as it stands: what its keys mean together is not checked. Throws
// Error(deck) where it is no such text; `place` for the message.
Config read_resolved_deck(const std::string& text, const std::string& place);

}  // namespace isotherm
