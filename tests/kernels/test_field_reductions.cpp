// Reductions over all cells of a field: extremes, jumps across boundaries, histograms, fingerprints.
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>

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
  static double jump_of(T a, T b, T cell) {
    return static_cast<double>(boundary_ghost(a, b, cell)) - static_cast<double>(cell);
  }
  // The result that launch(result) stores.
  template <class Part, class Launch>
  Part fetch(const Launch& launch) {
    const Buffer result(*device_, sizeof(Part));
    launch(result.template as<Part>());
    return fetched<Part>(*device_, result.data());
  }
  template <class T>
  Extremes extremes(const FieldReductions<T>& of, const Field<T>& there) {
    const Buffer scratch(*device_, of.scratch_bytes);
    return fetch<Extremes>([&](Extremes* r) { of.extremes({there.view(), {}}, r, scratch.data(), {}); });
  }
  template <class T>
  LongAccumulator jump_sum(const FieldReductions<T>& of, const BoundaryJump<T>& jump) {
    return fetch<LongAccumulator>([&](LongAccumulator* r) { of.jump_sum(jump, r, {}); });
  }
};

TEST_P(Survey, FindsTheExtremesOfTheInteriorCells) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const FieldReductions<T> of = functions(FieldReductions<T>::on);
    for (const Int3& shape : shapes) {
      SCOPED_TRACE(text(shape));
      const Field<T> field = random_field<T>(*host_, shape, 1, 6), there = to_device(*device_, field);
      Extremes expected = Extremes::none();
      for_each_cell(shape, [&](Int3 c) {
        expected.min = std::min(expected.min, static_cast<double>(field.view()(c)));
        expected.max = std::max(expected.max, static_cast<double>(field.view()(c)));
      });
      const Extremes e = extremes(of, there);
      EXPECT_EQ(e.min, expected.min);
      EXPECT_EQ(e.max, expected.max);
      EXPECT_EQ(e.nans, 0);
    }
  });
}

TEST_P(Survey, CountsNaNAndLooksPastIt) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const FieldReductions<T> of = functions(FieldReductions<T>::on);
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    Field<T> field = filled(*host_, {21, 5, 3}, 1, nan);  // ghosts and padding must be ignored
    const auto look = [&] { return extremes(of, to_device(*device_, field)); };
    Extremes e = look();
    EXPECT_EQ(e.nans, 21 * 5 * 3);
    EXPECT_GT(e.min, e.max);
    field.view()(20, 4, 2) = T(-7);
    field.view()(0, 0, 0) = std::numeric_limits<T>::infinity();
    e = look();
    EXPECT_EQ(e.nans, 21 * 5 * 3 - 2);
    EXPECT_EQ(e.min, -7);
    EXPECT_EQ(e.max, std::numeric_limits<double>::infinity());
  });
}

// The reference uses the ghosts that a sweep would read.
TEST_P(Survey, JumpsAcrossEachWallAreGhostLessCell) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const FieldReductions<T> of = functions(FieldReductions<T>::on);
    for (const Int3& shape : {Int3{17, 9, 13}, Int3{1, 6, 5}, Int3{300, 2, 40}}) {
      const Field<T> field = random_field<T>(*host_, shape, 1, 7), there = to_device(*device_, field);
      std::vector<T> b;
      for (int i = 0; i < 302 * 302; ++i) b.push_back(static_cast<T>(std::sin(0.1 * i)));
      const Buffer b_there = copied_to(*device_, b);
      for (int f = 0; f < face_count; ++f) {
        SCOPED_TRACE(fmt::format("{} {}", text(shape), face_names[f]));
        Boundary<T> boundary{true, T(0.25), T(0), b.data() + 303, 302};
        const BoundaryJump<T> jump{field.view(), boundary, f};
        LongAccumulator expected{};
        const int axis = f / 2;
        Box cells{{0, 0, 0}, shape};
        cells.lo[axis] = f % 2 ? shape[axis] - 1 : 0;
        cells.hi[axis] = cells.lo[axis] + 1;
        for_each_cell(cells, [&](Int3 c) {
          const T b_here = axis == 0   ? boundary.b_at(c.y, c.z)
                           : axis == 1 ? boundary.b_at(c.x, c.z)
                                       : boundary.b_at(c.x, c.y);
          expected.add(jump_of(boundary.a, b_here, field.view()(c)));
        });
        BoundaryJump<T> jump_there = jump;
        jump_there.field = there.view();
        jump_there.boundary.b_field = b_there.template as<T>() + 303;
        expected.normalise();
        EXPECT_TRUE(same_bits(jump_sum(of, jump_there), expected));
      }
    }
  });
}

// Cells beyond the boundary are ignored. Jumps that are not finite are counted, not added. The last boundary
// has cells for several threads and thread blocks.
TEST_P(Survey, JumpsThatAreNoNumbersAreCounted) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const FieldReductions<T> of = functions(FieldReductions<T>::on);
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    for (const Int3& shape : {Int3{3, 4, 5}, Int3{2, 199, 173}}) {
      Field<T> field = filled(*host_, shape, 1, nan);
      const Index far = shape.x - 1;
      const Box wall{{far, 0, 0}, shape};
      for_each_cell(wall, [&](Int3 c) { field.view()(c) = T(1 + 1e-7 * double(c.y)); });
      field.view()(far, 0, 0) = infinity;
      field.view()(far, 1, 2) = -infinity;
      field.view()(far, 2, 2) = -infinity;
      field.view()(far, 3, 4) = nan;
      const Field<T> there = to_device(*device_, field);
      const Boundary<T> boundary{true, T(-1), T(3), nullptr, 0};  // the jump is 3 - 2 T
      const LongAccumulator found = jump_sum<T>(of, {there.view(), boundary, 1});
      EXPECT_EQ(found.word[LongAccumulator::nans], 1);
      EXPECT_EQ(found.word[LongAccumulator::infinities], 2);
      EXPECT_EQ(found.word[LongAccumulator::negative_infinities], 1);
      LongAccumulator expected{};
      for_each_cell(wall, [&](Int3 c) { expected.add(jump_of(boundary.a, boundary.b[0], field.view()(c))); });
      expected.normalise();
      EXPECT_TRUE(same_bits(found, expected));
    }
  });
}

ON_EACH_BACKEND(Survey, backend_cases(backend));

// Histogram kernels: each counts by the edges, and all agree; NaN and infinities are never lost.

using Counts = std::vector<std::uint64_t>;

// Compares with every edge; does not use Bins::slot.
template <class T>
Counts expected(const Field<T>& field, Box region, const Bins& bins) {
  Counts counts(static_cast<std::size_t>(bins.count) + 3, 0);
  for_each_cell(region, [&](Int3 c) {
    const double value = field.view()(c);
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
  });
  return counts;
}

class HistogramVariant : public OnDevice {
 protected:
  template <class T>
  Counts count(const Field<T>& field, Box region, const Bins& bins) {
    const Field<T> there = to_device(*device_, field);
    Counts counts(static_cast<std::size_t>(bins.slots()), 77);  // previous contents must be ignored
    const Buffer buffer = copied_to(*device_, counts);
    kernel_of(GetParam(), histogram_kernels<T>)
        .launch({there.view(), region, bins, buffer.as<std::uint64_t>()}, {});
    device_->copy(counts.data(), buffer.data(), buffer.bytes(), {});
    device_->synchronize(Stream{});
    return counts;
  }
};

TEST_P(HistogramVariant, CountsRandomCellsOfAnyShape) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    std::vector<Int3> all = shapes;
    for (const Int3& more : {Int3{1023, 3, 2}, Int3{1025, 2, 3}, Int3{2100, 1, 1}}) all.push_back(more);
    for (const Int3& shape : all) {
      const Field<T> field = random_field<T>(*host_, shape, 1, 5);
      const Box whole{{0, 0, 0}, shape}, part{{shape.x / 4, shape.y / 3, shape.z / 2}, shape};
      for (const int bins : {1, 7, 4096}) {
        SCOPED_TRACE(fmt::format("{} {} bins", text(shape), bins));
        const Bins narrow = Bins::of(-0.3, 0.7, bins);
        EXPECT_EQ(count(field, whole, narrow), expected(field, whole, narrow));
        EXPECT_EQ(count(field, part, narrow), expected(field, part, narrow));
      }
    }
  });
}

// Values on edges, next to edges, beyond all of them, and NaN.
TEST_P(HistogramVariant, PutsEdgesNaNAndInfinitiesWhereTheyBelong) {
  for_precision(GetParam().precision, [&]<class T>(T) {
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
TEST_P(HistogramVariant, CountsAllCellsOfOneTemperature) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Field<T> field = filled(*host_, {130, 37, 41}, 1, T(300));
    const Counts found = count(field, field.view().interior(), Bins::of(299.5, 300.5, 64));
    EXPECT_EQ(found[33], 130u * 37 * 41);  // the edge in the middle belongs to the bin above it
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::uint64_t{0}), 130u * 37 * 41);
    EXPECT_EQ(count(field, {{2, 2, 2}, {2, 4, 4}}, Bins::of(0, 1, 3)), Counts(6, 0));  // an empty region
  });
}

ON_EACH_BACKEND(HistogramVariant, cases_of(histogram_kernels<double>(), backend));

// The fingerprint changes with any swap of unequal cells and any flipped bit, but with no decomposition. The
// files of faults/test_fixtures.py and support/runs.py hold its values, which must not drift.

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

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

TYPED_TEST(FingerprintOf, ChangesWithEveryBitOfACell) {
  using T = TypeParam;
  Field<T> field = this->any_field();
  const std::uint64_t before = this->of(field);
  for (int trial = 0; trial < 50; ++trial) {
    T& cell = field.view()(this->any_cell());
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {
      const T kept = cell;
      cell = std::bit_cast<T>(std::bit_cast<Bits<T>>(cell) ^ (Bits<T>(1) << bit));
      ASSERT_NE(this->of(field), before) << "bit " << bit;
      cell = kept;
    }
  }
  EXPECT_EQ(this->of(field), before);
}

TYPED_TEST(FingerprintOf, ChangesWithEverySwapOfUnequalCells) {
  using T = TypeParam;
  Field<T> field = this->any_field();
  const std::uint64_t before = this->of(field);
  for (int trial = 0; trial < 2000; ++trial) {
    T& a = field.view()(this->any_cell());
    T& b = field.view()(this->any_cell());
    if (same_bits(a, b)) continue;
    std::swap(a, b);
    ASSERT_NE(this->of(field), before);
    std::swap(a, b);
  }
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
