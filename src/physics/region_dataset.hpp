// A dataset of whole numbers that says which material each cell is of.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/box.hpp"
#include "physics/dataset_reader.hpp"

namespace isotherm {

class RegionDataset {
 public:
  // Throws as DatasetReader does, and Error(deck) where it is not of the grid's shape or not of whole
  // numbers.
  RegionDataset(const Config& config, const PaintedShape& shape);

  // Reads the cells with an index of each of these lists (global, within the domain, in any order) along x, y
  // and z.
  void load(const std::array<std::vector<Index>, 3>& indices);
  // Paints a row of them over what is there; `first`: places in the lists. A number that the map lacks leaves
  // a cell as it is.
  void paint(Int3 first, std::span<std::uint8_t> materials) const;

 private:
  struct Axis {
    std::vector<Index> cells;                           // that are held, ascending
    std::vector<Index> places;                          // in these, of each entry of the list
    std::vector<std::pair<Index, Index>> runs() const;  // of cells in a row: from, to
    Index place(Index cell) const;
  };
  void read(Box box);
  std::uint8_t material_of(std::int64_t id) const;

  DatasetReader reader_;
  std::vector<std::pair<std::int64_t, std::uint8_t>> map_;
  std::vector<std::uint8_t> table_;  // of all numbers from its first to its last; empty: they are too many
  std::array<Axis, 3> axes_;
  std::vector<std::uint8_t> materials_;  // of the cells that are held, x fastest; no_material: as it is
};

}  // namespace isotherm
