// The survey of a field: extremes, sums without an order, jumps across walls.
#include "kernels/survey.hpp"

#include <omp.h>

#include <cmath>

#include "support.hpp"

namespace isotherm::test {
namespace {

ExactSum sum_of(const std::vector<double>& values, double scale) {
  ExactSum sum = ExactSum::none();
  for (const double value : values) sum.add(value * scale);
  return sum;
}

TEST(ExactSum, HoldsWhatAPlainSumLoses) {
  const std::vector<double> values{1e6, 1e-10, -1e6, 3e-10, 0.125};
  const double scale = exact_scale(1e6);
  EXPECT_NEAR(exact_value(sum_of(values, scale), scale), 0.125 + 4e-10, 5 * std::ldexp(1e6, -66));
  // What doubles make of 0.1, 0.2 and 0.3 is 2^-55 apart; plain additions say 2^-54.
  EXPECT_EQ(exact_value(sum_of({0.1, 0.2, -0.3}, exact_scale(0.3)), exact_scale(0.3)), std::ldexp(1.0, -55));
}

TEST(ExactSum, HasTheSameBitsInAnyOrderAndAnyParts) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(-400, 400);
  std::vector<double> values(10000);
  for (double& value : values) value = any(random);
  const double scale = exact_scale(400);
  const ExactSum whole = sum_of(values, scale);
  std::shuffle(values.begin(), values.end(), random);
  const auto middle = values.begin() + 1234;
  ExactSum joined = sum_of({values.begin(), middle}, scale);
  joined.join(sum_of({middle, values.end()}, scale));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(joined.digit[i], whole.digit[i]);
  EXPECT_EQ(exact_value(exact_difference(joined, whole), scale), 0);
  long double expected = 0;
  for (const double value : values) expected += value;
  EXPECT_NEAR(exact_value(whole, scale), static_cast<double>(expected), 1e-11);
}

TEST(ExactSum, ScalesAnyMagnitude) {
  EXPECT_EQ(exact_scale(0), 1);
  for (const double largest : {1e-300, 1.0, 4194304.0, 300.0, 1e308, std::numeric_limits<double>::max()}) {
    const double scale = exact_scale(largest);
    EXPECT_LE(largest * scale, 4194304.0) << largest;
    EXPECT_GE(largest * scale, 2097152.0) << largest;
    EXPECT_EQ(exact_value(sum_of({largest, -largest / 2}, scale), scale) / largest, 0.5) << largest;
  }
  EXPECT_TRUE(std::isfinite(exact_scale(std::numeric_limits<double>::denorm_min())));
}

class Survey : public testing::TestWithParam<RowCase> {
 protected:
  void SetUp() override {
    device_ = device_of(GetParam().backend);
    if (!device_) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
  }
  template <class T>
  FieldSurvey<T> survey() const {
    if (GetParam().instruction_set.empty()) return field_survey<T>(GetParam().backend);
    FieldSurvey<T> found;
    for_instruction_set(GetParam().instruction_set,
                        [&](auto isa) { found = host::FieldSurveyRows<decltype(isa), T>::row; });
    return found;
  }
  // What launch(result, scratch) leaves.
  template <class Part, class T, class Launch>
  Part fetch(const FieldSurvey<T>& of, const Launch& launch) {
    const Buffer result(*device_, sizeof(Part)), scratch(*device_, of.scratch_bytes);
    launch(result.template as<Part>(), scratch.data());
    Part part = Part::none();
    device_->copy(&part, result.data(), sizeof part, {});
    device_->synchronize(Stream{});
    return part;
  }
  std::unique_ptr<Device> host_ = make_host_device(), device_;
};

TEST_P(Survey, FindsExtremesAndSumOfTheInteriorCells) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const FieldSurvey<T> of = survey<T>();
    for (const Int3& shape : shapes) {
      SCOPED_TRACE(text(shape));
      const Field<T> field = random_field<T>(*host_, shape, 1, 6), there = to_device(*device_, field);
      Extremes expected = Extremes::none();
      ExactSum sum = ExactSum::none();
      for (Index i = 0; i < shape.product(); ++i) {
        const double value = field.view()(i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y);
        expected.min = std::min(expected.min, value);
        expected.max = std::max(expected.max, value);
        sum.add(value * exact_scale(1));
      }
      const auto e = fetch<Extremes>(of, [&](Extremes* r, void* s) { of.extremes(there.view(), r, s, {}); });
      EXPECT_EQ(e.min, expected.min);
      EXPECT_EQ(e.max, expected.max);
      EXPECT_EQ(e.nans, 0);
      const auto found =
          fetch<ExactSum>(of, [&](ExactSum* r, void* s) { of.sum(there.view(), exact_scale(1), r, s, {}); });
      for (int i = 0; i < 3; ++i) EXPECT_EQ(found.digit[i], sum.digit[i]);
    }
  });
}

TEST_P(Survey, CountsNaNAndLooksPastIt) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const FieldSurvey<T> of = survey<T>();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    Field<T> field = filled(*host_, {21, 5, 3}, 1, nan);  // ghosts and padding are none of its business
    const auto look = [&] {
      const Field<T> there = to_device(*device_, field);
      return fetch<Extremes>(of, [&](Extremes* r, void* s) { of.extremes(there.view(), r, s, {}); });
    };
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

// By the ghosts that a sweep would read.
TEST_P(Survey, JumpsAcrossEachWallAreGhostLessCell) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const FieldSurvey<T> of = survey<T>();
    for (const Int3& shape : {Int3{17, 9, 13}, Int3{1, 6, 5}, Int3{300, 2, 40}}) {
      const Field<T> field = random_field<T>(*host_, shape, 1, 7), there = to_device(*device_, field);
      const std::vector<T> b = [&] {
        std::vector<T> values(static_cast<std::size_t>(302 * 302));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<T>(std::sin(0.1 * static_cast<double>(i)));
        return values;
      }();
      const Buffer b_there(*device_, b.size() * sizeof(T));
      device_->copy(b_there.data(), b.data(), b_there.bytes(), {});
      for (int f = 0; f < face_count; ++f) {
        SCOPED_TRACE(fmt::format("{} {}", text(shape), face_names[f]));
        Wall<T> wall{true, T(0.25), T(0), b.data() + 303, 302};
        const WallJump<T> jump{field.view(), wall, f};
        Extremes extremes = Extremes::none();
        ExactSum sum = ExactSum::none();
        const int axis = f / 2;
        Box cells{{0, 0, 0}, shape};
        cells.lo[axis] = f % 2 ? shape[axis] - 1 : 0;
        cells.hi[axis] = cells.lo[axis] + 1;
        for (Index z = cells.lo.z; z < cells.hi.z; ++z) {
          for (Index y = cells.lo.y; y < cells.hi.y; ++y) {
            for (Index x = cells.lo.x; x < cells.hi.x; ++x) {
              const T cell = field.view()(x, y, z);
              const T here = axis == 0 ? wall.b_at(y, z) : axis == 1 ? wall.b_at(x, z) : wall.b_at(x, y);
              const double d =
                  static_cast<double>(wall_ghost(wall.a, here, cell)) - static_cast<double>(cell);
              extremes.add(d);
              sum.add(d * exact_scale(4));
            }
          }
        }
        WallJump<T> jump_there = jump;
        jump_there.field = there.view();
        jump_there.wall.b_field = b_there.template as<T>() + 303;
        const auto e =
            fetch<Extremes>(of, [&](Extremes* r, void* s) { of.jump_extremes(jump_there, r, s, {}); });
        EXPECT_EQ(e.min, extremes.min);
        EXPECT_EQ(e.max, extremes.max);
        const auto found = fetch<ExactSum>(
            of, [&](ExactSum* r, void* s) { of.jump_sum(jump_there, exact_scale(4), r, s, {}); });
        for (int i = 0; i < 3; ++i) EXPECT_EQ(found.digit[i], sum.digit[i]);
      }
    }
  });
}

std::vector<RowCase> cases(Backend backend) {
  std::vector<RowCase> all;
  for (std::string_view precision : precisions) {
    all.push_back({"survey", precision, backend, ""});
    if (backend != Backend::host) continue;
    for (std::string_view set : instruction_sets()) all.push_back({"survey", precision, backend, set});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Host, Survey, testing::ValuesIn(cases(Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, Survey, testing::ValuesIn(cases(Backend::cuda)), label_of);

}  // namespace
}  // namespace isotherm::test
