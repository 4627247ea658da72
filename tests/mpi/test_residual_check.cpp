// A residual that is looked at later has the bits of one that is looked at at once, and the host waits for
// nothing in between.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "app/time_loop.hpp"
#include "backend_fixture.hpp"
#include "kernels/face_copy.hpp"
#include "solver/residual_check.hpp"
#include "support/decks.hpp"
#include "support/devices.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

constexpr std::array norms{Norm::max, Norm::l2, Norm::l1};

struct Residuals {
  std::vector<double> residuals;
  std::uint64_t fingerprint = 0;
  bool operator==(const Residuals&) const = default;
};

template <class T>
Residuals answer(const Config& config, Device& device, const Communicator& world, bool asynchronous) {
  Solver<T> solver(config, blocks_of(config, even_process_grid(world.size())), world, device,
                   rows_with_graphs<T>(config, device));
  Residuals found;
  for (const std::int64_t sweeps : {1, 3, 1, 20}) {  // the last in graphs, where there are any
    solver.sweep(sweeps);
    if (!asynchronous) {
      found.residuals.push_back(solver.residual());
      continue;
    }
    if (solver.sweeps() > 1) found.residuals.push_back(solver.finish_residual());
    solver.start_residual();
  }
  solver.sweep(5);
  if (asynchronous) found.residuals.push_back(solver.finish_residual());
  found.fingerprint = solver.fingerprint();
  return found;
}

template <class T>
void expect_the_same(Config config, Device& device, const Communicator& world) {
  for (const auto& kernel : reduction_kernels<T>()) {
    if (kernel.backend != device.backend() || !kernel.available()) continue;
    config.solver.reduction = kernel.name;
    for (const Norm norm : norms) {
      config.problem.norm = norm;
      for (const Overlap overlap : {Overlap::off, Overlap::on}) {
        if (overlap == Overlap::on && !kernel.fused) continue;                // a norm of several regions
        if (norm != Norm::max && kernel.sum_bits == SumBits::vary) continue;  // from run to run
        config.parallel.overlap = overlap;
        SCOPED_TRACE(fmt::format("reduction {} norm {} overlap {}", kernel.name, static_cast<int>(norm),
                                 overlap == Overlap::on));
        const Residuals expected = answer<T>(config, device, world, false);
        EXPECT_EQ(answer<T>(config, device, world, true), expected);
        EXPECT_GT(*std::min_element(expected.residuals.begin(), expected.residuals.end()), 0);
      }
    }
  }
}

class ResidualCheckTest : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(ResidualCheckTest);

TEST_P(ResidualCheckTest, AsynchronousOnesHaveTheSameBits) {
  expect_the_same<double>(decks::every_wall({17, 13, 14}), device(), world());
  expect_the_same<float>(decks::steady({17, 13, 14}), device(), world());
  Config still = decks::periodic({12, 13, 10});  // boundaries that do not move can be recorded
  still.boundaries[2].value = Expression(310.0);
  expect_the_same<double>(still, device(), world());
}

// Of two fields of each rank that differ in one cell, by what `update` says.
template <class T>
double residual_of(double update, Norm norm, const ReductionKernel<T>& kernel, const Communicator& world) {
  Config config = decks::base({4, 5, 6 * world.size()});
  config.problem.norm = norm;
  const auto host = make_host_device();
  Field<T> now(*host, {4, 5, 6}, 1), before(*host, {4, 5, 6}, 1);
  for (Field<T>* field : {&now, &before}) face_copy<T>(Backend::host).fill(field->view(), T(1), {});
  now.view()(1, 2, 3) += static_cast<T>(update);
  ResidualCheck<T> check(config, world, *host, kernel, kernel.scratch_bytes(now.view().interior()));
  check.start(std::as_const(now).view(), std::as_const(before).view(), {});
  return check.finish();
}

TEST(ResidualCheckOfOneCell, IsNotDroppedOnAnyRank) {
  const Communicator world = Communicator::world();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   inf = std::numeric_limits<double>::infinity();
  for (const auto& kernel : reduction_kernels<double>()) {
    if (kernel.backend != Backend::host || !kernel.launch) continue;
    for (const Norm norm : norms) {
      SCOPED_TRACE(fmt::format("reduction {} norm {}", kernel.name, static_cast<int>(norm)));
      for (int rank = 0; rank < world.size(); ++rank) {
        for (const double bad : {nan, inf, -inf}) {
          EXPECT_TRUE(std::isnan(residual_of(world.rank() == rank ? bad : 1.0, norm, kernel, world)));
        }
        EXPECT_GT(residual_of(world.rank() == rank ? 2.0 : 0.0, norm, kernel, world), 0);
      }
      EXPECT_EQ(residual_of(0, norm, kernel, world), 0);
      EXPECT_EQ(residual_of(120.0, Norm::l1, kernel, world), 1);
      EXPECT_EQ(residual_of(3.0, Norm::max, kernel, world), 3);
    }
  }
}

// Not even for those who ask.
class SlowestDevice final : public DeferredDevice {
 public:
  bool passed(Event) override { return false; }
};

// The value is not on the host, so nobody may have reduced it.
TEST(ResidualCheckOnASlowDevice, WaitsForNothingBeforeItIsFinished) {
  const Communicator world = Communicator::world();
  Config config = decks::base({8, 8, 8 * world.size()});
  for (const char* name : {"reference", "reproducible"}) {
    SCOPED_TRACE(name);
    SlowestDevice slow;
    WatchedDevice device(slow);
    int waits = 0;
    device.on_event_wait = [&](Event) { ++waits; };
    device.on_stream_wait = [&] { ++waits; };
    const auto registry = reduction_kernels<double>();
    const auto kernel = std::find_if(registry.begin(), registry.end(), [&](const auto& r) {
      return r.name == name && r.backend == Backend::host;
    });
    config.problem.norm = Norm::l1;
    Field<double> now(device, {8, 8, 8}, 1), before(device, {8, 8, 8}, 1);
    const auto fill = [&](Field<double>& field, double value) {
      face_copy<double>(Backend::host).fill(field.view(), value, {});
    };
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    ResidualCheck<double> check(config, world, device, *kernel, kernel->scratch_bytes(now.view().interior()));
    fill(before, 300);
    for (const double step : {3.0, 5.0, 7.0}) {
      fill(now, 300 + step);
      check.start(std::as_const(now).view(), std::as_const(before).view(), stream);
      fill(now, 1e9);  // the sweeps that follow
      check.poll();
      EXPECT_TRUE(check.under_way());
      EXPECT_EQ(waits, 0);
      check.wait_for_sweeps();
      EXPECT_EQ(check.finish(), step);
      EXPECT_FALSE(check.under_way());
      EXPECT_EQ(std::exchange(waits, 0), 2);
    }
  }
}

// One rank's device may be done before the run's next collective and another's after it.
TEST(ResidualCheckOnASlowDevice, KeepsOutOfTheOrderOfOtherCollectives) {
  const Communicator world = Communicator::world();
  const auto host = make_host_device();
  SlowestDevice slow;
  Device& device = world.rank() % 2 == 0 ? static_cast<Device&>(slow) : *host;
  const ReductionKernel<double>& kernel = reduction_kernels<double>().front();
  Field<double> field(device, {8, 8, 8}, 1);
  face_copy<double>(Backend::host).fill(field.view(), world.rank(), {});
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  ResidualCheck<double> check(decks::base({8, 8, 8}), world, device, kernel,
                              kernel.scratch_bytes(field.view().interior()));
  check.start(std::as_const(field).view(), {}, stream);
  auto other = world.start_all_reduce(std::vector<double>{100, 0}, ReduceOp::sum);
  EXPECT_EQ(check.finish(), world.size() - 1);
  EXPECT_EQ(other.wait(), (std::vector<double>{100.0 * world.size(), 0}));
}

// The sweep at which the host waits for a check, for each of its two events, and whether it drains the queue.
std::vector<std::int64_t> waits_of_a_run(Config config, Check check, const char* reduction, Device& inner,
                                         LoopOutcome& outcome) {
  config.problem.check = check;
  config.solver.reduction = reduction;
  WatchedDevice device(inner);
  Solver<double> solver(config, blocks_of(config, {1, 1, 1}), Communicator::self(), device,
                        rows_with_graphs<double>(config, device));
  std::vector<std::int64_t> waits;
  std::optional<Event> pace;  // what the host of a device waits for before its first sweep, and by the clock
  device.on_event_wait = [&](Event event) {
    if (solver.is_asynchronous() && !pace) pace = event;
    if (!pace || event.native != pace->native) waits.push_back(solver.sweeps());
  };
  device.on_stream_wait = [&] { EXPECT_EQ(solver.sweeps(), config.problem.max_sweeps) << "before the end"; };
  outcome =
      run_time_loop<double>(config, solver, nullptr, {}, {.world = Communicator::self(), .started = {}});
  return waits;
}

TEST_P(ResidualCheckTest, AnAsynchronousOneIsWaitedForWithTheNextSweepsQueued) {
  Config config = decks::steady({12, 11, 10});
  config.problem.tolerance = 0;
  config.problem.max_sweeps = 50;
  config.problem.check_interval = 20;
  using Sweeps = std::vector<std::int64_t>;
  for (const char* reduction : {"fused", "reproducible"}) {
    SCOPED_TRACE(reduction);
    LoopOutcome at_once, late;
    EXPECT_EQ(waits_of_a_run(config, Check::immediate, reduction, device(), at_once),
              (Sweeps{1, 1, 20, 20, 40, 40, 50, 50}));
    EXPECT_EQ(waits_of_a_run(config, Check::asynchronous, reduction, device(), late),
              (Sweeps{20, 20, 40, 40, 50, 50, 50, 50}));
    EXPECT_EQ(late.residual.last, at_once.residual.last);
    EXPECT_EQ(late.residual.first, at_once.residual.first);
    EXPECT_EQ(late.residual.checks, 4);
    EXPECT_EQ(late.residual.last_sweep, 50);
    EXPECT_EQ(late.residual.extra_sweeps, 0);
  }
}

}  // namespace
}  // namespace isotherm
