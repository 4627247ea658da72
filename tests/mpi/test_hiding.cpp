// What of an exchange is hidden: the spans that it is made of, on a device whose clock is the test's, and a
// solver that measures it and sweeps on as if it had not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend_fixture.hpp"
#include "halo/hiding.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"
#include "support/watched_device.hpp"

namespace isotherm {
namespace {

// Its clock goes on with what is queued; an event holds the time. With a backend of its own choice: that of a
// GPU is given sweeps to get ahead of, which must not count.
class ClockedDevice final : public WatchedDevice {
 public:
  ClockedDevice(Device& device, Backend backend) : WatchedDevice(device), backend_(backend) {}
  double now = 0;
  Backend backend() const override { return backend_; }
  Event make_timing_event() override { return {new double}; }
  void release(Event event) noexcept override { delete static_cast<double*>(event.native); }
  void record(Event event, Stream) override { *static_cast<double*>(event.native) = now; }
  double seconds_between(Event start, Event end) override {
    return *static_cast<double*>(end.native) - *static_cast<double*>(start.native);
  }

 private:
  Backend backend_;
};

// Rank 0 is the slowest to sweep; the others wait for it, which is no communication.
TEST(HidingOfSpans, EachHoldsItsOwnPartOfTheSlowestRank) {
  const Communicator world = Communicator::world();
  const auto host = make_host_device();
  for (const Backend backend : {Backend::host, Backend::cuda}) {
    for (const double unit : {0x1p-20, 0x1p-3}) {  // s: many of them a sample, and one
      ClockedDevice device(*host, backend);
      int steps = 0;
      const HaloCost cost = measure_halo_cost(
          world, device, {},
          [&](StepPart part) {
            const int sweep = world.is_root() ? 32 : 20;
            device.now += unit * (part == StepPart::exchange ? 4 : part == StepPart::sweep ? sweep : 33);
            ++steps;
          },
          false);
      EXPECT_EQ(cost.exchange, 4 * unit);
      EXPECT_EQ(cost.exposed, unit);
      EXPECT_LE(steps * 33 * unit, std::max(0.5, 40 * 33 * unit)) << "it takes too long";
    }
  }
}

class HidingOfHalos : public BackendTest {
 protected:
  // The answer after some sweeps; what was measured before them is in `cost`.
  std::uint64_t answer(const Config& config, bool time_halos, std::optional<HaloCost>& cost) {
    Solver<double> solver(config, Decomposition(config.grid.cells, even_process_grid(world().size()), {}),
                          world(), device(), choose_rows<double>(config, device().backend()), time_halos);
    cost = solver.halo_cost();
    solver.sweep(5);
    EXPECT_EQ(solver.sweeps(), 5);
    return solver.fingerprint();
  }
};

TEST_P(HidingOfHalos, IsMeasuredWithoutATrace) {
  Config config = decks::every_wall({16, 13, 15});
  for (const int depth : {1, 2}) {
    for (const Overlap overlap : {Overlap::on, Overlap::off}) {
      SCOPED_TRACE(fmt::format("depth {}, overlap {}", depth, overlap == Overlap::on ? "on" : "off"));
      config.solver.halo_width = depth;
      config.parallel.overlap = overlap;
      std::optional<HaloCost> unasked, measured;
      const std::uint64_t plain = answer(config, false, unasked);
      EXPECT_EQ(answer(config, true, measured), plain);
      EXPECT_FALSE(unasked.has_value());
      EXPECT_EQ(measured.has_value(), world().size() > 1);
      if (!measured) continue;
      EXPECT_GT(measured->exchange, 0);
      EXPECT_GE(measured->exposed, 0);
      for (const double value : {measured->exchange, measured->exposed}) {
        EXPECT_EQ(world().all_reduce(value, ReduceOp::max), value) << "ranks have different figures";
      }
    }
  }
}
ISOTHERM_ON_EACH_BACKEND(HidingOfHalos);

}  // namespace
}  // namespace isotherm
