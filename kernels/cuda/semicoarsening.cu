// Multigrid for domains of several materials on the GPU.
//
// Mapping   a sweep, a residual: a thread takes a column of cells along z; otherwise one cell, of the coarse
//           grid where the result is one. The axis of coarsening is a template argument: a cell indexed by a
//           variable axis would be in local memory.
// Storage   registers: the previous, the current and the next plane of a column.
// Traffic   a sweep: reads of three conductances, the field and the source, and a write, in fp32; neighbours
//           in x and y are read from the caches.
#include "kernels/cuda/launch.hpp"
#include "kernels/semicoarsening.hpp"

namespace isotherm::cuda {
namespace {

constexpr Index worth_columns = Index{1} << 21;  // cells; smaller grids need one thread per cell

struct GridPass {
  GridConductances g;
  FieldView<const float> in, source;  // may be empty: 0
  FieldView<float> out;
  Box region;
  Index planes = 1;  // of a column
};

// From `cell` on, along a column: out = use(faces, heat, centre, cell), `heat` being the source plus the heat
// through the faces.
template <bool has_field, class Use>
__device__ __forceinline__ void pass_column(const GridPass& p, const Use& use, Int3 cell) {
  const Index end = cell.z + p.planes < p.region.hi.z ? cell.z + p.planes : p.region.hi.z;
  const Index pitch_y = p.out.pitch_y, pitch_z = p.out.pitch_z;
  Index at = cell.x + cell.y * pitch_y + cell.z * pitch_z;
  const float *const gx = p.g.faces[0].origin, *const gy = p.g.faces[1].origin,
                     *const gz = p.g.faces[2].origin, *const t = p.in.origin;
  float z_lo = gz[at], z_prev = has_field ? t[at - pitch_z] : 0, centre = has_field ? t[at] : 0;
  for (; cell.z < end; ++cell.z, at += pitch_z) {
    const float z_hi = gz[at + pitch_z], z_next = has_field ? t[at + pitch_z] : 0,
                source = p.source.empty() ? 0 : p.source.origin[at];
    const CellFaces<float> faces{gx[at],
                                 gx[at + 1],
                                 gy[at],
                                 gy[at + pitch_y],
                                 z_lo,
                                 z_hi,
                                 p.g.has_ground() ? p.g.ground.origin[at] : 0};
    float heat = source;
    if (has_field)
      heat = faces.add_to(source, centre, t[at - 1], t[at + 1], t[at - pitch_y], t[at + pitch_y], z_prev,
                          z_next);
    p.out.origin[at] = use(faces, heat, centre, cell);
    z_prev = centre;
    centre = z_next;
    z_lo = z_hi;
  }
}

template <bool has_field, class Use>
void pass_columns(const char* name, const GridPass& pass, Stream stream, const Use& use) {
  Box columns = pass.region;
  columns.hi.z = columns.lo.z + ceil_div(columns.extent().z, pass.planes);
  launch_for_cells(name, columns, stream, [=] __device__(Int3 column) {
    const Index lo = pass.region.lo.z;
    pass_column<has_field>(pass, use, {column.x, column.y, lo + (column.z - lo) * pass.planes});
  });
}
template <class Use>
void launch_pass(const char* name, GridPass pass, Stream stream, const Use& use) {
  if (pass.region.cells() >= worth_columns) pass.planes = 8;
  pass.in.empty() ? pass_columns<false>(name, pass, stream, use)
                  : pass_columns<true>(name, pass, stream, use);
}

void sweep(std::span<const ConductanceSweep> sweeps, Stream stream) {
  for (const ConductanceSweep& s : sweeps) {
    const float weight = s.weight;
    launch_pass("sweep_grid", {s.g, s.in, s.source, s.out, s.region}, stream,
                [=] __device__(CellFaces<float> faces, float heat, float centre, Int3) {
                  return updated(weight, faces, heat, centre);
                });
  }
}

void find_residual(const GridConductances& g, const Halving& h, FieldView<const float> field,
                   FieldView<const float> source, FieldView<float> residual, Box region, Stream stream) {
  launch_pass("share_residual", {g, field, source, residual, region}, stream,
              [=] __device__(CellFaces<float> faces, float heat, float, Int3 cell) {
                return shared(h, cell, faces, heat);
              });
}

// Calls body(halving, cell) with the axis of `halving` as a constant.
template <int axis, class Body>
struct WithAxis {
  Halving halving;
  Body body;
  __device__ __forceinline__ void operator()(Int3 cell) const {
    Halving h = halving;
    h.axis = axis;
    body(h, cell);
  }
};
template <class Body>
void launch_halving(const char* name, const Halving& halving, Box region, Stream stream, const Body& body) {
  with_axis(halving.axis, [&](auto axis) {
    launch_for_cells(name, region, stream, WithAxis<axis, Body>{halving, body});
  });
}

void restrict_residual(const GridConductances& g, const Halving& halving, FieldView<const float> residual,
                       FieldView<float> source, Box region, Stream stream) {
  launch_halving("restrict_shared", halving, region, stream, [=] __device__(const Halving& h, Int3 cell) {
    source(cell) = restricted(g, h, residual, cell);
  });
}

void prolong_add(const GridConductances& g, const Halving& halving, FieldView<const float> error,
                 FieldView<float> field, Box region, Stream stream) {
  launch_halving("add_prolonged", halving, region, stream, [=] __device__(const Halving& h, Int3 cell) {
    field(cell) += prolonged(g, h, error, cell);
  });
}

void coarsen(const GridConductances& g, const Halving& halving, int along, bool above,
             FieldView<float> coarse, Box region, Stream stream) {
  launch_halving("coarsen_cells", halving, region, stream, [=] __device__(const Halving& h, Int3 cell) {
    coarse(cell) = coarse_conductance(g, h, along, above, cell);
  });
}

template <class T>
void take_conductances(const BodyConductances<T>& g, int along, bool above, FieldView<float> to, Box region,
                       Stream stream) {
  launch_for_cells("conductances_of_body", region, stream, [=] __device__(Int3 cell) {
    to(cell) = static_cast<float>(g.conductance(along, above, cell));
  });
}

template <class T>
void find_residual_of_body(const BodyConductances<T>& g, T scale, FieldView<const T> field,
                           FieldView<const T> source, FieldView<float> residual, Box region, Stream stream) {
  launch_for_cells("residual_of_body", region, stream, [=] __device__(Int3 cell) {
    const T of_source = source.empty() ? T(0) : source(cell);
    residual(cell) = static_cast<float>(scale * g.residual(field, cell, of_source));
  });
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, Semicoarsening, sweep, find_residual, restrict_residual, prolong_add, coarsen,
                   take_conductances<T>, find_residual_of_body<T>)

}  // namespace isotherm::cuda
