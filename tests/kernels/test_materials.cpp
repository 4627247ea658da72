// Kernels for bodies of several materials give the bits of the formula in every cell, and heat is summed with
// each material's rho c.
#include "kernels/field_reductions.hpp"
#include "physics/materials.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

constexpr int classes = 5;

// Boxes of cells of one class, large enough to have an interior, and single cells of another; ghosts beyond a
// boundary have the class of the adjacent cell.
Field<std::uint8_t> random_classes(Device& host, Int3 extent, int ghosts, unsigned faces) {
  Field<std::uint8_t> field = filled<std::uint8_t>(host, extent, ghosts, 0);
  std::mt19937 random(7);
  std::array<std::uint8_t, 512> block{};
  for (std::uint8_t& each : block) each = static_cast<std::uint8_t>(random() % classes);
  for_each_cell(field.view().padded(), [&](Int3 c) {
    const Index at = (c.x + 9) / 11 + 8 * ((c.y + 9) / 8) + 64 * ((c.z + 7) / 4);
    field.view()(c) = random() % 300 == 0 ? static_cast<std::uint8_t>(random() % classes)
                                          : block[static_cast<std::size_t>(at) % 512];
  });
  for_each_cell(field.view().padded(), [&](Int3 c) {
    Int3 inside = c;
    for (int axis = 0; axis < 3; ++axis) {
      if ((faces >> 2 * axis & 1) != 0) inside[axis] = std::max<Index>(inside[axis], 0);
      if ((faces >> (2 * axis + 1) & 1) != 0) inside[axis] = std::min(inside[axis], extent[axis] - 1);
    }
    field.view()(c) = field.view()(inside);
  });
  return field;
}

template <class T>
struct MaterialTables {
  std::vector<Coefficients<T>> coefficients;  // [sweep][class]
  std::vector<T> conductance, capacity;
  std::vector<double> heat;

  // `is_symmetric`: are conductances the same from both sides of a face?
  explicit MaterialTables(bool is_symmetric = false) {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> of(0.1, 1);
    const auto next = [&] { return static_cast<T>(of(random)); };
    for (int i = 0; i < most_sweeps_per_launch * classes; ++i) {
      const T cx = next() / 8, cy = next() / 8, cz = next() / 8;
      coefficients.push_back({1 - 2 * (cx + cy + cz), cx, cy, cz, next()});
    }
    for (int i = 0; i < classes; ++i) {
      capacity.push_back(4 + next());
      heat.push_back(of(random));
    }
    for (int i = 0; i < 3 * classes * classes; ++i) conductance.push_back(next());
    const auto at = [&](int axis, int i, int j) -> T& {
      return conductance[(axis * classes + i) * classes + j];
    };
    for (int axis = 0; axis < 3 && is_symmetric; ++axis)
      for (int i = 0; i < classes; ++i)
        for (int j = 0; j < i; ++j) at(axis, i, j) = at(axis, j, i);
  }
  // Ordered by sweep, then by class.
  std::vector<T> steps() const {
    std::vector<T> all;
    for (int sweep = 0; sweep < most_sweeps_per_launch; ++sweep)
      for (const T each : capacity) all.push_back(weight(sweep) / each);
    return all;
  }
  static T weight(int sweep) { return T(0.75) + T(sweep) / 8; }
};

template <class T>
T by_hand(const MaterialTables<T>& tables, bool steady, FieldView<const std::uint8_t> of,
          FieldView<const T> in, T s, Int3 c, int sweep) {
  const Int3 near[] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  const int own = of(c);
  std::array<T, 6> g{}, t{};
  T sum = 0;
  bool alone = true;
  for (std::size_t f = 0; f < 6; ++f) {
    const int other = of(c + near[f]);
    alone = alone && other == own;
    g[f] = tables.conductance[(f / 2 * classes + static_cast<std::size_t>(own)) * classes +
                              static_cast<std::size_t>(other)];
    t[f] = in(c + near[f]);
    sum += g[f];
  }
  const Coefficients<T>& k = tables.coefficients[sweep * classes + own];
  if (alone) return swept(k, in, c, s);
  const T step = tables.weight(sweep) / (steady ? sum : tables.capacity[own]);
  T change = step * T(1.5) * s;
  for (std::size_t f = 0; f < 6; ++f) change = std::fma(step * g[f], t[f] - in(c), change);
  return in(c) + change;
}

struct MaterialsSetting {
  Int3 extent;
  unsigned faces;  // with a boundary
  bool steady, has_source, is_symmetric, by_cell, with_layers;
  int sweeps;
  unsigned number;  // of this setting
};

class MaterialsSweep : public StencilTest {
 protected:
  template <class T>
  void expect_formula(const StencilKernel<T>& kernel, const MaterialsSetting& s) {
    SCOPED_TRACE("extent " + text(s.extent) + ", faces " + std::to_string(s.faces) + ", sweeps " +
                 std::to_string(s.sweeps) + (s.steady ? ", steady" : "") + (s.has_source ? ", source" : "") +
                 (s.is_symmetric ? ", symmetric" : "") + (s.by_cell ? ", boundaries by cell" : ""));
    const int ghosts = s.sweeps + 1;
    const MaterialTables<T> tables(s.is_symmetric);
    const Field<std::uint8_t> of = random_classes(*host_, s.extent, ghosts, s.faces),
                              of_there = to_device(*device_, of);
    const Buffer coefficients = copied_to(*device_, tables.coefficients),
                 conductance = copied_to(*device_, tables.conductance),
                 steps = copied_to(*device_, tables.steps()), heat = copied_to(*device_, tables.heat);
    SweepCase<T> sweep(kernel, *device_,
                       {.shape = s.extent,
                        .mask = s.faces,
                        .fields = 0,
                        .has_source = s.has_source,
                        .ghosts_filled = true,
                        .by_cell = s.by_cell,
                        .time_block = s.sweeps},
                       [&](FieldView<const T> in, const Field<T>* source, Int3 c, int n) {
                         const T q = source ? source->view()(c) : T(0);
                         return by_hand<T>(tables, s.steady, of.view(), in, q, c, n);
                       });
    Materials<T>& materials = sweep.materials;
    materials.classes = of_there.view();
    materials.count = classes;
    for (int i = 0; i < most_sweeps_per_launch; ++i) {
      materials.coefficients.sweep[i] = coefficients.template as<Coefficients<T>>() + i * classes;
      materials.weight.sweep[i] = tables.weight(i);
      if (!s.steady) materials.step.sweep[i] = steps.template as<T>() + i * classes;
    }
    materials.conductance = conductance.template as<T>();
    materials.is_symmetric = s.is_symmetric;
    materials.source = T(1.5);
    materials.heat = heat.template as<double>();
    std::optional<MixedCellTables<T>> mixed;
    Field<T> between[] = {Field<T>(*device_, s.extent, ghosts), Field<T>(*device_, s.extent, ghosts)};
    if (kernel.backend == Backend::cuda) {
      std::array<bool, face_count> by_cell{};
      for (unsigned f = 0; f < face_count; ++f) by_cell[f] = (s.faces >> f & 1) != 0;
      materials.mixed = mixed.emplace(*device_, of_there.view(), by_cell, s.with_layers).view();
      for (int i = 0; i < 2; ++i) materials.between[i] = between[i].view();
    }

    const Box region = sweep.region(1),
              interior = region.grown(-s.sweeps).empty() ? Box{} : region.grown(-s.sweeps);
    std::vector<int> tiles = tiles_of(kernel);
    // Uses one tile per setting: all tiles together would take half the time of all emulated cases.
    if (is_slow(*device_) && s.extent.x > 100 && kernel.max_time_block > 1)
      tiles = {tiles[s.number / 4 % tiles.size()]};
    for (const int tile : tiles) sweep.expect_of(kernel, tile, region, {}, interior);
  }
};

TEST_P(MaterialsSweep, gives_the_bits_of_the_formula) {
  on_kernel([&]<class T>(const StencilKernel<T>& kernel, Device&) {
    // Small grids: each problem with each number of sweeps. The large grid: the other settings in turn.
    unsigned problem = 0;
    for (const Int3 extent : {Int3{1, 1, 1}, Int3{37, 9, 7}, Int3{140, 34, 9}}) {
      const unsigned problems = extent.x > 100 ? 1 : 2;
      for (const int sweeps : {1, kernel.max_time_block / 2, kernel.max_time_block}) {
        if (sweeps == 0 || (sweeps == 1 && kernel.max_time_block == 2)) continue;
        for (const unsigned faces : {0u, 0b111111u, 0b011001u})
          for (unsigned n = 0; n < problems; ++n, ++problem)
            expect_formula<T>(kernel, {extent, faces, problem % 2 == 0, problem / 2 % 2 == 0,
                                       problem % 3 == 0, problem % 5 < 3, problem % 4 < 3, sweeps, problem});
      }
    }
  });
}

ON_EACH_BACKEND(MaterialsSweep,
                cases_of(stencil_kernels<double>(), backend, &StencilKernel<double>::sweeps_materials));

class HeatOfMaterials : public OnDevice {};

TEST_P(HeatOfMaterials, is_summed_with_the_capacity_of_each) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Int3 extent{37, 9, 7};
    const MaterialTables<T> tables;
    const Field<std::uint8_t> of = random_classes(*host_, extent, 1, 0), of_there = to_device(*device_, of);
    const Field<T> field = random_field<T>(*host_, extent, 1, 3), there = to_device(*device_, field);
    const Buffer heat = copied_to(*device_, tables.heat),
                 result = copied_to<LongAccumulator>(*device_, {LongAccumulator{}});
    Materials<T> materials;
    materials.classes = of_there.view();
    materials.heat = heat.template as<double>();
    LongAccumulator sum{};
    for_each_cell({{0, 0, 0}, extent},
                  [&](Int3 c) { sum.add(tables.heat[of.view()(c)] * double{field.view()(c)}); });
    functions(FieldReductions<T>::on)
        .heat_sum({there.view(), materials}, result.template as<LongAccumulator>(), {});
    EXPECT_EQ(fetched_value<LongAccumulator>(*device_, result).rounded(), sum.rounded());
  });
}

ON_EACH_BACKEND(HeatOfMaterials, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
