// What ranks decide and gather together for the run's output.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/communicator.hpp"
#include "core/error.hpp"
#include "core/host_threads.hpp"
#include "output/records/run_record.hpp"
#include "output/run_directory.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

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
    EXPECT_NE(std::string(e.what()).find("it holds an earlier run: deck.resolved.yaml, deck.yaml"),
              std::string::npos);
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
