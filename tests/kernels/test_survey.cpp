// The survey of a field: extremes, and the sums of the jumps across walls, by their words.
#include "kernels/survey.hpp"

#include <cmath>

#include "support.hpp"

namespace isotherm::test {
namespace {

class Survey : public testing::TestWithParam<RowCase> {
 protected:
  void SetUp() override {
    device_ = device_of(GetParam().backend);
    if (!device_) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
    host_ = make_host_of(*device_);
  }
  template <class T>
  FieldSurvey<T> survey() const {
    if (GetParam().instruction_set.empty()) return field_survey<T>(GetParam().backend);
    FieldSurvey<T> found;
    for_instruction_set(GetParam().instruction_set,
                        [&](auto isa) { found = host::FieldSurveyRows<decltype(isa), T>::row; });
    return found;
  }
  // What launch(result) leaves.
  template <class Part, class Launch>
  Part fetch(const Launch& launch) {
    const Buffer result(*device_, sizeof(Part));
    launch(result.template as<Part>());
    Part part{};
    device_->copy(&part, result.data(), sizeof part, {});
    device_->synchronize(Stream{});
    return part;
  }
  template <class T>
  Extremes extremes(const FieldSurvey<T>& of, const Field<T>& there) {
    const Buffer scratch(*device_, of.scratch_bytes);
    return fetch<Extremes>([&](Extremes* r) { of.extremes(there.view(), r, scratch.data(), {}); });
  }
  template <class T>
  LongAccumulator jump_sum(const FieldSurvey<T>& of, const WallJump<T>& jump) {
    return fetch<LongAccumulator>([&](LongAccumulator* r) { of.jump_sum(jump, r, {}); });
  }
  std::unique_ptr<Device> device_, host_;
};

TEST_P(Survey, FindsTheExtremesOfTheInteriorCells) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const FieldSurvey<T> of = survey<T>();
    for (const Int3& shape : shapes) {
      SCOPED_TRACE(text(shape));
      const Field<T> field = random_field<T>(*host_, shape, 1, 6), there = to_device(*device_, field);
      Extremes expected = Extremes::none();
      for (Index i = 0; i < shape.product(); ++i) {
        const double value = field.view()(i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y);
        expected.min = std::min(expected.min, value);
        expected.max = std::max(expected.max, value);
      }
      const Extremes e = extremes(of, there);
      EXPECT_EQ(e.min, expected.min);
      EXPECT_EQ(e.max, expected.max);
      EXPECT_EQ(e.nans, 0);
    }
  });
}

TEST_P(Survey, CountsNaNAndLooksPastIt) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const FieldSurvey<T> of = survey<T>();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    Field<T> field = filled(*host_, {21, 5, 3}, 1, nan);  // ghosts and padding are none of its business
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
        LongAccumulator expected{};
        const int axis = f / 2;
        Box cells{{0, 0, 0}, shape};
        cells.lo[axis] = f % 2 ? shape[axis] - 1 : 0;
        cells.hi[axis] = cells.lo[axis] + 1;
        for (Index z = cells.lo.z; z < cells.hi.z; ++z) {
          for (Index y = cells.lo.y; y < cells.hi.y; ++y) {
            for (Index x = cells.lo.x; x < cells.hi.x; ++x) {
              const T cell = field.view()(x, y, z);
              const T here = axis == 0 ? wall.b_at(y, z) : axis == 1 ? wall.b_at(x, z) : wall.b_at(x, y);
              expected.add(static_cast<double>(wall_ghost(wall.a, here, cell)) - static_cast<double>(cell));
            }
          }
        }
        WallJump<T> jump_there = jump;
        jump_there.field = there.view();
        jump_there.wall.b_field = b_there.template as<T>() + 303;
        expected.normalise();
        EXPECT_TRUE(same_bits(jump_sum(of, jump_there), expected));
      }
    }
  });
}

// Cells beyond the wall have no say; what is no number along it is counted, not added. The last wall has
// cells for several threads, and blocks.
TEST_P(Survey, JumpsThatAreNoNumbersAreCounted) {
  for_precision(GetParam().precision, [&](auto zero) {
    using T = decltype(zero);
    const FieldSurvey<T> of = survey<T>();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    for (const Int3& shape : {Int3{3, 4, 5}, Int3{2, 199, 173}}) {
      Field<T> field = filled(*host_, shape, 1, nan);
      const Index far = shape.x - 1;
      for (Index z = 0; z < shape.z; ++z) {
        for (Index y = 0; y < shape.y; ++y) field.view()(far, y, z) = T(1 + 1e-7 * double(y));
      }
      field.view()(far, 0, 0) = infinity;
      field.view()(far, 1, 2) = -infinity;
      field.view()(far, 2, 2) = -infinity;
      field.view()(far, 3, 4) = nan;
      const Field<T> there = to_device(*device_, field);
      const Wall<T> wall{true, T(-1), T(3), nullptr, 0};  // the jump is 3 - 2 T
      const LongAccumulator found = jump_sum<T>(of, {there.view(), wall, 1});
      EXPECT_EQ(found.word[LongAccumulator::nans], 1);
      EXPECT_EQ(found.word[LongAccumulator::infinities], 2);
      EXPECT_EQ(found.word[LongAccumulator::negative_infinities], 1);
      LongAccumulator expected{};
      for (Index z = 0; z < shape.z; ++z) {
        for (Index y = 0; y < shape.y; ++y) {
          const T cell = field.view()(far, y, z);
          expected.add(static_cast<double>(wall_ghost(wall.a, wall.b, cell)) - static_cast<double>(cell));
        }
      }
      expected.normalise();
      EXPECT_TRUE(same_bits(found, expected));
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
