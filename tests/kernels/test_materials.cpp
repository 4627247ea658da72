// Kernels that sweep bodies of several materials give the bits of the formula in every cell, and heat is
// summed with the rho c of each.
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/field_reductions.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

constexpr int classes = 5;
constexpr int ghosts = 2;

// Blocks of cells of one class, so that some are among their own, and single ones.
Field<std::uint8_t> random_classes(Device& host, Int3 extent) {
  Field<std::uint8_t> field = filled<std::uint8_t>(host, extent, ghosts, 0);
  std::mt19937 random(7);
  std::array<std::uint8_t, 512> block{};
  for (std::uint8_t& each : block) each = static_cast<std::uint8_t>(random() % classes);
  for_each_cell(field.view().padded(), [&](Int3 c) {
    const Index at = (c.x + 2) / 5 + 8 * ((c.y + 2) / 4) + 64 * ((c.z + 2) / 4);
    field.view()(c) = random() % 40 == 0 ? static_cast<std::uint8_t>(random() % classes)
                                         : block[static_cast<std::size_t>(at) % 512];
  });
  return field;
}

template <class T>
struct MaterialTables {
  std::vector<Coefficients<T>> coefficients;
  std::vector<T> conductance, capacity;
  std::vector<double> heat;

  MaterialTables() {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> of(0.1, 1);
    const auto next = [&] { return static_cast<T>(of(random)); };
    for (int i = 0; i < classes; ++i) {
      const T cx = next() / 8, cy = next() / 8, cz = next() / 8;
      coefficients.push_back({1 - 2 * (cx + cy + cz), cx, cy, cz, next()});
      capacity.push_back(4 + next());
      heat.push_back(of(random));
    }
    for (int i = 0; i < 3 * classes * classes; ++i) conductance.push_back(next());
  }
};

template <class T>
T by_hand(const MaterialTables<T>& tables, bool steady, FieldView<const std::uint8_t> of,
          FieldView<const T> in, T s, Int3 c) {
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
  const Coefficients<T>& k = tables.coefficients[static_cast<std::size_t>(own)];
  if (alone) {
    T value = std::fma(k.c0, in(c), k.sigma * s);
    value = std::fma(k.cx, t[0] + t[1], value);
    value = std::fma(k.cy, t[2] + t[3], value);
    return std::fma(k.cz, t[4] + t[5], value);
  }
  const T step = T(0.75) / (steady ? sum : tables.capacity[static_cast<std::size_t>(own)]);
  T change = step * T(1.5) * s;
  for (std::size_t f = 0; f < 6; ++f) change = std::fma(step * g[f], t[f] - in(c), change);
  return in(c) + change;
}

class MaterialsSweep : public OnDevice {
 protected:
  template <class T>
  void expect_formula(const StencilKernel<T>& kernel, Int3 extent, bool steady, bool has_source) {
    const MaterialTables<T> tables;
    const Field<std::uint8_t> of = random_classes(*host_, extent), of_there = to_device(*device_, of);
    const Field<T> in = random_field<T>(*host_, extent, ghosts, 3), in_there = to_device(*device_, in);
    const Field<T> source = random_field<T>(*host_, extent, ghosts, 4),
                   source_there = to_device(*device_, source);
    const Buffer coefficients = buffer_of(*device_, tables.coefficients),
                 heat = buffer_of(*device_, tables.heat),
                 conductance = buffer_of(*device_, tables.conductance),
                 capacity = buffer_of(*device_, tables.capacity);
    const Box region{{-1, 0, 0}, {extent.x, extent.y + 1, extent.z}};
    Field<T> out = to_device(*device_, filled(*host_, extent, ghosts, T(-7)));
    SweepArgs<T> args{in_there.view(), out.view(), region, tables.coefficients[0], {}, {}, {}};
    if (has_source) args.source = source_there.view();
    args.materials = {of_there.view(),
                      classes,
                      coefficients.template as<Coefficients<T>>(),
                      conductance.template as<T>(),
                      steady ? nullptr : capacity.template as<T>(),
                      T(0.75),
                      T(1.5),
                      heat.template as<double>()};
    const Box interior = region.grown(-1).empty() ? Box{} : region.grown(-1);
    for (int tile = 0; tile < std::ssize(kernel.tiles); ++tile) {
      args.region = interior.empty() ? region : interior;
      if (!interior.empty()) kernel.launch(args, {1, tile}, {});
      args.region = region;
      launch_exterior(kernel, args, interior, {1, tile}, {});
      Field<T> expected = filled(*host_, extent, ghosts, T(-7));
      for_each_cell(region, [&](Int3 c) {
        expected.view()(c) =
            by_hand<T>(tables, steady, of.view(), in.view(), has_source ? source.view()(c) : T(0), c);
      });
      expect_same_there(*device_, expected, out);
    }
    LongAccumulator sum{};
    for_each_cell({{0, 0, 0}, extent},
                  [&](Int3 c) { sum.add(tables.heat[of.view()(c)] * double{in.view()(c)}); });
    const Buffer result = buffer_of<LongAccumulator>(*device_, {LongAccumulator{}});
    field_reductions<T>(kernel.backend)
        .heat_sum({in_there.view(), args.materials}, result.template as<LongAccumulator>(), {});
    EXPECT_EQ(fetched<LongAccumulator>(*device_, result.data()).rounded(), sum.rounded());
  }
};

TEST_P(MaterialsSweep, gives_the_bits_of_the_formula) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const StencilKernel<T> kernel = kernel_of(GetParam(), stencil_kernels<T>);
    for (const Int3 extent : {Int3{1, 1, 1}, Int3{37, 9, 7}, Int3{70, 5, 6}})
      for (const bool steady : {false, true})
        for (const bool has_source : {false, true}) expect_formula<T>(kernel, extent, steady, has_source);
  });
}

std::vector<NamedBackend> able_kernels() {
  std::vector<NamedBackend> able;
  for (const StencilKernel<double>& kernel : stencil_kernels<double>())
    if (kernel.sweeps_materials) able.push_back({kernel.name, kernel.backend});
  return able;
}

ON_EACH_BACKEND(MaterialsSweep, cases_of(able_kernels(), backend));

}  // namespace
}  // namespace isotherm::test
