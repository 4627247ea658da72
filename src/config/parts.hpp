// The cells of the grid in files other than whole snapshots: slices, the region, the coarse field.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"

namespace isotherm {

// A fraction of a cell's edge: a place this near to a face or a centre is on it but for rounding.
inline constexpr double rounding_of_per_cell = 1e-9;

enum class PartKind { slice, region, coarse };
ISOTHERM_WORDS(PartKind, "slice", "region", "coarse");

struct FieldPart {
  PartKind kind = PartKind::slice;
  std::string name;      // "slice_z12", "region", "coarse": files are <run>_<name>_<sweep>.hdf
  std::string key;       // "output.slices.0"
  Box box;               // cells of the grid that it covers
  Int3 factor{1, 1, 1};  // so many of them make one cell of the file; 1 except for the coarse field
  OutputTimes times;
  // Of a slice.
  int normal = -1;                   // the axis that it is normal to: 0, 1, 2
  std::optional<double> position{};  // m along it, where the deck gives one

  Int3 cells() const {  // of the file
    const Int3 e = box.extent();
    return {e.x / factor.x, e.y / factor.y, e.z / factor.z};
  }
};

// In the deck's order: slices, region, coarse field. If one does not fit the grid, Error(deck) is thrown, or,
// if `problems` are given, the part is left out and a problem is added.
class Problems;
std::vector<FieldPart> field_parts(const Config& config, Problems* problems = nullptr);

// The intervals of recurring outputs, by key: snapshots, the region, the coarse field, probes, slices.
std::vector<std::pair<std::string, OutputTimes>> output_times(const Config& config);

// Empty where the box holds this position along the axis, its boundaries included; else the problem.
std::string beyond_box(const Config& config, int axis, double position);
std::string box_text(const Config& config, int axis);  // "-1 to 0.5 m along x"

}  // namespace isotherm
