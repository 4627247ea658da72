// A body of several materials: which one each cell has, painted by the centres of cells from global indices
// alone, so that every rank finds the same; and what sweeps read of it on a device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
#include "physics/region_dataset.hpp"

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
  std::vector<std::size_t> empty_shapes() const;  // the numbers of those that hold no cell centre
  Index inside(int axis, Index i) const;          // the cell of the domain that a cell beyond it is like

 private:
  Int3 cells_;
  std::array<bool, 3> periodic_;
  std::uint8_t default_;
  std::vector<PaintedShape> shapes_;
  struct Brush {  // one of the two, of each shape
    std::optional<CentreCover> cover;
    std::optional<RegionDataset> dataset;
  };
  std::vector<Brush> brushes_;
  Box loaded_;
};

// Layers of ghosts of the classes of cells: where coarser grids are made from them, two at the least.
int class_ghosts(const Config& config);

// Of each cell of a block (`cells`: global indices), x fastest: 1 of a void, else 0. Empty: there is no void.
std::vector<std::uint8_t> void_cells(const Config& config, Box cells);

// Places of the deck's shapes that hold no cell centre. Throws Error(deck) where a cell has no material, or a
// material no cell because others cover it; in a steady problem, where a part of the body that voids separate
// from the rest touches nothing that holds a temperature.
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
  // Of this block, by number.
  const std::vector<std::int64_t>& cells_of_class() const { return class_counts_; }
  const std::vector<std::int64_t>& cells_of_material() const { return counts_; }
  const MaterialClasses& classes() const { return all_; }
  bool has_void() const { return tables_.held != nullptr; }
  // A sum over cells with these tables as those of heat leaves out voids, and weighs all others by their
  // volume, or alike.
  const double* body() const { return body_.template as<double>(); }
  const double* is_body() const { return is_body_.template as<double>(); }
  // In host memory: is the cell, in indices of the block, of a void?
  bool is_void(Index x, Index y, Index z) const { return all_.classes[host_classes_(x, y, z)].is_void(); }
  // Stores in the cells of voids what they hold, in a field of the block on the device.
  void hold(FieldView<T> field, Stream stream) const;
  // Stores NaN there, as all files and reports have it. `field` is in host memory, of the cells from `lo` on,
  // in indices of the block.
  void blank(FieldView<T> field, Int3 lo = {}) const;

 private:
  void make_tables(const Config& config);
  template <class Value>
  void fill_voids(FieldView<T> field, Int3 lo, const Value& value) const;

  void paint(const Config& config, Box subdomain, FieldView<std::uint8_t> classes);

  Device& device_;
  MaterialClasses all_;
  Field<std::uint8_t> classes_;
  std::unique_ptr<Device> host_;                // of a GPU, where there is a void, as this
  std::optional<Field<std::uint8_t>> painted_;  // classes_ in host memory
  FieldView<const std::uint8_t> host_classes_;
  std::vector<std::int64_t> counts_, class_counts_;
  std::optional<MixedCellTables<T>> mixed_;  // of a GPU, as these
  std::vector<Field<T>> between_;
  Buffer conductance_, capacity_, heat_, body_, is_body_, held_, coefficients_;
  std::vector<Coefficients<T>> on_host_;  // of coefficients_
  std::vector<T> weights_;
  Materials<T> tables_;  // but for what differs by sweep
};

// Of a block whose fields have rows of such an alignment: what MaterialCells holds for each cell.
template <class T>
std::size_t material_bytes(Int3 extent, int ghosts, Backend backend, int most_sweeps);

}  // namespace isotherm
