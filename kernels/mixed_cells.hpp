// Finds the cells in a domain of several materials that a GPU sweeps one by one: MixedCells of stencil.hpp.
#pragma once

#include <array>
#include <cstdint>

#include "core/box.hpp"
#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The cells of a field of T, in the memory of the current CUDA device; asynchronous.
template <class T>
struct MixedCellSearch {
  // Fills `packs` and `distance`, which have the ghosts of `classes`; `work` has the layout of `distance`.
  // `by_cell`: by Face, whether the subdomain ends there at a boundary that differs by cell.
  void (*find)(FieldView<const std::uint8_t> classes, const std::array<bool, 6>& by_cell,
               FieldView<std::uint8_t> packs, FieldView<std::uint8_t> distance, FieldView<std::uint8_t> work,
               Stream stream);
  // The least distance of a cell of each brick: one byte for each, in order.
  void (*of_bricks)(FieldView<const std::uint8_t> distance, std::uint8_t* least, Stream stream);
  // Stores in the cells of voids the value that they hold.
  void (*hold_voids)(FieldView<T> field, const Materials<T>& materials, Stream stream);
};

template <class T>
const MixedCellSearch<T>& mixed_cell_search();  // throws as face_copy() does without CUDA

// The number of bricks that cover a subdomain, its ghosts included.
inline Int3 bricks_of(Box padded) {
  const Int3 n = padded.extent(), brick = MixedCells::brick;
  return {ceil_div(n.x, brick.x), ceil_div(n.y, brick.y), ceil_div(n.z, brick.z)};
}
// The lowest cell of a brick.
ISOTHERM_HOST_DEVICE Int3 brick_of(Box padded, Int3 bricks, Index number) {
  const Int3 brick = MixedCells::brick;
  const Index row = number / bricks.x;
  return padded.lo + Int3{number % bricks.x * brick.x, row % bricks.y * brick.y, row / bricks.y * brick.z};
}

}  // namespace isotherm
