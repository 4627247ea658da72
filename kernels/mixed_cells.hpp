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
  static const MixedCellSearch& on_gpu();  // throws as FaceCopy::on() without CUDA
  // Fills `packs` and `distance`, which have the ghosts of `classes`; `work` has the layout of `distance`.
  // `by_cell`: for each Face, whether it is at a boundary that differs by cell. Stores in `layers`, for each
  // plane from the lowest ghosts on, the number of cells for is_layer_of(); null: no plane is a layer.
  void (*find)(FieldView<const std::uint8_t> classes, const std::array<bool, 6>& by_cell,
               FieldView<std::uint8_t> packs, FieldView<std::uint8_t> distance, FieldView<std::uint8_t> work,
               unsigned* layers, Stream stream);
  // Stores the least distance of the cells of each brick: one byte per brick, in order.
  void (*of_bricks)(FieldView<const std::uint8_t> distance, Int3 brick, std::uint8_t* least, Stream stream);
  // Stores in each cell of a void the value of the void, Materials::held.
  void (*hold_voids)(FieldView<T> field, const Materials<T>& materials, Stream stream);
};

// Is a plane a layer (MixedCells::next_layer) if otherwise `cells` of its cells would be mixed? The first
// pass is slower in layers, so a few mixed cells are cheaper in the second pass.
ISOTHERM_HOST_DEVICE bool is_layer_of(unsigned cells, Int3 extent) {
  constexpr Index least_share = 64;
  return cells > 0 && least_share * static_cast<Index>(cells) >= extent.x * extent.y;
}

// The number of bricks that cover a subdomain, its ghosts included.
ISOTHERM_HOST_DEVICE Int3 bricks_of(Box padded, Int3 brick) {
  const Int3 n = padded.extent();
  return {ceil_div(n.x, brick.x), ceil_div(n.y, brick.y), ceil_div(n.z, brick.z)};
}
// The lowest cell of a brick.
ISOTHERM_HOST_DEVICE Int3 brick_of(Box padded, Int3 brick, Index number) {
  const Int3 bricks = bricks_of(padded, brick);
  const Index row = number / bricks.x;
  return padded.lo + Int3{number % bricks.x * brick.x, row % bricks.y * brick.y, row / bricks.y * brick.z};
}

}  // namespace isotherm
