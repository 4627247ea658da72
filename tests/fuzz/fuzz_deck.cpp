// Any bytes as a deck: an Error, or a deck whose resolved form reads back to itself.
#include <cstdlib>
#include <iostream>

#include "core/error.hpp"
#include "tests/fuzz/known_rows.hpp"

using namespace isotherm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string resolved;
  try {
    resolved = to_yaml(parse_deck(text, "fuzz.yaml", {}, fuzz::known_rows()));
  } catch (const Error&) {
    return 0;
  }
  const std::string again = to_yaml(parse_deck(resolved, "fuzz.yaml", {}, fuzz::known_rows()));
  if (again == resolved) return 0;
  std::cerr << "the resolved deck reads back to another one:\n" << resolved << "\n---\n" << again;
  std::abort();
}
