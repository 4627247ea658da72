#include "physics/cells.hpp"

#include <fmt/format.h>

#include <cmath>

namespace isotherm {

Error not_finite(const std::string& key, const std::string& what, double value, Int3 cell, Vector3 place,
                 double t) {
  const char* problem = std::isfinite(value) ? "is too large for the precision" : "is not finite";
  const double shown = std::isnan(value) ? std::abs(value) : value;  // the sign of a NaN says nothing
  return {ExitCode::deck,
          fmt::format("{}: {} {} at cell ({}, {}, {}) (it is {} at x = {} m, y = {} m, z = {} m, t = {} s); "
                      "give a value that every cell can hold",
                      key, what, problem, cell.x, cell.y, cell.z, shown, place[0], place[1], place[2], t)};
}

Error too_cold(const std::string& key, double value, Int3 cell, Vector3 place, double t) {
  return {
      ExitCode::deck,
      fmt::format("{}: {} K at cell ({}, {}, {}) (x = {} m, y = {} m, z = {} m, t = {} s) is below absolute "
                  "zero; temperatures are in kelvin, 25 C is 298.15",
                  key, value, cell.x, cell.y, cell.z, place[0], place[1], place[2], t)};
}

}  // namespace isotherm
