// Which GPU each rank takes, for all that ranks of a job may see of their machines.
#include "app/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "support/repeat.hpp"

namespace isotherm {
namespace {

using Names = std::vector<std::string>;
using Ints = std::vector<int>;

RankSight sees(Names gpus, int memory_group = 0, std::string host = "node0") {
  return {std::move(host), memory_group, std::move(gpus), "", false};
}

Names warnings(const std::vector<RankSight>& ranks, bool intended = false) {
  return map_devices(ranks, intended).warnings;
}

// No rank shares a GPU, and nobody is warned.
TEST(DeviceMap, EveryRankHasItsOwnWhereThatCanBe) {
  const Names all{"A", "B", "C", "D"}, first{"A", "B"}, second{"C", "D"};
  const struct {
    std::vector<RankSight> ranks;
    Ints gpu;
  } cases[] = {
      {{sees(all), sees(all), sees(all), sees(all)}, {0, 1, 2, 3}},
      {{sees(all), sees(all)}, {0, 1}},
      // Ranks of one host need not follow each other (mpirun --map-by node).
      {{sees(first, 0, "n0"), sees(second, 1, "n1"), sees(first, 0, "n0"), sees(second, 1, "n1")},
       {0, 0, 1, 1}},
      // srun --gpus-per-task: every rank counts its only GPU as 0.
      {{sees({"A"}), sees({"B"}), sees({"C"})}, {0, 0, 0}},
      {{sees({"MIG-1"}), sees({"MIG-2"})}, {0, 0}},
      // The first rank takes A, which is all that the second sees, and has to leave it.
      {{sees({"A", "B"}), sees({"A"})}, {1, 0}},
  };
  for (const auto& c : cases) {
    const DeviceMap map = map_devices(c.ranks, false);
    EXPECT_EQ(map.gpu, c.gpu);
    EXPECT_EQ(map.most_sharers, 1);
    EXPECT_EQ(map.warnings, Names{});
    EXPECT_EQ(map.notes, Names{});
  }
  // Each rank may count in an order of its own: B has a rank, and so has A, the first that it counts.
  EXPECT_EQ(map_devices({sees(first), sees(first), sees({"B", "A"})}, false).gpu, (Ints{0, 1, 0}));
  EXPECT_EQ(map_devices({sees({"B", "A"}), sees(first), sees(first)}, false).gpu, (Ints{0, 0, 0}));
}

// A container or control group for each rank: all believe to be the first of their host.
TEST(DeviceMap, RanksWithoutCommonMemoryDoNotAllTakeTheFirstGpu) {
  const Names all{"A", "B", "C"};
  for (const bool own_names : {false, true}) {  // of the containers
    std::vector<RankSight> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.push_back(sees(all, rank, own_names ? "container" + std::to_string(rank) : "node0"));
    }
    const DeviceMap map = map_devices(ranks, false);
    EXPECT_EQ(map.gpu, (Ints{0, 1, 2}));
    EXPECT_EQ(map.most_sharers, 1);
    const std::string host = own_names ? "container0" : "node0";
    EXPECT_EQ(
        map.warnings,
        Names{"ranks of " + host +
              " see the same GPU and share no memory (MPI has 3 groups of them, as when each rank has a "
              "container or control group of its own); GPUs are dealt out by UUID, and threads and memory "
              "are counted by group: start them in one"});
  }
}

TEST(DeviceMap, SharingWhileAGpuIdlesIsAWarning) {
  // Ranks 0 and 1 see only A; nobody takes C.
  const std::vector<RankSight> ranks{sees({"A"}), sees({"A"}), sees({"B", "C"})};
  const Names expected{
      "2 ranks of node0 share one GPU while 1 of 3 there is idle (the ranks on it see none of these); show "
      "every "
      "rank all GPUs of the host, with srun --gpus-per-node and without a CUDA_VISIBLE_DEVICES of each "
      "rank's own"};
  EXPECT_EQ(warnings(ranks), expected);
  EXPECT_EQ(warnings(ranks, true), expected);  // whatever the deck allows
  std::vector<RankSight> with_mps = ranks;
  for (RankSight& rank : with_mps) rank.mps = true;
  EXPECT_EQ(warnings(with_mps), expected);
  // The idle GPU is seen by a rank of the same host that shares no memory with the others.
  std::vector<RankSight> apart = ranks;
  apart[2].memory_group = 2;
  EXPECT_EQ(warnings(apart), expected);
  // A GPU that idles on another host is no help.
  EXPECT_EQ(warnings({sees({"A"}), sees({"A"}), sees({"B", "C"}, 2, "node1")}).at(0).substr(0, 47),
            "2 ranks of node0 share one GPU and take turns (");
}

TEST(DeviceMap, MoreRanksThanGpus) {
  const Names all{"A", "B"};
  std::vector<RankSight> ranks(5, sees(all));
  const DeviceMap turns = map_devices(ranks, false);
  EXPECT_EQ(turns.gpu, (Ints{0, 1, 0, 1, 0}));
  EXPECT_EQ(turns.sharers, (Ints{3, 2, 3, 2, 3}));
  EXPECT_EQ(turns.most_sharers, 3);
  EXPECT_EQ(turns.notes, Names{});
  EXPECT_EQ(
      turns.warnings,
      Names{
          "3 ranks of node0 share one GPU and take turns (they see 2 GPUs there, and no MPS runs); start one "
          "rank a GPU, or nvidia-cuda-mps-control before the ranks"});

  const DeviceMap allowed = map_devices(ranks, true);  // parallel.ranks_per_gpu
  EXPECT_EQ(allowed.warnings, Names{});
  EXPECT_EQ(allowed.notes, Names{"3 ranks a GPU in turns"});

  for (RankSight& rank : ranks) rank.mps = true;
  const DeviceMap mps = map_devices(ranks, false);
  EXPECT_EQ(mps.warnings, Names{});
  EXPECT_EQ(mps.notes, Names{"3 ranks a GPU through MPS"});
  EXPECT_EQ(mps.gpu, turns.gpu);

  ranks[2].mps = false;  // one outside the service takes turns with those within
  EXPECT_EQ(map_devices(ranks, false).warnings, turns.warnings);
}

// CUDA_VISIBLE_DEVICES=0 for all, or a MIG instance, of which a process sees one.
TEST(DeviceMap, AllRanksOnTheOnlyGpuThatTheySee) {
  EXPECT_EQ(
      warnings(std::vector<RankSight>(8, sees({"A"}))),
      Names{
          "8 ranks of node0 share one GPU and take turns (they see 1 GPU there, and no MPS runs); start one "
          "rank a GPU, or nvidia-cuda-mps-control before the ranks"});
}

TEST(DeviceMap, AFaultOfManyHostsIsToldOnce) {
  std::vector<RankSight> ranks;
  for (int rank = 0; rank < 8; ++rank) {
    const int host = rank / 2;
    ranks.push_back(sees({"A" + std::to_string(host)}, 2 * host, "n" + std::to_string(host)));
  }
  const Names found = warnings(ranks);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].substr(0, 25), "2 ranks of n0 share one G");
  EXPECT_EQ(found[0].substr(found[0].size() - 22), " (and on 3 more hosts)");
}

TEST(DeviceMap, RanksWithoutAGpu) {
  RankSight blind = sees({}, 0, "node7");
  blind.why_none = "no NVIDIA driver is installed";
  EXPECT_EQ(why_not_on_gpus({sees({"A"}), sees({"B"})}), "");
  EXPECT_EQ(why_not_on_gpus({blind, blind}), "no CUDA device (no NVIDIA driver is installed)");
  EXPECT_EQ(why_not_on_gpus({sees({"A"}), blind, blind}),
            "rank 1 on node7 has no CUDA device (no NVIDIA driver is installed) and 1 rank of 3 has one");
  EXPECT_EQ(why_not_on_gpus({sees({"A"}), sees({"B"}), blind}),
            "rank 2 on node7 has no CUDA device (no NVIDIA driver is installed) and 2 ranks of 3 have one");
}

// The least highest load of all dealings, by trying them all.
int least_load(const std::vector<RankSight>& ranks) {
  int least = static_cast<int>(ranks.size());
  std::map<std::string, int> load;
  const std::function<void(std::size_t, int)> deal = [&](std::size_t rank, int highest) {
    if (rank == ranks.size()) {
      least = std::min(least, highest);
      return;
    }
    for (const std::string& gpu : ranks[rank].gpus) {
      deal(rank + 1, std::max(highest, ++load[gpu]));
      --load[gpu];
    }
  };
  deal(0, 0);
  return least;
}

TEST(DeviceMap, NoDealingHasALowerHighestLoad) {
  Random random;
  const Names gpus{"A", "B", "C", "D"};
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::vector<RankSight> ranks(1 + random() % 6);
    for (RankSight& rank : ranks) {
      Names seen = gpus;
      std::ranges::shuffle(seen, random);
      seen.resize(1 + random() % gpus.size());
      rank = sees(seen);
    }
    const DeviceMap map = map_devices(ranks, false);
    std::map<std::string, int> load;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ++load[ranks[rank].gpus.at(static_cast<std::size_t>(map.gpu[rank]))];
    }
    int highest = 0;
    for (const auto& [gpu, count] : load) highest = std::max(highest, count);
    EXPECT_EQ(highest, least_load(ranks));
    EXPECT_EQ(map.most_sharers, highest);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(map.sharers[rank], load[ranks[rank].gpus[static_cast<std::size_t>(map.gpu[rank])]]);
    }
  }
}

}  // namespace
}  // namespace isotherm
