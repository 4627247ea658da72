// The diagnostics of a running solver are correct and have the same bits in every configuration: heat is
// conserved, and the balance of boundaries, sources and temperatures closes to rounding.
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
#include "grid/field.hpp"
#include "kernels/face_copy.hpp"
#include "output/records/history.hpp"
#include "physics/diagnostics.hpp"
#include "solver/diagnosis.hpp"
#include "solver/residual_check.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

class HeatBalance : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(HeatBalance);

// Fields set by the test, on each rank separately.
class Made {
 public:
  Made(Device& device, const Config& config)
      : level_(config, Decomposition(n, {1, 1, 1}, {}), Communicator::self(), device),
        diagnosis_(level_, *choose_kernels<double>(config, device.backend()).histogram) {}
  Diagnostics reduce(Field<double>& now, Field<double>& before) {
    level_.device().copy(level_.current().data(), now.data(), now.bytes(), level_.compute());
    level_.device().copy(level_.other().data(), before.data(), before.bytes(), level_.compute());
    return diagnosis_.reduce(StepFields<double>{level_.before(), level_.field()});
  }
  static constexpr Int3 n{9, 8, 7};

 private:
  Level<double> level_;
  Diagnosis<double> diagnosis_;
};
void fill(Field<double>& field, double value) {
  std::fill_n(static_cast<double*>(field.data()), field.bytes() / sizeof(double), value);
}

// A step of a few units in the last place, which a difference of two rounded sums would lose.
TEST_P(HeatBalance, OfAStepBelowTheRoundingOfTheSum) {
  const Config config = decks::base(Made::n);
  const DiagnosticsPlan plan = plan_diagnostics(config);
  const auto host = make_host_device();
  Field<double> before(*host, Made::n, 1), now(*host, Made::n, 1);
  Made made(device(), config);
  fill(before, 300);
  for (const double ulps : {1, 3, -7}) {
    const double step = ulps * 0x1p-44;
    fill(now, 300 + step);
    const Diagnostics d = made.reduce(now, before);
    EXPECT_EQ(d.mean, 300 + step);
    EXPECT_EQ(d.flows->rate, *plan.heat_capacity * (9 * 8 * 7 * step) / plan.dt);
  }
}

TEST_P(HeatBalance, HasNoSumOfInfiniteTemperatures) {
  const Config config = decks::base(Made::n);
  const auto host = make_host_device();
  Field<double> finite(*host, Made::n, 1), infinite(*host, Made::n, 1);
  Made made(device(), config);
  fill(finite, 300);
  fill(infinite, 300);
  infinite.view()(8, 7, 6) = std::numeric_limits<double>::infinity();
  Diagnostics d = made.reduce(infinite, finite);
  EXPECT_EQ(d.max, std::numeric_limits<double>::infinity());
  EXPECT_EQ(d.nan_cells, 0);
  EXPECT_TRUE(std::isnan(d.mean) && std::isnan(*d.heat) && std::isnan(d.flows->rate));
  d = made.reduce(finite, infinite);
  EXPECT_EQ(d.mean, 300);
  EXPECT_TRUE(std::isnan(d.flows->rate));
}

// Heat is balanced, and diagnostics have the same bits on every rank count, process grid and backend. The
// line of history.csv is compared as text with that of one rank with the reference kernels, and of single
// sweeps where ranks exchange every third sweep.

template <class T>
std::string lines(const Config& config, Int3 grid, const Communicator& ranks, Device& device) {
  Solver<T> solver = solver_of<T>(config, blocks_of(config, grid), ranks, device);
  const double rounding = sizeof(T) == 8 ? 1e-12 : 1e-3;  // fp32 rounds each cell of each sweep by 1e-5 K
  std::string text;
  for (const int sweeps : {0, 1, 4}) {
    solver.sweep(sweeps);
    HistoryLine line;
    line.sweep = solver.sweeps();
    line.diagnostics = solver.diagnose();
    if (sweeps > 0 && config.problem.kind == ProblemKind::transient) {
      EXPECT_LT(line.diagnostics->flows->relative_balance, rounding);
    }
    text += history_line(line, plan_diagnostics(config));
  }
  return text;
}

template <class T>
void expect_one_line(Config config, Device& device) {
  const Communicator world = Communicator::world();
  config.output.diagnostics = 1;
  config.output.histogram.bins = 17;
  config.solver.kernel = config.solver.reduction = config.solver.histogram = "reference";
  const Int3 n = config.grid.cells;
  const std::string expected = lines<T>(config, {1, 1, 1}, Communicator::self(), *make_host_device());
  ASSERT_EQ(expected.find("nan"), std::string::npos) << expected;
  config.solver = {};
  fix_transport(config, device, world);
  for (const Int3 grid : tested_process_grids(world.size())) {
    if (grid.x > n.x || grid.y > n.y || grid.z > n.z) continue;
    config.solver.halo_width =
        static_cast<int>(std::min<Index>(3, blocks_of(config, grid).max_halo_width().value_or(3)));
    for (const auto& kernel : histogram_kernels<T>()) {
      if (kernel.backend != device.backend() || left_out(device, 4)) continue;
      config.solver.histogram = kernel.name;
      SCOPED_TRACE(fmt::format("{} on {}", kernel.name, text(grid)));
      EXPECT_EQ(lines<T>(config, grid, world, device), expected);
    }
  }
}

class OneDiagnosis : public BackendTest {};
ISOTHERM_ON_EACH_BACKEND(OneDiagnosis);

TEST_P(OneDiagnosis, OfEveryKindOfDeck) {
  Config boundaries = decks::every_boundary({17, 23, 31});
  boundaries.sources = decks::steady({1, 1, 1}).sources;
  for (const Config& config :
       {boundaries, decks::steady({16, 15, 14}), decks::moving_sources({17, 13, 11}),
        decks::varying_laws({15, 14, 13}), decks::sources_in_few_cells({24, 18, 17})}) {
    expect_one_line<double>(config, device());
    expect_one_line<float>(config, device());
  }
  expect_one_line<double>(decks::periodic({12, 9, 10}), device());
  expect_one_line<double>(decks::in_a_void({26, 17, 15}), device());
  expect_one_line<float>(decks::in_a_void({19, 15, 16}), device());
}

// An asynchronous residual has the bits of an immediate one, and the host waits for nothing in between.

constexpr std::array norms{Norm::max, Norm::l2, Norm::l1};

struct Residuals {
  std::vector<double> residuals;
  std::uint64_t fingerprint = 0;
  bool operator==(const Residuals&) const = default;
};

template <class T>
Residuals answer(const Config& config, Device& device, const Communicator& world, bool asynchronous) {
  Solver<T> solver = solver_of<T>(config, even_blocks(config), world, device, true);
  Residuals found;
  for (const std::int64_t sweeps : {1, 3, 1, 20}) {  // the last ones as graphs, where possible
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
  fix_transport(config, device, world);
  for (const auto& kernel : reduction_kernels<T>()) {
    if (kernel.backend != device.backend() || !kernel.available()) continue;
    config.solver.reduction = kernel.name;
    for (const Norm norm : norms) {
      config.problem.norm = norm;
      for (const Overlap overlap : {Overlap::off, Overlap::on}) {
        if (overlap == Overlap::on && !kernel.fused) continue;                // a norm over regions
        if (norm != Norm::max && kernel.sum_bits == SumBits::vary) continue;  // sums vary from run to run
        if (left_out(device, 3)) continue;
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
  expect_the_same<double>(decks::every_boundary({17, 13, 14}), device(), world());
  expect_the_same<float>(decks::steady({17, 13, 14}), device(), world());
  Config still = decks::periodic({12, 13, 10});  // values that are constant in time can be recorded
  still.boundaries[2].value = Expression(310.0);
  expect_the_same<double>(still, device(), world());
}

// For two fields on each rank that differ in one cell, by `update`.
template <class T>
double residual_of(double update, Norm norm, const ReductionKernel<T>& kernel, const Communicator& world) {
  Config config = decks::base({4, 5, 6 * world.size()});
  config.problem.norm = norm;
  const auto host = make_host_device();
  Field<T> now(*host, {4, 5, 6}, 1), before(*host, {4, 5, 6}, 1);
  for (Field<T>* field : {&now, &before}) FaceCopy<T>::on(Backend::host).fill(field->view(), T(1), {});
  now.view()(1, 2, 3) += static_cast<T>(update);
  ResidualCheck<T> check(config, world, *host, kernel, kernel.scratch_bytes(now.view().interior()),
                         config.grid.cells.product());
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
      EXPECT_DOUBLE_EQ(residual_of(12.0, Norm::l2, kernel, world), std::sqrt(1.2));
    }
  }
}

// Events have not passed even when they are queried.
class SlowestDevice final : public DeferredDevice {
 public:
  bool passed(Event) override { return false; }
};

// The value is not on the host yet, so no rank may have reduced it.
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
    config.problem.norm = Norm::l1;
    config.solver.reduction = name;
    const ReductionKernel<double>& kernel = *choose_kernels<double>(config, Backend::host).reduction;
    Field<double> now(device, {8, 8, 8}, 1), before(device, {8, 8, 8}, 1);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    ResidualCheck<double> check(config, world, device, kernel, kernel.scratch_bytes(now.view().interior()),
                                config.grid.cells.product());
    fill(before, 300);
    for (const double step : {3.0, 5.0, 7.0}) {
      fill(now, 300 + step);
      check.start(std::as_const(now).view(), std::as_const(before).view(), stream);
      fill(now, 1e9);  // simulates the sweeps that follow
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

// The device of one rank may finish before the next collective of the run, that of another after it.
TEST(ResidualCheckOnASlowDevice, KeepsOutOfTheOrderOfOtherCollectives) {
  const Communicator world = Communicator::world();
  const auto host = make_host_device();
  SlowestDevice slow;
  Device& device = world.rank() % 2 == 0 ? static_cast<Device&>(slow) : *host;
  const ReductionKernel<double>& kernel = reduction_kernels<double>().front();
  Field<double> field(device, {8, 8, 8}, 1);
  FaceCopy<double>::on(Backend::host).fill(field.view(), world.rank(), {});
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  ResidualCheck<double> check(decks::base({8, 8, 8}), world, device, kernel,
                              kernel.scratch_bytes(field.view().interior()), 8 * 8 * 8);
  check.start(std::as_const(field).view(), {}, stream);
  auto other = world.start_all_reduce(std::vector<double>{100, 0}, ReduceOp::sum);
  EXPECT_EQ(check.finish(), world.size() - 1);
  EXPECT_EQ(std::get<0>(other.wait()), (std::vector<double>{100.0 * world.size(), 0}));
}

// The sweeps at which the host waits for the two events of a check, and whether it drains the queue.
std::vector<std::int64_t> waits_of_a_run(Config config, Check check, const char* reduction, Device& inner,
                                         LoopOutcome& outcome) {
  config.problem.check = check;
  config.solver.reduction = reduction;
  WatchedDevice device(inner);
  Solver<double> solver =
      solver_of<double>(config, blocks_of(config, {1, 1, 1}), Communicator::self(), device, true);
  std::vector<std::int64_t> waits;
  std::optional<Event> throttle;  // limits how far the host is ahead of the device; not a wait for a check
  device.on_event_wait = [&](Event event) {
    if (solver.is_asynchronous() && !throttle) throttle = event;
    if (!throttle || event.native != throttle->native) waits.push_back(solver.sweeps());
  };
  device.on_stream_wait = [&] { EXPECT_EQ(solver.sweeps(), config.problem.max_sweeps) << "before the end"; };
  LoopOutputs<double> outputs{FileThread("in step")};
  outcome =
      run_time_loop<double>(config, solver, nullptr, outputs, {.world = Communicator::self(), .started = {}});
  return waits;
}

TEST_P(ResidualCheckTest, TheHostQueuesTheNextSweepsBeforeItWaits) {
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
