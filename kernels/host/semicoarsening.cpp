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

template <class T>
void sweep(const ConductanceSweep<T>& sweep, Stream) {
  for_each_row(
      sweep.region,
      [&](Index y, Index z) {
        const ConductanceSweep<T> s = sweep;  // in registers, whatever is stored
        const Index lo = s.region.lo.x, count = s.region.extent().x;
        const T *const gx = &s.g.faces[0](lo, y, z), *const gy = &s.g.faces[1](lo, y, z),
                       *const gz = &s.g.faces[2](lo, y, z), *const source = &s.source(lo, y, z);
        T* const out = &s.out(lo, y, z);
        if (s.in.empty()) {
#pragma omp simd
          for (Index i = 0; i < count; ++i)
            out[i] = first_update(s, s.g.all(gx + i, gy + i, gz + i), source[i]);
          return;
        }
        const T* const t = &s.in(lo, y, z);
#pragma omp simd
        for (Index i = 0; i < count; ++i)
          out[i] = conductance_update(s, s.g.all(gx + i, gy + i, gz + i), t + i, source[i]);
      },
      worth_threads);
}

template <class T>
void find_residual(const FineConductances<T>& fine, const Halving& h, FieldView<const T> field,
                   FieldView<const T> source, FieldView<T> residual, Box region, Stream) {
  with_conductances(fine, [&](const auto& g) {
    for_each_cell_of_rows(region, [&](Int3 cell) {
      residual(cell) = shared_residual<T>(g, h, field, cell, source.empty() ? T(0) : source(cell));
    });
  });
}

template <class T>
void restrict_residual(const FineConductances<T>& fine, const Halving& h, FieldView<const T> residual,
                       FieldView<T> source, Box region, Stream) {
  with_conductances(fine, [&](const auto& g) {
    for_each_cell_of_rows(region, [&](Int3 cell) { source(cell) = restricted<T>(g, h, residual, cell); });
  });
}

template <class T>
void prolong_add(const FineConductances<T>& fine, const Halving& h, FieldView<const T> error,
                 FieldView<T> field, Box region, Stream) {
  with_conductances(fine, [&](const auto& g) {
    for_each_cell_of_rows(region, [&](Int3 cell) { field(cell) += prolonged<T>(g, h, error, cell); });
  });
}

template <class T>
void find_faces(const FineConductances<T>& fine, int axis, FieldView<T> faces, Box region, Stream) {
  with_conductances(fine, [&](const auto& g) {
    for_each_cell_of_rows(region, [&](Int3 cell) { faces(cell) = g.lower(axis, cell); });
  });
}

template <class T>
void coarsen(const FineConductances<T>& fine, const Halving& h, int along, bool above, FieldView<T> coarse,
             Box region, Stream) {
  with_conductances(fine, [&](const auto& g) {
    for_each_cell_of_rows(region,
                          [&](Int3 cell) { coarse(cell) = coarse_face<T>(g, h, along, above, cell); });
  });
}

}  // namespace

template <class Isa, class T>
const Semicoarsening<T> SemicoarseningFunctions<Isa, T>::functions = {
    sweep<T>, find_residual<T>, restrict_residual<T>, prolong_add<T>, find_faces<T>, coarsen<T>};

template struct SemicoarseningFunctions<ISOTHERM_ISA, float>;
template struct SemicoarseningFunctions<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
