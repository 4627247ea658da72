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
void sweep(const ConductanceSweep<T>& s, Stream) {
  for_each_cell_of_rows(s.region, [&s](Int3 cell) { s.out(cell) = conductance_update(s, cell); });
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
