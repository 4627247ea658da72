#include "physics/diagnostics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/device.hpp"
#include "grid/field.hpp"

namespace isotherm {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
TemperatureExtremes extremes_of(const FieldView<T>& field, Box box, Int3 cells) {
  FieldView<const T> part = field;
  part.origin = &field(box.lo);
  part.extent = box.extent();
  return temperature_extremes<T>(part, box.lo, cells);
}

// Few different values, so that most are found in several cells: the first counts, whatever the parts.
template <class T>
void expect_first_of_equals(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Int3 n{11, 7, 5};
  const auto host = make_host_device();
  Field<T> field(*host, n, 1);
  TemperatureExtremes expected;
  Index number = 0;
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      for (Index x = 0; x < n.x; ++x, ++number) {
        const auto drawn = static_cast<double>(random() % 40);
        const double value = drawn == 39 ? nan : 300 + drawn;
        field.view()(x, y, z) = static_cast<T>(value);
        expected.nan_cells += std::isnan(value);
        if (value < expected.lowest.value) expected.lowest = {value, number};
        if (value > expected.highest.value) expected.highest = {value, number};
      }
    }
  }
  const auto expect_the_same = [&](const TemperatureExtremes& found) {
    EXPECT_EQ(found.lowest.value, expected.lowest.value);
    EXPECT_EQ(found.lowest.number, expected.lowest.number);
    EXPECT_EQ(found.highest.value, expected.highest.value);
    EXPECT_EQ(found.highest.number, expected.highest.number);
    EXPECT_EQ(found.nan_cells, expected.nan_cells);
  };
  expect_the_same(extremes_of(field.view(), {{0, 0, 0}, n}, n));
  TemperatureExtremes joined;  // parts in the wrong order
  for (const Box box :
       {Box{{4, 3, 0}, n}, Box{{0, 3, 0}, {4, 7, 5}}, Box{{0, 0, 0}, {11, 3, 5}}, Box{{0, 0, 0}, {0, 3, 5}}})
    joined.add(extremes_of(field.view(), box, n));
  expect_the_same(joined);
}

TEST(TemperatureExtremes, AreTheFirstOfEquals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    expect_first_of_equals<double>(seed);
    expect_first_of_equals<float>(seed);
  }
}

TEST(TemperatureExtremes, OfNothingButNanThereAreNone) {
  const Int3 n{2, 2, 1};
  const auto host = make_host_device();
  Field<double> field(*host, n, 1);
  for (Index y = 0; y < 2; ++y)
    for (Index x = 0; x < 2; ++x) field.view()(x, y, 0) = nan;
  TemperatureExtremes found = extremes_of(field.view(), {{0, 0, 0}, n}, n);
  EXPECT_FALSE(found.any());
  EXPECT_EQ(found.nan_cells, 4);
  field.view()(1, 1, 0) = -std::numeric_limits<double>::infinity();
  found = extremes_of(field.view(), {{0, 0, 0}, n}, n);
  EXPECT_EQ(found.highest.value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.highest.cell(n), (Int3{1, 1, 0}));
  EXPECT_EQ(found.lowest.number, 3);
}

}  // namespace
}  // namespace isotherm
