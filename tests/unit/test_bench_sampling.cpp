#include "app/bench/sampling.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/watched_device.hpp"

namespace isotherm {
namespace {

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
