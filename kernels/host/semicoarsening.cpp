// Multigrid for domains of several materials, OpenMP over rows.
#include "kernels/semicoarsening.hpp"

#include <omp.h>

#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

template <class Body>
void for_each_cell_of_rows(Box box, const Body& body) {
  for_each_busy_row(box, [&](Index y, Index z) {
    for (Index x = box.lo.x; x < box.hi.x; ++x) body(Int3{x, y, z});
  });
}

// out = use(faces, heat, centre, cell) in a row, `heat` being the source plus the heat through the faces; in
// and source may be empty: 0.
template <class Use>
void pass_row(const ConductanceSweep& p, const Use use, Index y, Index z) {
  const Index lo = p.region.lo.x, count = p.region.extent().x, pitch_y = p.in.pitch_y, pitch_z = p.in.pitch_z;
  const auto row_of = [&](FieldView<const float> field) { return row_from(field, {lo, y, z}); };
  const float *const gx = row_of(p.g.faces[0]), *const gy = row_of(p.g.faces[1]),
                     *const gz = row_of(p.g.faces[2]), *const t = row_of(p.in),
                     *const source = row_of(p.source), *const ground = row_of(p.g.ground);
  float* const to = &p.out(lo, y, z);
  const auto pass = [&](auto source_of, auto ground_of) {
    const auto faces = [&](Index i) { return p.g.all(gx + i, gy + i, gz + i, ground_of(i)); };
    const auto cell = [&](Index i) { return Int3{lo + i, y, z}; };
    if (t) {
#pragma GCC ivdep
      for (Index i = 0; i < count; ++i) {
        const CellFaces<float> f = faces(i);
        to[i] = use(f, f.add_to(source_of(i), t + i, pitch_y, pitch_z), t[i], cell(i));
      }
    } else {
#pragma GCC ivdep
      for (Index i = 0; i < count; ++i) to[i] = use(faces(i), source_of(i), 0, cell(i));
    }
  };
  with_row(ground, 0.0f, [&](auto ground_of) {
    with_row(source, 0.0f, [&](auto source_of) { pass(source_of, ground_of); });
  });
}

void sweep_row(const ConductanceSweep& s, Index y, Index z) {
  const auto use = [weight = s.weight](const CellFaces<float>& faces, float heat, float centre, Int3) {
    return updated(weight, faces, heat, centre);
  };
  pass_row(s, use, y, z);
}

// Several sweeps run as a wavefront in cache: each is two planes and one row behind the previous sweep. Its
// inputs are then complete, and the cells that it overwrites have been read. A tile has rows of all sweeps.
void sweep(std::span<const ConductanceSweep> sweeps, Stream) {
  const Box first = sweeps.front().region;  // contains all others
  const auto count = static_cast<Index>(sweeps.size());
  const bool threads = first.cells() >= cells_worth_threads / 8;
  constexpr Index cache = 512 * 1024, fields = 6;  // bytes per thread; fields that a sweep accesses
  const Index planes = 2 * count + 2,
              of_row = static_cast<Index>(sizeof(float)) * fields * planes * first.extent().x,
              rows = larger(cache / of_row, 4) * (threads ? omp_get_max_threads() : 1),
              tile = count == 1 ? first.extent().y : smaller(rows, first.extent().y + count - 1);
#pragma omp parallel if (threads)
  for (Index y_lo = first.lo.y; y_lo < first.hi.y + count - 1; y_lo += tile) {
    for (Index step = first.lo.z; step < first.hi.z + 2 * (count - 1); ++step) {
#pragma omp for schedule(static)
      for (Index row = 0; row < count * tile; ++row) {
        const Index lag = row / tile, y = y_lo + row % tile - lag, z = step - 2 * lag;
        const ConductanceSweep& sweep = sweeps[static_cast<std::size_t>(lag)];
        const Box& box = sweep.region;
        if (y >= box.lo.y && y < box.hi.y && z >= box.lo.z && z < box.hi.z) sweep_row(sweep, y, z);
      }
    }
  }
}

template <class Use>
void pass_rows(const ConductanceSweep& pass, const Use& use) {
  for_each_busy_row(pass.region, [&](Index y, Index z) { pass_row(pass, use, y, z); });
}

void find_residual(const GridConductances& g, const Halving& halving, FieldView<const float> field,
                   FieldView<const float> source, FieldView<float> residual, Box region, Stream) {
  const ConductanceSweep pass{g, field, source, residual, region, 1};
  if (halving.axis < 0)
    return pass_rows(pass, [](const CellFaces<float>&, float heat, float, Int3) { return heat; });
  with_axis(halving.axis, [&](auto axis) {
    pass_rows(pass, [halving](CellFaces<float> faces, float heat, float, Int3 cell) {
      Halving h = halving;
      h.axis = decltype(axis)::value;
      return shared(h, cell, faces, heat);
    });
  });
}

// body(axis, first, count) for every row, with the axis as a constant.
template <class Body>
void for_each_row_along(int axis, Box region, const Body& body) {
  with_axis(axis, [&](auto along) {
    for_each_busy_row(region, [&](Index y, Index z) {
      body(along, Int3{region.lo.x, y, z}, region.extent().x);
    });
  });
}

// A row of coarse cells. The corresponding fine cells are a stride apart.
template <int axis>
void restrict_row(const GridConductances& g, Halving h, FieldView<const float> residual,
                  FieldView<float> source, Int3 first, Index count) {
  h.axis = axis;
  const Int3 cell = h.fine(first);
  constexpr Index stride = axis == 0 ? 2 : 1;
  const Index step[] = {1, residual.pitch_y, residual.pitch_z},
              faces_step[] = {1, g.faces[axis].pitch_y, g.faces[axis].pitch_z};
  const float *const own = &residual(cell), *const below = own - step[axis], *const above = own + step[axis],
                     *const lower = &g.faces[axis](cell), *const upper = lower + faces_step[axis];
  float* const to = &source(first);
  const bool has_below = h.has_between(cell, false);
  Int3 last = cell;
  if (axis == 0) last.x += stride * (count - 1);
  const bool has_above = h.has_between(last, true);
#pragma GCC ivdep
  for (Index i = 0; i < count; ++i)
    to[i] =
        restricted(own[stride * i], has_below || (axis == 0 && i > 0), lower[stride * i], below[stride * i],
                   has_above || (axis == 0 && i + 1 < count), upper[stride * i], above[stride * i]);
}

void restrict_residual(const GridConductances& g, const Halving& h, FieldView<const float> residual,
                       FieldView<float> source, Box region, Stream) {
  for_each_row_along(h.axis, region, [&](auto axis, Int3 first, Index count) {
    restrict_row<axis>(g, h, residual, source, first, count);
  });
}

// A fine row. With coarsening along y or z, it is between two coarse rows or is one of them.
template <int axis>
void prolong_row(const GridConductances& g, Halving h, FieldView<const float> error, FieldView<float> field,
                 Int3 first, Index count) {
  h.axis = axis;
  float* const to = &field(first);
  if (axis == 0) {
    for (Index i = 0; i < count; ++i) to[i] += prolonged(g, h, error, {first.x + i, first.y, first.z});
    return;
  }
  const float *const below = &error(h.coarse(first)), *const above =
                                                          below + (axis == 1 ? error.pitch_y : error.pitch_z);
  if (!h.is_between(first)) {
#pragma GCC ivdep
    for (Index i = 0; i < count; ++i) to[i] += below[i];
    return;
  }
  const float *const lower = &g.faces[axis](first), *const upper =
                                                        lower + (axis == 1 ? g.faces[axis].pitch_y
                                                                           : g.faces[axis].pitch_z);
  with_row(row_from(g.ground, first), 0.0f, [&](auto ground_of) {
#pragma GCC ivdep
    for (Index i = 0; i < count; ++i) to[i] += between(lower[i], upper[i], ground_of(i), below[i], above[i]);
  });
}

void prolong_add(const GridConductances& g, const Halving& h, FieldView<const float> error,
                 FieldView<float> field, Box region, Stream) {
  for_each_row_along(h.axis, region, [&](auto axis, Int3 first, Index count) {
    prolong_row<axis>(g, h, error, field, first, count);
  });
}

void coarsen(const GridConductances& g, const Halving& h, int along, bool above, FieldView<float> coarse,
             Box region, Stream) {
  for_each_cell_of_rows(region,
                        [&](Int3 cell) { coarse(cell) = coarse_conductance(g, h, along, above, cell); });
}

template <class T>
void take_conductances(const BodyConductances<T>& g, int along, bool above, FieldView<float> to, Box region,
                       Stream) {
  for_each_cell_of_rows(region,
                        [&](Int3 cell) { to(cell) = static_cast<float>(g.conductance(along, above, cell)); });
}

template <class T>
void find_residual_of_body(const BodyConductances<T>& g, T scale, FieldView<const T> field,
                           FieldView<const T> source, FieldView<float> residual, Box region, Stream) {
  for_each_cell_of_rows(region, [&](Int3 cell) {
    residual(cell) =
        static_cast<float>(scale * g.residual(field, cell, source.empty() ? T(0) : source(cell)));
  });
}

}  // namespace

ISOTHERM_FUNCTIONS(functions<ISOTHERM_ISA>, Semicoarsening, sweep, find_residual, restrict_residual,
                   prolong_add, coarsen, take_conductances<T>, find_residual_of_body<T>)

}  // namespace isotherm::host
