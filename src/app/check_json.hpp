// isotherm check DECK --json: the questions of a program about a deck, as JSON on stdin, and their answers on
// stdout. The binary alone reads decks: `isotherm study` asks it. docs/files.md has the protocol.
#pragma once

#include "app/command_line.hpp"

namespace isotherm {

// Whether the command names a deck with `study:` or `scaling:`; false too for what is no deck.
bool names_study(const CommandLine& command);

// One process, without MPI. Throws Error(deck) where stdin is no such JSON.
int check_json(const CommandLine& command);

}  // namespace isotherm
