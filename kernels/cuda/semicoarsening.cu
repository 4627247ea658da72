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

// out = use(faces, heat, centre, cell), `heat` being the source plus the heat through the faces.
template <bool has_field, class Use>
__global__ void __launch_bounds__(256) pass_columns(GridPass p, Use use, Int3 first) {
  Int3 cell = cell_of_thread(first);
  cell.z = p.region.lo.z + (cell.z - p.region.lo.z) * p.planes;
  if (beyond(cell, p.region.hi)) return;
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

struct SweepCell {
  ConductanceSweep sweep;
  __device__ float operator()(CellFaces<float> faces, float heat, float centre, Int3) const {
    return updated(sweep.weight, faces, heat, centre);
  }
};
struct ShareResidual {
  Halving h;
  __device__ float operator()(CellFaces<float> faces, float heat, float, Int3 cell) const {
    return shared(h, cell, faces, heat);
  }
};

template <int axis>
__global__ void __launch_bounds__(256)
    restrict_shared(GridConductances g, Halving h, FieldView<const float> residual, FieldView<float> source,
                    Box region, Int3 first) {
  h.axis = axis;
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  source(cell) = restricted(g, h, residual, cell);
}

template <int axis>
__global__ void __launch_bounds__(256)
    add_prolonged(GridConductances g, Halving h, FieldView<const float> error, FieldView<float> field,
                  Box region, Int3 first) {
  h.axis = axis;
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  field(cell) += prolonged(g, h, error, cell);
}

template <int axis>
__global__ void __launch_bounds__(256) coarsen_cells(GridConductances g, Halving h, int along, bool above,
                                                     FieldView<float> coarse, Box region, Int3 first) {
  h.axis = axis;
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  coarse(cell) = coarse_conductance(g, h, along, above, cell);
}

template <class T>
__global__ void __launch_bounds__(256) conductances_of_body(BodyConductances<T> g, int along, bool above,
                                                            FieldView<float> to, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  to(cell) = static_cast<float>(g.conductance(along, above, cell));
}

template <class T>
__global__ void __launch_bounds__(256)
    residual_of_body(BodyConductances<T> g, T scale, FieldView<const T> field, FieldView<const T> source,
                     FieldView<float> residual, Box region, Int3 first) {
  const Int3 cell = cell_of_thread(first);
  if (beyond(cell, region.hi)) return;
  const T of_source = source.empty() ? T(0) : source(cell);
  residual(cell) = static_cast<float>(scale * g.residual(field, cell, of_source));
}

template <class Use>
void launch_columns(const char* name, GridPass pass, const Use& use, Stream stream) {
  if (pass.region.cells() >= worth_columns) pass.planes = 8;
  Box columns = pass.region;
  columns.hi.z = columns.lo.z + ceil_div(columns.extent().z, pass.planes);
  launch_over(name, pass.in.empty() ? pass_columns<false, Use> : pass_columns<true, Use>, columns, stream,
              pass, use);
}

void sweep(std::span<const ConductanceSweep> sweeps, Stream stream) {
  for (const ConductanceSweep& s : sweeps)
    launch_columns("sweep_grid", {s.g, s.in, s.source, s.out, s.region}, SweepCell{s}, stream);
}

void find_residual(const GridConductances& g, const Halving& h, FieldView<const float> field,
                   FieldView<const float> source, FieldView<float> residual, Box region, Stream stream) {
  launch_columns("share_residual", {g, field, source, residual, region}, ShareResidual{h}, stream);
}

void restrict_residual(const GridConductances& g, const Halving& h, FieldView<const float> residual,
                       FieldView<float> source, Box region, Stream stream) {
  with_axis(h.axis, [&](auto axis) {
    launch_over("restrict_shared", restrict_shared<axis>, region, stream, g, h, residual, source, region);
  });
}

void prolong_add(const GridConductances& g, const Halving& h, FieldView<const float> error,
                 FieldView<float> field, Box region, Stream stream) {
  with_axis(h.axis, [&](auto axis) {
    launch_over("add_prolonged", add_prolonged<axis>, region, stream, g, h, error, field, region);
  });
}

void coarsen(const GridConductances& g, const Halving& h, int along, bool above, FieldView<float> coarse,
             Box region, Stream stream) {
  with_axis(h.axis, [&](auto axis) {
    launch_over("coarsen_cells", coarsen_cells<axis>, region, stream, g, h, along, above, coarse, region);
  });
}

template <class T>
void take_conductances(const BodyConductances<T>& g, int along, bool above, FieldView<float> to, Box region,
                       Stream stream) {
  launch_over("conductances_of_body", conductances_of_body<T>, region, stream, g, along, above, to, region);
}

template <class T>
void find_residual_of_body(const BodyConductances<T>& g, T scale, FieldView<const T> field,
                           FieldView<const T> source, FieldView<float> residual, Box region, Stream stream) {
  launch_over("residual_of_body", residual_of_body<T>, region, stream, g, scale, field, source, residual,
              region);
}

}  // namespace

ISOTHERM_FUNCTIONS(functions, Semicoarsening, sweep, find_residual, restrict_residual, prolong_add, coarsen,
                   take_conductances<T>, find_residual_of_body<T>)

}  // namespace isotherm::cuda
