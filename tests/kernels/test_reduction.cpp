// Reduction rows: exact on small integers, close to long double elsewhere, NaN never lost.
#include <omp.h>

#include <cmath>
#include <map>

#include "kernels/reduction.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

constexpr ReductionOp all_ops[] = {ReductionOp::sum, ReductionOp::max_abs, ReductionOp::sum_abs,
                                   ReductionOp::sum_squares};

template <class T>
struct Row {
  void (*launch)(const ReductionArgs<T>&, Stream);
  std::size_t (*scratch_bytes)(Box);
};

template <class T>
const ReductionKernel<T>& entry_of(const RowCase& c) {
  const auto rows = reduction_kernels<T>();
  return *std::find_if(rows.begin(), rows.end(),
                       [&](const auto& row) { return row.name == c.row && row.backend == c.backend; });
}

template <class T>
Row<T> row_of(const RowCase& c) {
  const ReductionKernel<T>& entry = entry_of<T>(c);
  Row<T> row{entry.launch, entry.scratch_bytes};
  if (c.instruction_set.empty()) return row;
  for_instruction_set(c.instruction_set, [&](auto isa) {
    using Reference = host::ReductionReference<decltype(isa), T>;
    using Openmp = host::ReductionOpenmp<decltype(isa), T>;
    using Reproducible = host::ReductionReproducible<decltype(isa), T>;
    const std::map<std::string_view, Row<T>> rows = {
        {"reference", {&Reference::launch, &Reference::scratch_bytes}},
        {"openmp", {&Openmp::launch, &Openmp::scratch_bytes}},
        {"reproducible", {&Reproducible::launch, &Reproducible::scratch_bytes}}};
    row = rows.at(c.row);
  });
  return row;
}

// What the row says of `a`, or of a - b; both in host memory.
template <class T>
double reduce(const Row<T>& row, Device& device, ReductionOp op, const Field<T>& a, const Field<T>* b,
              Box region) {
  const Field<T> a_there = to_device(device, a);
  const Field<T> b_there = to_device(device, b ? *b : a);
  const Buffer scratch(device, row.scratch_bytes(region)), result(device, sizeof(double));
  FieldView<const T> none;
  row.launch(
      {a_there.view(), b ? b_there.view() : none, region, op, result.template as<double>(), scratch.data()},
      {});
  double value = std::nan("");
  device.copy(&value, result.data(), sizeof(double), {});
  device.synchronize(Stream{});
  return value;
}

template <class T>
long double expected(ReductionOp op, const Field<T>& a, const Field<T>* b, Box region) {
  long double total = 0;
  for (Index z = region.lo.z; z < region.hi.z; ++z) {
    for (Index y = region.lo.y; y < region.hi.y; ++y) {
      for (Index x = region.lo.x; x < region.hi.x; ++x) {
        const double d =
            b ? double(a.view()(x, y, z)) - double(b->view()(x, y, z)) : double(a.view()(x, y, z));
        const long double m = std::fabs(static_cast<long double>(d));
        total = op == ReductionOp::max_abs       ? std::max(total, m)
                : op == ReductionOp::sum_abs     ? total + m
                : op == ReductionOp::sum_squares ? total + m * m
                                                 : total + d;
      }
    }
  }
  return total;
}

class ReductionRow : public testing::TestWithParam<RowCase> {
 protected:
  void SetUp() override {
    device_ = device_of(GetParam().backend);
    if (!device_) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
  }
  std::unique_ptr<Device> host_ = make_host_device(), device_;
};

TEST_P(ReductionRow, IsExactOnSmallIntegersOfAnyShape) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const Row<T> row = row_of<T>(GetParam());
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
          for (const Box& region : {whole, part}) {
            ASSERT_EQ(reduce(row, *device_, op, a, other, region),
                      static_cast<double>(expected(op, a, other, region)))
                << "op " << static_cast<int>(op) << " region " << text(region);
          }
        }
      }
    }
  });
}

TEST_P(ReductionRow, IsCloseToLongDoubleOnRealNumbers) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const Row<T> row = row_of<T>(GetParam());
    const Int3 shape{67, 45, 33};
    const Field<T> a = random_field<T>(*host_, shape, 1, 7), b = random_field<T>(*host_, shape, 1, 8);
    const Box whole{{0, 0, 0}, shape};
    const long double scale = expected(ReductionOp::sum_abs, a, &b, whole);
    for (ReductionOp op : all_ops) {
      const double found = reduce(row, *device_, op, a, &b, whole);
      const long double exact = expected(op, a, &b, whole);
      // Each of n additions rounds by at most half an ulp of the total of magnitudes; they err both ways, so
      // a hundredth of that bound is generous.
      const long double bound =
          0.01L * static_cast<long double>(shape.product()) * std::numeric_limits<double>::epsilon() * scale;
      EXPECT_LE(std::fabs(found - exact), op == ReductionOp::max_abs ? 0 : bound) << static_cast<int>(op);
    }
  });
}

TEST_P(ReductionRow, FindsNaNWhereverItIs) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const Row<T> row = row_of<T>(GetParam());
    const Int3 shape{21, 5, 3};
    const Box whole{{0, 0, 0}, shape};
    for (Index i = 0; i < shape.product(); i += 4) {
      Field<T> a = random_field<T>(*host_, shape, 1, 9);
      a.view()(i % 21, i / 21 % 5, i / 105) = std::numeric_limits<T>::quiet_NaN();
      for (ReductionOp op : all_ops) {
        ASSERT_TRUE(std::isnan(reduce<T>(row, *device_, op, a, nullptr, whole))) << "cell " << i;
      }
    }
    // NaN in the ghosts and in the padding is none of its business.
    Field<T> a = filled(*host_, shape, 1, std::numeric_limits<T>::quiet_NaN());
    for (Index i = 0; i < shape.product(); ++i) a.view()(i % 21, i / 21 % 5, i / 105) = T(2);
    EXPECT_EQ(reduce<T>(row, *device_, ReductionOp::sum, a, nullptr, whole), 2.0 * shape.product());
    EXPECT_EQ(reduce<T>(row, *device_, ReductionOp::max_abs, a, nullptr, whole), 2.0);
  });
}

TEST_P(ReductionRow, SeesTheLargestMagnitudeInEveryCell) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const Row<T> row = row_of<T>(GetParam());
    const Int3 shape{35, 3, 2};
    for (Index i = 0; i < shape.product(); ++i) {
      Field<T> a = random_field<T>(*host_, shape, 1, 10);
      a.view()(i % 35, i / 35 % 3, i / 105) = T(-3);
      ASSERT_EQ(reduce<T>(row, *device_, ReductionOp::max_abs, a, nullptr, {{0, 0, 0}, shape}), 3.0)
          << "cell " << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Host, ReductionRow,
                         testing::ValuesIn(cases_of(reduction_kernels<double>(), Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, ReductionRow,
                         testing::ValuesIn(cases_of(reduction_kernels<double>(), Backend::cuda)), label_of);

TEST(ReductionOpenmp, HasTheSameBitsForAnyThreadsAndInstructionSet) {
  const int threads_before = omp_get_max_threads();
  const auto host = make_host_device();
  const Field<double> a = random_field<double>(*host, {97, 61, 53}, 1, 11);
  const Field<double> b = random_field<double>(*host, {97, 61, 53}, 1, 12);
  for (ReductionOp op : all_ops) {
    std::vector<double> found;
    for (int threads = 1; threads <= 4; ++threads) {
      omp_set_num_threads(threads);
      for (std::string_view set : instruction_sets()) {
        found.push_back(reduce(row_of<double>({"openmp", "fp64", Backend::host, set}), *host, op, a, &b,
                               {{1, 0, 2}, {96, 61, 53}}));
      }
    }
    for (double value : found) EXPECT_EQ(value, found.front()) << static_cast<int>(op);
  }
  omp_set_num_threads(threads_before);
}

}  // namespace
}  // namespace isotherm::test
