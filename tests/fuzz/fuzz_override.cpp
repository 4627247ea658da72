// Any lines as overrides of a small deck: an Error, or a deck whose resolved form reads back to itself.
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "core/error.hpp"
#include "tests/fuzz/known_rows.hpp"

using namespace isotherm;

namespace {
constexpr const char* deck = R"(
grid: {cells: [8, 6, 4], lengths: [1, 1, 1]}
material: {diffusivity: 1e-5}
initial: [{shape: constant, value: 300}]
problem: {kind: transient, steps: 10}
)";
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<std::string> overrides;
  for (std::string line; std::getline(lines, line);) overrides.push_back(line);
  std::string resolved;
  try {
    resolved = to_yaml(parse_deck(deck, "fuzz.yaml", overrides, fuzz::known_rows()));
  } catch (const Error&) {
    return 0;
  }
  const std::string again = to_yaml(parse_deck(resolved, "fuzz.yaml", {}, fuzz::known_rows()));
  if (again == resolved) return 0;
  std::cerr << "the resolved deck reads back to another one:\n" << resolved << "\n---\n" << again;
  std::abort();
}
