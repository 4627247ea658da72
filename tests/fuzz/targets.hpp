// Shared by the fuzz targets: a file for libraries that read by path, and the requirement on decks.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "config/deck.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace isotherm::fuzz {

inline std::string text_of(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The path of a file with these bytes; the file is removed when the process ends.
inline std::string file_of(const unsigned char* data, std::size_t size) {
  static const test::TemporaryFolder folder;
  test::write_file(folder / "file", text_of(data, size));
  return folder / "file";
}

inline void expect(bool holds, const char* problem, const std::string& text) {
  if (holds) return;
  std::cerr << problem << ": " << text << "\n";
  std::abort();
}

// Names of kernels that a deck may use, a few of each kind, so that no kernel is linked.
inline const RegistryNames& registry_names() {
  static const RegistryNames registry{
      .kernels = {{"reference", true, false}, {"naive", false, true}},
      .reductions = {{"reference", true, false}, {"fused", true, false}},
      .histograms = {{"reference", true, false}},
      .transports = {{"host", true}, {"mock", false}},
  };
  return registry;
}

// The deck must be rejected by an Error, or its resolved form must read back to itself.
inline void expect_refusal_or_round_trip(const std::string& deck, const std::vector<std::string>& overrides) {
  std::string resolved;
  try {
    resolved = to_yaml(parse_deck(deck, "fuzz.yaml", overrides, registry_names()));
  } catch (const Error&) {
    return;
  }
  const std::string again = to_yaml(parse_deck(resolved, "fuzz.yaml", {}, registry_names()));
  expect(again == resolved, "the resolved deck reads back to another one", resolved + "\n---\n" + again);
}

}  // namespace isotherm::fuzz
