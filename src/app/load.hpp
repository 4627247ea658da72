// The deck of a run: read by rank 0, known to all, agreed on by all.
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "config/config.hpp"
#include "config/deck.hpp"
#include "core/communicator.hpp"

namespace isotherm {

struct LoadedDeck {
  std::string text;  // as in the file; with --from, the resolved deck within it
  Config config;
};

KnownRows known_rows();  // of this build

// Collective. Rank 0 reads, every rank parses the same bytes. Ranks with another binary or other arguments
// are found by comparing hashes: CollectiveError(internal).
LoadedDeck load_deck(const CommandLine& command, const Communicator& world);

}  // namespace isotherm
