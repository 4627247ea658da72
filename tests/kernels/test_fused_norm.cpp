// The norm that a sweep returns: that of the update it makes, to the bit for the maximum, to rounding for
// sums.
#include <omp.h>

#include <cmath>
#include <functional>
#include <optional>

#include "kernels/host/stencil_openmp.hpp"
#include "kernels/host/stencil_temporal_openmp.hpp"
#include "kernels/stencil.hpp"
#include "stencil_cases.hpp"

namespace isotherm::test {
namespace {

constexpr ReductionOp all_ops[] = {ReductionOp::sum, ReductionOp::max_abs, ReductionOp::sum_abs,
                                   ReductionOp::sum_squares};

template <class T>
Coefficients<T> coefficients() {
  return {T(0.37), T(0.11), T(0.13), T(0.075)};
}

// The sweeps of several regions into one norm; poisoned memory where no norm should be found.
template <class T>
double fused(const StencilKernel<T>& row, int policy, Device& host, Device& device, const Field<T>& in,
             Field<T>& out, const std::vector<Box>& regions, ReductionOp op) {
  const Field<T> in_there = to_device(device, in);
  Field<T> out_there = to_device(device, out);
  double value = std::nan("");
  const Buffer result(device, sizeof(double));
  device.copy(result.data(), &value, sizeof(double), {});
  std::vector<Buffer> scratches;
  for (const Box& region : regions) {
    const Buffer& scratch = scratches.emplace_back(device, row.norm_scratch_bytes(region, policy) + 8);
    const UpdateNorm norm{op, result.as<double>(), scratch.data(), scratches.size() > 1};
    row.launch({in_there.view(), out_there.view(), region, coefficients<T>(), {}, {}, norm}, {1, policy}, {});
  }
  device.copy(&value, result.data(), sizeof(double), {});
  device.synchronize(Stream{});
  out = to_host(device, host, out_there);
  return value;
}

template <class T>
double of_reference(ReductionOp op, const Field<T>& a, const Field<T>& b, Box region) {
  double value = 0;
  row_named(reduction_kernels<T>(), "reference")
      .launch({a.view(), b.view(), region, op, &value, nullptr}, {});
  return value;
}

template <class T>
void check(const StencilKernel<T>& row, int policy, Device& device, Int3 shape) {
  const auto host = make_host_of(device);
  const Box whole{{0, 0, 0}, shape};
  const Index cut = shape.z / 2;
  const std::vector<std::vector<Box>> splits = {
      {whole}, {{{0, 0, 0}, {shape.x, shape.y, cut}}, {{0, 0, cut}, shape}}, {whole, {{0, 0, 0}, {0, 0, 0}}}};
  const Field<T> in = random_field<T>(*host, shape, 1, 23);
  Field<T> expected = filled(*host, shape, 1, T(5));
  row_named(stencil_kernels<T>(), "reference")
      .launch({in.view(), expected.view(), whole, coefficients<T>(), {}, {}, {}}, {}, {});
  for (const auto& regions : splits) {
    for (ReductionOp op : all_ops) {
      SCOPED_TRACE("operation " + std::to_string(static_cast<int>(op)));
      Field<T> out = filled(*host, shape, 1, T(5));
      const double found = fused(row, policy, *host, device, in, out, regions, op);
      expect_same<T>(std::as_const(expected).view(), std::as_const(out).view());
      const double truth = of_reference(op, expected, in, whole);
      const double size =
          of_reference(op == ReductionOp::sum ? ReductionOp::sum_abs : op, expected, in, whole);
      EXPECT_NEAR(found, truth, op == ReductionOp::max_abs ? 0.0 : 1e-12 * size);
    }
  }
}

class FusedNorm : public testing::TestWithParam<RowCase> {};

TEST_P(FusedNorm, IsThatOfTheUpdate) {
  on_every_policy(GetParam(), shapes, [](const auto& row, int policy, Device& device, Int3 shape) {
    check(row, policy, device, shape);
  });
}

template <class T>
void check_nan(const StencilKernel<T>& row, Device& device) {
  const auto host = make_host_of(device);
  const Int3 shape{65, 9, 7};
  for (Int3 place : {Int3{0, 0, 0}, Int3{31, 4, 3}, Int3{64, 8, 6}}) {
    Field<T> in = random_field<T>(*host, shape, 1, 29), out = filled(*host, shape, 1, T(5));
    in.view()(place) = std::numeric_limits<T>::quiet_NaN();
    for (ReductionOp op : all_ops) {
      EXPECT_TRUE(std::isnan(fused(row, 0, *host, device, in, out, {Box{{0, 0, 0}, shape}}, op)));
    }
  }
}

TEST_P(FusedNorm, KeepsANaN) {
  on_stencil_row(GetParam(), [](const auto& row, Device& device) { check_nan(row, device); });
}

std::vector<RowCase> cases(Backend backend) {
  std::vector<RowCase> all = stencil_cases(backend);
  std::erase_if(all,
                [](const RowCase& c) { return !row_named(stencil_kernels<double>(), c.row).fuses_norm(); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Host, FusedNorm, testing::ValuesIn(cases(Backend::host)), label_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FusedNorm);
INSTANTIATE_TEST_SUITE_P(Cuda, FusedNorm, testing::ValuesIn(cases(Backend::cuda)), label_of);

// The sums of CPU rows depend neither on the number of threads, nor on policy, kind of store and instruction
// set: each lane has the cells that it has.
template <class T>
using Sweep = std::function<void(const SweepArgs<T>&, SweepPlan, host::Store)>;

template <class T>
class Sums {
 public:
  Sums(Int3 shape, ReductionOp op)
      : host_(make_host_device()), shape_(shape), op_(op), in_(random_field<T>(*host_, shape, 1, 31)) {}

  void expect_the_same(const StencilKernel<T>& row, const Sweep<T>& sweep, std::string_view set) {
    SCOPED_TRACE(fmt::format("{}, {}, {} threads", row.name, set, omp_get_max_threads()));
    for (int policy = 0; policy < static_cast<int>(row.policies.size()); ++policy) {
      for (const host::Store store : {host::Store::streaming, host::Store::cached}) {
        Field<T> out = filled(*host_, shape_, 1, T(0));
        std::vector<double> scratch(row.norm_scratch_bytes({{0, 0, 0}, shape_}, policy) / sizeof(double));
        double found = std::nan("");
        sweep({std::as_const(in_).view(),
               out.view(),
               {{0, 0, 0}, shape_},
               coefficients<T>(),
               {},
               {},
               {op_, &found, scratch.data(), false}},
              {1, policy}, store);
        if (!first_) first_ = found;
        EXPECT_EQ(found, *first_) << "policy " << policy << ", " << text(shape_);
      }
    }
  }

 private:
  std::unique_ptr<Device> host_;
  Int3 shape_;
  ReductionOp op_;
  Field<T> in_;
  std::optional<double> first_;
};

template <class T, class SweepOf>
void expect_sums_of_their_own(std::string_view name, const SweepOf& sweep_of) {
  const int before = omp_get_max_threads();
  for (Int3 shape : {Int3{67, 31, 19}, Int3{5000, 5, 3}, Int3{31, 4, 4}}) {
    for (const ReductionOp op : {ReductionOp::sum_abs, ReductionOp::sum_squares}) {
      Sums<T> sums(shape, op);
      for (const std::string_view set : instruction_sets()) {
        const StencilKernel<T> row = row_of({name, "", Backend::host, set}, stencil_kernels<T>);
        for_instruction_set(set, [&](auto isa) {
          for (int threads = 1; threads <= 4; ++threads) {
            omp_set_num_threads(threads);
            sums.expect_the_same(row, sweep_of(isa), set);
          }
        });
      }
    }
  }
  omp_set_num_threads(before);
}

template <class T>
void expect_sums_of_openmp() {
  expect_sums_of_their_own<T>("openmp", [](auto isa) -> Sweep<T> {
    return [](const SweepArgs<T>& args, SweepPlan plan, host::Store store) {
      host::sweep_openmp<decltype(isa)>(args, plan, store);
    };
  });
}
template <class T>
void expect_sums_of_temporal_openmp() {
  expect_sums_of_their_own<T>("temporal_openmp", [](auto isa) -> Sweep<T> {
    return [](const SweepArgs<T>& args, SweepPlan plan, host::Store store) {
      host::sweep_temporal_openmp<decltype(isa)>(args, plan, store, 1 << 20);
    };
  });
}

TEST(FusedNormOpenmp, HasTheSameBitsForAnyThreadsPolicyAndInstructionSet) {
  expect_sums_of_openmp<float>();
  expect_sums_of_openmp<double>();
}
TEST(FusedNormTemporalOpenmp, HasTheSameBitsForAnyThreadsPolicyAndInstructionSet) {
  expect_sums_of_temporal_openmp<float>();
  expect_sums_of_temporal_openmp<double>();
}

}  // namespace
}  // namespace isotherm::test
