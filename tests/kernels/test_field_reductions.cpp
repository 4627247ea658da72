// Reductions over all cells of a field: extremes, jumps across boundaries, histograms, fingerprints.
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/field_reductions.hpp"
#include "kernels/fingerprint.hpp"
#include "kernels/histogram.hpp"
#include "support.hpp"
#include "support/repeat.hpp"

namespace isotherm::test {
namespace {

class Survey : public OnDevice {
 protected:
  template <class T>
  void expect_extremes(const Field<T>& field) {
    Extremes expected = Extremes::none();
    for_each_cell(field.view().interior(), [&](Int3 c) {
      const double value = field.view()(c);
      if (std::isnan(value)) ++expected.nans;
      if (value < expected.min) expected.min = value;
      if (value > expected.max) expected.max = value;
    });
    const FieldReductions<T> of = functions(FieldReductions<T>::on);
    const Field<T> there = to_device(*device_, field);
    const Buffer scratch(*device_, of.scratch_bytes), result(*device_, sizeof(Extremes));
    of.extremes({there.view(), {}}, result.template as<Extremes>(), scratch.data(), {});
    const auto found = fetched_value<Extremes>(*device_, result);
    EXPECT_EQ(found.min, expected.min);
    EXPECT_EQ(found.max, expected.max);
    EXPECT_EQ(found.nans, expected.nans);
  }
  // On every face, with a field of b on the lower ones. The reference uses the ghosts that a sweep would
  // read.
  template <class T>
  void expect_jumps(Field<T> field) {
    const Field<T> field_there = to_device(*device_, field);
    const Box cells = field.view().interior();
    const BoundedBlock<T> here(*host_, cells.hi, 1), there(*device_, cells.hi, 1);
    here.fill_ghosts(field.view(), {true, true, true});
    for (int f = 0; f < face_count; ++f) {
      SCOPED_TRACE(fmt::format("{} {}", text(cells.hi), face_names[f]));
      LongAccumulator expected{};
      for_each_cell(layer_at(static_cast<Face>(f), cells), [&](Int3 cell) {
        Int3 ghost = cell;
        ghost[f / 2] += f % 2 == 1 ? 1 : -1;
        expected.add(static_cast<double>(field.view()(ghost)) - static_cast<double>(field.view()(cell)));
      });
      expected.normalise();
      const Buffer result(*device_, sizeof(LongAccumulator));
      functions(FieldReductions<T>::on)
          .jump_sum({field_there.view(), there.boundaries.faces[f], f}, result.template as<LongAccumulator>(),
                    {});
      EXPECT_TRUE(same_bits(fetched_value<LongAccumulator>(*device_, result), expected));
    }
  }
};

TEST_P(Survey, FindsTheExtremesOfTheInteriorCellsAndCountsNaN) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const Int3& shape : shapes) {
      SCOPED_TRACE(text(shape));
      expect_extremes(random_field<T>(*host_, shape, 1, 6));
    }
    Field<T> field = filled(*host_, {21, 5, 3}, 1, std::numeric_limits<T>::quiet_NaN());
    expect_extremes(field);
    field.view()(20, 4, 2) = T(-7);
    field.view()(0, 0, 0) = std::numeric_limits<T>::infinity();
    expect_extremes(field);
  });
}

TEST_P(Survey, JumpsAcrossEachWallAreGhostLessCell) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const Int3& shape : {Int3{17, 9, 13}, Int3{1, 6, 5}, Int3{300, 2, 40}})
      expect_jumps(random_field<T>(*host_, shape, 1, 7));
  });
}

// Cells beyond the boundary are ignored. Jumps that are not finite are counted, not added. The last boundary
// has cells for several threads and thread blocks.
TEST_P(Survey, JumpsThatAreNoNumbersAreCounted) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    for (const Int3& shape : {Int3{4, 5, 3}, Int3{199, 173, 2}}) {
      Field<T> field = filled(*host_, shape, 1, nan);
      const Index far = shape.z - 1;  // across z_max a ghost has another sign than its cell
      for_each_cell({{0, 0, far}, shape}, [&](Int3 c) { field.view()(c) = T(1 + 1e-7 * double(c.y)); });
      field.view()(0, 0, far) = infinity;
      field.view()(1, 2, far) = -infinity;
      field.view()(2, 2, far) = -infinity;
      field.view()(3, 4, far) = nan;
      expect_jumps(std::move(field));
    }
  });
}

ON_EACH_BACKEND(Survey, backend_cases(backend));

// Histogram kernels: each counts by the edges, and all agree; NaN and infinities are never lost.

class HistogramVariant : public OnDevice {
 protected:
  // The reference compares with every edge; it does not use Bins::slot.
  template <class T>
  void expect_counts(const Field<T>& field, Box region, const Bins& bins) {
    SCOPED_TRACE(fmt::format("{} bins from {} to {} of {}", bins.count, bins.low, bins.high, text(region)));
    std::vector<std::uint64_t> expected(static_cast<std::size_t>(bins.count) + 3, 0);
    for_each_cell(region, [&](Int3 c) {
      const double value = field.view()(c);
      std::size_t slot = 0;
      if (std::isnan(value)) {
        slot = expected.size() - 1;
      } else if (value > bins.high) {
        slot = expected.size() - 2;
      } else if (value == bins.high) {
        slot = static_cast<std::size_t>(bins.count);
      } else {
        while (slot < static_cast<std::size_t>(bins.count) && value >= bins.edge(static_cast<int>(slot)))
          ++slot;
      }
      ++expected[slot];
    });
    const Field<T> there = to_device(*device_, field);
    // Previous contents must be ignored.
    const Buffer counts = copied_to(*device_, std::vector<std::uint64_t>(expected.size(), 77));
    kernel_of(GetParam(), histogram_kernels<T>)
        .launch({there.view(), region, bins, counts.template as<std::uint64_t>()}, {});
    EXPECT_EQ(fetched<std::uint64_t>(*device_, counts), expected);
  }
};

TEST_P(HistogramVariant, CountsRandomCellsOfAnyShape) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    std::vector<Int3> all = shapes;
    for (const Int3& more : {Int3{1023, 3, 2}, Int3{1025, 2, 3}, Int3{2100, 1, 1}}) all.push_back(more);
    for (const Int3& shape : all) {
      const Field<T> field = random_field<T>(*host_, shape, 1, 5);
      for (const int bins : {1, 7, 4096}) {
        for (const Int3 from : {Int3{0, 0, 0}, Int3{shape.x / 4, shape.y / 3, shape.z / 2}})
          expect_counts(field, {from, shape}, Bins::of(-0.3, 0.7, bins));
      }
    }
  });
}

// Values on edges, next to edges, beyond all of them, and NaN.
TEST_P(HistogramVariant, PutsEdgesNaNAndInfinitiesWhereTheyBelong) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    for (const Bins& bins : {Bins::of(0, 10, 10), Bins::of(0.1, 0.7, 6), Bins::of(-1e9, 1e9, 999),
                             Bins::of(293.15, 293.35, 4096), Bins::of(1e-30, 3e-30, 3)}) {
      std::vector<T> values{nan, -nan, infinity, -infinity, std::numeric_limits<T>::max(), T(-0.0)};
      for (int i = 0; i <= bins.count; ++i) {
        const T edge = static_cast<T>(bins.edge(i));
        for (const T value : {edge, std::nextafter(edge, infinity), std::nextafter(edge, -infinity)})
          values.push_back(value);
      }
      Field<T> field = filled(*host_, {static_cast<Index>(values.size()), 1, 1}, 1, T(1));
      std::ranges::copy(values, &field.view()(0, 0, 0));
      expect_counts(field, field.view().interior(), bins);
    }
  });
}

// All cells in one bin: every addition goes to one place. The edge in the middle belongs to the bin above it.
TEST_P(HistogramVariant, CountsAllCellsOfOneTemperature) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Field<T> field = filled(*host_, {130, 37, 41}, 1, T(300));
    for (const Box region : {field.view().interior(), Box{{2, 2, 2}, {2, 4, 4}}})  // the latter is empty
      expect_counts(field, region, Bins::of(299.5, 300.5, 64));
  });
}

ON_EACH_BACKEND(HistogramVariant, cases_of(histogram_kernels<double>(), backend));

// The fingerprint changes with any swap of unequal cells and any flipped bit, but with no decomposition. The
// files of faults/test_fixtures.py and support/runs.py hold its values, which must not drift.

template <class T>
class FingerprintOf : public testing::Test {
 protected:
  std::uint64_t of(const Field<T>& field) const { return fingerprint<T>(field.view(), {0, 0, 0}, shape_); }

  const Int3 shape_{19, 7, 11};
  const std::unique_ptr<Device> host_ = make_host_device();
  Random random_;
  Field<T> any_field() { return random_field<T>(*host_, shape_, 1, random_()); }
  Int3 any_cell() {
    const auto below = [&](Index end) { return random_.between<Index>(0, end - 1); };
    return {below(shape_.x), below(shape_.y), below(shape_.z)};
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(FingerprintOf, Precisions);

TYPED_TEST(FingerprintOf, ChangesWithEveryBitAndEverySwapOfUnequalCells) {
  using T = TypeParam;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Field<T> field = this->any_field();
  const std::uint64_t before = this->of(field);
  for (int trial = 0; trial < 50; ++trial) {
    T& cell = field.view()(this->any_cell());
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {
      const T kept = cell;
      cell = std::bit_cast<T>(std::bit_cast<Bits>(cell) ^ (Bits(1) << bit));
      ASSERT_NE(this->of(field), before) << "bit " << bit;
      cell = kept;
    }
  }
  for (int trial = 0; trial < 2000; ++trial) {
    T& a = field.view()(this->any_cell());
    T& b = field.view()(this->any_cell());
    if (same_bits(a, b)) continue;
    std::swap(a, b);
    ASSERT_NE(this->of(field), before);
    std::swap(a, b);
  }
  EXPECT_EQ(this->of(field), before);
}

TYPED_TEST(FingerprintOf, AddsUpOverAnySplit) {
  using T = TypeParam;
  const Int3 n = this->shape_;
  const Field<T> whole = this->any_field();
  for (int trial = 0; trial < 20; ++trial) {
    const Int3 cut = this->any_cell();
    std::uint64_t sum = 0;
    for (int part = 0; part < 8; ++part) {
      Box box;
      for (int axis = 0; axis < 3; ++axis) {
        const bool upper = part >> axis & 1;
        box.lo[axis] = upper ? cut[axis] : 0;
        box.hi[axis] = upper ? n[axis] : cut[axis];
      }
      if (box.empty()) continue;
      Field<T> block = filled(*this->host_, box.extent(), 2, T(77));
      for_each_cell(box.extent(), [&](Int3 c) { block.view()(c) = whole.view()(c + box.lo); });
      sum += fingerprint<T>(std::as_const(block).view(), box.lo, n);
    }
    ASSERT_EQ(sum, this->of(whole)) << "cut at " << text(cut);
  }
}

TYPED_TEST(FingerprintOf, IsTheSameForEveryInstructionSet) {
  using T = TypeParam;
  const Field<T> field = this->any_field();
  for (InstructionSet set : instruction_sets()) {
    host::for_instruction_set(set, [&](auto isa) {
      EXPECT_EQ((host::fingerprint<decltype(isa), T>(field.view(), {0, 0, 0}, this->shape_)),
                this->of(field));
    });
  }
}

}  // namespace
}  // namespace isotherm::test
