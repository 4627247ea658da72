// The transfers and sweeps of semicoarsened grids: the same bits on every backend, restriction the adjoint of
// interpolation, and along a chain of cells a coarse grid that is the fine one without its odd cells.
#include "kernels/semicoarsening.hpp"

#include <utility>

#include "support.hpp"

namespace isotherm::test {
namespace {

// Of the faces by axis, and the ground where there is one.
GridConductances conductances_of(const std::vector<Field<float>>& fields) {
  GridConductances g{{fields[0].view(), fields[1].view(), fields[2].view()}, {}};
  if (fields.size() > 3) g.ground = fields[3].view();
  return g;
}
// Conductances over three decades, those of upper boundaries one cell beyond the block; in the ghosts of a
// periodic axis those of its other end. With ground, or without.
struct RandomGrid {
  std::vector<Field<float>> fields;
  RandomGrid(Device& host, Int3 n, int periodic_axis, bool has_ground = true) {
    for (int which = 0; which < 3 + has_ground; ++which) {
      Field<float> random = random_field<float>(host, n, 2, 20 + static_cast<unsigned>(which));
      Field<float> field = filled<float>(host, n, 2, 0.0F);
      for_each_cell(field.view().padded(), [&](Int3 cell) {
        Int3 from = cell, end = n;
        if (periodic_axis >= 0)
          from[periodic_axis] = (cell[periodic_axis] + 2 * n[periodic_axis]) % n[periodic_axis];
        if (which < 3 && which != periodic_axis) ++end[which];
        if (Box{{0, 0, 0}, end}.contains(from))
          field.view()(cell) = std::exp(4.0F * std::sin(37.0F * random.view()(from)));
      });
      fields.push_back(std::move(field));
    }
  }
  GridConductances view() const { return conductances_of(fields); }
};

struct HalvingCase {
  Int3 n;
  int axis;
  bool wraps;
  Int3 coarse() const {
    Int3 m = n;
    m[axis] = (n[axis] + 1) / 2;
    return m;
  }
  Halving halving() const {
    Halving h{axis, n, {}, {}, {}};
    h.wraps[axis] = wraps;
    return h;
  }
};
constexpr HalvingCase halvings[] = {{{9, 7, 5}, 0, false},  {{8, 5, 6}, 1, false},   {{70, 3, 6}, 2, false},
                                    {{8, 4, 6}, 0, true},   {{5, 7, 4}, 1, true},    {{3, 1, 2}, 2, false},
                                    {{40, 11, 9}, 2, true}, {{130, 2, 3}, 0, false}, {{1, 2, 1}, 1, true}};

class SemicoarseningOf : public OnDevice {};

TEST_P(SemicoarseningOf, HasTheBitsOfTheFormulas) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const HalvingCase& c : halvings) {
      SCOPED_TRACE(text(c.n));
      const Semicoarsening<T> kernels = functions(semicoarsening<T>);
      const RandomGrid grid(*host_, c.n, c.wraps ? c.axis : -1, c.axis != 2);
      std::vector<Field<float>> copies;
      for (const Field<float>& field : grid.fields) copies.push_back(to_device(*device_, field));
      const GridConductances there = conductances_of(copies), g = grid.view();
      const Halving h = c.halving();
      const Box whole{{0, 0, 0}, c.n}, coarse_box{{0, 0, 0}, c.coarse()};
      const Field<float> field = random_field<float>(*host_, c.n, 2, 1),
                         source = random_field<float>(*host_, c.n, 2, 2),
                         error = random_field<float>(*host_, c.coarse(), 2, 3);
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
        const ConductanceSweep sweep{g, from_zero ? FieldView<const float>{} : t, s, {}, whole, 0.6F};
        expect(
            c.n, whole,
            [&](Int3 cell, float) {
              const CellFaces<float> faces = g.all(cell);
              if (from_zero) return sweep.update(faces, s(cell), 0);
              return sweep.update(faces, faces.add_to(s(cell), &t(cell), t.pitch_y, t.pitch_z), t(cell));
            },
            [&](FieldView<float> out) {
              const ConductanceSweep there_sweep{there,
                                                 from_zero ? FieldView<const float>{} : field_there.view(),
                                                 source_there.view(),
                                                 out,
                                                 whole,
                                                 0.6F};
              kernels.sweep(std::span(&there_sweep, 1), {});
            });
      }
      expect(
          c.n, whole, [&](Int3 cell, float) { return shared_residual(g, h, t, cell, s(cell)); },
          [&](FieldView<float> out) {
            kernels.find_residual(there, h, field_there.view(), source_there.view(), out, whole, {});
          });
      expect(
          c.coarse(), coarse_box, [&](Int3 cell, float) { return restricted(g, h, t, cell); },
          [&](FieldView<float> out) {
            kernels.restrict_residual(there, h, field_there.view(), out, coarse_box, {});
          });
      expect(
          c.n, whole, [&](Int3 cell, float before) { return before + prolonged(g, h, e, cell); },
          [&](FieldView<float> out) { kernels.prolong_add(there, h, error_there.view(), out, whole, {}); });
      for (int along = 0; along <= ground_of_cells; ++along)
        for (const bool above : {false, true}) {
          if (above && ((along == c.axis && c.wraps) || along == ground_of_cells)) continue;
          Box cells = coarse_box;
          if (above) cells.lo[along] = cells.hi[along] - 1;
          expect(
              c.coarse(), cells,
              [&](Int3 cell, float) { return coarse_conductance(g, h, along, above, cell); },
              [&](FieldView<float> out) { kernels.coarsen(there, h, along, above, out, cells, {}); });
        }
    }
  });
}

// Regions shrink at one side, as they do next to a neighbour.
TEST_P(SemicoarseningOf, TakesSeveralSweepsAtOnce) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Semicoarsening<T> kernels = functions(semicoarsening<T>);
    for (const Int3 n : {Int3{5, 7, 4}, {40, 11, 9}, {3, 150, 33}, {1, 1, 1}}) {
      SCOPED_TRACE(text(n));
      const RandomGrid grid(*host_, n, -1);
      std::vector<Field<float>> copies;
      for (const Field<float>& field : grid.fields) copies.push_back(to_device(*device_, field));
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
            return ConductanceSweep{conductances_of(copies),
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
          expect_same_there(*device_, to_host(*device_, *host_, one_by_one[i]), at_once[i]);
      }
    }
  });
}

ON_EACH_BACKEND(SemicoarseningOf, backend_cases(backend));

// Fills the ghosts of a periodic axis.
void wrap(FieldView<float> field, const HalvingCase& c, Index n) {
  if (!c.wraps) return;
  for_each_cell(field.padded(), [&](Int3 cell) {
    Int3 from = cell;
    from[c.axis] = (cell[c.axis] + 2 * n) % n;
    if (from[c.axis] != cell[c.axis]) field(cell) = field(from);
  });
}

// What restriction gives of a residual r, and interpolation makes of an error e: (P^T r, e) = (r, P e).
TEST(SemicoarsenedGrids, RestrictByTheAdjointOfInterpolation) {
  const auto host = make_host_device();
  for (const HalvingCase& c : halvings) {
    SCOPED_TRACE(text(c.n));
    const RandomGrid grid(*host, c.n, c.wraps ? c.axis : -1);
    const GridConductances g = grid.view();
    const Halving h = c.halving();
    const Field<float> r = random_field<float>(*host, c.n, 2, 1);
    Field<float> shared = filled(*host, c.n, 2, 0.0F), e = filled(*host, c.coarse(), 2, 0.0F);
    for_each_cell(c.n, [&](Int3 cell) {
      shared.view()(cell) = r.view()(cell) * (h.is_between(cell) ? inverse_between(g, h, cell) : 1.0F);
    });
    const Field<float> random = random_field<float>(*host, c.coarse(), 2, 2);
    for_each_cell(c.coarse(), [&](Int3 cell) { e.view()(cell) = random.view()(cell); });
    wrap(shared.view(), c, c.n[c.axis]);
    wrap(e.view(), c, c.coarse()[c.axis]);
    const FieldView<const float> of_r = shared.view(), of_e = e.view();
    double restricted_sum = 0, prolonged_sum = 0, size = 0;
    for_each_cell(c.coarse(), [&](Int3 cell) {
      const double term = restricted(g, h, of_r, cell) * of_e(cell);
      restricted_sum += term;
      size += std::abs(term);
    });
    for_each_cell(c.n, [&](Int3 cell) { prolonged_sum += r.view()(cell) * prolonged(g, h, of_e, cell); });
    EXPECT_NEAR(restricted_sum, prolonged_sum, 1e-6 * size);
  }
}

// Of a chain of cells elimination of every second one is exact: an error that is interpolated has no residual
// there, and that of the coarse grid's own equation elsewhere.
TEST(SemicoarsenedGrids, AreExactAlongAChain) {
  const auto host = make_host_device();
  for (const Index n : {2, 3, 8, 9}) {
    const HalvingCase c{{n, 1, 1}, 0, false};
    const Halving h = c.halving();
    RandomGrid grid(*host, c.n, -1, false);
    for (const std::size_t across : {1, 2})
      for_each_cell(grid.fields[across].view().padded(),
                    [&](Int3 at) { grid.fields[across].view()(at) = 0; });
    const GridConductances g = grid.view();
    Field<float> e = filled(*host, c.coarse(), 2, 0.0F), fine = filled(*host, c.n, 2, 0.0F);
    const Field<float> random = random_field<float>(*host, c.coarse(), 2, 2);
    for_each_cell(c.coarse(), [&](Int3 cell) { e.view()(cell) = random.view()(cell); });
    const FieldView<const float> of_e = e.view(), of_fine = fine.view();
    for_each_cell(c.n, [&](Int3 cell) { fine.view()(cell) = prolonged(g, h, of_e, cell); });
    for_each_cell(c.n, [&](Int3 cell) {
      SCOPED_TRACE(fmt::format("{} of {}", cell.x, n));
      double expected = 0;
      if (!h.is_between(cell)) {
        const Int3 at = h.coarse(cell), above = neighbour_of(at, 0, true);
        const bool is_last = above.x == c.coarse().x;
        const double face_above =
            is_last ? coarse_face_along(g, h, true, at) : coarse_face_along(g, h, false, above);
        expected = coarse_face_along(g, h, false, at) * (of_e(neighbour_of(at, 0, false)) - of_e(at)) +
                   face_above * (of_e(above) - of_e(at));
      }
      EXPECT_NEAR(g.residual(of_fine, cell, 0), expected, 1e-6 * g.all(cell).sum());
    });
  }
}

}  // namespace
}  // namespace isotherm::test
