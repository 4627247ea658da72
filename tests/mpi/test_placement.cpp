// Placement of the ranks of a real job: what the ranks gather is what the dealing of GPUs needs.
#include "app/placement.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "support/decks.hpp"
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
    EXPECT_NE(std::string(e.what()).find(": no CUDA device (" + found.why_none + "); use "),
              std::string::npos);
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
  EXPECT_NE(placement.note.find(" ranks a GPU through MPS"), std::string::npos) << placement.note;
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

}  // namespace
}  // namespace isotherm
