// Positions of cells, and errors for values of cells that are not finite or too low.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "config/config.hpp"
#include "config/grid_axes.hpp"
#include "config/text.hpp"
#include "core/error.hpp"

namespace isotherm {

inline double square(double x) { return x * x; }

inline std::array<bool, 3> periodic_axes(const Config& config) {
  std::array<bool, 3> periodic{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    periodic[axis] = config.boundaries[2 * axis].kind == BoundaryKind::periodic;
  return periodic;
}
// Maps an index beyond the n cells of an axis to one of them: across a periodic face, else to the nearest.
inline Index cell_like(Index i, Index n, bool is_periodic) {
  return is_periodic ? (i % n + n) % n : std::clamp<Index>(i, 0, n - 1);
}

// m along the normal
inline double face_position(const Config& config, Face f) {
  const GridAxis axis(config, axis_of(f));
  return axis.edge(is_max(f) ? axis.cells() : 0);
}

// "<key>: <what> is not finite at cell (1, 2, 3) (it is nan at x = 0.1 m, ...); ..."; `key`: Config::at().
inline Error not_finite(const std::string& key, const std::string& what, double value, Int3 cell,
                        Vector3 place, double t) {
  const char* problem = std::isfinite(value) ? "is too large for the precision" : "is not finite";
  const double shown = std::isnan(value) ? std::abs(value) : value;  // the sign of a NaN says nothing
  return {
      ExitCode::deck,
      fmt::format("{}: {} {} at cell ({}, {}, {}) (it is {} at x = {} m, y = {} m, z = {} m, t = {} s){}; "
                  "give a value that every cell can hold",
                  key, what, problem, cell.x, cell.y, cell.z, shown, place[0], place[1], place[2], t,
                  why_nan(value, what))};
}

// "<key>: -3 K at cell (1, 2, 3) (x = 0.1 m, ...) is <problem>"
inline Error too_low(const std::string& key, double value, const char* unit, Int3 cell, Vector3 place,
                     double t, const char* problem) {
  return {ExitCode::deck,
          fmt::format("{}: {} {} at cell ({}, {}, {}) (x = {} m, y = {} m, z = {} m, t = {} s) is {}", key,
                      value, unit, cell.x, cell.y, cell.z, place[0], place[1], place[2], t, problem)};
}
inline Error too_cold(const std::string& key, double value, Int3 cell, Vector3 place, double t) {
  return too_low(key, value, "K", cell, place, t,
                 "below absolute zero; temperatures are in kelvin, 25 C is 298.15");
}

}  // namespace isotherm
