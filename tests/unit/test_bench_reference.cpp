// The checks and samples of a benchmark: that they hold, and that each can fail.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "app/bench/bench.hpp"
#include "app/bench/reference.hpp"
#include "core/device.hpp"
#include "kernels/face_copy.hpp"
#include "support/error_text.hpp"
#include "support/watched_device.hpp"

namespace isotherm {
namespace {

constexpr Int3 shape{13, 6, 5};

struct Fields {
  std::unique_ptr<Device> host = make_host_device();
  template <class T>
  Field<T> make(std::uint64_t seed, int ghosts = 1) {
    Field<T> field(*host, shape, ghosts);
    fill_random(field.view(), seed, T(250), T(350));
    return field;
  }
};

template <class T>
FieldView<const T> view(const Field<T>& field) {
  return field.view();
}

TEST(BenchRandom, IsGivenBySeedAndFillsTheRange) {
  Fields fields;
  const auto a = fields.make<double>(1), same = fields.make<double>(1), other = fields.make<double>(2);
  EXPECT_EQ(difference(view(a), view(same)), "");
  EXPECT_NE(difference(view(a), view(other)), "");
  std::set<double> values;
  for (Index x = -1; x <= shape.x; ++x)
    for (Index y = -1; y <= shape.y; ++y)
      for (Index z = -1; z <= shape.z; ++z) values.insert(view(a)(x, y, z));
  EXPECT_EQ(static_cast<Index>(values.size()), (shape.x + 2) * (shape.y + 2) * (shape.z + 2));
  EXPECT_GE(*values.begin(), 250);
  EXPECT_LT(*values.rbegin(), 350);
  EXPECT_LT(*values.begin(), 252);
  EXPECT_GT(*values.rbegin(), 348);
}

// What a wrong row would leave behind.
TEST(BenchDifference, FindsOneCellThatWasLeftPoisoned) {
  Fields fields;
  const auto expected = fields.make<float>(1);
  auto found = fields.make<float>(1);
  found.view()(7, 3, 2) = poison<float>;
  const std::string text = difference(view(expected), view(found));
  expect_says(text, "cell (7, 3, 2) is nan");
  expect_says(text, "1 of 56 rows");
}

TEST(BenchDifference, FindsOneBitAndTheFirstOfSeveral) {
  Fields fields;
  const auto expected = fields.make<double>(1);
  auto found = fields.make<double>(1);
  double& last = found.view()(12, 5, 4);
  last = std::nextafter(last, 1000.0);
  expect_says(difference(view(expected), view(found)), "cell (12, 5, 4)");
  found.view()(0, 0, 1) += 1;
  expect_says(difference(view(expected), view(found)), "cell (0, 0, 1)");
}

TEST(BenchDifference, FindsAWriteIntoAGhost) {
  Fields fields;
  const auto expected = fields.make<double>(1);
  auto found = fields.make<double>(1);
  found.view()(-1, 2, 5) = 300;
  expect_says(difference(view(expected), view(found)), "cell (-1, 2, 5)");
}

TEST(BenchDifference, TellsZerosApart) {  // as == would not
  Fields fields;
  auto expected = fields.make<double>(1), found = fields.make<double>(1);
  expected.view()(1, 1, 1) = 0.0;
  found.view()(1, 1, 1) = -0.0;
  EXPECT_NE(difference(view(expected), view(found)), "");
}

// Several sweeps at once are single ones, with fresh ghosts beyond boundaries or shrinking regions.
template <class T>
void expect_reference_sweeps(bool walled, int depth) {
  SCOPED_TRACE(walled ? "walls" : "ghosts");
  Fields fields;
  const Coefficients<T> c{T(0.24), T(0.11), T(0.13), T(0.14)};
  Boundaries<T> boundaries;
  if (walled) {
    for (Boundary<T>& boundary : boundaries.faces) boundary = {true, T(-1), T(600)};
  }
  const auto source = fields.make<T>(7, depth);
  auto start = fields.make<T>(1, depth), expected = fields.make<T>(2, depth);
  sweep_reference(start, expected, view(source), c, boundaries, depth);

  auto in = fields.make<T>(1, depth), out = fields.make<T>(1, depth);
  const auto& row = stencil_kernels<T>().front();
  ASSERT_EQ(row.name, "reference");
  for (int sweep = 1; sweep <= depth; ++sweep) {
    const Index margin = walled ? 0 : depth - sweep;
    const Box region{{-margin, -margin, -margin}, shape + Int3{margin, margin, margin}};
    face_copy<T>(Backend::host).fill_boundaries(in.view(), boundaries, in.view().interior(), {});
    row.launch({view(in), out.view(), region, c, {}, view(source), {}}, {}, {});
    std::swap(in, out);
  }
  Index interior = 0;
  const Box padded = view(expected).padded();
  for (Index z = padded.lo.z; z < padded.hi.z; ++z) {
    for (Index y = padded.lo.y; y < padded.hi.y; ++y) {
      for (Index x = padded.lo.x; x < padded.hi.x; ++x) {
        if (!view(expected).interior().contains({x, y, z})) {
          ASSERT_TRUE(std::isnan(view(expected)(x, y, z))) << x << " " << y << " " << z;
          continue;
        }
        ASSERT_EQ(view(expected)(x, y, z), view(in)(x, y, z)) << x << " " << y << " " << z;
        ++interior;
      }
    }
  }
  EXPECT_EQ(interior, shape.product());
}

TEST(BenchReference, IsTheReferenceRowSweepBySweep) {
  for (const bool walled : {false, true}) {
    for (const int depth : {1, 2, 3}) {
      expect_reference_sweeps<float>(walled, depth);
      expect_reference_sweeps<double>(walled, depth);
    }
  }
}

// 1, then 2^-60 a thousand times, then -1: plain fp64 sums lose them all.
TEST(BenchExactReduction, KeepsWhatPlainSumsLose) {
  const auto host = make_host_device();
  const Int3 n{1002, 1, 1};
  Field<double> a(*host, n, 1);
  for (Index x = 0; x < n.x; ++x) a.view()(x, 0, 0) = x == 0 ? 1 : x == n.x - 1 ? -1 : 0x1p-60;
  const FieldView<const double> none;
  const ExactReduction sum = reduce_exactly(view(a), none, {{0, 0, 0}, n}, ReductionOp::sum);
  EXPECT_EQ(sum.value, 1000 * 0x1p-60);
  EXPECT_DOUBLE_EQ(sum.magnitudes, 2);
}

TEST(BenchExactReduction, HasEveryOperation) {
  const auto host = make_host_device();
  const Int3 n{3, 2, 2};
  Field<float> a(*host, n, 1), b(*host, n, 1);
  for (Index i = 0; i < 12; ++i) {
    const Int3 cell{i % 3, i / 3 % 2, i / 6};
    a.view()(cell) = static_cast<float>(i);
    b.view()(cell) = 5;
  }
  const auto value = [&](ReductionOp op) {
    return reduce_exactly(view(a), view(b), {{0, 0, 0}, n}, op).value;
  };
  EXPECT_EQ(value(ReductionOp::sum), 6);            // -5 ... 6
  EXPECT_EQ(value(ReductionOp::sum_abs), 36);       // 15 + 21
  EXPECT_EQ(value(ReductionOp::sum_squares), 146);  // 55 + 91
  EXPECT_EQ(value(ReductionOp::max_abs), 6);
  a.view()(1, 1, 1) = std::nanf("");
  EXPECT_TRUE(std::isnan(value(ReductionOp::max_abs)));
}

TEST(BenchExactReduction, BoundTellsRoundingFromMistakes) {
  const ExactReduction exact{1000, 1000};
  const Index cells = 1000000;
  const double bound = error_bound(cells, ReductionOp::sum_squares);
  EXPECT_LE(reduction_error(exact, 1000 * (1 + 1e-13)), bound);
  EXPECT_GT(reduction_error(exact, 1000 * (1 + 1e-6)), bound);     // one cell in a million left out
  EXPECT_GT(reduction_error(exact, 1000 * (1 + 0x1p-24)), bound);  // a sum in fp32
  EXPECT_FALSE(reduction_error(exact, poison<double>) <= bound);
  EXPECT_EQ(error_bound(cells, ReductionOp::max_abs), 0);
  EXPECT_EQ(reduction_error({0, 0}, 0), 0);
  EXPECT_FALSE(reduction_error({0, 0}, 1) <= bound);
}

struct CountingProbe final : BandwidthProbe {
  void enqueue(Stream) override { ++passes; }
  double bytes() const override { return 100; }
  bool right() override { return true; }
  void prepare() override { ++prepared; }
  int passes = 0, prepared = 0;
};

TEST(BenchSampler, TakesARoofBesideEverySample) {
  const auto device = make_host_device();
  Sampler sampler(*device, {}, 0);
  CountingProbe copy, read;
  std::int64_t launches = 0;
  const BenchSamples samples = sampler.measure([&] { ++launches; }, {&copy, &read});
  EXPECT_EQ(samples.seconds.size(), static_cast<std::size_t>(Sampler::least_samples));
  EXPECT_EQ(samples.copy_bytes_per_s.size(), samples.seconds.size());
  EXPECT_EQ(samples.read_bytes_per_s.size(), samples.seconds.size());
  EXPECT_GT(samples.launches, 1);                                  // of nothing, very many fill a batch
  EXPECT_GT(launches, samples.launches * Sampler::least_samples);  // and there was a warm-up
  EXPECT_GT(copy.passes, Sampler::least_samples);
  for (const double seconds : samples.seconds) EXPECT_GT(seconds, 0);
}

TEST(BenchSampler, PreparesEverySampleOfWhatCountsOnce) {
  const auto device = make_host_device();
  Sampler sampler(*device, {}, 0);
  CountingProbe probe;
  const BenchSamples samples = sampler.measure(probe, true, {});
  EXPECT_EQ(samples.launches, 1);
  EXPECT_EQ(probe.prepared, Sampler::least_samples);
  EXPECT_EQ(probe.passes, Sampler::least_samples);
  EXPECT_TRUE(samples.copy_bytes_per_s.empty());
}

// A device whose clock goes on when the test says so.
class ClockDevice final : public WatchedDevice {
 public:
  using WatchedDevice::WatchedDevice;
  double now = 0;
  Event make_timing_event() override { return {reinterpret_cast<void*>(++events_)}; }
  void release(Event) noexcept override {}
  void record(Event event, Stream) override { recorded_[event.native] = now; }
  double seconds_between(Event start, Event end) override {
    return recorded_[end.native] - recorded_[start.native];
  }

 private:
  std::uintptr_t events_ = 0;
  std::map<void*, double> recorded_;
};

TEST(Sampler, ADifferenceIsOfBatchesSideBySideOnADriftingClock) {
  const auto host = make_host_device();
  ClockDevice device(*host);
  Sampler sampler(device, {}, 1e-3);
  double drift = 1;
  const BenchSamples samples = sampler.measure_difference([&] { device.now += drift * 5e-3; },
                                                          [&] {
                                                            device.now += drift * 3e-3;
                                                            drift *= 1.001;
                                                          },
                                                          {});
  ASSERT_GE(samples.seconds.size(), 7u);
  ASSERT_EQ(samples.base_seconds.size(), samples.seconds.size());
  for (std::size_t i = 0; i < samples.seconds.size(); ++i) {
    EXPECT_NEAR(samples.seconds[i] / samples.base_seconds[i], 2.0 / 3, 0.01) << "sample " << i;
  }
  EXPECT_GT(samples.base_seconds.back(), samples.base_seconds.front());
}

TEST(Sampler, ADifferenceMayBeNegative) {
  const auto host = make_host_device();
  ClockDevice device(*host);
  const BenchSamples samples =
      Sampler(device, {}, 1e-3)
          .measure_difference([&] { device.now += 3e-3; }, [&] { device.now += 4e-3; }, {});
  for (const double seconds : samples.seconds) EXPECT_NEAR(seconds, -1e-3, 1e-9);
}

}  // namespace
}  // namespace isotherm
