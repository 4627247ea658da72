// A view of the cells of one subdomain, with ghosts and padding. Owns nothing, knows no neighbours.
#pragma once

#include "core/box.hpp"
#include "core/host_device.hpp"

namespace isotherm {

// Bytes of a GPU's memory transaction; in GPU memory interior rows are aligned to it.
inline constexpr Index line_bytes = 128;
template <class T>
inline constexpr Index line_cells = line_bytes / static_cast<Index>(sizeof(T));

// Cell (x, y, z) with 0 <= x < extent.x is an interior cell; indices down to -ghosts and up to extent +
// ghosts - 1 are its ghost layers. x is contiguous. `origin` is the address of cell (0, 0, 0), aligned as
// row_alignment() of its device says, as is every interior row.
template <class T>
struct FieldView {
  T* origin = nullptr;
  Index pitch_y = 0;  // elements from (x, y, z) to (x, y + 1, z)
  Index pitch_z = 0;  // elements from (x, y, z) to (x, y, z + 1)
  Int3 extent;        // interior cells
  int ghosts = 0;     // ghost layers on every side

  ISOTHERM_HOST_DEVICE bool empty() const { return origin == nullptr; }
  ISOTHERM_HOST_DEVICE Index offset(Index x, Index y, Index z) const { return x + y * pitch_y + z * pitch_z; }
  ISOTHERM_HOST_DEVICE T& operator()(Index x, Index y, Index z) const { return origin[offset(x, y, z)]; }
  ISOTHERM_HOST_DEVICE T& operator()(Int3 c) const { return origin[offset(c.x, c.y, c.z)]; }
  ISOTHERM_HOST_DEVICE Box interior() const { return {{0, 0, 0}, extent}; }
  ISOTHERM_HOST_DEVICE Box padded() const {
    return {{-ghosts, -ghosts, -ghosts}, {extent.x + ghosts, extent.y + ghosts, extent.z + ghosts}};
  }
  // A view of the cells of a box, without ghosts.
  ISOTHERM_HOST_DEVICE FieldView part(Box box) const {
    return {&(*this)(box.lo), pitch_y, pitch_z, box.extent(), 0};
  }

  ISOTHERM_HOST_DEVICE operator FieldView<const T>() const {
    return {origin, pitch_y, pitch_z, extent, ghosts};
  }
};

// Cells without ghosts and padding, x fastest.
template <class T>
ISOTHERM_HOST_DEVICE FieldView<T> dense_view(T* cells, Int3 extent) {
  return {cells, extent.x, extent.x * extent.y, extent, 0};
}

}  // namespace isotherm
