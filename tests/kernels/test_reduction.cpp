// Reductions over all cells of a field: reduction kernels, which are exact on small integers and close to
// long double elsewhere; extremes, jumps across boundaries, histograms, fingerprints; the exact sum.
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/field_reductions.hpp"
#include "kernels/fingerprint.hpp"
#include "kernels/histogram.hpp"
#include "kernels/long_accumulator.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

// The kernel's result for `a`, or for a - b; both are in host memory. `words`: receives the exact sum, before
// it is rounded.
template <class T>
double reduce(const ReductionKernel<T>& kernel, Device& device, ReductionOp op, const Field<T>& a,
              const Field<T>* b, Box region, LongAccumulator* words = nullptr) {
  const Field<T> a_there = to_device(device, a);
  std::optional<Field<T>> b_there;
  if (b) b_there = to_device(device, *b);
  const Buffer scratch(device, kernel.scratch_bytes(region)), result(device, sizeof(double)),
      unrounded(device, sizeof(LongAccumulator));
  FieldView<const T> none;
  kernel.launch(
      {a_there.view(), b ? std::as_const(*b_there).view() : none, region, op, result.template as<double>(),
       scratch.data(), words ? unrounded.template as<LongAccumulator>() : nullptr},
      {});
  if (words) *words = fetched_value<LongAccumulator>(device, unrounded);
  return fetched_value<double>(device, result);
}

template <class T>
double difference(const Field<T>& a, const Field<T>* b, Int3 c) {
  return b ? double(a.view()(c)) - double(b->view()(c)) : double(a.view()(c));
}

template <class T>
long double expected(ReductionOp op, const Field<T>& a, const Field<T>* b, Box region) {
  long double total = 0;
  for_each_cell(region, [&](Int3 c) {
    const double d = difference(a, b, c);
    const long double m = std::fabs(static_cast<long double>(d));
    total = op == ReductionOp::max_abs       ? std::max(total, m)
            : op == ReductionOp::sum_abs     ? total + m
            : op == ReductionOp::sum_squares ? total + m * m
                                             : total + d;
  });
  return total;
}

class ReductionVariant : public OnDevice {};

// Ghosts and padding are NaN. Two regions are empty, one by bounds in the wrong order.
TEST_P(ReductionVariant, IsExactOnSmallIntegersOfAnyShape) {
  Random random;
  for_precision(GetParam().precision, [&]<class T>(T) {
    const ReductionKernel<T> kernel = kernel_of(GetParam(), reduction_kernels<T>);
    std::vector<Int3> all = shapes;
    for (Index n : {2, 3, 7, 8, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 9000}) {
      all.push_back({n, 1, 1});
    }
    for (Int3 shape : all) {
      SCOPED_TRACE(text(shape));
      constexpr T nan = std::numeric_limits<T>::quiet_NaN();
      Field<T> a = filled(*host_, shape, 1, nan), b = filled(*host_, shape, 1, nan);
      const Box whole{{0, 0, 0}, shape};
      for (Field<T>* const field : {&a, &b})
        for_each_cell(whole, [&](Int3 cell) { field->view()(cell) = T(random.between(-100, 100)); });
      const Box part{{shape.x / 4, shape.y / 3, shape.z / 2}, shape};
      const bool is_row = shape.product() == shape.x && shape.x > 65;
      const Field<T>* const none = nullptr;
      const Box empty{{0, 0, shape.z}, {shape.x, shape.y, shape.z - 1}};
      for (const auto& [other, region] :
           {std::pair{none, whole}, {&std::as_const(b), whole}, {&b, part}, {none, empty}, {none, Box{}}}) {
        for (ReductionOp op : all_ops) {
          const bool is_plain = op == ReductionOp::sum || op == ReductionOp::max_abs;
          if ((is_row && (other || !is_plain)) || (!(region == whole) && !region.empty() && !is_plain))
            continue;
          ASSERT_EQ(reduce(kernel, *device_, op, a, other, region),
                    static_cast<double>(expected(op, a, other, region)))
              << "op " << static_cast<int>(op) << " region " << text(region);
        }
      }
    }
  });
}

// Two runs give the same bits, unless the kernel's sums vary from run to run. The second shape has more
// thread blocks than run at once; an emulated GPU has few.
TEST_P(ReductionVariant, IsCloseToLongDoubleOnRealNumbersTwice) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const ReductionKernel<T> kernel = kernel_of(GetParam(), reduction_kernels<T>);
    const bool slow = is_slow(*device_);
    for (const Int3 shape : {Int3{67, slow ? 15 : 45, 33}, Int3{150, slow ? 20 : 100, 20}}) {
      const Field<T> a = random_field<T>(*host_, shape, 1, 7), b = random_field<T>(*host_, shape, 1, 8);
      const Box region{{1, 0, 0}, shape};
      const long double scale = expected(ReductionOp::sum_abs, a, &b, region);
      for (ReductionOp op : all_ops) {
        if (shape.x == 150 && op != ReductionOp::sum) continue;
        const double found = reduce(kernel, *device_, op, a, &b, region);
        const long double exact = expected(op, a, &b, region);
        // Each of n additions rounds by at most half an ulp of the total of magnitudes; they err both ways,
        // so a hundredth of that bound is generous.
        const long double bound =
            0.01L * static_cast<long double>(region.cells()) * std::numeric_limits<double>::epsilon() * scale;
        EXPECT_LE(std::fabs(found - exact), op == ReductionOp::max_abs ? 0 : bound) << static_cast<int>(op);
        if (op == ReductionOp::sum_abs || (kernel.sum_bits == SumBits::vary && op != ReductionOp::max_abs))
          continue;
        EXPECT_TRUE(same_bits(found, reduce(kernel, *device_, op, a, &b, region))) << static_cast<int>(op);
      }
    }
  });
}

// With each operation in turn.
TEST_P(ReductionVariant, FindsNaNAndTheLargestMagnitudeWhereverTheyAre) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const auto kernel = kernel_of(GetParam(), reduction_kernels<T>);
    const Box whole{{0, 0, 0}, {35, 3, 2}};
    for_each_cell(whole, [&, i = 0](Int3 cell) mutable {
      SCOPED_TRACE("cell " + text(cell));
      Field<T> a = random_field<T>(*host_, whole.hi, 1, 10);
      a.view()(cell) = T(-3);
      EXPECT_EQ(reduce<T>(kernel, *device_, ReductionOp::max_abs, a, nullptr, whole), 3.0);
      a.view()(cell) = std::numeric_limits<T>::quiet_NaN();
      EXPECT_TRUE(std::isnan(reduce<T>(kernel, *device_, all_ops[i++ % 4], a, nullptr, whole)));
    });
  });
}

// FusedNorm tests `fused` with the sweeps.
ON_EACH_BACKEND(ReductionVariant, cases_of(reduction_kernels<double>(), backend,
                                           [](const auto& kernel) { return !kernel.fused; }));

TEST(ReductionOfTheHost, HasTheSameBitsForAnyThreadsAndInstructionSet) {
  const auto host = make_host_device();
  const Field<double> a = random_field<double>(*host, {97, 61, 53}, 1, 11);
  const Field<double> b = random_field<double>(*host, {97, 61, 53}, 1, 12);
  for (const std::string_view name : {"openmp", "reproducible"}) {
    for (ReductionOp op : all_ops) {
      std::vector<double> found;
      on_threads({1, 2, 3, 4, 5}, [&] {
        for (InstructionSet set : instruction_sets())
          found.push_back(reduce(kernel_of({name, "", Backend::host, set}, reduction_kernels<double>), *host,
                                 op, a, &b, {{1, 0, 2}, {96, 61, 53}}));
      });
      for (double value : found) EXPECT_EQ(value, found.front()) << name << " " << static_cast<int>(op);
    }
  }
}

// Kernels whose sums are exact.
class ExactReductionVariant : public ReductionVariant {
 protected:
  // Compares the words of a sum with one addition per cell; the kernel returns the rounded sum.
  template <class T>
  void expect_words(ReductionOp op, const Field<T>& a, const Field<T>* b = nullptr) {
    SCOPED_TRACE(text(a.view().extent) + ", operation " + std::to_string(static_cast<int>(op)));
    const Box region = a.view().interior();
    LongAccumulator found{}, expected{};
    const double value =
        reduce(kernel_of(GetParam(), reduction_kernels<T>), *device_, op, a, b, region, &found);
    for_each_cell(region, [&](Int3 c) {
      const double d = difference(a, b, c);
      expected.add(op == ReductionOp::sum ? d : op == ReductionOp::sum_abs ? std::fabs(d) : d * d);
    });
    expected.normalise();
    EXPECT_TRUE(same_bits(found, expected));
    EXPECT_TRUE(same_bits_or_nan(value, found.rounded()));
  }
};

// Values of every magnitude of T and both signs; many squares are subnormal or infinite.
template <class T>
Field<T> field_of_all_sizes(Device& host, Int3 shape, Random& random) {
  Field<T> field = filled(host, shape, 1, T(0));
  const int digits = std::numeric_limits<T>::digits;
  const int least = std::numeric_limits<T>::min_exponent - digits,
            most = std::numeric_limits<T>::max_exponent;
  std::ranges::generate(elements(field),
                        [&] { return std::ldexp(random.between(T(-1), T(1)), random.between(least, most)); });
  return field;
}

constexpr ReductionOp sums[] = {ReductionOp::sum, ReductionOp::sum_abs, ReductionOp::sum_squares};

TEST_P(ExactReductionVariant, HasTheWordsOfOneAdditionPerCell) {
  Random random;
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (Int3 shape : {Int3{1, 1, 1}, Int3{5000, 2, 1}, Int3{7, 5, 61}, Int3{2048, 1, 1}, Int3{33, 31, 20}}) {
      const Field<T> mild = random_field<T>(*host_, shape, 1, random());
      const Field<T> mild_too = random_field<T>(*host_, shape, 1, random());
      Field<T> wild = field_of_all_sizes<T>(*host_, shape, random);
      for (ReductionOp op : sums) {
        expect_words(op, mild, &mild_too);
        expect_words(op, wild);
        expect_words(op, wild, &mild);
      }
      wild.view()(shape.x / 2, shape.y / 2, shape.z / 2) = std::numeric_limits<T>::infinity();
      wild.view()(0, 0, 0) = -std::numeric_limits<T>::quiet_NaN();
      for (ReductionOp op : sums) expect_words(op, wild);
    }
  });
}

ON_EACH_BACKEND(ExactReductionVariant, cases_of(reduction_kernels<double>(), backend, [](const auto& kernel) {
                  return kernel.sum_bits == SumBits::exact;
                }));

// Extremes of a field and jumps across boundaries.

class FieldReductionsOf : public OnDevice {
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

TEST_P(FieldReductionsOf, FindsTheExtremesOfTheInteriorCellsAndCountsNaN) {
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

TEST_P(FieldReductionsOf, JumpsAcrossEachBoundaryAreGhostMinusCell) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const Int3& shape : {Int3{17, 9, 13}, Int3{1, 6, 5}, Int3{300, 2, 40}})
      expect_jumps(random_field<T>(*host_, shape, 1, 7));
    // Cells beyond the boundary are ignored. Jumps that are not finite are counted, not added. The last
    // boundary has cells for several threads and thread blocks.
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

ON_EACH_BACKEND(FieldReductionsOf, backend_cases(backend));

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

TEST_P(HistogramVariant, CountsRandomCellsOfAnyShapeAndEqualOnes) {
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
    // Every addition goes to one place. The edge in the middle belongs to the bin above it.
    const Field<T> field = filled(*host_, {130, 37, 41}, 1, T(300));
    for (const Box region : {field.view().interior(), Box{{2, 2, 2}, {2, 4, 4}}})  // the latter is empty
      expect_counts(field, region, Bins::of(299.5, 300.5, 64));
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

ON_EACH_BACKEND(HistogramVariant, cases_of(histogram_kernels<double>(), backend));

// The files of faults/test_fixtures.py and support/runs.py hold values of the fingerprint, which must not
// drift. OneAnswer compares it between decompositions.

template <class T>
void expect_every_change_in_the_fingerprint() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto host = make_host_device();
  Random random;
  const Int3 shape{19, 7, 11};
  Field<T> field = random_field<T>(*host, shape, 1, random());
  const auto now = [&] { return fingerprint<T>(std::as_const(field).view(), {0, 0, 0}, shape); };
  const auto any_cell = [&]() -> T& {
    const auto below = [&](Index end) { return random.between<Index>(0, end - 1); };
    return field.view()(below(shape.x), below(shape.y), below(shape.z));
  };
  const std::uint64_t before = now();
  for (int trial = 0; trial < 50; ++trial) {
    T& cell = any_cell();
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {
      const T kept = cell;
      cell = std::bit_cast<T>(std::bit_cast<Bits>(cell) ^ (Bits(1) << bit));
      ASSERT_NE(now(), before) << "bit " << bit;
      cell = kept;
    }
  }
  for (int trial = 0; trial < 2000; ++trial) {
    T &a = any_cell(), &b = any_cell();
    if (same_bits(a, b)) continue;
    std::swap(a, b);
    ASSERT_NE(now(), before);
    std::swap(a, b);
  }
  for (InstructionSet set : instruction_sets())
    host::for_instruction_set(set, [&](auto isa) {
      EXPECT_EQ((host::fingerprint<decltype(isa), T>(std::as_const(field).view(), {0, 0, 0}, shape)), before);
    });
}

TEST(Fingerprint, ChangesWithEveryBitAndEverySwapOnEveryInstructionSet) {
  expect_every_change_in_the_fingerprint<float>();
  expect_every_change_in_the_fingerprint<double>();
}

// The exact sum itself. test_math.cpp compares it with MPFR.

constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

LongAccumulator total(const std::vector<double>& values) {
  LongAccumulator sum{};
  for (const double value : values) sum.add(value);
  sum.normalise();
  return sum;
}
double sum_of(const std::vector<double>& values) { return total(values).rounded(); }

TEST(LongAccumulator, KeepsEveryDouble) {
  Random random;
  std::vector<double> values{0.0, least, 3 * least, largest, 0x1p-1022, 0x1.fffffffffffffp-1023};
  while (values.size() < 20000) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  for (const double value : values) {
    ASSERT_TRUE(same_bits(sum_of({value}), value)) << value;
    ASSERT_TRUE(same_bits(sum_of({value, -value}), 0.0)) << value;
  }
}

TEST(LongAccumulator, RoundsOnceAndKeepsNaNAndInfinity) {
  const double ulp = 0x1p-52;
  const struct {
    std::vector<double> values;
    double sum;
  } cases[] = {
      // Ties are rounded to even.
      {{1, ulp / 2}, 1},
      {{1 + ulp, ulp / 2}, 1 + 2 * ulp},
      {{1, ulp / 2, least}, 1 + ulp},
      {{1, ulp / 2, -least}, 1},
      {{-1, -ulp / 2}, -1},
      {{-1 - ulp, -ulp / 2}, -1 - 2 * ulp},
      {{2 - ulp, ulp / 2}, 2},                   // rounding carries into the exponent
      {{0x1p-1022, -least}, 0x1p-1022 - least},  // exact in the subnormal range
      // A sum beyond every double is infinite.
      {{largest, largest}, infinity},
      {{-largest, -largest}, -infinity},
      {{largest, 0x1p969}, largest},   // a quarter of an ulp
      {{largest, 0x1p970}, infinity},  // half: the even one is out of range
      {std::vector<double>(100000, largest), infinity},
      {{1, not_a_number, 2}, not_a_number},
      {{-not_a_number, infinity}, not_a_number},
      {{infinity, 1, -infinity}, not_a_number},
      {{infinity, -largest, infinity}, infinity},
      {{-infinity, largest}, -infinity},
      // Zero is positive.
      {{}, 0},
      {{-0.0, -0.0}, 0},
  };
  for (const auto& [values, sum] : cases)
    EXPECT_TRUE(same_bits_or_nan(sum_of(values), sum))
        << testing::PrintToString(values) << ": " << sum_of(values);
}

TEST(LongAccumulator, HasTheSameWordsInAnyOrderAndGrouping) {
  Random random;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values = hostile_values(random);
    if (trial % 4 == 0) values.push_back(trial % 8 == 0 ? infinity : not_a_number);
    const LongAccumulator once = total(values);
    std::shuffle(values.begin(), values.end(), random);
    ASSERT_TRUE(same_bits(once, total(values))) << "trial " << trial;

    LongAccumulator sum{};  // as on ranks: normalised partial sums, added word by word
    for (std::size_t i = 0; i < values.size();) {
      const std::size_t end = std::min(values.size(), i + random() % 20);
      LongAccumulator part =
          total({values.begin() + std::ptrdiff_t(i), values.begin() + std::ptrdiff_t(end)});
      sum.add(part);
      i = end;
    }
    EXPECT_TRUE(same_bits_or_nan(sum.rounded(), once.rounded())) << "trial " << trial;
    sum.normalise();
    ASSERT_TRUE(same_bits(once, sum)) << "trial " << trial;
  }
}

TEST(LongAccumulator, SubtractsASum) {
  Random random;
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<double> values = hostile_values(random), others = hostile_values(random);
    std::vector<double> both = values;
    for (const double other : others) both.push_back(-other);
    LongAccumulator difference = total(values);
    difference.subtract(total(others));
    EXPECT_TRUE(same_bits(difference.rounded(), sum_of(both))) << "trial " << trial;
    difference.normalise();
    ASSERT_TRUE(same_bits(difference, total(both))) << "trial " << trial;
  }
  LongAccumulator small = total({1e15, 0.1});  // with 0.1 rounded to 0.125 first, the result would differ
  small.subtract(total({1e15}));
  EXPECT_EQ(small.rounded(), 0.1);
}

TEST(LongAccumulator, SubtractsNaNAndInfinity) {
  const auto difference = [](const std::vector<double>& a, const std::vector<double>& b) {
    LongAccumulator sum = total(a);
    sum.subtract(total(b));
    EXPECT_EQ(sum.all_finite(), total(a).all_finite() && total(b).all_finite());
    return sum.rounded();
  };
  EXPECT_EQ(difference({1}, {infinity}), -infinity);
  EXPECT_EQ(difference({1}, {-infinity, 1}), infinity);
  EXPECT_EQ(difference({infinity}, {-infinity}), infinity);
  EXPECT_TRUE(std::isnan(difference({infinity}, {infinity})));  // equal counts on both sides
  EXPECT_TRUE(std::isnan(difference({not_a_number}, {not_a_number})));
  EXPECT_TRUE(std::isnan(difference({1}, {not_a_number})));
  EXPECT_EQ(difference({largest, largest}, {largest}), largest);
  EXPECT_EQ(difference({largest}, {-largest}), infinity);  // overflow of finite numbers
}

// The documented limits, reached by adding an accumulator to itself.
TEST(LongAccumulator, HoldsTheDocumentedNumberOfAdditions) {
  const auto doubled_30_times = [](LongAccumulator sum) {
    for (int i = 0; i < 30; ++i) sum.add(sum);
    return sum;
  };
  for (const double value : {0x1.fffffffffffffp0, -0x1.fffffffffffffp0, -0x1.fffffp-1030, 0x1p900}) {
    LongAccumulator sum{};
    sum.add(value);
    sum = doubled_30_times(sum);  // 2^30 additions without a carry
    EXPECT_EQ(sum.rounded(), std::ldexp(value, 30));
    sum.normalise();
    sum = doubled_30_times(sum);  // 2^30 normalised accumulators
    EXPECT_EQ(sum.rounded(), std::ldexp(value, 60));
  }
  LongAccumulator sum{}, back{};
  sum.add(largest);
  back.add(-largest);
  sum = doubled_30_times(sum);
  back = doubled_30_times(back);
  EXPECT_EQ(sum.rounded(), infinity);
  EXPECT_EQ(back.rounded(), -infinity);
  sum.normalise();
  back.normalise();
  sum.add(back);
  EXPECT_TRUE(same_bits(sum.rounded(), 0.0));
}

}  // namespace
}  // namespace isotherm::test
