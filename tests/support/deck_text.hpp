// Decks as text, and the messages of their reader.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/deck.hpp"
#include "core/error.hpp"

namespace isotherm::deck_text {

// Kernels of all sorts: of both backends, one that is not in this build.
inline RegistryNames registry() {
  return {.kernels = {{"reference", true, false},
                      {"openmp", true, false},
                      {"naive", true, true},
                      {"shared", false, true}},
          .reductions = {{"openmp", true, false}, {"warp_shuffle", true, true}},
          .histograms = {{"openmp", true, false}, {"global_atomic", true, true}},
          .transports = {{"host", true}, {"mpi_device", true}, {"mock", false}}};
}

// Ends within `problem:`, so that a test can append keys to that section.
inline const std::string base =
    "grid:\n"
    "  cells: [8, 9, 10]\n"
    "  lengths: 1\n"
    "material:\n"
    "  diffusivity: 1\n"
    "initial:\n"
    "  - {shape: constant, value: 300}\n"
    "problem:\n"
    "  steps: 10\n";

inline Config parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_deck(text, "deck.yaml", overrides, registry());
}

// The messages of parse() and its exit code; "" and ExitCode::done for a correct deck.
inline std::pair<std::string, ExitCode> problems(const std::string& text,
                                                 const std::vector<std::string>& overrides = {}) {
  try {
    parse(text, overrides);
    return {"", ExitCode::done};
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
}

inline std::string replaced(std::string text, const std::string& old, const std::string& by) {
  return text.replace(text.find(old), old.size(), by);
}

// `expected`: the start of the message after "deck.yaml:", with line, column, key and problem. Advice follows
// after a semicolon.
inline void expect_problem(const std::string& deck, const std::string& expected,
                           ExitCode code = ExitCode::deck) {
  const auto [text, actual] = problems(deck);
  const std::string start = expected.empty() ? "" : "deck.yaml:" + expected;
  EXPECT_EQ(text.substr(0, expected.empty() ? text.npos : start.size()), start) << deck.substr(0, 400);
  EXPECT_EQ(text.find("; ") == text.npos, expected.empty()) << "what to do instead: " << text;
  EXPECT_EQ(actual, code) << deck.substr(0, 400);
}
inline void expect_good(const std::string& deck) { expect_problem(deck, "", ExitCode::done); }

inline std::string with_boundary(const std::string& boundary) {
  return base + "boundaries:\n  x_min: " + boundary + "\n";
}

}  // namespace isotherm::deck_text
