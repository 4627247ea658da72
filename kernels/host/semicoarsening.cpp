// Multigrid for bodies of several materials, OpenMP over rows.
#include "kernels/semicoarsening.hpp"

#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

constexpr Index worth_threads = cells_worth_threads / 8;  // a cell has more work than in a copy

template <class Body>
void for_each_cell_of_rows(Box box, const Body& body) {
  for_each_row(
      box,
      [&](Index y, Index z) {
        for (Index x = box.lo.x; x < box.hi.x; ++x) body(Int3{x, y, z});
      },
      worth_threads);
}

void sweep(const ConductanceSweep& sweep, Stream) {
  for_each_row(
      sweep.region,
      [&](Index y, Index z) {
        const ConductanceSweep s = sweep;  // in registers, whatever is stored
        const Index lo = s.region.lo.x, count = s.region.extent().x;
        const float *const gx = &s.g.faces[0](lo, y, z), *const gy = &s.g.faces[1](lo, y, z),
                           *const gz = &s.g.faces[2](lo, y, z), *const source = &s.source(lo, y, z),
                           *const t = s.in.empty() ? nullptr : &s.in(lo, y, z),
                           *const ground = s.g.has_ground() ? &s.g.ground(lo, y, z) : nullptr;
        float* const out = &s.out(lo, y, z);
        const auto sweep_row = [&](auto ground_of) {
          const auto faces = [&](Index i) { return s.g.all(gx + i, gy + i, gz + i, ground_of(i)); };
          if (t) {
#pragma omp simd
            for (Index i = 0; i < count; ++i) {
              const CellFaces<float> f = faces(i);
              out[i] = s.update(f, f.add_to(source[i], t + i, s.in.pitch_y, s.in.pitch_z), t[i]);
            }
          } else {
#pragma omp simd
            for (Index i = 0; i < count; ++i) out[i] = s.update(faces(i), source[i], 0);
          }
        };
        if (ground)
          sweep_row([ground](Index i) { return ground[i]; });
        else
          sweep_row([](Index) { return 0.0F; });
      },
      worth_threads);
}

void find_residual(const GridConductances& g, const Halving& h, FieldView<const float> field,
                   FieldView<const float> source, FieldView<float> residual, Box region, Stream) {
  for_each_cell_of_rows(region, [&](Int3 cell) {
    residual(cell) = shared_residual(g, h, field, cell, source.empty() ? 0 : source(cell));
  });
}

void restrict_residual(const GridConductances& g, const Halving& h, FieldView<const float> residual,
                       FieldView<float> source, Box region, Stream) {
  for_each_cell_of_rows(region, [&](Int3 cell) { source(cell) = restricted(g, h, residual, cell); });
}

void prolong_add(const GridConductances& g, const Halving& h, FieldView<const float> error,
                 FieldView<float> field, Box region, Stream) {
  for_each_cell_of_rows(region, [&](Int3 cell) { field(cell) += prolonged(g, h, error, cell); });
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

template <class Isa, class T>
const Semicoarsening<T> SemicoarseningFunctions<Isa, T>::functions = {
    sweep,   find_residual,        restrict_residual,       prolong_add,
    coarsen, take_conductances<T>, find_residual_of_body<T>};

template struct SemicoarseningFunctions<ISOTHERM_ISA, float>;
template struct SemicoarseningFunctions<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
