// Any lines as overrides of a small deck: an Error, or a deck whose resolved form reads back to itself.
#include <sstream>

#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const char* const deck = R"(
grid: {cells: [8, 6, 4], lengths: [1, 1, 1]}
material: {diffusivity: 1e-5}
initial: [{shape: constant, value: 300}]
problem: {kind: transient, steps: 10}
)";
  std::istringstream lines(isotherm::fuzz::text_of(data, size));
  std::vector<std::string> overrides;
  for (std::string line; std::getline(lines, line);) overrides.push_back(line);
  isotherm::fuzz::expect_refusal_or_round_trip(deck, overrides);
  return 0;
}
