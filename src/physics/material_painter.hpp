// Which material each cell has, painted by the centres of cells from global indices alone, so that every rank
// finds the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/field_view.hpp"
#include "physics/cells.hpp"

namespace isotherm {

class MaterialPainter {
 public:
  static constexpr std::uint8_t nothing = no_material;  // where no region and no default reach
  // Opens the datasets of regions. Throws Error(file_missing) or Error(deck) where one does not fit.
  explicit MaterialPainter(const Config& config);
  MaterialPainter(const MaterialPainter&) = delete;
  MaterialPainter& operator=(const MaterialPainter&) = delete;

  // Reads the datasets of regions for these cells (global indices, which may lie beyond the domain): row()
  // may be asked for them from here on, in any thread. Without datasets nothing is read, and any may be asked
  // for.
  void load(Box cells);
  // The materials (their numbers) of the cells (x + i, y, z), in global indices. A cell beyond the domain has
  // that of the cell behind a periodic face, or else of the nearest one.
  void row(Index x, Index y, Index z, std::span<std::uint8_t> materials) const;
  std::uint8_t painted(Int3 cell) const {  // of those cells
    std::uint8_t material = nothing;
    row(cell.x, cell.y, cell.z, {&material, 1});
    return material;
  }
  std::uint8_t at(Int3 cell) {  // of any
    load({cell, cell + Int3{1, 1, 1}});
    return painted(cell);
  }
  // Are the planes z and z - 1 of the domain painted alike? False where that takes a look at them.
  bool repeats(Index z) const;
  // Marks the shapes (their places in painted_shapes()) that a cell of this row of the domain is of.
  void mark_visible(Index y, Index z, std::vector<bool>& shapes) const;
  Index inside(int axis, Index i) const {  // the cell of the domain that a cell beyond it is like
    return cell_like(i, cells_[axis], periodic_[axis]);
  }

 private:
  struct Brush;  // of each shape
  Int3 cells_;
  std::array<bool, 3> periodic_;
  std::uint8_t default_;
  std::shared_ptr<std::vector<Brush>> brushes_;
  Box loaded_;
};

// The classes of the cells of a block and its ghosts, in host memory, and how many cells of the block there
// are of each material and class.
void paint_classes(const Config& config, const MaterialClasses& all, Box subdomain,
                   FieldView<std::uint8_t> classes, std::vector<std::int64_t>& of_material,
                   std::vector<std::int64_t>& of_class);
// Stores what cells of voids hold, or NaN, in a field in host memory whose first cell is at `lo` of
// `classes`.
template <class T>
void fill_voids(FieldView<T> field, const MaterialClasses& all, FieldView<const std::uint8_t> classes,
                Int3 lo, bool with_nan);

// Of each cell of a block (`cells`: global indices), x fastest: 1 of a void, else 0. Empty: there is no void.
std::vector<std::uint8_t> void_cells(const Config& config, Box cells);

// What of regions, contacts and boundaries has no effect: shapes that hold no cell centre or that later ones
// cover, contacts that no face has, laws of faces on which all cells are of voids. Throws Error(deck) where a
// cell has no material, or a material no cell because others cover it; in a steady problem, where a part of
// the body that voids separate from the rest touches nothing that holds a temperature.
std::vector<std::string> material_warnings(const Config& config);

}  // namespace isotherm
