// Decisions and data that ranks share: which rank uses which GPU, the run's tables, its threads.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>

#include "app/session.hpp"
#include "backend_fixture.hpp"
#include "core/error.hpp"
#include "core/host_threads.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/records/run_record.hpp"
#include "solver/level.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

Config deck(DeviceChoice device) {
  Config config = decks::base({8, 8, 8});
  config.parallel.device = device;
  return config;
}

TEST(Placement, OnTheCpuByRequest) {
  const Communicator world = Communicator::world();
  const Placement placement = place_ranks(deck(DeviceChoice::cpu), world, 3);
  EXPECT_EQ(placement.backend, Backend::host);
  EXPECT_EQ(placement.device_index, -1);
  EXPECT_EQ(placement.ranks_on_device, world.size());  // all on one host
  EXPECT_EQ(placement.note, "");
  EXPECT_EQ(placement.warnings, std::vector<std::string>{});
  ASSERT_EQ(static_cast<int>(placement.ranks.size()), world.size());
  for (const RankInfo& place : placement.ranks) {
    EXPECT_EQ(std::tuple(place.host, place_text(place), place.uuid, place.threads),
              std::tuple(processor_name(), "CPU", "", 3));
  }
}

TEST(Placement, WithoutAnyGpu) {
  const CudaDevices found = find_cuda_devices();
  if (!found.devices.empty()) GTEST_SKIP() << "this machine has a GPU";
  const Communicator world = Communicator::world();
  const Placement placement = place_ranks(deck(DeviceChoice::automatic), world, 1);
  EXPECT_EQ(placement.backend, Backend::host);
  EXPECT_EQ(placement.note, "no CUDA device (" + found.why_none + "): computing on the CPU");
  EXPECT_EQ(placement.warnings, std::vector<std::string>{});
  expect_says(refusal<CollectiveError>([&] { place_ranks(deck(DeviceChoice::cuda), world, 1); },
                                       ExitCode::unavailable),
              ": no CUDA device (" + found.why_none + "); use ");
}

// Simulates the folder of the MPS daemon, with or without its pipe, whatever runs on this machine.
class MpsFolder {
 public:
  explicit MpsFolder(bool running) {
    if (const char* before = getenv(variable)) before_ = before;
    if (running) std::ofstream(folder_.path() / "control") << "";
    setenv(variable, folder_.path().c_str(), 1);
  }
  ~MpsFolder() { before_ ? setenv(variable, before_->c_str(), 1) : unsetenv(variable); }

 private:
  static constexpr const char* variable = "CUDA_MPS_PIPE_DIRECTORY";
  test::TemporaryFolder folder_;
  std::optional<std::string> before_;
};

// On any number of GPUs that all ranks see.
class PlacementCuda : public testing::Test {
 protected:
  void SetUp() override {
    std::string mine;
    for (const DeviceInfo& device : found_.devices) mine += device.uuid;
    const std::vector<std::string> all = world_.all_gather(mine);
    if (mine.empty()) GTEST_SKIP() << found_.why_none;
    if (std::ranges::count(all, mine) != std::ssize(all)) GTEST_SKIP() << "every rank sees GPUs of its own";
  }
  bool is_shared() const { return world_.size() > static_cast<int>(found_.devices.size()); }

  const CudaDevices found_ = find_cuda_devices();
  const Communicator world_ = Communicator::world();
};

// With fewer GPUs than ranks, the numbers of ranks per GPU differ by at most one.
TEST_F(PlacementCuda, GpusAreDealtOutEvenly) {
  const MpsFolder mps(false);
  const Placement placement = place_ranks(deck(DeviceChoice::automatic), world_, 1);
  EXPECT_EQ(placement.backend, Backend::cuda);
  const auto gpus = static_cast<int>(found_.devices.size()), ranks = world_.size();
  const auto& mine = placement.ranks[static_cast<std::size_t>(world_.rank())];
  EXPECT_EQ(mine.uuid, found_.devices[static_cast<std::size_t>(world_.rank() % gpus)].uuid);
  EXPECT_EQ(placement.device_index, world_.rank() % gpus);
  EXPECT_EQ(placement.ranks_on_device, ranks / gpus + (world_.rank() % gpus < ranks % gpus ? 1 : 0));
  EXPECT_EQ(placement.warnings.empty(), !is_shared());
}

// Through MPS, or as the deck allows.
TEST_F(PlacementCuda, IntendedSharingGivesNoWarning) {
  if (!is_shared()) GTEST_SKIP() << "a GPU for every rank";
  Config config = deck(DeviceChoice::automatic);
  {
    const MpsFolder mps(true);
    const Placement placement = place_ranks(config, world_, 1);
    EXPECT_EQ(placement.warnings, std::vector<std::string>{});
    expect_says(placement.note, " ranks per GPU through MPS");
  }
  config.parallel.ranks_per_gpu = 1;
  EXPECT_THROW(place_ranks(config, world_, 1), CollectiveError);
  config.parallel.ranks_per_gpu = world_.size();
  EXPECT_EQ(place_ranks(config, world_, 1).warnings, std::vector<std::string>{});
}

// Data that ranks gather for the run's output.

TEST(RunOutput, RankTableIsInRankOrderOnEveryRank) {
  const Communicator world = Communicator::world();
  const auto info = [](std::int64_t rank) {
    const std::string uuid = fmt::format("uuid {}", rank);
    const int number = static_cast<int>(rank);
    return RankInfo{number, "host \"\n", Backend::cuda, number % 2, "GPU", uuid, 3, (rank + 1) << 40, 7};
  };
  RunRecord expected, found;
  for (int rank = 0; rank < world.size(); ++rank) expected.ranks.push_back(info(rank));
  found.ranks = gather_ranks(info(world.rank()), world);
  EXPECT_EQ(to_json(found), to_json(expected));
}

TEST(RunOutput, ThreadsOfAllRanksFitTheHost) {
  unsetenv("OMP_NUM_THREADS");
  const Communicator host = Communicator::world().split_by_host();
  const ThreadPlan plan = plan_threads(host);
  EXPECT_GE(plan.threads, 1);
  const auto all = host.all_reduce(static_cast<std::int64_t>(plan.threads), ReduceOp::sum);
  EXPECT_LE(all, std::max(find_host_cores().online, host.size()));
  EXPECT_NE(plan.note, "");
  EXPECT_EQ(plan.warning.empty(), host.size() <= find_host_cores().online) << plan.warning;
}

// Copies of the field, boxes, single cells and means have the bits of the field, whichever rank holds them;
// and nonblocking all-reduces.

Box random_box(Random& random, Int3 n, Int3 most) {
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const Index extent = random.between<Index>(1, std::min(most[axis], n[axis]));
    box.lo[axis] = random.between<Index>(0, n[axis] - extent);
    box.hi[axis] = box.lo[axis] + extent;
  }
  return box;
}

class HostCopies : public BackendTest {
 protected:
  template <class T>
  void expect_old_field(Config config, bool graph) {
    config.solver.kernel = device().backend() == Backend::host ? "openmp" : "naive";
    config.solver.reduction = "reproducible";
    Solver<T> solver =
        solver_of<T>(config, even_blocks(config, ghost_layers(config)), world(), device(), graph);
    HostCopy<T> copy(solver.level());
    for (const std::int64_t beside : {1, 2, 3, 40}) {
      const std::uint64_t taken = solver.fingerprint();
      copy.take();
      solver.sweep(beside);
      const std::uint64_t part = fingerprint(copy.view(), solver.subdomain().lo, config.grid.cells);
      EXPECT_EQ(world().all_reduce(part, ReduceOp::sum), taken);
      EXPECT_NE(solver.fingerprint(), taken);
    }
  }

  template <class T>
  void expect_boxes_of_the_field() {
    Random random;
    const Config config = decks::every_boundary({23, 17, 19});
    Solver<T> solver = solver_of<T>(config, even_blocks(config), world(), device());
    const Int3 n = solver.subdomain().extent();
    const bool is_last = world().rank() == world().size() - 1;
    for (int round = 0; round < 12; ++round) {
      std::vector<Box> boxes;
      switch (round % 3) {
        case 0:  // single cells, and none on one rank
          for (int i = 0; i < 5 && !(round > 3 && is_last); ++i)
            boxes.push_back(random_box(random, n, {1, 1, 1}));
          break;
        case 1:  // a small one between empty ones
          boxes = {Box{}, random_box(random, n, {5, 3, 2}), Box{}};
          break;
        default:  // up to all cells
          boxes = {random_box(random, n, n), random_box(random, n, n)};
      }
      solver.sweep(3);
      const std::vector<T> found = solver.host_cells(boxes);
      const FieldView<const T> field = solver.host_field();
      std::vector<T> expected;
      for (const Box& box : boxes) for_each_cell(box, [&](Int3 c) { expected.push_back(field(c)); });
      EXPECT_EQ(found, expected);
      EXPECT_EQ(solver.host_cells(boxes), expected);  // the copy holds this sweep now
    }
  }
};

ISOTHERM_ON_EACH_BACKEND(HostCopies);

// Also concurrently with graphs, and after the sweeps of a wide halo.
TEST_P(HostCopies, HoldTheFieldOfTheirSweep) {
  expect_old_field<double>(decks::every_boundary({23, 17, 19}), false);
  Config config = decks::base({23, 17, 19});
  expect_old_field<float>(config, false);
  expect_old_field<double>(config, true);
  config.solver.halo_width = 3;
  expect_old_field<double>(config, false);
}

// Packed on the device if they have few cells, otherwise taken from a copy of all.
TEST_P(HostCopies, OfBoxesHaveTheCellsOfTheField) {
  expect_boxes_of_the_field<double>();
  expect_boxes_of_the_field<float>();
}

// Means over blocks of cells have the bits of a single process, wherever the subdomains end.

// Multiples of a third, so that sums depend on their order.
template <class T>
T mean_at(Int3 coarse, Int3 factor, Int3 cells) {
  double sum = 0;
  const Int3 first{coarse.x * factor.x, coarse.y * factor.y, coarse.z * factor.z};
  for_each_cell({first, first + factor},
                [&](Int3 c) { sum += static_cast<double>(test::value_at<T>(c, cells, 3)); });
  return static_cast<T>(sum / static_cast<double>(factor.product()));
}

template <class T>
void expect_means(Int3 cells, Int3 factor) {
  const Communicator world = Communicator::world();
  const auto device = make_host_device();
  for (const Int3 grid : process_grids(world.size(), cells)) {
    const Box subdomain = Decomposition(cells, grid, {}).subdomain(world.rank());
    Field<T> field = test::field_by_index<T>(*device, subdomain, cells, 1, 3);

    const std::vector<T> means = coarse_means<T>(world, field.view(), subdomain, factor);
    const Box mine = coarse_begun_in(subdomain, factor);
    ASSERT_EQ(std::ssize(means), mine.cells());
    std::size_t i = 0, wrong = 0;
    for_each_cell(mine, [&](Int3 c) { wrong += means[i++] != mean_at<T>(c, factor, cells); });
    EXPECT_EQ(wrong, 0u) << "factor " << text(factor) << " on " << text(grid);
    // Each coarse cell has one owner.
    EXPECT_EQ(world.all_reduce(mine.cells() * factor.product(), ReduceOp::sum), cells.product());
  }
}

// Subdomains that end within a coarse cell or are contained in one; one rank that gathers all; thin grids.
TEST(CoarseField, HasTheMeansOfItsCellsOnAnyProcessGrid) {
  expect_means<double>({18, 15, 20}, {3, 5, 4});
  expect_means<float>({18, 15, 20}, {6, 3, 2});
  expect_means<double>({16, 16, 16}, {8, 16, 8});
  expect_means<double>({12, 12, 12}, {12, 12, 12});
  expect_means<double>({24, 1, 18}, {4, 1, 3});
  expect_means<double>({9, 10, 11}, {1, 1, 1});
}

// Nonblocking all-reduces.
using Values = PendingAllReduce::Values;

TEST(PendingAllReduce, SeveralRunConcurrently) {
  const Communicator world = Communicator::world();
  const auto rank = static_cast<double>(world.rank()), ranks = static_cast<double>(world.size());
  auto sum = world.start_all_reduce(std::vector<double>{rank, 1}, ReduceOp::sum);
  auto words = world.start_all_reduce(std::vector<std::int64_t>(70, world.rank() + 1), ReduceOp::sum);
  auto largest = world.start_all_reduce(std::vector<double>{rank, -rank}, ReduceOp::max);
  auto least = world.start_all_reduce(std::vector<double>{rank, -rank}, ReduceOp::min);
  EXPECT_EQ(world.all_reduce(std::int64_t{1}, ReduceOp::sum), world.size());  // a blocking one in between
  while (!least.done()) {
  }
  EXPECT_EQ(least.wait(), Values(std::vector<double>{0, 1 - ranks}));
  EXPECT_EQ(largest.wait(), Values(std::vector<double>{ranks - 1, 0}));
  EXPECT_EQ(words.wait(), Values(std::vector<std::int64_t>(70, world.size() * (world.size() + 1) / 2)));
  EXPECT_EQ(sum.wait(), Values(std::vector<double>{ranks * (ranks - 1) / 2, ranks}));
}

TEST(PendingAllReduce, AnAbandonedOneDoesNotAffectTheNext) {
  const Communicator world = Communicator::world();
  auto kept = world.start_all_reduce(std::vector<double>{1}, ReduceOp::sum);
  kept = world.start_all_reduce(std::vector<double>{2}, ReduceOp::sum);
  { const auto dropped = world.start_all_reduce(std::vector<double>{3}, ReduceOp::sum); }
  EXPECT_EQ(kept.wait(), Values(std::vector<double>{2.0 * world.size()}));
}

// A rank that throws must be able to leave, although the others never start the all-reduce.
TEST(PendingAllReduce, AnExceptionDoesNotWaitForOtherRanks) {
  const Communicator world = Communicator::world(), reduced = Communicator::world();
  const auto start = [&] { return reduced.start_all_reduce(std::vector<double>{1}, ReduceOp::sum); };
  if (world.is_root()) {
    EXPECT_THROW(
        {
          const auto pending = start();
          throw 1;
        },
        int);
  }
  world.barrier();
  if (!world.is_root()) {
    EXPECT_EQ(start().wait(), Values(std::vector<double>{static_cast<double>(world.size())}));
  }
}

}  // namespace
}  // namespace isotherm
