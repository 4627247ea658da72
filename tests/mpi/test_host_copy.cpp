// A copy of the field holds the sweep at which it was taken, however late the device gets to it and whatever
// the sweeps have done since.
#include "solver/host_copy.hpp"

#include <gtest/gtest.h>

#include "backend_fixture.hpp"
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
  config.solver.halo_width = 3;
  expect_old_field<double>(config, false);
}

}  // namespace
}  // namespace isotherm
