// Reductions of a field: extremes, and sums of jumps across boundaries, of heat and of heat flow to voids.
// One struct per backend. Results have the same bits for any order of cells, threads and ranks.
#pragma once

#include <cstdint>
#include <limits>

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

inline constexpr double no_minimum = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Extremes {
  double min, max;    // of the values that are not NaN; infinity and -infinity if there are none
  std::int64_t nans;  // how many values are NaN

  ISOTHERM_HOST_DEVICE static Extremes none() { return {no_minimum, -no_minimum, 0}; }
  ISOTHERM_HOST_DEVICE void add(double value) {
    nans += value != value;  // a NaN is neither below nor above
    min = value < min ? value : min;
    max = value > max ? value : max;
  }
  ISOTHERM_HOST_DEVICE void combine(const Extremes& other) {
    nans += other.nans;
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
};

// Ghost value minus cell value at a boundary, K, in the next sweep of `field`. Times k/h it is the heat flux
// into the domain; with several materials k is that of the first.
template <class T>
struct BoundaryJump {
  FieldView<const T> field;
  Boundary<T> boundary;
  int face;

  // (p, q): tangential indices as in Boundary.
  ISOTHERM_HOST_DEVICE double operator()(Index p, Index q, Index = 0) const {
    const Index far = field.extent[face / 2] - 1, normal = face % 2 == 1 ? far : 0;
    const T centre = face / 2 == 0   ? field(normal, p, q)
                     : face / 2 == 1 ? field(p, normal, q)
                                     : field(p, q, normal);
    return boundary.conductance_at(p, q) *
           (static_cast<double>(boundary.ghost(p, q, centre)) - static_cast<double>(centre));
  }
  ISOTHERM_HOST_DEVICE Int3 extent() const {
    const Int3& n = field.extent;
    return {face / 2 == 0 ? n.y : n.x, face / 2 == 2 ? n.y : n.z, 1};
  }
};

// The heat of a cell in a domain of several materials, in kelvin of the first class.
template <class T>
struct CellHeat {
  FieldView<const T> field;
  Materials<T> materials;

  ISOTHERM_HOST_DEVICE Int3 extent() const { return field.extent; }
  ISOTHERM_HOST_DEVICE double operator()(Index x, Index y, Index z) const {
    return materials.heat[materials.classes(x, y, z)] * static_cast<double>(field(x, y, z));
  }
};

// Temperature of a cell of the domain, K; NaN in a void.
template <class T>
struct BodyCell {
  FieldView<const T> field;
  Materials<T> materials;  // empty: there is no void

  ISOTHERM_HOST_DEVICE Int3 extent() const { return field.extent; }
  ISOTHERM_HOST_DEVICE double operator()(Index x, Index y, Index z) const {
    if (materials.held && materials.is_void(materials.classes(x, y, z))) return not_a_number;
    return static_cast<double>(field(x, y, z));
  }
};

// Heat that a cell gains in one sweep of `field` through its faces to voids of class `of_class`: kelvin times
// a conductance in the unit of the tables.
template <class T>
struct VoidFlow {
  FieldView<const T> field;
  Materials<T> materials;
  int of_class;

  ISOTHERM_HOST_DEVICE Int3 extent() const { return field.extent; }
  ISOTHERM_HOST_DEVICE double operator()(Index x, Index y, Index z) const {
    const std::uint8_t* const at = &materials.classes(x, y, z);
    const Index py = materials.classes.pitch_y, pz = materials.classes.pitch_z;
    const int own = at[0], near[] = {at[-1], at[1], at[-py], at[py], at[-pz], at[pz]};
    const double rise = static_cast<double>(materials.held[of_class]) - static_cast<double>(field(x, y, z));
    double sum = 0;
    for (int f = 0; f < 6; ++f) {
      if (near[f] != of_class) continue;
      const T g = materials.face(f / 2, own, of_class);
      sum = fused_multiply_add(static_cast<double>(g), rise, sum);
    }
    return sum;
  }
};

// Results and scratch are in this device's memory and are written in stream order.
template <class T>
struct FieldReductions {
  static const FieldReductions& on(Backend backend);  // throws as FaceCopy::on()
  // Finds the extremes of all interior cells.
  void (*extremes)(const BodyCell<T>& cell, Extremes* result, void* scratch, Stream stream);
  // Sums over all cells along the boundary, or over all interior cells. The results are normalised, to be
  // combined with those of other ranks.
  void (*jump_sum)(const BoundaryJump<T>& jump, LongAccumulator* result, Stream stream);
  void (*heat_sum)(const CellHeat<T>& heat, LongAccumulator* result, Stream stream);
  void (*void_flow_sum)(const VoidFlow<T>& flow, LongAccumulator* result, Stream stream);
  std::size_t scratch_bytes;  // of extremes
};

}  // namespace isotherm
