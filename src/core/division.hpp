// Quotients of cells and blocks, rounded up and down.
#pragma once

#include "core/box.hpp"

namespace isotherm {

// a >= 0, b > 0.
constexpr Index ceil_div(Index a, Index b) {
  return (a + b - 1) / b;
}
// b > 0. Regions may begin in the ghosts, at negative indices.
constexpr Index floor_div(Index a, Index b) {
  return a >= 0 ? a / b : -ceil_div(-a, b);
}

}  // namespace isotherm
