// What ranks decide and gather together: who takes which GPU, the run's directory, its tables, its threads.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "app/placement.hpp"
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
    EXPECT_EQ(place.host, processor_name());
    EXPECT_EQ(place.device, "CPU");
    EXPECT_EQ(place.uuid, "");
    EXPECT_EQ(place.threads, 3);
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
  try {
    place_ranks(deck(DeviceChoice::cuda), world, 1);
    FAIL() << "a device that is not there was placed";
  } catch (const CollectiveError& e) {
    EXPECT_EQ(e.code(), ExitCode::unavailable);
    expect_says(std::string(e.what()), ": no CUDA device (" + found.why_none + "); use ");
  }
}

// Empty where all ranks see the same GPUs, as the tests below take for granted. Collective.
std::string why_not_here(const CudaDevices& found, const Communicator& world) {
  std::string mine;
  for (const DeviceInfo& device : found.devices) mine += device.uuid;
  for (const std::string& theirs : world.all_gather(mine)) {
    if (theirs != mine) return "every rank sees GPUs of its own";
  }
  return found.devices.empty() ? found.why_none : "";
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

// On any number of GPUs; with fewer of them than ranks, each takes as many ranks as the next, or one more.
TEST(Placement, CudaGpusAreDealtOutEvenly) {
  const CudaDevices found = find_cuda_devices();
  const Communicator world = Communicator::world();
  if (const std::string why = why_not_here(found, world); !why.empty()) GTEST_SKIP() << why;
  const MpsFolder mps(false);
  const Placement placement = place_ranks(deck(DeviceChoice::automatic), world, 1);
  EXPECT_EQ(placement.backend, Backend::cuda);
  const auto gpus = static_cast<int>(found.devices.size()), ranks = world.size();
  const auto& mine = placement.ranks[static_cast<std::size_t>(world.rank())];
  EXPECT_EQ(mine.uuid, found.devices[static_cast<std::size_t>(world.rank() % gpus)].uuid);
  EXPECT_EQ(placement.device_index, world.rank() % gpus);
  EXPECT_EQ(placement.ranks_on_device, ranks / gpus + (world.rank() % gpus < ranks % gpus ? 1 : 0));
  EXPECT_EQ(placement.warnings.empty(), ranks <= gpus);
}

TEST(Placement, CudaSharingUnderMpsIsMeant) {
  const CudaDevices found = find_cuda_devices();
  const Communicator world = Communicator::world();
  if (const std::string why = why_not_here(found, world); !why.empty()) GTEST_SKIP() << why;
  if (world.size() <= static_cast<int>(found.devices.size())) GTEST_SKIP() << "a GPU for every rank";
  const MpsFolder mps(true);
  const Placement placement = place_ranks(deck(DeviceChoice::automatic), world, 1);
  EXPECT_EQ(placement.warnings, std::vector<std::string>{});
  expect_says(placement.note, " ranks a GPU through MPS");
}

TEST(Placement, CudaMoreRanksAGpuThanTheDeckAllows) {
  const CudaDevices found = find_cuda_devices();
  const Communicator world = Communicator::world();
  if (const std::string why = why_not_here(found, world); !why.empty()) GTEST_SKIP() << why;
  if (world.size() <= static_cast<int>(found.devices.size())) GTEST_SKIP() << "a GPU for every rank";
  Config config = deck(DeviceChoice::automatic);
  config.parallel.ranks_per_gpu = 1;
  EXPECT_THROW(place_ranks(config, world, 1), CollectiveError);
  config.parallel.ranks_per_gpu = world.size();
  EXPECT_EQ(place_ranks(config, world, 1).warnings, std::vector<std::string>{});
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
  const RankRow mine{world.rank(),
                     "host \"\n",
                     Backend::cuda,
                     world.rank() % 2,
                     "GPU",
                     fmt::format("uuid {}", world.rank()),
                     3,
                     1000000000000 + world.rank(),
                     7};
  const std::vector<RankRow> rows = gather_ranks(mine, world);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(world.size()));
  for (int rank = 0; rank < world.size(); ++rank) {
    const RankRow& row = rows[static_cast<std::size_t>(rank)];
    EXPECT_EQ(row.rank, rank);
    EXPECT_EQ(row.host, "host \"\n");
    EXPECT_EQ(row.backend, Backend::cuda);
    EXPECT_EQ(row.device_index, rank % 2);
    EXPECT_EQ(row.uuid, fmt::format("uuid {}", rank));
    EXPECT_EQ(row.threads, 3);
    EXPECT_EQ(row.cells, 1000000000000 + rank);
    EXPECT_EQ(row.peak_bytes, 7);
  }
}

// Only rank 0 looks at the file system: the others see the folder's path on hosts of their own.
TEST(RunOutput, RunDirectoryIsMadeOnceAndARefusalReachesEveryRank) {
  const Communicator world = Communicator::world();
  const test::TemporaryFolder folder;
  Config config;
  config.name = "plate";
  config.output.directory = world.broadcast((folder.path() / "run").string());
  EXPECT_EQ(open_run_directory(config, "deck\n", "resolved\n", world).path, config.output.directory);
  world.barrier();
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(config.output.directory) / "deck.yaml"));
  try {
    open_run_directory(config, "deck\n", "resolved\n", world);
    ADD_FAILURE() << "an earlier run was not refused";
  } catch (const CollectiveError& e) {
    EXPECT_EQ(e.code(), ExitCode::cannot_create);
    expect_says(std::string(e.what()), "it holds an earlier run: deck.resolved.yaml, deck.yaml");
  }
  config.output.overwrite = true;
  EXPECT_NO_THROW(open_run_directory(config, "new\n", "resolved\n", world));
  EXPECT_EQ(test::read_file(std::filesystem::path(config.output.directory) / "deck.yaml"), "new\n");
  world.barrier();  // rank 0's folder goes with its object
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
