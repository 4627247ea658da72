// Index arithmetic: 64-bit indices, triples of them, and half-open boxes of cells.
#pragma once

#include <cstdint>
#include <vector>

#include "core/host_device.hpp"

namespace isotherm {

using Index = std::int64_t;

struct Int3 {
  Index x = 0, y = 0, z = 0;

  ISOTHERM_HOST_DEVICE constexpr Index operator[](int axis) const {
    return axis == 0 ? x : axis == 1 ? y : z;
  }
  ISOTHERM_HOST_DEVICE constexpr Index& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  ISOTHERM_HOST_DEVICE constexpr Index product() const { return x * y * z; }

  friend ISOTHERM_HOST_DEVICE constexpr bool operator==(Int3 a, Int3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
  friend ISOTHERM_HOST_DEVICE constexpr Int3 operator+(Int3 a, Int3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  friend ISOTHERM_HOST_DEVICE constexpr Int3 operator-(Int3 a, Int3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
};

// Cells with lo <= cell < hi on each axis. Empty if one axis is empty.
struct Box {
  Int3 lo, hi;

  ISOTHERM_HOST_DEVICE constexpr Int3 extent() const { return hi - lo; }
  ISOTHERM_HOST_DEVICE constexpr bool empty() const { return hi.x <= lo.x || hi.y <= lo.y || hi.z <= lo.z; }
  ISOTHERM_HOST_DEVICE constexpr Index cells() const { return empty() ? 0 : extent().product(); }
  ISOTHERM_HOST_DEVICE constexpr bool contains(Int3 c) const {
    return c.x >= lo.x && c.x < hi.x && c.y >= lo.y && c.y < hi.y && c.z >= lo.z && c.z < hi.z;
  }
  ISOTHERM_HOST_DEVICE constexpr Box shifted(Int3 by) const { return {lo + by, hi + by}; }
  constexpr Box grown(Index cells) const {
    return {lo - Int3{cells, cells, cells}, hi + Int3{cells, cells, cells}};
  }
  ISOTHERM_HOST_DEVICE constexpr Box within(Box other) const {  // the intersection, or Box{}
    for (int a = 0; a < 3; ++a) {
      if (lo[a] > other.lo[a]) other.lo[a] = lo[a];
      if (hi[a] < other.hi[a]) other.hi[a] = hi[a];
    }
    return other.empty() ? Box{} : other;
  }

  friend ISOTHERM_HOST_DEVICE constexpr bool operator==(Box a, Box b) { return a.lo == b.lo && a.hi == b.hi; }
};

// The smallest box that holds both; neither is empty.
constexpr Box around(Box a, const Box& b) {
  for (int axis = 0; axis < 3; ++axis) {
    if (b.lo[axis] < a.lo[axis]) a.lo[axis] = b.lo[axis];
    if (b.hi[axis] > a.hi[axis]) a.hi[axis] = b.hi[axis];
  }
  return a;
}

// Calls body(cell), x fastest.
template <class Body>
void for_each_cell(Box box, Body&& body) {
  for (Index z = box.lo.z; z < box.hi.z; ++z)
    for (Index y = box.lo.y; y < box.hi.y; ++y)
      for (Index x = box.lo.x; x < box.hi.x; ++x) body(Int3{x, y, z});
}

// The six faces of a box, in the order of every table and array over faces.
enum class Face : int { x_min, x_max, y_min, y_max, z_min, z_max };
inline constexpr int face_count = 6;
ISOTHERM_HOST_DEVICE constexpr int axis_of(Face f) { return static_cast<int>(f) / 2; }
ISOTHERM_HOST_DEVICE constexpr bool is_max(Face f) { return static_cast<int>(f) % 2 == 1; }
ISOTHERM_HOST_DEVICE constexpr Face face(int axis, bool max) {
  return static_cast<Face>(2 * axis + (max ? 1 : 0));
}
ISOTHERM_HOST_DEVICE constexpr Face opposite(Face f) { return face(axis_of(f), !is_max(f)); }
constexpr Box layer_at(Face f, Box box) {  // the cells of the box at one of its faces
  const int axis = axis_of(f);
  (is_max(f) ? box.lo : box.hi)[axis] = is_max(f) ? box.hi[axis] - 1 : box.lo[axis] + 1;
  return box;
}

inline constexpr const char* face_names[face_count] = {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"};

// Quotients, rounded up (a >= 0) and down: regions may begin in the ghosts, at negative indices.
constexpr Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }
constexpr Index floor_div(Index a, Index b) { return a >= 0 ? a / b : -ceil_div(-a, b); }
// The least multiple of `unit` that is not below `value` (>= 0).
template <class T>
constexpr T round_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

// Splits the cells of `whole` outside `inner`, a box within it, into disjoint non-empty boxes: whole planes
// below and above `inner`, then whole rows on both sides along y, then the cells on both sides along x. If
// `inner` is empty, they cover all of `whole`.
inline std::vector<Box> boxes_around(Box whole, Box inner) {
  if (inner.empty()) inner = {whole.lo, whole.lo};
  std::vector<Box> around;
  for (int axis = 2; axis >= 0; --axis) {
    Box lower = whole, upper = whole;
    lower.hi[axis] = whole.lo[axis] = inner.lo[axis];
    upper.lo[axis] = whole.hi[axis] = inner.hi[axis];
    for (const Box& box : {lower, upper}) {
      if (!box.empty()) around.push_back(box);
    }
  }
  return around;
}

}  // namespace isotherm
