// Kernels of linear solvers: combinations of two fields; defects and added changes, in the field's precision
// and in a lower one; products and steps of conjugate gradients; multigrid's transfers between two grids,
// nested or not, and the transfers and sweeps of semicoarsened grids. Compared with their definition in plain
// loops by ==, on every backend.
#include <utility>

#include "kernels/conjugate_steps.hpp"
#include "kernels/field_algebra.hpp"
#include "kernels/grid_transfer.hpp"
#include "kernels/semicoarsening.hpp"
#include "solver/coarsening.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

class FieldAlgebraOf : public OnDevice {
 protected:
  template <class T, class Change>
  void expect_defects() {
    const Coefficients<T> c{T(0.01), T(0.2), T(0.17), T(0.125), T(1), T(0.7)};
    for (const Int3& n : shapes) {
      for (const bool has_source : {false, true}) {
        SCOPED_TRACE(text(n) + (has_source ? " with a source" : ""));
        const Field<T> field = random_field<T>(*host_, n, 1, 1), source = random_field<T>(*host_, n, 1, 2);
        Field<Change> expected = random_field<Change>(*host_, n, 2, 3);
        Field<Change> found = to_device(*device_, expected);
        Field<T> after = random_field<T>(*host_, n, 1, 4);
        for_each_cell(n, [&](Int3 at) {
          const T made = swept(c, field.view(), at, has_source ? source.view()(at) : c.heat);
          after.view()(at) = made;
          expected.view()(at) = static_cast<Change>(T(3.7) * (made - field.view()(at)));
        });
        const Field<T> there = to_device(*device_, field), source_there = to_device(*device_, source);
        const FieldView<const T> source_view = has_source ? source_there.view() : FieldView<const T>{};
        const Box whole{{0, 0, 0}, n};
        Defect<T, Change> defect{there.view(), source_view, c, found.view(), whole, T(3.7)};
        const ChangeTransfer<T, Change> transfer = functions(ChangeTransfer<T, Change>::on);
        transfer.find_defect(defect, {});
        expect_same_there(*device_, expected, found);
        if (!transfer.norm_scratch_bytes) continue;
        const Buffer result(*device_, sizeof(double));
        const Buffer scratch(*device_, transfer.norm_scratch_bytes(whole));
        for (const ReductionOp op : all_norms) {  // the defect is stored with the first only
          defect.norm = {op, result.as<double>(), scratch.data(), false};
          transfer.find_defect(defect, {});
          defect.defect = {};
          double truth = 0;
          kernel_named(reduction_kernels<T>(), "reference")
              .launch({after.view(), field.view(), whole, op, &truth, nullptr}, {});
          EXPECT_NEAR(fetched_value<double>(*device_, result), truth, 1e-12 * truth);
        }
      }
    }
  }

  template <class T, class Change>
  void expect_added() {
    for (const Int3& n : shapes) {
      SCOPED_TRACE(text(n));
      const Field<Change> change = random_field<Change>(*host_, n, 2, 1);
      Field<T> expected = random_field<T>(*host_, n, 1, 2), found = to_device(*device_, expected);
      for_each_cell(n, [&](Int3 at) { expected.view()(at) += static_cast<T>(change.view()(at)); });
      const Field<Change> there = to_device(*device_, change);
      functions(ChangeTransfer<T, Change>::on).add(there.view(), found.view(), {{0, 0, 0}, n}, {});
      expect_same_there(*device_, expected, found);
    }
  }
};

TEST_P(FieldAlgebraOf, CombinesTwoFields) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    // A copy, a swap, and any two combinations.
    const std::array<T, 4> factors[] = {{1, 0, 1, 0}, {0, 1, 1, 0}, {T(1.6), T(-0.6), T(0.3), T(-7)}};
    for (const Int3& n : shapes) {
      for (const auto& [xx, xy, yx, yy] : factors) {
        SCOPED_TRACE(text(n));
        Field<T> first = random_field<T>(*host_, n, 1, 1), second = random_field<T>(*host_, n, 1, 2);
        Field<T> x = to_device(*device_, first), y = to_device(*device_, second);
        for_each_cell(n, [&](Int3 cell) {
          T &a = first.view()(cell), &b = second.view()(cell);
          const T before = a;
          a = std::fma(xx, before, xy * b);
          b = std::fma(yx, before, yy * b);
        });
        functions(FieldAlgebra<T>::on).combine({x.view(), y.view(), {{0, 0, 0}, n}, xx, xy, yx, yy}, {});
        expect_same_there(*device_, first, x);
        expect_same_there(*device_, second, y);
      }
    }
  });
}

TEST_P(FieldAlgebraOf, FindsTheDefect) {
  for_precision(GetParam().precision, [&]<class T>(T) { expect_defects<T, T>(); });
  expect_defects<double, float>();
}

TEST_P(FieldAlgebraOf, AddsTheChange) {
  for_precision(GetParam().precision, [&]<class T>(T) { expect_added<T, T>(); });
  expect_added<double, float>();
}

TEST_P(FieldAlgebraOf, SumsProductsExactlyAndStepsOfConjugateGradients) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const Int3& n : shapes) {
      SCOPED_TRACE(text(n));
      Field<T> field = random_field<T>(*host_, n, 1, 30), field_there = to_device(*device_, field);
      std::vector<Field<float>> here, there;  // residual, correction, brought, step, image
      for (unsigned i = 0; i < 5; ++i) {
        here.push_back(random_field<float>(*host_, n, i == 1 ? 1 : 0, 40 + i));
        there.push_back(to_device(*device_, here.back()));
      }
      const ConjugateFields<T> fields{field_there.view(),
                                      there[0].view(),
                                      std::as_const(there[1]).view(),
                                      std::as_const(there[2]).view(),
                                      there[3].view(),
                                      there[4].view(),
                                      {{0, 0, 0}, n}};
      std::array<LongAccumulator, conjugate_products> expected{};
      const ConjugateParts parts{0.7F, -0.3F};
      for_each_cell(n, [&](Int3 cell) {
        float &r = here[0].view()(cell), &d = here[3].view()(cell), &ad = here[4].view()(cell);
        const float z = here[1].view()(cell), az = -here[2].view()(cell);
        const double terms[] = {double(z) * az, double(z) * ad, double(r) * z};
        for (int i = 0; i < conjugate_products; ++i) {
          expected[i].add(terms[i]);
          expected[i].normalise();
        }
        d = std::fma(parts.of_correction, z, parts.of_last * d);
        ad = std::fma(parts.of_correction, az, parts.of_last * ad);
        r -= ad;
        field.view()(cell) += d;
      });
      const Buffer products(*device_, sizeof(expected));
      const ConjugateSteps<T> kernels = functions(ConjugateSteps<T>::on);
      kernels.products(fields, products.template as<LongAccumulator>(), {});
      const auto found = fetched<LongAccumulator>(*device_, products);
      for (int i = 0; i < conjugate_products; ++i)
        EXPECT_TRUE(same_bits(found[i], expected[i])) << "product " << i;
      kernels.take(fields, parts, {});
      expect_same_there(*device_, field, field_there);
      for (std::size_t i = 0; i < 5; ++i) expect_same_there(*device_, here[i], there[i]);
    }
  });
}

ON_EACH_BACKEND(FieldAlgebraOf, backend_cases(backend));

// Transfers between two grids.

// By axis, for the cells of both grids; ghosts of the coarse grid represent the values beyond it.
template <class T>
struct Tables {
  std::array<std::vector<CellOverlap<T>>, 3> overlaps;
  std::array<std::vector<Interpolation<T>>, 3> interpolations;
  std::array<Buffer, 3> overlaps_there, interpolations_there;

  Tables(Device& device, Int3 fine, Int3 coarse) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Index n = fine[static_cast<int>(axis)], m = coarse[static_cast<int>(axis)];
      for (Index i = 0; i < m; ++i) {
        const auto [first, count, share] = overlap_of(i, n, m);
        overlaps[axis].push_back({first, count, {T(share[0]), T(share[1]), T(share[2])}});
      }
      for (Index i = 0; i < n; ++i) {
        const auto [lower, upper_weight] = interpolation_of(i, n, m);
        const int at = static_cast<int>(lower);
        interpolations[axis].push_back({at, at + 1, T(1 - upper_weight), T(upper_weight)});
      }
      overlaps_there[axis] = copied_to(device, overlaps[axis]);
      interpolations_there[axis] = copied_to(device, interpolations[axis]);
    }
  }
};

// Coarsening by two along every axis, with more cells than a warp has lanes and a thread block covers; odd
// extents; semicoarsening.
constexpr std::pair<Int3, Int3> all_grids[] = {
    {{8, 4, 6}, {4, 2, 3}},        {{2, 4, 2}, {1, 2, 1}}, {{66, 2, 4}, {33, 1, 2}},
    {{134, 22, 70}, {67, 11, 35}}, {{9, 7, 5}, {5, 4, 3}}, {{41, 12, 1}, {21, 6, 1}},
    {{10, 7, 40}, {10, 7, 20}},    {{1, 1, 3}, {1, 1, 2}}, {{700, 3, 2}, {350, 2, 1}}};

class GridTransferOf : public OnDevice {};

TEST_P(GridTransferOf, RestrictsTheMeanUpdate) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Coefficients<T> c{T(0.01), T(0.2), T(0.17), T(0.125), T(1), T(0.7)};
    const GridTransfer<T> transfer = functions(GridTransfer<T>::on);
    for (const auto& [n, m] : all_grids) {
      for (const bool has_source : {false, true}) {
        SCOPED_TRACE(text(n) + (has_source ? " with a source" : ""));
        const bool nested = n == m + m, own_x = nested && has_source && transfer.computes_uniform_x;
        const Boundary<T> across_x[] = {{own_x, T(-0.5), {T(0.3)}}, {own_x, T(0.25), {T(-0.7)}}};
        Field<T> fine = random_field<T>(*host_, n, 1, 1), source = random_field<T>(*host_, n, 1, 2);
        const Field<T> there = to_device(*device_, fine);
        if (own_x)  // these ghosts are not set in the device's field
          for_each_cell(Int3{1, n.y, n.z}, [&](Int3 at) {
            fine.view()(-1, at.y, at.z) = across_x[0].ghost(at.y, at.z, fine.view()(0, at.y, at.z));
            fine.view()(n.x, at.y, at.z) = across_x[1].ghost(at.y, at.z, fine.view()(n.x - 1, at.y, at.z));
          });
        const Tables<T> tables(*device_, n, m);
        const auto there_of = [&](int axis) {
          return tables.overlaps_there[axis].template as<const CellOverlap<T>>();
        };
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
                    swept(c, std::as_const(fine).view(), at, has_source ? source.view()(at) : c.heat);
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
        transfer.restrict_residual({there.view(),
                                    has_source ? source_there.view() : FieldView<const T>{},
                                    c,
                                    coarse.view(),
                                    Box{{0, 0, 0}, m},
                                    T(3.5),
                                    {there_of(0), there_of(1), there_of(2)},
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
      const Tables<T> tables(*device_, n, m);
      const auto there_of = [&](int axis) {
        return tables.interpolations_there[axis].template as<const Interpolation<T>>();
      };
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
      functions(GridTransfer<T>::on)
          .prolong_add({there.view(),
                        fine.view(),
                        Box{{0, 0, 0}, n},
                        T(0.25),
                        {there_of(0), there_of(1), there_of(2)},
                        n == m + m},
                       {});
      expect_same_there(*device_, expected, fine);
    }
  });
}

ON_EACH_BACKEND(GridTransferOf, backend_cases(backend));

// Semicoarsened grids: restriction is the adjoint of interpolation, and along a chain of cells a coarse grid
// is the fine one without its odd cells.

// From the face conductances by axis, and the ground conductance if there is one.
GridConductances conductances_of(const std::vector<Field<float>>& fields) {
  GridConductances g{{fields[0].view(), fields[1].view(), fields[2].view()}, {}};
  if (fields.size() > 3) g.ground = fields[3].view();
  return g;
}
std::vector<Field<float>> all_to_device(Device& device, const std::vector<Field<float>>& fields) {
  std::vector<Field<float>> copies;
  for (const Field<float>& field : fields) copies.push_back(to_device(device, field));
  return copies;
}

constexpr Halving halvings[] = {{0, {9, 7, 5}},
                                {1, {8, 5, 6}},
                                {2, {70, 3, 6}},
                                {0, {8, 4, 6}, {true}},
                                {1, {5, 7, 4}, {false, true}},
                                {2, {3, 1, 2}},
                                {2, {40, 11, 9}, {false, false, true}},
                                {0, {130, 2, 3}},
                                {1, {1, 2, 1}, {false, true}}};

Int3 coarse_cells(const Halving& h) {
  Int3 m = h.cells;
  m[h.axis] = ceil_div(m[h.axis], 2);
  return m;
}
// The cell at the other end of a periodic axis of n cells whose value a ghost has; others are returned.
Int3 wrapped(const Halving& h, Int3 cell, Index n) {
  if (h.wraps[h.axis]) cell[h.axis] = (cell[h.axis] + 2 * n) % n;
  return cell;
}

// Random conductances over three decades, as of conductances_of(). Those of upper boundaries are stored one
// cell beyond the block; the ghosts of a periodic axis hold those of its other end.
std::vector<Field<float>> random_conductances(Device& host, const Halving& h, bool has_ground = true) {
  std::vector<Field<float>> fields;
  for (int which = 0; which < 3 + has_ground; ++which) {
    const Field<float> random = random_field<float>(host, h.cells, 2, 20 + static_cast<unsigned>(which));
    const FieldView<float> field = fields.emplace_back(filled(host, h.cells, 2, 0.0F)).view();
    Int3 end = h.cells;
    if (which < 3 && !h.wraps[which]) ++end[which];
    for_each_cell(field.padded(), [&](Int3 cell) {
      const Int3 from = wrapped(h, cell, h.cells[h.axis]);
      if (Box{{0, 0, 0}, end}.contains(from))
        field(cell) = std::exp(4.0F * std::sin(37.0F * random.view()(from)));
    });
  }
  return fields;
}

// s - A T, of a field that is 0 beyond boundaries.
float residual(const GridConductances& g, FieldView<const float> field, Int3 cell, float source) {
  return g.all(cell).add_to(source, &field(cell), field.pitch_y, field.pitch_z);
}

class SemicoarseningOf : public OnDevice {};

TEST_P(SemicoarseningOf, HasTheBitsOfTheFormulas) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const Halving& h : halvings) {
      const Int3 n = h.cells, m = coarse_cells(h);
      SCOPED_TRACE(text(n));
      const Semicoarsening<T> kernels = functions(Semicoarsening<T>::on);
      const std::vector<Field<float>> faces = random_conductances(*host_, h, h.axis != 2),
                                      faces_there = all_to_device(*device_, faces);
      const GridConductances there = conductances_of(faces_there), g = conductances_of(faces);
      const Box whole{{0, 0, 0}, n}, coarse_box{{0, 0, 0}, m};
      const Field<float> field = random_field<float>(*host_, n, 2, 1),
                         source = random_field<float>(*host_, n, 2, 2),
                         error = random_field<float>(*host_, m, 2, 3);
      const FieldView<const float> t = field.view(), s = source.view(), e = error.view();
      const Field<float> field_there = to_device(*device_, field), source_there = to_device(*device_, source),
                         error_there = to_device(*device_, error);
      const auto expect = [&](Int3 extent, Box box, const auto& value, const auto& made_there) {
        Field<float> expected = random_field<float>(*host_, extent, 2, 5),
                     made = to_device(*device_, expected);
        for_each_cell(box, [&](Int3 cell) { expected.view()(cell) = value(cell, expected.view()(cell)); });
        made_there(made.view());
        expect_same_there(*device_, expected, made);
      };
      for (const bool from_zero : {false, true}) {
        const float weight = 0.6F;
        expect(
            n, whole,
            [&](Int3 cell, float) {
              const float rest = from_zero ? s(cell) : residual(g, t, cell, s(cell));
              return updated(weight, g.all(cell), rest, from_zero ? 0 : t(cell));
            },
            [&](FieldView<float> out) {
              const FieldView<const float> from = from_zero ? FieldView<const float>{} : field_there.view();
              const ConductanceSweep sweep{there, from, source_there.view(), out, whole, weight};
              kernels.sweep(std::span(&sweep, 1), {});
            });
      }
      expect(
          n, whole,
          [&](Int3 cell, float) { return shared(h, cell, g.all(cell), residual(g, t, cell, s(cell))); },
          [&](FieldView<float> out) {
            kernels.find_residual(there, h, field_there.view(), source_there.view(), out, whole, {});
          });
      expect(
          m, coarse_box, [&](Int3 cell, float) { return restricted(g, h, t, cell); },
          [&](FieldView<float> out) {
            kernels.restrict_residual(there, h, field_there.view(), out, coarse_box, {});
          });
      expect(
          n, whole, [&](Int3 cell, float before) { return before + prolonged(g, h, e, cell); },
          [&](FieldView<float> out) { kernels.prolong_add(there, h, error_there.view(), out, whole, {}); });
      for (int along = 0; along <= ground_of_cells; ++along)
        for (const bool above : {false, true}) {
          if (above && ((along == h.axis && h.wraps[along]) || along == ground_of_cells)) continue;
          Box cells = coarse_box;
          if (above) cells.lo[along] = cells.hi[along] - 1;
          expect(
              m, cells, [&](Int3 cell, float) { return coarse_conductance(g, h, along, above, cell); },
              [&](FieldView<float> out) { kernels.coarsen(there, h, along, above, out, cells, {}); });
        }
    }
  });
}

// Regions shrink at one side, as they do next to a neighbour.
TEST_P(SemicoarseningOf, TakesSeveralSweepsAtOnce) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Semicoarsening<T> kernels = functions(Semicoarsening<T>::on);
    for (const Int3 n : {Int3{5, 7, 4}, {40, 11, 9}, {3, 150, 33}, {1, 1, 1}}) {
      SCOPED_TRACE(text(n));
      const std::vector<Field<float>> faces = all_to_device(*device_, random_conductances(*host_, {0, n}));
      const Field<float> source = to_device(*device_, random_field<float>(*host_, n, 2, 2));
      const auto fields = [&] {
        return std::array{to_device(*device_, random_field<float>(*host_, n, 2, 1)),
                          to_device(*device_, random_field<float>(*host_, n, 2, 3))};
      };
      for (const int count : {2, 3, 8}) {
        std::array at_once = fields(), one_by_one = fields();
        std::vector<ConductanceSweep> sweeps;
        for (int i = 0; i < count; ++i) {
          Box region{{0, 0, 0}, n};
          region.hi.y = std::max<Index>(region.hi.y - i, 1);
          const auto from = static_cast<std::size_t>(i % 2);
          const auto sweep_of = [&](std::array<Field<float>, 2>& pair) {
            return ConductanceSweep{conductances_of(faces),
                                    i == 0 ? FieldView<const float>{} : std::as_const(pair[from]).view(),
                                    source.view(),
                                    pair[1 - from].view(),
                                    region,
                                    0.3F + 0.1F * static_cast<float>(i)};
          };
          const ConductanceSweep alone = sweep_of(one_by_one);
          kernels.sweep(std::span(&alone, 1), {});
          sweeps.push_back(sweep_of(at_once));
        }
        kernels.sweep(sweeps, {});
        for (const std::size_t i : {0, 1})
          expect_same_there(*device_, copied(*device_, *host_, one_by_one[i]), at_once[i]);
      }
    }
  });
}

ON_EACH_BACKEND(SemicoarseningOf, backend_cases(backend));

// Fills the ghosts of a periodic axis.
void wrap(FieldView<float> field, const Halving& h) {
  for_each_cell(field.padded(),
                [&](Int3 cell) { field(cell) = field(wrapped(h, cell, field.extent[h.axis])); });
}

// For a residual r and an error e: (P^T r, e) = (r, P e) for restriction P^T and interpolation P.
TEST(SemicoarsenedGrids, RestrictByTheAdjointOfInterpolation) {
  const auto host = make_host_device();
  for (const Halving& h : halvings) {
    const Int3 n = h.cells, m = coarse_cells(h);
    SCOPED_TRACE(text(n));
    const std::vector<Field<float>> faces = random_conductances(*host, h);
    const GridConductances g = conductances_of(faces);
    const Field<float> r = random_field<float>(*host, n, 2, 1), random = random_field<float>(*host, m, 2, 2);
    Field<float> shared = filled(*host, n, 2, 0.0F), e = filled(*host, m, 2, 0.0F);
    for_each_cell(n, [&](Int3 cell) {
      shared.view()(cell) = r.view()(cell) * (h.is_between(cell) ? inverse_between(g, h, cell) : 1.0F);
    });
    for_each_cell(m, [&](Int3 cell) { e.view()(cell) = random.view()(cell); });
    wrap(shared.view(), h);
    wrap(e.view(), h);
    const FieldView<const float> of_r = shared.view(), of_e = e.view();
    double restricted_sum = 0, prolonged_sum = 0, size = 0;
    for_each_cell(m, [&](Int3 cell) {
      const double term = restricted(g, h, of_r, cell) * of_e(cell);
      restricted_sum += term;
      size += std::abs(term);
    });
    for_each_cell(n, [&](Int3 cell) { prolonged_sum += r.view()(cell) * prolonged(g, h, of_e, cell); });
    EXPECT_NEAR(restricted_sum, prolonged_sum, 1e-6 * size);
  }
}

// Along a chain of cells, elimination of every second cell is exact: an interpolated error has no residual
// there, and elsewhere the residual of the coarse grid's equation.
TEST(SemicoarsenedGrids, AreExactAlongAChain) {
  const auto host = make_host_device();
  for (const Index cells : {2, 3, 8, 9}) {
    const Halving h{0, {cells, 1, 1}};
    const Int3 n = h.cells, m = coarse_cells(h);
    std::vector<Field<float>> faces = random_conductances(*host, h, false);
    for (const std::size_t across : {1, 2}) faces[across] = filled(*host, n, 2, 0.0F);
    const GridConductances g = conductances_of(faces);
    Field<float> e = filled(*host, m, 2, 0.0F), fine = filled(*host, n, 2, 0.0F);
    const Field<float> random = random_field<float>(*host, m, 2, 2);
    for_each_cell(m, [&](Int3 cell) { e.view()(cell) = random.view()(cell); });
    const FieldView<const float> of_e = e.view(), of_fine = fine.view();
    for_each_cell(n, [&](Int3 cell) { fine.view()(cell) = prolonged(g, h, of_e, cell); });
    for_each_cell(n, [&](Int3 cell) {
      SCOPED_TRACE(fmt::format("{} of {}", cell.x, cells));
      double expected = 0;
      if (!h.is_between(cell)) {
        const Int3 at = h.coarse(cell), above = neighbour_of(at, 0, true);
        const bool is_last = above.x == m.x;
        const double face_above =
            is_last ? coarse_face_along(g, h, true, at) : coarse_face_along(g, h, false, above);
        expected = coarse_face_along(g, h, false, at) * (of_e(neighbour_of(at, 0, false)) - of_e(at)) +
                   face_above * (of_e(above) - of_e(at));
      }
      EXPECT_NEAR(residual(g, of_fine, cell, 0), expected, 1e-6 * g.all(cell).sum());
    });
  }
}

}  // namespace
}  // namespace isotherm::test
