// Reduction rows: exact on small integers, close to long double elsewhere, NaN never lost.
#include <cmath>

#include "kernels/reduction.hpp"
#include "support.hpp"
#include "support/repeat.hpp"

namespace isotherm::test {
namespace {

constexpr ReductionOp all_ops[] = {ReductionOp::sum, ReductionOp::max_abs, ReductionOp::sum_abs,
                                   ReductionOp::sum_squares};

template <class T>
ReductionKernel<T> reduction_of(const KernelCase& c) {
  return kernel_of(c, reduction_kernels<T>);
}

// What the row says of `a`, or of a - b; both in host memory.
template <class T>
double reduce(const ReductionKernel<T>& kernel, Device& device, ReductionOp op, const Field<T>& a,
              const Field<T>* b, Box region) {
  const Field<T> a_there = to_device(device, a);
  const Field<T> b_there = to_device(device, b ? *b : a);
  const Buffer scratch(device, kernel.scratch_bytes(region)), result(device, sizeof(double));
  FieldView<const T> none;
  kernel.launch(
      {a_there.view(), b ? b_there.view() : none, region, op, result.template as<double>(), scratch.data()},
      {});
  return fetched<double>(device, result.data());
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

TEST_P(ReductionVariant, IsExactOnSmallIntegersOfAnyShape) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const ReductionKernel<T> kernel = reduction_of<T>(GetParam());
    std::vector<Int3> all = shapes;
    for (Index n : {2, 3, 7, 8, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 9000}) {
      all.push_back({n, 1, 1});
    }
    for (Int3 shape : all) {
      SCOPED_TRACE(text(shape));
      Field<T> a = random_field<T>(*host_, shape, 1, 3), b = random_field<T>(*host_, shape, 1, 4);
      for (std::size_t i = 0; i < elements(a); ++i) {
        begin(a)[i] = std::round(begin(a)[i] * 100);
        begin(b)[i] = std::round(begin(b)[i] * 100);
      }
      const Box whole{{0, 0, 0}, shape};
      const Box part{{shape.x / 4, shape.y / 3, shape.z / 2}, shape};
      for (ReductionOp op : all_ops) {
        for (const Field<T>* other :
             {static_cast<const Field<T>*>(nullptr), static_cast<const Field<T>*>(&b)}) {
          for (const Box& region :
               shape.product() == shape.x && shape.x > 65 ? std::vector{whole} : std::vector{whole, part}) {
            ASSERT_EQ(reduce(kernel, *device_, op, a, other, region),
                      static_cast<double>(expected(op, a, other, region)))
                << "op " << static_cast<int>(op) << " region " << text(region);
          }
        }
      }
    }
  });
}

// And the same bits twice, unless its sums vary from run to run. The second shape has more blocks than run at
// once.
TEST_P(ReductionVariant, IsCloseToLongDoubleOnRealNumbersTwice) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const ReductionKernel<T> kernel = reduction_of<T>(GetParam());
    for (const Int3 shape : {Int3{67, 45, 33}, Int3{150, 100, 40}}) {
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
        if (kernel.sum_bits == SumBits::vary && op != ReductionOp::max_abs) continue;
        EXPECT_TRUE(same_bits(found, reduce(kernel, *device_, op, a, &b, region))) << static_cast<int>(op);
      }
    }
  });
}

TEST_P(ReductionVariant, GivesZeroForAnEmptyRegion) {
  const auto row = reduction_of<double>(GetParam());
  const Field<double> a = random_field<double>(*host_, {4, 4, 4}, 1, 9);
  for (ReductionOp op : all_ops)
    for (const Box empty : {Box{{1, 1, 1}, {1, 3, 3}}, Box{{0, 0, 3}, {4, 4, 2}}})
      EXPECT_EQ(reduce<double>(row, *device_, op, a, nullptr, empty), 0.0);
}

TEST_P(ReductionVariant, FindsNaNWhereverItIs) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const ReductionKernel<T> kernel = reduction_of<T>(GetParam());
    const Int3 shape{21, 5, 3};
    const Box whole{{0, 0, 0}, shape};
    for (Index i = 0; i < shape.product(); i += 7) {  // every lane of a vector
      Field<T> a = random_field<T>(*host_, shape, 1, 9);
      a.view()(i % 21, i / 21 % 5, i / 105) = std::numeric_limits<T>::quiet_NaN();
      for (ReductionOp op : all_ops) {
        ASSERT_TRUE(std::isnan(reduce<T>(kernel, *device_, op, a, nullptr, whole))) << "cell " << i;
      }
    }
    // NaN in the ghosts and in the padding is none of its business.
    Field<T> a = filled(*host_, shape, 1, std::numeric_limits<T>::quiet_NaN());
    for (Index i = 0; i < shape.product(); ++i) a.view()(i % 21, i / 21 % 5, i / 105) = T(2);
    EXPECT_EQ(reduce<T>(kernel, *device_, ReductionOp::sum, a, nullptr, whole), 2.0 * shape.product());
    EXPECT_EQ(reduce<T>(kernel, *device_, ReductionOp::max_abs, a, nullptr, whole), 2.0);
  });
}

TEST_P(ReductionVariant, SeesTheLargestMagnitudeInEveryCell) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const ReductionKernel<T> kernel = reduction_of<T>(GetParam());
    const Int3 shape{35, 3, 2};
    for (Index i = 0; i < shape.product(); ++i) {
      Field<T> a = random_field<T>(*host_, shape, 1, 10);
      a.view()(i % 35, i / 35 % 3, i / 105) = T(-3);
      ASSERT_EQ(reduce<T>(kernel, *device_, ReductionOp::max_abs, a, nullptr, {{0, 0, 0}, shape}), 3.0)
          << "cell " << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Host, ReductionVariant,
                         testing::ValuesIn(cases_of(reduction_kernels<double>(), Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, ReductionVariant,
                         testing::ValuesIn(cases_of(reduction_kernels<double>(), Backend::cuda)), label_of);

TEST(ReductionOpenmp, HasTheSameBitsForAnyThreadsAndInstructionSet) {
  const auto host = make_host_device();
  const Field<double> a = random_field<double>(*host, {97, 61, 53}, 1, 11);
  const Field<double> b = random_field<double>(*host, {97, 61, 53}, 1, 12);
  for (ReductionOp op : all_ops) {
    std::vector<double> found;
    on_threads({1, 2, 3, 4}, [&] {
      for (std::string_view set : instruction_sets()) {
        found.push_back(reduce(reduction_of<double>({"openmp", "fp64", Backend::host, set}), *host, op, a, &b,
                               {{1, 0, 2}, {96, 61, 53}}));
      }
    });
    for (double value : found) EXPECT_EQ(value, found.front()) << static_cast<int>(op);
  }
}

// Rows whose sums are exact.
class ExactReductionVariant : public ReductionVariant {
 protected:
  // The words of a sum; the number that the row returns is their rounding.
  template <class T>
  LongAccumulator words(ReductionOp op, const Field<T>& a, const Field<T>* b, Box region) {
    const ReductionKernel<T> kernel = reduction_of<T>(GetParam());
    const Field<T> a_there = to_device(*device_, a);
    const Field<T> b_there = to_device(*device_, b ? *b : a);
    const Buffer scratch(*device_, kernel.scratch_bytes(region)), result(*device_, sizeof(double)),
        unrounded(*device_, sizeof(LongAccumulator));
    FieldView<const T> none;
    kernel.launch({a_there.view(), b ? b_there.view() : none, region, op, result.template as<double>(),
                   scratch.data(), unrounded.template as<LongAccumulator>()},
                  {});
    const auto value = fetched<double>(*device_, result.data());
    const auto sum = fetched<LongAccumulator>(*device_, unrounded.data());
    EXPECT_TRUE(same_bits(value, sum.rounded()) || (std::isnan(value) && std::isnan(sum.rounded())));
    return sum;
  }
};

// One addition a cell, in whatever order.
template <class T>
LongAccumulator one_by_one(ReductionOp op, const Field<T>& a, const Field<T>* b, Box region) {
  LongAccumulator sum{};
  for_each_cell(region, [&](Int3 c) {
    const double d = difference(a, b, c);
    sum.add(op == ReductionOp::sum ? d : op == ReductionOp::sum_abs ? std::fabs(d) : d * d);
  });
  sum.normalise();
  return sum;
}

// Values of every size that T has, of both signs; many are subnormal when squared, or infinite.
template <class T>
Field<T> field_of_all_sizes(Device& host, Int3 shape, Random& random) {
  Field<T> field = filled(host, shape, 1, T(0));
  const int digits = std::numeric_limits<T>::digits;
  const int least = std::numeric_limits<T>::min_exponent - digits,
            most = std::numeric_limits<T>::max_exponent;
  std::generate_n(begin(field), elements(field),
                  [&] { return std::ldexp(random.between(T(-1), T(1)), random.between(least, most)); });
  return field;
}

constexpr ReductionOp sums[] = {ReductionOp::sum, ReductionOp::sum_abs, ReductionOp::sum_squares};

TEST_P(ExactReductionVariant, HasTheWordsOfOneAdditionACell) {
  Random random;
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (Int3 shape : {Int3{1, 1, 1}, Int3{5000, 2, 1}, Int3{7, 5, 61}, Int3{2048, 1, 1}, Int3{33, 31, 20}}) {
      const Box whole{{0, 0, 0}, shape};
      const Field<T> mild = random_field<T>(*host_, shape, 1, random());
      const Field<T> mild_too = random_field<T>(*host_, shape, 1, random());
      Field<T> wild = field_of_all_sizes<T>(*host_, shape, random);
      for (ReductionOp op : sums) {
        SCOPED_TRACE(text(shape) + ", operation " + std::to_string(static_cast<int>(op)));
        EXPECT_TRUE(same_bits(words(op, mild, &mild_too, whole), one_by_one(op, mild, &mild_too, whole)));
        EXPECT_TRUE(same_bits(words<T>(op, wild, nullptr, whole), one_by_one<T>(op, wild, nullptr, whole)));
        EXPECT_TRUE(same_bits(words(op, wild, &mild, whole), one_by_one(op, wild, &mild, whole)));
      }
      wild.view()(shape.x / 2, shape.y / 2, shape.z / 2) = std::numeric_limits<T>::infinity();
      wild.view()(0, 0, 0) = -std::numeric_limits<T>::quiet_NaN();
      for (ReductionOp op : sums) {
        EXPECT_TRUE(same_bits(words<T>(op, wild, nullptr, whole), one_by_one<T>(op, wild, nullptr, whole)));
      }
    }
  });
}

// As ranks do it: each sums its part, the words are added up in any order and rounded once.
TEST_P(ExactReductionVariant, HasTheSameBitsForAnySplitAndOrder) {
  Random random;
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Int3 shape{31, 22, 13};
    Field<T> field = field_of_all_sizes<T>(*host_, shape, random);
    const LongAccumulator once = words<T>(ReductionOp::sum, field, nullptr, {{0, 0, 0}, shape});
    for (int trial = 0; trial < 8; ++trial) {
      const Int3 at{random.between<Index>(0, shape.x), random.between<Index>(0, shape.y),
                    random.between<Index>(0, shape.z)};
      LongAccumulator sum{};
      for (int part = 0; part < 8; ++part) {
        Box box{{0, 0, 0}, shape};
        for (int axis = 0; axis < 3; ++axis) (part >> axis & 1 ? box.lo : box.hi)[axis] = at[axis];
        sum.add(words<T>(ReductionOp::sum, field, nullptr, box));
      }
      EXPECT_TRUE(same_bits(sum.rounded(), once.rounded())) << "cut at " << text(at);
      sum.normalise();
      EXPECT_TRUE(same_bits(sum, once)) << "cut at " << text(at);

      std::vector<T> cells;  // the same cells in other places
      for_each_cell(shape, [&](Int3 c) { cells.push_back(field.view()(c)); });
      std::ranges::shuffle(cells, random);
      for_each_cell(shape, [&](Int3 c) { field.view()(c) = cells[index_of(c, shape)]; });
    }
  });
}

std::vector<KernelCase> exact_cases(Backend backend) {
  std::vector<KernelCase> all = cases_of(reduction_kernels<double>(), backend);
  std::erase_if(all, [](const KernelCase& c) { return reduction_of<double>(c).sum_bits != SumBits::exact; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Host, ExactReductionVariant, testing::ValuesIn(exact_cases(Backend::host)),
                         label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, ExactReductionVariant, testing::ValuesIn(exact_cases(Backend::cuda)),
                         label_of);

TEST(ReductionReproducible, HasTheSameBitsForAnyNumberOfThreads) {
  const auto host = make_host_device();
  const Field<double> a = random_field<double>(*host, {97, 61, 53}, 1, 15);
  const LongAccumulator expected = one_by_one<double>(ReductionOp::sum, a, nullptr, a.view().interior());
  on_threads({1, 2, 3, 4, 5}, [&] { EXPECT_TRUE(same_bits(exact_sum<double>(a.view()), expected)); });
}

}  // namespace
}  // namespace isotherm::test
