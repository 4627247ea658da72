// A copy of the field holds the sweep at which it was taken, however late the device gets to it and whatever
// the sweeps have done since.
#include "solver/host_copy.hpp"

#include <gtest/gtest.h>

#include "backend_fixture.hpp"
#include "deferred_device.hpp"
#include "kernels/fingerprint.hpp"
#include "solver/rows.hpp"
#include "solver/solver.hpp"
#include "support/decks.hpp"
#include "support/process_grid.hpp"

namespace isotherm {
namespace {

class HostCopies : public BackendTest {
 protected:
  template <class T>
  std::uint64_t whole(FieldView<const T> field, Box block, Int3 cells) const {
    return world().all_reduce(fingerprint(field, block.lo, cells), ReduceOp::sum);
  }

  template <class T>
  void expect_old_field(Config config, bool graph) {
    config.solver.kernel = device().backend() == Backend::host ? "openmp" : "naive";
    config.solver.reduction = "reproducible";
    const Decomposition decomposition(config.grid.cells, even_process_grid(world().size()), {},
                                      halo_depth(config));
    SolverRows<T> rows = choose_rows<T>(config, device().backend());
    rows.graph = graph && why_no_graph(config, device()).empty();
    Solver<T> solver(config, decomposition, world(), device(), rows);
    HostCopy<T> copy = solver.make_host_copy();
    for (const std::int64_t beside : {1, 2, 3, 40}) {
      const std::uint64_t taken = solver.fingerprint();
      solver.copy_to(copy);
      solver.sweep(beside);
      EXPECT_EQ(whole<T>(copy.view(), solver.block(), config.grid.cells), taken);
      EXPECT_GE(copy.seconds(), 0);
      EXPECT_NE(solver.fingerprint(), taken);
    }
  }
};

ISOTHERM_ON_EACH_BACKEND(HostCopies);

TEST_P(HostCopies, HoldTheFieldOfTheirSweep) {
  expect_old_field<double>(decks::every_wall({23, 17, 19}), false);
  expect_old_field<float>(decks::base({23, 17, 19}), false);
}

TEST_P(HostCopies, HoldItBesideGraphsToo) {
  expect_old_field<double>(decks::base({23, 17, 19}), true);
}

TEST_P(HostCopies, AreTakenBehindTheSweepsOfADeepHalo) {
  Config config = decks::base({23, 17, 19});
  config.solver.depth = 3;
  expect_old_field<double>(config, false);
}

// The order of the streams alone, on a device that does nothing before it must.
TEST(HostCopyOrder, IsBehindTheSweepAndBeforeWhoOverwrites) {
  DeferredDevice device;
  Field<double> field(device, {4, 3, 2}, 1), old(device, {4, 3, 2}, 1), next(device, {4, 3, 2}, 1);
  std::fill_n(static_cast<double*>(field.data()), field.bytes() / sizeof(double), 0.0);
  std::fill_n(static_cast<double*>(old.data()), old.bytes() / sizeof(double), 1.0);
  std::fill_n(static_cast<double*>(next.data()), next.bytes() / sizeof(double), 2.0);
  const Owned<Stream> compute = own_stream(device, Priority::normal);
  HostCopy<double> copy(device, {4, 3, 2}, 1);

  device.copy(field.data(), old.data(), field.bytes(), compute);
  copy.take(field, compute);
  device.wait(compute, copy.copied());
  device.copy(field.data(), next.data(), field.bytes(), compute);
  device.synchronize(compute);

  EXPECT_EQ(field.view()(1, 1, 1), 2.0);
  EXPECT_EQ(copy.view()(1, 1, 1), 1.0);
}

}  // namespace
}  // namespace isotherm
