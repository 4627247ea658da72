// A field reductions of a field: its extremes, and the sums of the jumps across its boundaries. One struct a
// backend. No order of cells, threads or ranks changes a bit of what it finds.
#pragma once

#include <cstdint>
#include <limits>

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

inline constexpr double no_minimum = std::numeric_limits<double>::infinity();

struct Extremes {
  double min, max;    // of the values that are not NaN; infinite, min above max, where there is none
  std::int64_t nans;  // how many values are NaN

  ISOTHERM_HOST_DEVICE static Extremes none() { return {no_minimum, -no_minimum, 0}; }
  ISOTHERM_HOST_DEVICE void add(double value) {
    nans += value != value;  // a NaN is neither below nor above
    min = value < min ? value : min;
    max = value > max ? value : max;
  }
  ISOTHERM_HOST_DEVICE void join(const Extremes& other) {
    nans += other.nans;
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
};

// What one sweep from `field` sees beyond a boundary, less the cell at the boundary: kelvin, ghost - T. Times
// k/h it is the heat flux into the body that the sweep applies; of several materials k is that of the first.
template <class T>
struct BoundaryJump {
  FieldView<const T> field;
  Boundary<T> boundary;
  int face;

  // (p, q): tangential indices as in Boundary.
  ISOTHERM_HOST_DEVICE double operator()(Index p, Index q) const {
    const Index far = field.extent[face / 2] - 1, normal = face % 2 == 1 ? far : 0;
    const T centre = face / 2 == 0   ? field(normal, p, q)
                     : face / 2 == 1 ? field(p, normal, q)
                                     : field(p, q, normal);
    return boundary.conductance_at(p, q) *
           (static_cast<double>(boundary.ghost(p, q, centre)) - static_cast<double>(centre));
  }
  ISOTHERM_HOST_DEVICE Index extent_p() const { return face / 2 == 0 ? field.extent.y : field.extent.x; }
  ISOTHERM_HOST_DEVICE Index extent_q() const { return face / 2 == 2 ? field.extent.y : field.extent.z; }
};

// The heat of a cell in a body of several materials, in kelvin of the first class.
template <class T>
struct CellHeat {
  FieldView<const T> field;
  Materials<T> materials;

  ISOTHERM_HOST_DEVICE double operator()(Index x, Index y, Index z) const {
    return materials.heat[materials.classes(x, y, z)] * static_cast<double>(field(x, y, z));
  }
};

// Results and scratch lie in this device's memory and are written in stream order.
template <class T>
struct FieldReductions {
  // Of all interior cells.
  void (*extremes)(FieldView<const T> field, Extremes* result, void* scratch, Stream stream);
  // Of all cells along the boundary; normalised, to be combined with those of other ranks.
  void (*jump_sum)(const BoundaryJump<T>& jump, LongAccumulator* result, Stream stream);
  // Of all interior cells, likewise.
  void (*heat_sum)(const CellHeat<T>& heat, LongAccumulator* result, Stream stream);
  std::size_t scratch_bytes;  // of extremes
};

template <class T>
const FieldReductions<T>& field_reductions(Backend backend);  // throws Error(unavailable) as face_copy does

}  // namespace isotherm
