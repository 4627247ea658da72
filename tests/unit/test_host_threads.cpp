// Resources of the host that a rank may use: threads, memory, time; and memory for the bandwidth measurement.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "app/session.hpp"
#include "app/time_loop.hpp"
#include "core/device.hpp"
#include "core/host_threads.hpp"
#include "core/signals.hpp"
#include "core/watchdog.hpp"
#include "solver/schedule.hpp"
#include "support/error_text.hpp"
#include "support/moved_clock.hpp"
#include "support/repeat.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using Masks = std::vector<std::vector<int>>;

std::vector<int> cores(int first, int count) {
  std::vector<int> mask(static_cast<std::size_t>(count));
  std::iota(mask.begin(), mask.end(), first);
  return mask;
}
HostCores host(int online) { return {online, cores(0, online), std::nullopt}; }
Masks same(int ranks, const std::vector<int>& mask) { return Masks(static_cast<std::size_t>(ranks), mask); }

// faults/test_environment.py tests further values of OMP_NUM_THREADS.
TEST(HostThreads, RanksShareTheCoresThatTheyMayUse) {
  const auto limited = [](double quota) {
    HostCores cores = host(64);
    cores.quota = quota;
    return cores;
  };
  const Masks apart{cores(0, 4), cores(4, 4)}, overlapping{cores(0, 4), cores(2, 4)},
      pair_and_one{{0}, {0}, {1}};
  const struct {
    HostCores host;
    Masks masks;
    int rank;
    const char* omp_num_threads;
    std::string note, warning;  // the starts of the messages
  } cases[] = {
      {host(8), same(1, cores(0, 8)), 0, nullptr, "8 threads (8 cores)", ""},
      {host(8), same(4, cores(0, 8)), 3, nullptr, "2 threads (8 cores shared by 4 ranks)", ""},
      {host(6), same(3, cores(0, 6)), 0, nullptr, "2 threads (6 cores shared by 3 ranks)", ""},  // not 1.99
      {host(7), same(2, cores(0, 7)), 0, nullptr, "3 threads (7 cores shared by 2 ranks)", ""},
      {host(2), same(9, cores(0, 2)), 7, nullptr, "1 thread (2 cores shared by 9 ranks)",
       "9 ranks share 2 cores of"},
      {host(8), apart, 1, nullptr, "4 threads (bound to 4 cores of the host's 8)", ""},
      {host(8), overlapping, 0, nullptr, "3 threads (", ""},  // two cores belong to both ranks
      {host(8), pair_and_one, 1, nullptr, "1 thread (", "3 ranks share 2 cores of"},
      {host(8), pair_and_one, 2, nullptr, "1 thread (", ""},
      {host(64), same(4, cores(10, 8)), 0, nullptr, "2 threads (8 cores shared by 4 ranks)",
       ""},                                           // a container's
      {host(4), {{}}, 0, nullptr, "1 thread (", ""},  // unknown
      {limited(6), same(2, cores(0, 64)), 0, nullptr,
       "3 threads (a quota of 6 cores on 64 cores shared by 2 ranks)", ""},
      {limited(0.5), same(1, cores(0, 64)), 0, nullptr, "1 thread (", ""},
      {limited(1.5), same(2, cores(0, 64)), 0, nullptr, "1 thread (",
       "2 ranks share a quota of 1.5 cores of"},
      {host(8), same(4, cores(0, 8)), 0, "5", "5 threads (OMP_NUM_THREADS)", ""},
      {host(8), same(1, cores(0, 8)), 0, " 1 ", "1 thread (OMP_NUM_THREADS)", ""},
      {host(8), same(1, cores(0, 8)), 0, "4,2", "4 threads (OMP_NUM_THREADS)", ""},
      {host(2), same(9, cores(0, 2)), 0, "16", "16 threads (OMP_NUM_THREADS)", ""},  // intended by the user
      {host(4), same(2, cores(0, 4)), 0, "33", "2 threads (4 cores shared by 2 ranks)",
       "OMP_NUM_THREADS='33' is ignored (more than 32 threads on 4 cores); using 2 threads (4 cores"},
      {host(4), same(2, cores(0, 4)), 0, "\x1b[2J", "2 threads (4 cores shared by 2 ranks)",
       "OMP_NUM_THREADS='\\x1b[2J' is ignored (it is not a whole number); using 2 threads"},
  };
  for (const auto& c : cases) {
    const ThreadPlan plan = plan_threads(c.host, c.masks, c.rank, c.omp_num_threads);
    expect_start(plan.note, c.note);
    expect_start(plan.warning, c.warning);
    EXPECT_EQ(plan.warning.empty(), c.warning.empty()) << plan.warning;
    EXPECT_EQ(plan.note.substr(0, plan.note.find(' ')), std::to_string(plan.threads));
  }
}

namespace fs = std::filesystem;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t host_bytes = 1000 * mebibyte;
constexpr const char* v1_no_limit = "9223372036854771712\n";

// A mount point of control groups: files by folder, with the contents that the kernel would show.
class Cgroup : public testing::Test {
 protected:
  fs::path root() const { return folder_.path(); }
  void group(const fs::path& name, const std::map<std::string, std::string>& files) const {
    const fs::path at = root() / name;
    fs::create_directories(at);
    for (const auto& [file, text] : files) test::write_file(at / file, text);
  }
  void group_v2(const fs::path& name, const std::string& limit, std::size_t used,
                std::size_t inactive) const {
    group(name, {{"memory.max", limit + "\n"},
                 {"memory.current", std::to_string(used) + "\n"},
                 {"memory.stat", "anon 7\nfile 9\nactive_file 5\ninactive_file " + std::to_string(inactive) +
                                     "\nworkingset_refault_file 3\n"}});
  }
  MemoryInfo memory(const std::string& text) const {
    return within_limits({host_bytes, host_bytes}, parse_cgroups(text, "memory", root()));
  }
  std::optional<double> quota(const std::string& text) const {
    return cpu_quota(parse_cgroups(text, "cpu", root()));
  }

 private:
  test::TemporaryFolder folder_;
};

// From the innermost group upwards. Version 1 uses the full name of the controller; if the group is not
// visible, only the root counts.
TEST_F(Cgroup, FoldersUpToTheRoot) {
  const auto expect = [](const char* text, const char* controller, CgroupVersion version,
                         const std::vector<fs::path>& folders) {
    const Cgroups found = parse_cgroups(text, controller, "/g");
    EXPECT_EQ(found.version, version) << text;
    EXPECT_EQ(found.folders, folders) << text;
  };
  expect("0::/slurm/job_7/step:0\n", "memory", CgroupVersion::v2,
         {"/g/slurm/job_7/step:0", "/g/slurm/job_7", "/g/slurm", "/g"});
  const char* of_both =
      "5:cpuacct,cpuset:/no\n4:cpuacct,cpu:/job\n3:memory:/a/b\n1:name=systemd:/x\n0::/unified\n";
  expect(of_both, "cpu", CgroupVersion::v1, {"/g/cpu/job", "/g/cpu"});
  expect(of_both, "memory", CgroupVersion::v1, {"/g/memory/a/b", "/g/memory/a", "/g/memory"});
  expect(of_both, "io", CgroupVersion::v2, {"/g/unified", "/g"});
  for (const char* text : {"", "0::/", "0::/\n", "0::/../../other", "no line of this file\n", "0:", "\n\n"})
    expect(text, "memory", CgroupVersion::v2, {"/g"});
}

TEST_F(Cgroup, TightestLevelCountsAndFilePagesThatCanBeDroppedAreFree) {
  group_v2("job", std::to_string(100 * mebibyte), 98 * mebibyte, 8 * mebibyte);  // the least free
  group_v2("job/step", std::to_string(50 * mebibyte), 10 * mebibyte, 0);         // the least limit
  group_v2("job/step/task", "max", 10 * mebibyte, 0);
  const MemoryInfo found = memory("0::/job/step/task\n");
  EXPECT_EQ(found.total_bytes, 50 * mebibyte);
  EXPECT_EQ(found.free_bytes, 10 * mebibyte);
}

TEST_F(Cgroup, VersionOneMemory) {
  group("memory", {{"memory.limit_in_bytes", v1_no_limit}, {"memory.usage_in_bytes", "123456789\n"}});
  group("memory/slurm/job", {{"memory.limit_in_bytes", "1000000\n"},
                             {"memory.usage_in_bytes", "900000\n"},
                             {"memory.stat", "inactive_file 1\ntotal_inactive_file 300000\n"}});
  const MemoryInfo found = memory("4:memory:/slurm/job/step\n0::/\n");
  EXPECT_EQ(found.total_bytes, 1000000u);
  EXPECT_EQ(found.free_bytes, 400000u);
}

// No group; a limit below the current use; counters read at different times; no counter.
TEST_F(Cgroup, FreeMemoryNeverWrapsAround) {
  EXPECT_EQ(memory("0::/gone\n").free_bytes, host_bytes);
  group_v2("", "max", mebibyte, 0);
  EXPECT_EQ(memory("0::/\n").free_bytes, host_bytes);
  group_v2("full", "1000", 5000, 100);
  EXPECT_EQ(memory("0::/full\n").free_bytes, 0u);
  group_v2("late", "1000", 100, 300);
  EXPECT_EQ(memory("0::/late\n").free_bytes, 1000u);
  group("bare", {{"memory.max", "1000\n"}});
  EXPECT_EQ(memory("0::/bare\n").free_bytes, 1000u);
}

TEST_F(Cgroup, LeastQuotaOfTheLevels) {
  group("", {{"cpu.max", "800000 100000\n"}});
  group("job", {{"cpu.max", "150000 100000\n"}});
  group("job/step", {{"cpu.max", "max 100000\n"}});
  EXPECT_EQ(quota("0::/job/step\n"), 1.5);
  EXPECT_EQ(quota("0::/other\n"), 8);
  for (const char* none : {"max 100000\n", "", "0 100000", "100000 0"})
    EXPECT_EQ(parse_cpu_max(none), std::nullopt);
  group("cpu", {{"cpu.cfs_quota_us", "-1\n"}, {"cpu.cfs_period_us", "100000\n"}});  // version 1
  EXPECT_EQ(quota("4:cpu,cpuacct:/job/step\n"), std::nullopt);
  group("cpu/job", {{"cpu.cfs_quota_us", "250000\n"}, {"cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(quota("4:cpu,cpuacct:/job/step\n"), 2.5);
}

TEST(HostMemory, IsWithinTheLimitsOfTheMachineAndItsGroups) {
  const MemoryInfo memory = make_host_device()->memory();
  EXPECT_GT(memory.free_bytes, 0u);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
  EXPECT_LE(memory.total_bytes, proc_bytes("/proc/meminfo", "MemTotal"));
  EXPECT_EQ(within_limits(memory, find_cgroups("memory")).total_bytes, memory.total_bytes);
}

// A program's name may contain any text, and one key may be the start of another.
TEST(ProcStatus, BytesOfALine) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "status";
  test::write_file(file, "Name:\tVmRSS: 5 kB\nVmRSSX:\t1 kB\nVmRSS:\t    2048 kB\nVmHWM:\nVmLck:\tmany kB\n");
  EXPECT_EQ(proc_bytes(file, "VmRSS"), std::size_t{2} << 20);
  EXPECT_EQ(proc_bytes(file, "VmHWM"), 0u);
  EXPECT_EQ(proc_bytes(file, "VmLck"), 0u);
  EXPECT_EQ(proc_bytes(file, "VmSwap"), 0u);
  EXPECT_EQ(proc_bytes(folder / "absent", "VmRSS"), 0u);
}

constexpr double long_run = 1e12;  // bytes moved by the sweeps of the run

TEST(CopyProbeBytes, ExceedTheCachesAreBoundedAndDividedAmongConcurrentCopies) {
  const struct {
    std::size_t field;  // MiB
    double moved;
    Backend backend;
    int sharers;
    std::size_t expected;  // MiB
  } cases[] = {
      {0, long_run, Backend::host, 1, 64},
      {100, long_run, Backend::host, 1, 100},
      {8000, long_run, Backend::host, 1, 256},
      {0, long_run, Backend::cuda, 1, 256},
      {8000, long_run, Backend::cuda, 1, 1024},
      {0, long_run, Backend::host, 4, 16},
      {0, long_run, Backend::host, 128, 8},
      {0, long_run, Backend::cuda, 2, 128},
      // A run of milliseconds does not wait for large arrays to be created.
      {0, 0, Backend::host, 1, 8},
      {0, 320.0 * mebibyte, Backend::host, 1, 20},
      {0, 320.0 * mebibyte, Backend::host, 2, 10},
      {8000, 0, Backend::host, 1, 256},
      {0, 0, Backend::cuda, 1, 256},
  };
  for (const auto& c : cases)
    EXPECT_EQ(copy_probe_bytes(std::max<std::size_t>(c.field * mebibyte, 1), c.moved, c.backend, c.sharers),
              c.expected * mebibyte)
        << c.field << " " << c.moved << " " << c.sharers;
}

// Users of the clock: the watchdog of files, control polls, limits and signals.

using Seconds = Watchdog::Seconds;

// faults/test_odd_disks.py tests that it does not wait without a limit.
TEST(WatchdogDeathTest, AStallEndsTheProcessWithItsPhaseAndPlace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto stall = [] {
    Watchdog watchdog(Seconds(0.1), "run/T.hdf.part", "starting", 3);
    watchdog.phase("writing cells");
    std::this_thread::sleep_for(Seconds(10000));
  };
  EXPECT_EXIT(stall(), testing::ExitedWithCode(74),
              "^rank 3: run/T.hdf.part: writing cells did not finish within 0.1 s");
}

TEST(Watchdog, EachPhaseHasTheWholeTimeAndItEndsWithItsScope) {
  Watchdog watchdog(Seconds(1000), "file", "starting", 0);
  for (int i = 0; i < 8; ++i) {
    watchdog.phase("a part");
    move_clock(600);
    std::this_thread::sleep_for(Seconds(0.03));  // enough time for it to notice
  }
}

TEST(IoTimeout, IsReadFromTheEnvironment) {
  const auto with = [](const char* text) {
    ::setenv("ISOTHERM_IO_TIMEOUT", text, 1);
    return io_timeout().count();
  };
  EXPECT_EQ(with("2.5"), 2.5);
  EXPECT_EQ(with("0"), 0);
  for (const char* text : {"", "soon", "5s", "-1", "nan", "inf", "1e9", " 5"})
    refusal([&] { with(text); }, ExitCode::command_line);
  ::unsetenv("ISOTHERM_IO_TIMEOUT");
  EXPECT_EQ(io_timeout().count(), 300);
}

// Sweeps between the first polls, for sweeps of `seconds` each that run in units of `unit`.
std::vector<std::int64_t> intervals(double seconds, std::int64_t unit, int polls) {
  ControlPoll poll(100, unit);
  std::vector<std::int64_t> all;
  for (std::int64_t at = 100; std::ssize(all) < polls;) {
    all.push_back(poll.next() - at);
    at = poll.next();
    poll.polled(at, seconds * static_cast<double>(all.back()));
  }
  return all;
}

TEST(ControlPoll, DoublesItsIntervalUpToAQuarterOfASecond) {
  EXPECT_EQ(intervals(0.01, 1, 8), (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 32, 32}));
  EXPECT_EQ(intervals(0.01, 6, 5), (std::vector<std::int64_t>{6, 12, 24, 48, 48}));
}

TEST(ControlPoll, KeepsUnitsWholeAndShortensItsIntervalIfSweepsGetSlower) {
  EXPECT_EQ(intervals(30, 16, 4), (std::vector<std::int64_t>{16, 16, 16, 16}));
  ControlPoll poll(0, 1);
  for (int i = 0; i < 20; ++i) poll.polled(0, 0.001);
  EXPECT_EQ(poll.next(), 1 << 20);
  for (int i = 0; i < 18; ++i) poll.polled(0, 5);
  EXPECT_EQ(poll.next(), 4);
}

TEST(WallLimit, LeavesTimeForTwoWritesAndAMargin) {
  EXPECT_EQ(WallLimit{.seconds = 50}.latest_stop(0), 49);
  EXPECT_EQ(WallLimit{.seconds = 3600}.latest_stop(10), 3600 - 20 - 36);
  EXPECT_EQ(WallLimit{.seconds = 86400}.latest_stop(100), 86400 - 200 - 60);
  EXPECT_TRUE(std::isinf(WallLimit{}.latest_stop(100)));
  EXPECT_EQ((WallLimit{.seconds = 50, .source = "a"}.time_to_judge()), 5);
  EXPECT_EQ((WallLimit{.seconds = 86400, .source = "a"}.time_to_judge()), 60);
  EXPECT_TRUE(std::isinf(WallLimit{}.time_to_judge()));
  EXPECT_LT(WallLimit{.seconds = 10}.latest_stop(10), 0);  // no time left
}

TEST(Signals, TheFirstIsNotedUntilTheNextStart) {
  note_stop_signals();
  EXPECT_EQ(noted_stop_signal(), 0);
  std::raise(SIGUSR2);
  EXPECT_EQ(noted_stop_signal(), SIGUSR2);
  std::raise(SIGUSR1);  // the first request remains
  EXPECT_EQ(noted_stop_signal(), SIGUSR2);
  note_stop_signals();
  EXPECT_EQ(noted_stop_signal(), 0);
}

// The GPU of each rank, for all views that ranks can have of their machines.

using Names = std::vector<std::string>;
using Ints = std::vector<int>;

RankSight sees(Names gpus, int memory_group = 0, std::string host = "node0") {
  return {std::move(host), memory_group, std::move(gpus), "", false};
}

std::vector<RankSight> through_mps(std::vector<RankSight> ranks) {
  for (RankSight& rank : ranks) rank.mps = true;
  return ranks;
}

TEST(DeviceMap, AssignsGpusAndReportsSharing) {
  const Names all{"A", "B", "C", "D"}, first{"A", "B"}, second{"C", "D"}, swapped{"B", "A"};
  const std::vector<RankSight> five(5, sees(first)),
      one_idle{sees({"A"}), sees({"A"}), sees(second)};  // no rank uses D
  std::vector<RankSight> one_without_mps = through_mps(five);
  one_without_mps[2].mps = false;
  const Ints in_turn{0, 1, 0, 1, 0};
  const std::string two = "2 ranks of node0 share one GPU and take turns (",
                    three =
                        "3 ranks of node0 share one GPU and take turns (they see 2 GPUs there, and no MPS "
                        "runs); ",
                    idle =
                        "2 ranks of node0 share one GPU while 1 of 3 there is idle (the ranks on it see "
                        "none of these); show every rank all GPUs",
                    groups = " see the same GPU and share no memory (MPI has 3 groups of them, ";
  const struct {
    std::vector<RankSight> ranks;
    Ints gpu;
    int most_sharers = 1;
    std::string warning, note;  // the start of the only warning; "": none
    bool is_meant = false;      // parallel.ranks_per_gpu
  } cases[] = {
      {{sees(all), sees(all), sees(all), sees(all)}, {0, 1, 2, 3}},
      {{sees(all), sees(all)}, {0, 1}},
      // Ranks of one host need not follow each other (mpirun --map-by node).
      {{sees(first, 0, "n0"), sees(second, 1, "n1"), sees(first, 0, "n0"), sees(second, 1, "n1")},
       {0, 0, 1, 1}},
      // srun --gpus-per-task: every rank counts its only GPU as 0.
      {{sees({"A"}), sees({"B"}), sees({"C"})}, {0, 0, 0}},
      // The first rank would take A, the only GPU that the second one sees, so it must take B.
      {{sees(first), sees({"A"})}, {1, 0}},
      // Each rank may number GPUs in its own order: B is in use, and so is A, the first one in its order.
      {{sees(first), sees(first), sees(swapped)}, {0, 1, 0}, 2, two},
      {{sees(swapped), sees(first), sees(first)}, {0, 0, 0}, 2, two},
      // A container or control group for each rank: all believe to be the first of their host.
      {{sees(all, 0), sees(all, 1), sees(all, 2)}, {0, 1, 2}, 1, "ranks of node0" + groups},
      {{sees(all, 0, "a"), sees(all, 1, "b"), sees(all, 2, "c")}, {0, 1, 2}, 1, "ranks of a" + groups},
      {one_idle, {0, 0, 0}, 2, idle},
      {one_idle, {0, 0, 0}, 2, idle, "", true},
      {through_mps(one_idle), {0, 0, 0}, 2, idle},
      {{sees({"A"}), sees({"A"}), sees(second, 2)}, {0, 0, 0}, 2, idle},  // shares no memory with them
      {{sees({"A"}), sees({"A"}), sees(second, 2, "node1")}, {0, 0, 0}, 2, two},  // does not help here
      {five, in_turn, 3, three},
      {five, in_turn, 3, "", "3 ranks per GPU in turns", true},
      {through_mps(five), in_turn, 3, "", "3 ranks per GPU through MPS"},
      {one_without_mps, in_turn, 3, three},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(&c - cases);
    const DeviceMap map = map_devices(c.ranks, c.is_meant);
    EXPECT_EQ(map.gpu, c.gpu);
    EXPECT_EQ(map.most_sharers, c.most_sharers);
    EXPECT_EQ(map.notes, c.note.empty() ? Names{} : Names{c.note});
    EXPECT_EQ(map.warnings.empty(), c.warning.empty());
    if (!c.warning.empty()) expect_start(only_text(map.warnings), c.warning);
  }
}

TEST(DeviceMap, AFaultOfManyHostsIsReportedOnce) {
  std::vector<RankSight> ranks;
  for (int rank = 0; rank < 8; ++rank) {
    const int host = rank / 2;
    ranks.push_back(sees({"A" + std::to_string(host)}, 2 * host, "n" + std::to_string(host)));
  }
  const std::string found = only_text(map_devices(ranks, false).warnings);
  expect_start(found, "2 ranks of n0 share one GPU");
  EXPECT_TRUE(found.ends_with(" (and on 3 more hosts)")) << found;
}

TEST(DeviceMap, RanksWithoutAGpu) {
  RankSight blind = sees({}, 0, "node7");
  blind.why_none = "no NVIDIA driver is installed";
  const std::string why = "no CUDA device (no NVIDIA driver is installed)", of_it = "on node7 has " + why;
  EXPECT_EQ(why_not_on_gpus({sees({"A"}), sees({"B"})}), "");
  EXPECT_EQ(why_not_on_gpus({blind, blind}), why);
  EXPECT_EQ(why_not_on_gpus({sees({"A"}), blind, blind}), "rank 1 " + of_it + " and 1 rank of 3 has one");
  EXPECT_EQ(why_not_on_gpus({sees({"A"}), sees({"B"}), blind}),
            "rank 2 " + of_it + " and 2 ranks of 3 have one");
}

// The lowest possible maximum load, found by trying all assignments.
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

TEST(DeviceMap, NoAssignmentHasALowerMaximumLoad) {
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
      EXPECT_EQ(map.sharers[rank], load[ranks[rank].gpus[map.gpu[rank]]]);
    }
  }
}

}  // namespace
}  // namespace isotherm
