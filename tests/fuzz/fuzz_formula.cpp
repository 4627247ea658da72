// Any bytes as a formula: a FormulaError with a place in the text, or values that a copy, and the text read
// once more, give too.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "config/reader.hpp"

using namespace isotherm;

namespace {

void expect(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::cerr << what << ": " << text << "\n";
  std::abort();
}

std::uint64_t bits(double value) {
  return value != value ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(value);  // one NaN for all
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Expression formula(text, "xyzt");
    const Expression copy = formula, again(formula.text(), "xyzt");
    constexpr double points[][4] = {{0, 0, 0, 0}, {0.5, -1, 2e3, 1}, {1e300, 1e-300, 3, 1e9}};
    for (const auto& p : points) {
      const std::uint64_t value = bits(formula(p[0], p[1], p[2], p[3]));
      expect(value == bits(copy(p[0], p[1], p[2], p[3])), "a copy gives another value", text);
      expect(value == bits(again(p[0], p[1], p[2], p[3])), "its own text gives another value", text);
    }
    expect(!formula.is_constant() || !formula.uses('t'), "a constant that changes in time", text);
  } catch (const FormulaError& e) {
    expect(e.position <= text.size(), "an error beyond the text", text);
    expect(!e.problem.empty(), "an error without a problem", text);
  }
  return 0;
}
