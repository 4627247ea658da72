// Figures of merit: the numbers by which a run, or one way of a comparison, is better or worse than another.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isotherm {

enum class Better { lower, higher };

struct Merit {
  std::string name;  // "cell_updates"
  double value = 0;
  std::string unit;  // "GLUP/s", "%"
  Better better = Better::higher;
  int decimals = 3;  // behind the point, where it is printed
};

// {"cell_updates": {"value": 1.5, "unit": "GLUP/s", "better": "higher"}}; those that are not finite are left
// out.
nlohmann::ordered_json to_json_object(const std::vector<Merit>& merits);

std::string merit_text(double value, const Merit& like);  // "1.500 GLUP/s"

}  // namespace isotherm
