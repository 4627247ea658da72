// A body of several materials: which one each cell has, painted by the centres of cells from global indices
// alone, so that every rank finds the same; and what sweeps read of it on a device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/device.hpp"
#include "grid/field.hpp"
#include "kernels/stencil.hpp"
#include "physics/coverage.hpp"

namespace isotherm {

class MaterialPainter {
 public:
  static constexpr std::uint8_t nothing = most_materials;  // where no region and no default reach
  explicit MaterialPainter(const Config& config);
  MaterialPainter(const MaterialPainter&) = delete;
  MaterialPainter& operator=(const MaterialPainter&) = delete;

  // The materials (their numbers) of the cells (x + i, y, z), in global indices. A cell beyond the domain has
  // that of the cell behind a periodic face, or else of the nearest one.
  void row(Index x, Index y, Index z, std::span<std::uint8_t> materials) const;
  std::uint8_t at(Int3 cell) const {
    std::uint8_t material = nothing;
    row(cell.x, cell.y, cell.z, {&material, 1});
    return material;
  }
  std::vector<std::size_t> empty_shapes() const;  // the numbers of those that hold no cell centre

 private:
  Index inside(int axis, Index i) const;

  Int3 cells_;
  std::array<bool, 3> periodic_;
  std::uint8_t default_;
  std::vector<PaintedShape> shapes_;
  std::vector<CentreCover> covers_;  // of them
};

// Layers of ghosts of the classes of cells: where coarser grids are made from them, two at the least.
int class_ghosts(const Config& config);

// Places of the deck's shapes that hold no cell centre. Throws Error(deck) where a cell has no material.
std::vector<std::string> material_warnings(const Config& config);

// The cell's conductivity along the axis.
double conductivity_at(const Config& config, Int3 cell, int axis);

// The mixed cells of a block on a GPU, and where they are.
template <class T>
class MixedCellTables {
 public:
  // `by_cell`: by Face, does the block end there at a boundary that differs by cell?
  MixedCellTables(Device& device, FieldView<const std::uint8_t> classes,
                  const std::array<bool, face_count>& by_cell);
  const MixedCells& view() const { return view_; }

 private:
  Field<std::uint8_t> packs_, distance_;
  Buffer bricks_;
  MixedCells view_;
};

template <class T>
class MaterialCells {
 public:
  // Of this block, with class_ghosts(); `device` must outlive it. `differ_by_cell`: as BoundaryConditions has
  // them. `most_sweeps`: of a launch.
  MaterialCells(const Config& config, Device& device, Box subdomain, int ghosts,
                const std::array<bool, face_count>& differ_by_cell, int most_sweeps);

  // Sweeps of these weights from here on, in the order of the stream.
  void use(const Config& config, const std::vector<double>& weights, Stream stream);
  // What a launch reads whose first sweep is that of weights[i], and the others those that follow in a cycle
  // of so many.
  Materials<T> of_launch(std::size_t i, std::size_t cycle) const;
  const std::vector<std::int64_t>& cells_of_material() const { return counts_; }  // of this block

 private:
  void paint(const Config& config, Box subdomain, FieldView<std::uint8_t> classes);

  Device& device_;
  MaterialClasses all_;
  Field<std::uint8_t> classes_;
  std::vector<std::int64_t> counts_;
  std::optional<MixedCellTables<T>> mixed_;  // of a GPU, as these
  std::vector<Field<T>> between_;
  Buffer conductance_, capacity_, heat_, coefficients_;
  std::vector<Coefficients<T>> on_host_;  // of coefficients_
  std::vector<T> weights_;
  Materials<T> tables_;  // but for what differs by sweep
};

// Of a block whose fields have rows of such an alignment: what MaterialCells holds for each cell.
template <class T>
std::size_t material_bytes(Int3 extent, int ghosts, Backend backend, int most_sweeps);

}  // namespace isotherm
