// Keys of a deck by their dotted paths: "solver.kernel", "sources.0.value".
#pragma once

#include <string>

namespace isotherm {

struct KeyAtPath {
  std::string
      problem;       // why no deck has such a key: "unknown key; did you mean 'solver.kernel'?"; else empty
  std::string unit;  // "W/(m K)"; empty for words, counts, ratios and maps
};
KeyAtPath find_key_at(const std::string& path);

}  // namespace isotherm
