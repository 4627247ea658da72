// From the text of a deck to a Config and back, and from the one key table to the documents about decks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

// The bytes of a deck file, at most one more than parse_deck() accepts. Throws Error(file_missing).
std::string read_deck_file(const std::string& path);

// The names that the reader needs from other folders to check words: kernels and transports.
struct RegistryNames {
  struct Kernel {
    std::string name;
    bool available;  // in this build
    bool on_cuda;
    bool sweeps_materials = true;  // of stencil kernels: bodies of several materials
    bool takes_varying_a = true;   // of stencil kernels: boundaries whose coefficients vary
  };
  std::vector<Kernel> kernels, reductions, histograms;
  struct Transport {
    std::string name;
    bool moves_data;  // false: for measurements only
  };
  std::vector<Transport> transports;
};

// Reads, applies `overrides` ("a.b.c=value"; `arguments`: their numbers in messages) and runs the checks that
// need no device and no rank count. Throws Error(deck) with all problems, a line each; Error(command_line)
// for an override without '=', given twice or after a part of it; Error(unavailable) for a kernel that this
// build lacks.
Config parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& overrides,
                  const RegistryNames& registry, const std::vector<int>& arguments = {});

// First line of deck.resolved.yaml in a run's directory: "# run: " and the run's name in quotes.
inline constexpr std::string_view name_line = "# run: ";
// Name of the run in the folder, from this line; from its record if an earlier isotherm wrote the deck.
std::optional<std::string> name_of_run(const std::filesystem::path& folder);
// The resolved deck: every key that applies, with its value. It reads back to the same Config.
std::string to_yaml(const Config& config);
// Reads a resolved deck to compare it. Checks each key, but not keys against each other; does not read the
// files of tables, whose values are unknown. Throws Error(deck), with `place` in the message, if the text is
// not a resolved deck.
Config read_resolved_deck(const std::string& text, const std::string& place);
// Translates a resolved deck of an earlier version to current keys and words. Throws YamlError.
std::string stored_deck_text(const std::string& text);

// The differences of two decks, in the order of the key table. A key that is left out counts as its default.
struct Change {
  std::string key;          // "problem.steps"
  std::string before, now;  // as YAML; "nothing" where the key has no value or does not apply
  bool allowed = false;     // may a resumed run have it, as the state at each sweep stays the same?
};
std::vector<Change> changes(const Config& before, const Config& now);

std::string commented_deck();  // isotherm init
std::string minimal_deck();    // isotherm init --minimal: the same, without keys at their defaults
// isotherm schema, JSON Schema draft 7. It accepts any word as the name of a kernel or reduction.
std::string json_schema();

}  // namespace isotherm
