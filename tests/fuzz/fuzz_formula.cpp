// Any bytes as a formula: a FormulaError with a position in the text, or a formula with the same values as a
// copy of it and as its own text, parsed again.
#include <bit>
#include <cstdint>

#include "config/reader.hpp"
#include "tests/fuzz/targets.hpp"

using namespace isotherm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  const auto bits = [](double value) {
    return value != value ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(value);  // one NaN for all
  };
  try {
    const Expression formula(text, "xyzt");
    const Expression copy = formula, again(formula.text(), "xyzt");
    constexpr double points[][4] = {{0, 0, 0, 0}, {0.5, -1, 2e3, 1}, {1e300, 1e-300, 3, 1e9}};
    for (const auto& p : points) {
      const std::uint64_t value = bits(formula(p[0], p[1], p[2], p[3]));
      fuzz::expect(value == bits(copy(p[0], p[1], p[2], p[3])), "a copy gives another value", text);
      fuzz::expect(value == bits(again(p[0], p[1], p[2], p[3])), "its own text gives another value", text);
    }
    fuzz::expect(!formula.is_constant() || !formula.uses('t'), "a constant that changes in time", text);
  } catch (const FormulaError& e) {
    fuzz::expect(e.position <= text.size(), "an error beyond the text", text);
    fuzz::expect(!e.problem.empty(), "an error without a problem", text);
  }
  return 0;
}
