// Any bytes as a deck: an Error, or a deck whose resolved form reads back to itself.
#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  isotherm::fuzz::expect_refusal_or_round_trip(std::string(reinterpret_cast<const char*>(data), size), {});
  return 0;
}
