// Which materials the cells of a body may have, by blocks of cells: the domain is cut where zones of the grid
// and regions begin and end. What boxes and layers paint is exact; within the bounds of other shapes both
// their material and those below may be; a dataset may have each of its materials anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "config/grid_axes.hpp"
#include "config/materials.hpp"

namespace isotherm {

class MaterialBlocks {
 public:
  explicit MaterialBlocks(const Config& config);

  Index count(int axis) const { return std::ssize(cuts_[axis]) - 1; }
  Index first(int axis, Index block) const {  // cell
    return cuts_[axis][block];
  }
  Index cells(int axis, Index block) const { return first(axis, block + 1) - first(axis, block); }
  // Their numbers, ascending.
  const std::vector<std::uint8_t>& materials(Int3 block) const { return sets_[set_of_block_[place(block)]]; }

 private:
  std::size_t place(Int3 block) const {
    return static_cast<std::size_t>(block.x + count(0) * (block.y + count(1) * block.z));
  }
  void cut(const Config& config, const std::vector<Box>& shapes);
  void paint(const Box& cells, const std::vector<std::uint8_t>& materials, bool hides);
  std::size_t number_of(const std::vector<std::uint8_t>& set);

  std::array<std::vector<Index>, 3> cuts_;  // ascending, the first 0, the last that of the cells
  std::map<std::vector<std::uint8_t>, std::size_t> numbers_;
  std::vector<std::vector<std::uint8_t>> sets_;
  std::vector<std::size_t> set_of_block_;  // x fastest
};

}  // namespace isotherm
