// From the text of a deck to a Config and back, and from the one key table to the documents about decks.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

// The bytes of a deck file, of a longer one so many that parse_deck() rejects it. Throws Error(file_missing).
std::string read_deck_file(const std::string& path);

// What the reader must know of other folders to check words: the valid names of kernels.
struct RegistryNames {
  struct Kernel {
    std::string name;
    bool available;  // in this build
    bool on_cuda;
    bool sweeps_materials = true;  // a stencil kernel: bodies of several
    bool takes_varying_a = true;   // likewise: boundaries whose coefficients vary
  };
  std::vector<Kernel> kernels, reductions, histograms;
  struct Transport {
    std::string name;
    bool moves_data;  // else it is for measuring only
  };
  std::vector<Transport> transports;
};

// Reads, applies `overrides` ("a.b.c=value"; `arguments`: their numbers in messages) and checks what needs no
// device and no rank count. Throws Error(deck) with all problems, a line each; Error(command_line) for an
// override without '=' or given twice; Error(unavailable) for a kernel that this build lacks.
Config parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& overrides,
                  const RegistryNames& registry, const std::vector<int>& arguments = {});

// The resolved deck: every key that applies, with its value. It reads back to the same Config.
std::string to_yaml(const Config& config);
// Reads it key by key; what its keys mean together is not checked. Throws Error(deck) where it is no such
// text; `place` for the message.
Config read_resolved_deck(const std::string& text, const std::string& place);
// A resolved deck that an earlier version may have stored, in the words of this one. Throws YamlError.
std::string stored_deck_text(const std::string& text);

// What two decks say differently, in the order of the key table. Keys left out count with what they mean.
struct Change {
  std::string key;          // "problem.steps"
  std::string before, now;  // as YAML; "nothing" where the key holds or means nothing
  bool allowed = false;     // a run that is resumed may have it: the state at each sweep stays the same
};
std::vector<Change> changes(const Config& before, const Config& now);

std::string commented_deck();  // isotherm init
std::string minimal_deck();    // isotherm init --minimal: the same, without what has its default
// isotherm schema, JSON Schema draft 7. Any word may stand for a kernel or reduction.
std::string json_schema();

}  // namespace isotherm
