// Multigrid's transfers between two grids: against their definition in plain loops, on grids that nest and
// grids that do not, on every backend; compared with ==.
#include "kernels/grid_transfer.hpp"
#include "solver/coarsening.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

template <class T>
struct Tables {
  std::array<std::vector<CellOverlap<T>>, 3> overlaps;
  std::array<std::vector<Interpolation<T>>, 3> interpolations;

  // Ghosts of the coarse grid stand for what is beyond it.
  Tables(Int3 fine, Int3 coarse) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      for (Index i = 0; i < coarse[axis]; ++i) {
        const CellOverlap<double> found = overlap_of(i, fine[axis], coarse[axis]);
        CellOverlap<T> overlap{found.first, found.count};
        for (int k = 0; k < 3; ++k) overlap.share[k] = static_cast<T>(found.share[k]);
        overlaps[at].push_back(overlap);
      }
      for (Index i = 0; i < fine[axis]; ++i) {
        const AxisInterpolation found = interpolation_of(i, fine[axis], coarse[axis]);
        const auto lower = static_cast<int>(found.lower);
        interpolations[at].push_back(
            {lower, lower + 1, static_cast<T>(1 - found.upper_weight), static_cast<T>(found.upper_weight)});
      }
    }
  }

  struct OnDevice {
    std::vector<Buffer> buffers;
    OnDevice(Device& device, const Tables& tables) {
      for (const auto& table : tables.overlaps) buffers.push_back(copied_to(device, table));
      for (const auto& table : tables.interpolations) buffers.push_back(copied_to(device, table));
    }
    const CellOverlap<T>* overlaps(std::size_t axis) const {
      return buffers[axis].template as<CellOverlap<T>>();
    }
    const Interpolation<T>* interpolations(std::size_t axis) const {
      return buffers[3 + axis].template as<Interpolation<T>>();
    }
  };
};

struct Grids {
  Int3 fine, coarse;
};
// Two by two by two, with more cells than a warp has lanes and than a block walks through; odd;
// semicoarsened.
constexpr Grids all_grids[] = {
    {{8, 4, 6}, {4, 2, 3}},        {{2, 4, 2}, {1, 2, 1}}, {{66, 2, 4}, {33, 1, 2}},
    {{134, 22, 70}, {67, 11, 35}}, {{9, 7, 5}, {5, 4, 3}}, {{41, 12, 1}, {21, 6, 1}},
    {{10, 7, 40}, {10, 7, 20}},    {{1, 1, 3}, {1, 1, 2}}, {{700, 3, 2}, {350, 2, 1}}};

class GridTransferOf : public OnDevice {};

TEST_P(GridTransferOf, RestrictsTheMeanUpdate) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Coefficients<T> c{T(0.01), T(0.2), T(0.17), T(0.125), T(1)};
    const GridTransfer<T> transfer = functions(grid_transfer<T>);
    for (const auto& [n, m] : all_grids) {
      for (const bool has_source : {false, true}) {
        SCOPED_TRACE(text(n) + (has_source ? " with a source" : ""));
        const bool nested = n == m + m, own_x = nested && has_source && transfer.computes_uniform_x;
        const Boundary<T> across_x[] = {{own_x, T(-0.5), {T(0.3)}}, {own_x, T(0.25), {T(-0.7)}}};
        Field<T> fine = random_field<T>(*host_, n, 1, 1), source = random_field<T>(*host_, n, 1, 2);
        const Field<T> there = to_device(*device_, fine);
        if (own_x)  // which ghosts of the device's field do not hold
          for_each_cell(Int3{1, n.y, n.z}, [&](Int3 at) {
            fine.view()(-1, at.y, at.z) = across_x[0].ghost(at.y, at.z, fine.view()(0, at.y, at.z));
            fine.view()(n.x, at.y, at.z) = across_x[1].ghost(at.y, at.z, fine.view()(n.x - 1, at.y, at.z));
          });
        const Tables<T> tables(n, m);
        Field<T> expected = random_field<T>(*host_, m, 1, 3), coarse = to_device(*device_, expected);
        Field<T> first = random_field<T>(*host_, m, 1, 4), swept_there = to_device(*device_, first);
        for_each_cell(m, [&](Int3 cell) {
          const CellOverlap<T> on[] = {tables.overlaps[0][cell.x], tables.overlaps[1][cell.y],
                                       tables.overlaps[2][cell.z]};
          T sum = 0;
          for (int i = 0; i < on[0].count; ++i) {
            T column = 0;
            for (int k = 0; k < on[2].count; ++k) {
              T row = 0;
              for (int j = 0; j < on[1].count; ++j) {
                const Int3 at{on[0].first + i, on[1].first + j, on[2].first + k};
                const T next =
                    swept(c, std::as_const(fine).view(), at, has_source ? source.view()(at) : T(0));
                row = std::fma(on[1].share[j], next - fine.view()(at), row);
              }
              column = std::fma(on[2].share[k], row, column);
            }
            sum = std::fma(on[0].share[i], column, sum);
          }
          expected.view()(cell) = T(3.5) * sum;
          first.view()(cell) = T(1.25) * (T(3.5) * sum);
        });
        const Field<T> source_there = to_device(*device_, source);
        const typename Tables<T>::OnDevice tables_there(*device_, tables);
        transfer.restrict_residual(
            {there.view(),
             has_source ? source_there.view() : FieldView<const T>{},
             c,
             coarse.view(),
             Box{{0, 0, 0}, m},
             T(3.5),
             {tables_there.overlaps(0), tables_there.overlaps(1), tables_there.overlaps(2)},
             nested,
             {across_x[0], across_x[1]},
             has_source ? swept_there.view() : FieldView<T>{},
             {T(0.4), T(0.2), T(0.1), T(0.1), T(1.25)}},
            {});
        expect_same_there(*device_, expected, coarse);
        if (has_source) expect_same_there(*device_, first, swept_there);
      }
    }
  });
}

TEST_P(GridTransferOf, AddsTheInterpolatedError) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const auto& [n, m] : all_grids) {
      SCOPED_TRACE(text(n));
      const Field<T> coarse = random_field<T>(*host_, m, 1, 1);
      const Tables<T> tables(n, m);
      Field<T> expected = random_field<T>(*host_, n, 1, 2), fine = to_device(*device_, expected);
      for_each_cell(n, [&](Int3 cell) {
        const auto on = [&](int axis) { return tables.interpolations[axis][cell[axis]]; };
        const auto blend = [](const Interpolation<T>& i, T lower, T upper, T added) {
          return std::fma(i.upper_weight, upper, std::fma(i.lower_weight, lower, added));
        };
        const auto at = [&](Index x) {
          const auto in_plane = [&](Index z) {
            return blend(on(1), coarse.view()(x, on(1).lower, z), coarse.view()(x, on(1).upper, z), T(0));
          };
          return blend(on(2), in_plane(on(2).lower), in_plane(on(2).upper), T(0));
        };
        expected.view()(cell) += blend(on(0), at(on(0).lower), at(on(0).upper), T(0.25));
      });
      const Field<T> there = to_device(*device_, coarse);
      const typename Tables<T>::OnDevice tables_there(*device_, tables);
      functions(grid_transfer<T>)
          .prolong_add({there.view(),
                        fine.view(),
                        Box{{0, 0, 0}, n},
                        T(0.25),
                        {tables_there.interpolations(0), tables_there.interpolations(1),
                         tables_there.interpolations(2)},
                        n == m + m},
                       {});
      expect_same_there(*device_, expected, fine);
    }
  });
}

ON_EACH_BACKEND(GridTransferOf, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
