// Multigrid for domains of several materials. Grids store only the conductances of their faces. Each has half
// the cells of the next finer grid along the axis of the strongest coupling (semicoarsening; Ashby and
// Falgout, Nucl. Sci. Eng. 124, 1996). One struct per backend.
//
// Every second cell of the finer grid is a coarse cell. The error in a cell between two of them is
// interpolated with the conductances of its two faces, T = (g- T- + g+ T+) / (g- + g+), and so respects jumps
// of the conductivity, contacts and anisotropy. Restriction is the adjoint. Along the axis a coarse face is
// the two faces of such a cell in series; across it, the weights of interpolation distribute conductances.
//
// Any number of cells is possible. Conductances may be in any unit; residuals are in kelvin times that unit.
// A boundary is a face to a cell of error 0. The ground of a cell is one more such face: its conductance is
// that of faces to voids, whose temperature is given, and of the heat that an implicit step stores. Grids are
// in fp32 and correct fields of either precision; the residual is computed in the precision of the field.
// Fixed orders and explicit fma give the same bits on all backends.
#pragma once

#include <span>
#include <type_traits>

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Functions take an axis, 0 to 2, for the conductances of the faces along it, or this number for the ground.
inline constexpr int ground_of_cells = 3;

// Conductances of the six faces of a cell, and its ground.
template <class T>
struct CellFaces {
  T x_lo, x_hi, y_lo, y_hi, z_lo, z_hi, ground;

  // Divisor of the residual in a sweep of weight 1.
  ISOTHERM_HOST_DEVICE T sum() const { return (((((x_lo + x_hi) + y_lo) + y_hi) + z_lo) + z_hi) + ground; }
  ISOTHERM_HOST_DEVICE T lower(int axis) const { return axis == 0 ? x_lo : axis == 1 ? y_lo : z_lo; }
  ISOTHERM_HOST_DEVICE T upper(int axis) const { return axis == 0 ? x_hi : axis == 1 ? y_hi : z_hi; }
  // `sum` plus the heat through faces and ground.
  ISOTHERM_HOST_DEVICE T add_to(T sum, T centre, T x_prev, T x_next, T y_prev, T y_next, T z_prev,
                                T z_next) const {
    sum = fused_multiply_add(-ground, centre, sum);
    sum = fused_multiply_add(x_lo, x_prev - centre, sum);
    sum = fused_multiply_add(x_hi, x_next - centre, sum);
    sum = fused_multiply_add(y_lo, y_prev - centre, sum);
    sum = fused_multiply_add(y_hi, y_next - centre, sum);
    sum = fused_multiply_add(z_lo, z_prev - centre, sum);
    return fused_multiply_add(z_hi, z_next - centre, sum);
  }
  // `t` points at the cell's temperature.
  ISOTHERM_HOST_DEVICE T add_to(T sum, const T* t, Index pitch_y, Index pitch_z) const {
    return add_to(sum, t[0], t[-1], t[1], t[-pitch_y], t[pitch_y], t[-pitch_z], t[pitch_z]);
  }
};

// Conductances of a grid. faces[axis](cell): of the face to the lower neighbour along the axis. Valid in
// exchanged ghosts and one cell beyond an upper boundary; interior indices, for all fields of the grid.
struct GridConductances {
  FieldView<const float> faces[3];
  FieldView<const float> ground;  // may be empty: none

  ISOTHERM_HOST_DEVICE bool has_ground() const { return !ground.empty(); }
  ISOTHERM_HOST_DEVICE float ground_of(Int3 cell) const { return has_ground() ? ground(cell) : 0; }
  ISOTHERM_HOST_DEVICE float lower(int axis, Int3 cell) const { return faces[axis](cell); }
  ISOTHERM_HOST_DEVICE float upper(int axis, Int3 cell) const {
    ++cell[axis];
    return faces[axis](cell);
  }
  ISOTHERM_HOST_DEVICE float conductance(int along, bool above, Int3 cell) const {
    if (along == ground_of_cells) return ground_of(cell);
    return above ? upper(along, cell) : lower(along, cell);
  }
  // The faces of the cell whose lower faces x, y and z point at.
  ISOTHERM_HOST_DEVICE CellFaces<float> all(const float* x, const float* y, const float* z,
                                            float to_ground) const {
    return {x[0], x[1], y[0], y[faces[1].pitch_y], z[0], z[faces[2].pitch_z], to_ground};
  }
  ISOTHERM_HOST_DEVICE CellFaces<float> all(Int3 cell) const {
    return all(&faces[0](cell), &faces[1](cell), &faces[2](cell), ground_of(cell));
  }
};

// Conductances of a domain, by the tables of its materials; `boundaries` are those of the subdomain.
// `storage`: in an implicit step, the part of Materials::capacity that is ground of a cell.
template <class T>
struct BodyConductances {
  Materials<T> materials;
  Boundaries<T> boundaries;
  Int3 extent;
  T storage = 0;

  ISOTHERM_HOST_DEVICE bool is_void(int axis, Int3 cell, Index step) const {
    cell[axis] += step;
    return materials.is_void(materials.classes(cell));
  }
  ISOTHERM_HOST_DEVICE T ground_of(Int3 cell) const {
    T sum = storage > 0 ? storage * materials.capacity[materials.classes(cell)] : T(0);
    for (int axis = 0; axis < 3 && materials.held; ++axis)
      for (Index step = -1; step <= 1; step += 2)
        if (is_void(axis, cell, step)) sum += between(axis, cell, step);
    return sum;
  }
  ISOTHERM_HOST_DEVICE bool at_boundary(int axis, bool above, Int3 cell) const {
    return cell[axis] == (above ? extent[axis] - 1 : 0) && boundaries.faces[2 * axis + above].is_boundary;
  }
  ISOTHERM_HOST_DEVICE T between(int axis, Int3 cell, Index step) const {
    const int own = materials.classes(cell);
    cell[axis] += step;
    return materials.face(axis, own, materials.classes(cell));
  }
  // Conductance of a face. At a boundary, whose ghost is a T: 1 - a times that to a cell of the same class.
  ISOTHERM_HOST_DEVICE T face(int axis, bool above, Int3 cell) const {
    if (is_void(axis, cell, above ? 1 : -1)) return 0;
    const T inner = between(axis, cell, above ? 1 : -1);
    if (!at_boundary(axis, above, cell)) return inner;
    const Boundary<T>& boundary = boundaries.faces[2 * axis + above];
    const Index p = axis == 0 ? cell.y : cell.x, q = axis == 2 ? cell.y : cell.z;
    return inner * (1 - boundary.cells[p + q * boundary.cells_pitch].a);
  }
  // The value that take_conductances() stores.
  ISOTHERM_HOST_DEVICE T conductance(int along, bool above, Int3 cell) const {
    return along == ground_of_cells ? ground_of(cell) : face(along, above, cell);
  }
  // `field` has the ghosts of its boundaries, `source` is as stored.
  ISOTHERM_HOST_DEVICE T residual(FieldView<const T> field, Int3 cell, T source) const {
    const auto g = [&](int axis, Index step) { return between(axis, cell, step); };
    const CellFaces<T> all{g(0, -1), g(0, 1), g(1, -1), g(1, 1), g(2, -1), g(2, 1), 0};
    return all.add_to(materials.source * source, &field(cell), field.pitch_y, field.pitch_z);
  }
};

// Maps cells of two grids: coarse cells are every second fine cell along `axis`, from the first of the whole
// grid on. Indices are those of this rank's subdomains, which begin at `fine_lo` and `coarse_lo`.
struct Halving {
  int axis = 0;         // negative: there is no coarser grid
  Int3 cells{1, 1, 1};  // of the whole fine grid
  bool wraps[3] = {};   // periodic axes of it
  Int3 fine_lo{}, coarse_lo{};

  ISOTHERM_HOST_DEVICE Int3 fine(Int3 coarse) const {
    coarse = coarse + coarse_lo;
    coarse[axis] *= 2;
    return coarse - fine_lo;
  }
  // Is a fine cell between two coarse ones, or beyond the last?
  ISOTHERM_HOST_DEVICE bool is_between(Int3 cell) const {
    return axis >= 0 && ((cell[axis] + fine_lo[axis]) & 1) != 0;
  }
  // The coarse cell that is this fine cell, or else the one below it.
  ISOTHERM_HOST_DEVICE Int3 coarse(Int3 cell) const {
    cell = cell + fine_lo;
    cell[axis] = (cell[axis] - (cell[axis] & 1)) / 2;
    return cell - coarse_lo;
  }
  // Does a fine cell that is a coarse one have a neighbour between coarse ones?
  ISOTHERM_HOST_DEVICE bool has_between(Int3 cell, bool above) const {
    const Index at = cell[axis] + fine_lo[axis];
    return above ? at + 1 < cells[axis] : at > 0 || (wraps[axis] && cells[axis] % 2 == 0);
  }
  // Is the cell at a boundary on that side?
  ISOTHERM_HOST_DEVICE bool is_outer(int across, bool above, Int3 cell) const {
    return !wraps[across] && cell[across] + fine_lo[across] == (above ? cells[across] - 1 : 0);
  }
};
// Calls body with the axis as a constant, so that a cell indexed by it stays in registers.
template <class Body>
void with_axis(int axis, const Body& body) {
  if (axis == 0) return body(std::integral_constant<int, 0>{});
  if (axis == 1) return body(std::integral_constant<int, 1>{});
  body(std::integral_constant<int, 2>{});
}

ISOTHERM_HOST_DEVICE Int3 neighbour_of(Int3 cell, int axis, bool above) {
  cell[axis] += above ? 1 : -1;
  return cell;
}

// Factor of a residual: the inverse of a sum of conductances; 0 if the sum is 0.
ISOTHERM_HOST_DEVICE float inverse_of(float sum) { return sum > 0 ? 1 / sum : 0; }
// The factor for a fine cell between two coarse cells: of its faces along the axis and its ground.
ISOTHERM_HOST_DEVICE float inverse_between(const GridConductances& g, const Halving& h, Int3 cell) {
  return inverse_of(g.lower(h.axis, cell) + g.upper(h.axis, cell) + g.ground_of(cell));
}
// The weight of such a cell for the coarse cell above or below it.
ISOTHERM_HOST_DEVICE float weight_between(const GridConductances& g, const Halving& h, Int3 cell,
                                          bool above) {
  return (above ? g.upper(h.axis, cell) : g.lower(h.axis, cell)) * inverse_between(g, h, cell);
}

// A residual as restricted() reads it: in cells between coarse ones it is divided by their conductances along
// the axis and the ground, so that a coarse cell needs only the conductance of the face to them.
ISOTHERM_HOST_DEVICE float shared(const Halving& h, Int3 cell, CellFaces<float> faces, float residual) {
  if (!h.is_between(cell)) return residual;
  return residual * inverse_of(faces.lower(h.axis) + faces.upper(h.axis) + faces.ground);
}
// `own`: residual of the coarse cell; `below`, `above`: of its neighbours between coarse cells, if any.
ISOTHERM_HOST_DEVICE float restricted(float own, bool has_below, float lower, float below, bool has_above,
                                      float upper, float above) {
  float sum = own;
  if (has_below) sum = fused_multiply_add(lower, below, sum);
  if (has_above) sum = fused_multiply_add(upper, above, sum);
  return sum;
}
ISOTHERM_HOST_DEVICE float restricted(const GridConductances& g, const Halving& h,
                                      FieldView<const float> shared, Int3 coarse) {
  const Int3 cell = h.fine(coarse);
  return restricted(shared(cell), h.has_between(cell, false), g.lower(h.axis, cell),
                    shared(neighbour_of(cell, h.axis, false)), h.has_between(cell, true),
                    g.upper(h.axis, cell), shared(neighbour_of(cell, h.axis, true)));
}
// Interpolates the error of the coarse cells `below` and `above` to the fine cell between them.
ISOTHERM_HOST_DEVICE float between(float lower, float upper, float ground, float below, float above) {
  return fused_multiply_add(lower, below, upper * above) * inverse_of(lower + upper + ground);
}
// The interpolated error in any fine cell.
ISOTHERM_HOST_DEVICE float prolonged(const GridConductances& g, const Halving& h,
                                     FieldView<const float> error, Int3 cell) {
  const Int3 coarse = h.coarse(cell);
  if (!h.is_between(cell)) return error(coarse);
  return between(g.lower(h.axis, cell), g.upper(h.axis, cell), g.ground_of(cell), error(coarse),
                 error(neighbour_of(coarse, h.axis, true)));
}

// The conductance of a face of a coarse cell: the lower one, or the upper one at a boundary.
ISOTHERM_HOST_DEVICE float coarse_face_along(const GridConductances& g, const Halving& h, bool above,
                                             Int3 coarse) {
  const Int3 cell = h.fine(coarse);
  if (!h.has_between(cell, above)) return g.conductance(h.axis, above, cell);
  const Int3 between = neighbour_of(cell, h.axis, above);
  return g.lower(h.axis, between) * weight_between(g, h, between, true);
}
// The conductance of a coarse face across the axis, or the coarse ground: that of the coarse cell, and shares
// of those of the cells between coarse ones. A face of two such cells is distributed by the mean of their
// weights, but not to cells of a void.
ISOTHERM_HOST_DEVICE float coarse_across(const GridConductances& g, const Halving& h, int along, bool above,
                                         Int3 coarse) {
  const Int3 cell = h.fine(coarse);
  float sum = g.conductance(along, above, cell);
  for (int upper = 0; upper < 2; ++upper) {
    if (!h.has_between(cell, upper != 0)) continue;
    const Int3 between = neighbour_of(cell, h.axis, upper != 0);
    float weight = weight_between(g, h, between, upper == 0);
    if (along != ground_of_cells && !h.is_outer(along, above, cell)) {
      const float beyond = weight_between(g, h, neighbour_of(between, along, above), upper == 0);
      weight = weight > 0 && beyond > 0 ? 0.5F * (weight + beyond) : 0;
    }
    sum = fused_multiply_add(weight, g.conductance(along, above, between), sum);
  }
  return sum;
}

// The value that coarsen() stores.
ISOTHERM_HOST_DEVICE float coarse_conductance(const GridConductances& g, const Halving& h, int along,
                                              bool above, Int3 coarse) {
  return along == h.axis ? coarse_face_along(g, h, above, coarse) : coarse_across(g, h, along, above, coarse);
}

// The error of a cell after a sweep. `heat`: the source plus the heat through its faces.
ISOTHERM_HOST_DEVICE float updated(float weight, const CellFaces<float>& faces, float heat, float centre) {
  return fused_multiply_add(weight * inverse_of(faces.sum()), heat, centre);
}

// A weighted Jacobi sweep of a grid, or another pass over its rows on the host. `in` empty: from 0.
struct ConductanceSweep {
  GridConductances g;
  FieldView<const float> in, source;
  FieldView<float> out;
  Box region;
  float weight;
};

// Regions are of the fine grid; in restrict_residual and coarsen of the coarse one.
template <class T>
struct Semicoarsening {
  static const Semicoarsening& on(Backend backend);  // throws as FaceCopy::on()
  // Runs sweeps in order, each on the previous result, which covers its region and the cells around it. Two
  // fields alternate.
  void (*sweep)(std::span<const ConductanceSweep> sweeps, Stream stream);
  // Stores shared() of s - A T for each cell. `field` is valid in the neighbours, and 0 beyond boundaries;
  // `source` may be empty.
  void (*find_residual)(const GridConductances& g, const Halving& halving, FieldView<const float> field,
                        FieldView<const float> source, FieldView<float> residual, Box region, Stream stream);
  void (*restrict_residual)(const GridConductances& g, const Halving& halving,
                            FieldView<const float> residual, FieldView<float> source, Box region,
                            Stream stream);
  void (*prolong_add)(const GridConductances& g, const Halving& halving, FieldView<const float> error,
                      FieldView<float> field, Box region, Stream stream);
  // Stores coarse_conductance(); with `above` for upper faces, in a region at a boundary.
  void (*coarsen)(const GridConductances& g, const Halving& halving, int along, bool above,
                  FieldView<float> coarse, Box region, Stream stream);
  // The same for the cells of a domain: lower or upper faces along an axis, or the ground.
  void (*take_conductances)(const BodyConductances<T>& g, int along, bool above, FieldView<float> to,
                            Box region, Stream stream);
  // Stores `scale` times the residual of the domain's field.
  void (*find_residual_of_body)(const BodyConductances<T>& g, T scale, FieldView<const T> field,
                                FieldView<const T> source, FieldView<float> residual, Box region,
                                Stream stream);
};

}  // namespace isotherm
