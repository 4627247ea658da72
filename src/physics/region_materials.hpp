// Finds the material of each cell: that of the last region that covers its centre. It depends on global
// indices alone, so that every rank finds the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/field_view.hpp"
#include "physics/cells.hpp"

namespace isotherm {

class Problems;

class RegionMaterials {
 public:
  // Opens the datasets of regions. Throws Error(file_missing) or Error(deck) where one does not fit.
  explicit RegionMaterials(const Config& config);
  RegionMaterials(const RegionMaterials&) = delete;
  RegionMaterials& operator=(const RegionMaterials&) = delete;

  // Reads the datasets of regions for these cells (global indices, also beyond the domain): then row() may be
  // called for them, in any thread. Without datasets it reads nothing, and row() may be called for any cell.
  void load(Box cells);
  // Stores the numbers of the materials of the cells (x + i, y, z), global indices. A cell beyond the domain
  // has the material of the cell across the periodic face, or else of the nearest cell.
  void row(Index x, Index y, Index z, std::span<std::uint8_t> materials) const;
  std::uint8_t of_loaded(Int3 cell) const {  // of a loaded cell
    std::uint8_t material = no_material;
    row(cell.x, cell.y, cell.z, {&material, 1});
    return material;
  }
  std::uint8_t at(Int3 cell) {  // of any cell
    load({cell, cell + Int3{1, 1, 1}});
    return of_loaded(cell);
  }
  // Have the planes z and z - 1 of the domain equal materials? Compares no cells; may miss equal planes.
  bool repeats(Index z) const;
  // Marks the shapes, by index in material_shapes(), that determine a cell of this row of the domain.
  void mark_visible(Index y, Index z, std::vector<bool>& shapes) const;
  Index inside(int axis, Index i) const {  // the cell of the domain for a cell beyond it
    return cell_like(i, cells_[axis], periodic_[axis]);
  }

 private:
  struct Region;  // of each shape
  Int3 cells_;
  std::array<bool, 3> periodic_;
  std::uint8_t default_;
  std::shared_ptr<std::vector<Region>> regions_;
  Box loaded_;
};

// The number of cells of each material and class.
struct CellCounts {
  std::vector<std::int64_t> of_material, of_class;
};
// Stores the classes of the cells of a part of the domain and its ghosts, in host memory, and adds the cells
// of the part to `counts`, if there are any. A cell without a material, which the checks report, has the
// class of the last one.
void assign_classes(RegionMaterials& regions, const MaterialClasses& all, Box cells,
                    FieldView<std::uint8_t> classes, CellCounts* counts = nullptr);
// Stores the ambient temperature, or NaN, in cells of voids of a field in host memory, whose first cell is
// cell `lo` of `classes`.
template <class T>
void fill_voids(FieldView<T> field, const MaterialClasses& all, FieldView<const std::uint8_t> classes,
                Int3 lo, bool with_nan);

// For each cell of a box (global indices), x fastest: 1 if it is of a void, else 0. Empty: there is no void.
std::vector<std::uint8_t> void_cells(const Config& config, Box cells);

// Warns of regions, contacts and boundaries without effect: shapes that contain no cell centre or that later
// ones cover, contacts that no face has, laws whose cells are all of voids. Throws Error(deck) if a cell has
// no material, or if others cover every cell of a material; in a steady problem, if voids separate a part of
// the body from the rest and nothing fixes its temperature.
void warn_of_materials(const Config& config, Problems& problems);

}  // namespace isotherm
