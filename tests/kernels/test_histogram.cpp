// Histogram rows: counts by the edges themselves, the same from every row; NaN and infinities are never lost.
#include "kernels/histogram.hpp"

#include <cmath>
#include <numeric>

#include "support.hpp"

namespace isotherm::test {
namespace {

using Counts = std::vector<std::uint64_t>;

// Looks at every edge; knows nothing of Bins::slot.
template <class T>
Counts expected(const Field<T>& field, Box region, const Bins& bins) {
  Counts counts(static_cast<std::size_t>(bins.count) + 3, 0);
  for (Index z = region.lo.z; z < region.hi.z; ++z) {
    for (Index y = region.lo.y; y < region.hi.y; ++y) {
      for (Index x = region.lo.x; x < region.hi.x; ++x) {
        const double value = field.view()(x, y, z);
        std::size_t slot = 0;
        if (std::isnan(value)) {
          slot = counts.size() - 1;
        } else if (value > bins.high) {
          slot = counts.size() - 2;
        } else if (value == bins.high) {
          slot = static_cast<std::size_t>(bins.count);
        } else {
          while (slot < static_cast<std::size_t>(bins.count) && value >= bins.edge(static_cast<int>(slot)))
            ++slot;
        }
        ++counts[slot];
      }
    }
  }
  return counts;
}

class HistogramRow : public testing::TestWithParam<RowCase> {
 protected:
  void SetUp() override {
    device_ = device_of(GetParam().backend);
    if (!device_) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
    host_ = make_host_of(*device_);
  }
  template <class T>
  Counts count(const Field<T>& field, Box region, const Bins& bins) {
    const Field<T> there = to_device(*device_, field);
    const std::size_t bytes = static_cast<std::size_t>(bins.slots()) * sizeof(std::uint64_t);
    const Buffer buffer(*device_, bytes);
    Counts counts(static_cast<std::size_t>(bins.slots()), 77);
    device_->copy(buffer.data(), counts.data(), bytes, {});  // what was there before does not count
    row_of(GetParam(), histogram_kernels<T>)
        .launch({there.view(), region, bins, buffer.as<std::uint64_t>()}, {});
    device_->copy(counts.data(), buffer.data(), bytes, {});
    device_->synchronize(Stream{});
    return counts;
  }
  std::unique_ptr<Device> device_, host_;
};

TEST_P(HistogramRow, CountsRandomCellsOfAnyShape) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    std::vector<Int3> all = shapes;
    for (const Int3& more : {Int3{1023, 3, 2}, Int3{1025, 2, 3}, Int3{2100, 1, 1}}) all.push_back(more);
    for (const Int3& shape : all) {
      const Field<T> field = random_field<T>(*host_, shape, 1, 5);
      const Box whole{{0, 0, 0}, shape}, part{{shape.x / 4, shape.y / 3, shape.z / 2}, shape};
      for (const int bins : {1, 2, 7, 64, 4096}) {
        SCOPED_TRACE(fmt::format("{} {} bins", text(shape), bins));
        const Bins narrow = Bins::of(-0.3, 0.7, bins);
        EXPECT_EQ(count(field, whole, narrow), expected(field, whole, narrow));
        EXPECT_EQ(count(field, part, narrow), expected(field, part, narrow));
      }
    }
  });
}

// Values on edges, beside edges, beyond all of them, and none.
TEST_P(HistogramRow, PutsEdgesNaNAndInfinitiesWhereTheyBelong) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    constexpr T infinity = std::numeric_limits<T>::infinity();
    for (const Bins& bins : {Bins::of(0, 10, 10), Bins::of(0.1, 0.7, 6), Bins::of(-1e9, 1e9, 999),
                             Bins::of(293.15, 293.35, 4096), Bins::of(1e-30, 3e-30, 3)}) {
      std::vector<T> values{std::numeric_limits<T>::quiet_NaN(),
                            -std::numeric_limits<T>::quiet_NaN(),
                            infinity,
                            -infinity,
                            std::numeric_limits<T>::max(),
                            T(-0.0)};
      for (int i = 0; i <= bins.count; ++i) {
        const T edge = static_cast<T>(bins.edge(i));
        for (const T value : {edge, std::nextafter(edge, infinity), std::nextafter(edge, -infinity)}) {
          values.push_back(value);
        }
      }
      Field<T> field = filled(*host_, {static_cast<Index>(values.size()), 1, 1}, 1, T(1));
      for (std::size_t i = 0; i < values.size(); ++i) field.view()(static_cast<Index>(i), 0, 0) = values[i];
      const Counts found = count(field, field.view().interior(), bins);
      EXPECT_EQ(found, expected(field, field.view().interior(), bins)) << bins.low << " to " << bins.high;
      EXPECT_EQ(found.back(), 2u);
      EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::uint64_t{0}), values.size());
    }
  });
}

// All cells in one bin: every addition goes to one place.
TEST_P(HistogramRow, CountsAllCellsOfOneTemperature) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const Field<T> field = filled(*host_, {130, 37, 41}, 1, T(300));
    const Counts found = count(field, field.view().interior(), Bins::of(299.5, 300.5, 64));
    EXPECT_EQ(found[33], 130u * 37 * 41);  // the edge in the middle belongs to the bin above it
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::uint64_t{0}), 130u * 37 * 41);
  });
}

TEST_P(HistogramRow, CountsNothingInAnEmptyRegion) {
  const Field<double> field = filled(*host_, {4, 4, 4}, 1, 0.5);
  if (GetParam().precision == "fp32") return;
  EXPECT_EQ(count(field, {{2, 2, 2}, {2, 4, 4}}, Bins::of(0, 1, 3)), Counts(6, 0));
}

INSTANTIATE_TEST_SUITE_P(Host, HistogramRow,
                         testing::ValuesIn(cases_of(histogram_kernels<double>(), Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, HistogramRow,
                         testing::ValuesIn(cases_of(histogram_kernels<double>(), Backend::cuda)), label_of);

}  // namespace
}  // namespace isotherm::test
