// Any bytes as a deck: an Error, or a deck whose resolved form reads back to itself.
#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  isotherm::fuzz::expect_refusal_or_round_trip(isotherm::fuzz::text_of(data, size), {});
  return 0;
}
