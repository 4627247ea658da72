// What ranks decide and gather together: who takes which GPU, the run's directory, its tables, its threads.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>

#include "app/placement.hpp"
#include "backend_fixture.hpp"
#include "core/communicator.hpp"
#include "core/error.hpp"
#include "core/host_threads.hpp"
#include "output/records/run_record.hpp"
#include "output/run_directory.hpp"
#include "support/decks.hpp"
#include "support/error_text.hpp"
#include "support/temporary_folder.hpp"

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
  EXPECT_EQ(placement.ranks_on_device, world.size());  // of one host
  EXPECT_EQ(placement.note, "");
  EXPECT_EQ(placement.warnings, std::vector<std::string>{});
  ASSERT_EQ(static_cast<int>(placement.ranks.size()), world.size());
  for (const RankPlace& place : placement.ranks) {
    EXPECT_EQ(std::tuple(place.host, place.device, place.uuid, place.threads),
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

// What a rank is told of MPS, whatever runs on this machine: its daemon's folder, with or without its pipe.
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

// With fewer of them than ranks, each takes as many ranks as the next, or one more.
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
TEST_F(PlacementCuda, SharingThatIsMeantIsNoWarning) {
  if (!is_shared()) GTEST_SKIP() << "a GPU for every rank";
  Config config = deck(DeviceChoice::automatic);
  {
    const MpsFolder mps(true);
    const Placement placement = place_ranks(config, world_, 1);
    EXPECT_EQ(placement.warnings, std::vector<std::string>{});
    expect_says(placement.note, " ranks a GPU through MPS");
  }
  config.parallel.ranks_per_gpu = 1;
  EXPECT_THROW(place_ranks(config, world_, 1), CollectiveError);
  config.parallel.ranks_per_gpu = world_.size();
  EXPECT_EQ(place_ranks(config, world_, 1).warnings, std::vector<std::string>{});
}

// What ranks decide and gather together for the run's output.

TEST(RunOutput, PhasesAreSpreadOverRanks) {
  const Communicator world = Communicator::world();
  const int ranks = world.size();
  PhaseTable<double> mine;
  mine[Phase::sweeps] = world.rank() + 1;    // 1 ... ranks
  mine[Phase::halo] = ranks - world.rank();  // ranks ... 1
  mine[Phase::stepping] = 1e9;               // is not taken from the caller
  const PhaseTable<Spread> all = gather_phases(mine, world);
  EXPECT_EQ(all[Phase::sweeps].min, 1);
  EXPECT_EQ(all[Phase::sweeps].mean, (ranks + 1) / 2.0);
  EXPECT_EQ(all[Phase::sweeps].max, ranks);
  EXPECT_EQ(all[Phase::stepping].min, ranks + 1);
  EXPECT_EQ(all[Phase::stepping].max, ranks + 1);
  EXPECT_EQ(all[Phase::setup].max, 0);
}

TEST(RunOutput, RankTableComesInRankOrderOnEveryRank) {
  const Communicator world = Communicator::world();
  const RankInfo mine{world.rank(),
                      "host \"\n",
                      Backend::cuda,
                      world.rank() % 2,
                      "GPU",
                      fmt::format("uuid {}", world.rank()),
                      3,
                      1000000000000 + world.rank(),
                      7};
  const std::vector<RankInfo> ranks = gather_ranks(mine, world);
  ASSERT_EQ(ranks.size(), static_cast<std::size_t>(world.size()));
  for (int rank = 0; rank < world.size(); ++rank) {
    const RankInfo& info = ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(std::tuple(info.rank, info.host, info.backend, info.device_index, info.uuid, info.threads,
                         info.cells, info.peak_bytes),
              std::tuple(rank, "host \"\n", Backend::cuda, rank % 2, fmt::format("uuid {}", rank), 3,
                         1000000000000 + rank, 7));
  }
}

// Only rank 0 looks at the file system: the others see the folder's path on hosts of their own.
TEST(RunOutput, RunDirectoryIsMadeOnceAndARefusalReachesEveryRank) {
  const Communicator world = Communicator::world();
  const FolderOfAll folder;
  Config config;
  config.name = "plate";
  config.output.directory = folder / "run";
  EXPECT_EQ(open_run_directory(config, "deck\n", "resolved\n", world).path, config.output.directory);
  world.barrier();
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(config.output.directory) / "deck.yaml"));
  expect_says(refusal<CollectiveError>([&] { open_run_directory(config, "deck\n", "resolved\n", world); },
                                       ExitCode::cannot_create),
              "it holds an earlier run: deck.resolved.yaml, deck.yaml");
  config.output.overwrite = true;
  EXPECT_NO_THROW(open_run_directory(config, "new\n", "resolved\n", world));
  EXPECT_EQ(test::read_file(std::filesystem::path(config.output.directory) / "deck.yaml"), "new\n");
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

}  // namespace
}  // namespace isotherm
