// What a rank may take of its host: threads, memory, and what the copy bandwidth is measured with.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "app/plan.hpp"
#include "core/device.hpp"
#include "core/host_threads.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using Masks = std::vector<std::vector<int>>;

std::vector<int> cores(int first, int count) {
  std::vector<int> mask(static_cast<std::size_t>(count));
  std::iota(mask.begin(), mask.end(), first);
  return mask;
}
HostCores host(int online) {
  return {online, cores(0, online), std::nullopt};
}
Masks same(int ranks, const std::vector<int>& mask) {
  return Masks(static_cast<std::size_t>(ranks), mask);
}

TEST(HostThreads, OneRankTakesTheHost) {
  const ThreadPlan plan = plan_threads(host(8), same(1, cores(0, 8)), 0, nullptr);
  EXPECT_EQ(plan.threads, 8);
  EXPECT_EQ(plan.note, "8 threads (8 cores)");
  EXPECT_EQ(plan.warning, "");
}

TEST(HostThreads, RanksShareTheCores) {
  EXPECT_EQ(plan_threads(host(8), same(4, cores(0, 8)), 3, nullptr).note,
            "2 threads (8 cores shared by 4 ranks)");
  EXPECT_EQ(plan_threads(host(6), same(3, cores(0, 6)), 0, nullptr).threads,
            2);  // 6 times a third is 2, not 1.99
  EXPECT_EQ(plan_threads(host(7), same(2, cores(0, 7)), 0, nullptr).threads, 3);
  EXPECT_EQ(plan_threads(host(2), same(8, cores(0, 2)), 7, nullptr).note,
            "1 thread (2 cores shared by 8 ranks)");
}

TEST(HostThreads, DisjointMasksOfTheLauncherAreKept) {
  const Masks masks{cores(0, 4), cores(4, 4)};
  EXPECT_EQ(plan_threads(host(8), masks, 1, nullptr).note, "4 threads (bound to 4 cores of the host's 8)");
}

TEST(HostThreads, OneMaskForAllRanksOfAContainerIsDivided) {
  EXPECT_EQ(plan_threads(host(64), same(4, cores(10, 8)), 0, nullptr).note,
            "2 threads (8 cores shared by 4 ranks)");
}

TEST(HostThreads, OverlappingMasksCountACoreOnce) {
  const Masks masks{cores(0, 4), cores(2, 4)};  // 2 and 3 belong to both
  EXPECT_EQ(plan_threads(host(8), masks, 0, nullptr).threads, 3);
}

TEST(HostThreads, QuotaOfTheContainerIsDividedToo) {
  HostCores limited = host(64);
  limited.quota = 6;
  EXPECT_EQ(plan_threads(limited, same(2, cores(0, 64)), 0, nullptr).note,
            "3 threads (a quota of 6 cores on 64 cores shared by 2 ranks)");
  limited.quota = 0.5;
  EXPECT_EQ(plan_threads(limited, same(1, cores(0, 64)), 0, nullptr).threads, 1);
}

TEST(HostThreads, MoreRanksThanCoresAreTold) {
  const auto warning = [](const HostCores& cores, const Masks& masks, int rank) {
    return plan_threads(cores, masks, rank, nullptr).warning;
  };
  const std::string end = " of this host and take turns; start no more ranks than cores";
  EXPECT_EQ(warning(host(2), same(9, cores(0, 2)), 0), "9 ranks share 2 cores" + end);
  EXPECT_EQ(warning(host(2), same(2, cores(0, 2)), 1), "");
  EXPECT_EQ(warning(host(6), same(3, cores(0, 6)), 0), "");
  EXPECT_EQ(warning(host(8), {{0}, {0}, {1}}, 1), "3 ranks share 2 cores" + end);
  EXPECT_EQ(warning(host(8), {{0}, {0}, {1}}, 2), "");
  HostCores limited = host(64);
  limited.quota = 1.5;
  EXPECT_EQ(warning(limited, same(2, cores(0, 64)), 0), "2 ranks share a quota of 1.5 cores" + end);
  EXPECT_EQ(warning(limited, same(1, cores(0, 64)), 0), "");
  EXPECT_EQ(plan_threads(host(2), same(9, cores(0, 2)), 0, "1").warning, "");  // dealt out by the user
}

TEST(HostThreads, OmpNumThreadsDecides) {
  EXPECT_EQ(plan_threads(host(8), same(4, cores(0, 8)), 0, "5").note, "5 threads (OMP_NUM_THREADS)");
  EXPECT_EQ(plan_threads(host(8), same(1, cores(0, 8)), 0, " 1 ").note, "1 thread (OMP_NUM_THREADS)");
  EXPECT_EQ(plan_threads(host(8), same(1, cores(0, 8)), 0, "4,2").threads, 4);
  EXPECT_EQ(plan_threads(host(2), same(1, cores(0, 2)), 0, "16").threads, 16);  // oversubscribed on purpose
}

// The rest of what people write there: faults/test_environment.py.
TEST(HostThreads, UnusableOmpNumThreadsIsIgnoredWithAWarning) {
  const auto warning = [](const char* value) {
    const ThreadPlan plan = plan_threads(host(4), same(2, cores(0, 4)), 0, value);
    EXPECT_EQ(plan.threads, 2) << value;
    EXPECT_EQ(plan.note, "2 threads (4 cores shared by 2 ranks)") << value;
    return plan.warning;
  };
  const std::string use = "); using 2 threads (4 cores shared by 2 ranks)";
  EXPECT_EQ(warning("33"), "OMP_NUM_THREADS='33' is ignored (more than 32 threads on 4 cores" + use);
  EXPECT_EQ(warning("\x1b[2J"), "OMP_NUM_THREADS='\\x1b[2J' is ignored (it is not a whole number" + use);
}

TEST(HostThreads, UnknownMaskGivesOneThread) {
  EXPECT_EQ(plan_threads(host(4), {{}}, 0, nullptr).threads, 1);
}

TEST(HostThreads, ThisHostHasCores) {
  const HostCores found = find_host_cores();
  EXPECT_GE(found.online, 1);
  EXPECT_FALSE(found.mask.empty());
  EXPECT_TRUE(!found.quota || *found.quota > 0);
}

namespace fs = std::filesystem;
using Folders = std::vector<fs::path>;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr const char* v1_no_limit = "9223372036854771712\n";

// A mount of groups: files by folder, as the kernel would show them.
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
  std::optional<CgroupMemory> memory(std::string_view text) const {
    return memory_limit(parse_cgroups(text, "memory", root()));
  }
  std::optional<double> quota(std::string_view text) const {
    return cpu_quota(parse_cgroups(text, "cpu", root()));
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Cgroup, FoldersFromTheInnermostUpToTheRoot) {
  const Cgroups groups = parse_cgroups("0::/slurm/job_7/step:0\n", "memory", "/g");
  EXPECT_EQ(groups.version, CgroupVersion::v2);
  EXPECT_EQ(groups.folders, (Folders{"/g/slurm/job_7/step:0", "/g/slurm/job_7", "/g/slurm", "/g"}));
}

TEST_F(Cgroup, ControllerOfVersionOneIsFoundByItsWholeName) {
  const char* text =
      "5:cpuacct,cpuset:/no\n4:cpuacct,cpu:/job\n3:memory:/a/b\n1:name=systemd:/x\n0::/unified\n";
  const Cgroups cpu = parse_cgroups(text, "cpu", "/g");
  EXPECT_EQ(cpu.version, CgroupVersion::v1);
  EXPECT_EQ(cpu.folders, (Folders{"/g/cpu/job", "/g/cpu"}));
  EXPECT_EQ(parse_cgroups(text, "memory", "/g").folders,
            (Folders{"/g/memory/a/b", "/g/memory/a", "/g/memory"}));
  const Cgroups io = parse_cgroups(text, "io", "/g");
  EXPECT_EQ(io.version, CgroupVersion::v2);
  EXPECT_EQ(io.folders, (Folders{"/g/unified", "/g"}));
}

TEST_F(Cgroup, RootAloneWhereTheGroupCannotBeSeen) {
  for (const char* text : {"", "0::/", "0::/\n", "0::/../../other", "no line of this file\n", "0:", "\n\n"})
    EXPECT_EQ(parse_cgroups(text, "memory", "/g").folders, Folders{"/g"}) << text;
}

TEST_F(Cgroup, FilePagesThatCanBeDroppedAreFree) {
  group_v2("", std::to_string(100 * mebibyte), 98 * mebibyte, 60 * mebibyte);
  const auto found = memory("0::/\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limit, 100 * mebibyte);
  EXPECT_EQ(found->free, 62 * mebibyte);
}

TEST_F(Cgroup, TightestLevelCounts) {
  group_v2("job", std::to_string(100 * mebibyte), 90 * mebibyte, 0);      // the least free
  group_v2("job/step", std::to_string(50 * mebibyte), 10 * mebibyte, 0);  // the least limit
  group_v2("job/step/task", "max", 10 * mebibyte, 0);
  const auto found = memory("0::/job/step/task\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limit, 50 * mebibyte);
  EXPECT_EQ(found->free, 10 * mebibyte);
}

TEST_F(Cgroup, VersionOneMemory) {
  group("memory", {{"memory.limit_in_bytes", v1_no_limit}, {"memory.usage_in_bytes", "123456789\n"}});
  group("memory/slurm/job", {{"memory.limit_in_bytes", "1000000\n"},
                             {"memory.usage_in_bytes", "900000\n"},
                             {"memory.stat", "inactive_file 1\ntotal_inactive_file 300000\n"}});
  const auto found = memory("4:memory:/slurm/job/step\n0::/\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limit, 1000000u);
  EXPECT_EQ(found->free, 400000u);
}

TEST_F(Cgroup, NoLimitOfMemory) {
  EXPECT_FALSE(memory("0::/gone\n"));
  group_v2("", "max", mebibyte, 0);
  EXPECT_FALSE(memory("0::/\n"));
}

// A limit lowered below what is held; counts that were read at different moments; no count at all.
TEST_F(Cgroup, FreeMemoryNeverWrapsAround) {
  group_v2("full", "1000", 5000, 100);
  EXPECT_EQ(memory("0::/full\n")->free, 0u);
  group_v2("late", "1000", 100, 300);
  EXPECT_EQ(memory("0::/late\n")->free, 1000u);
  group("bare", {{"memory.max", "1000\n"}});
  EXPECT_EQ(memory("0::/bare\n")->free, 1000u);
}

TEST_F(Cgroup, LeastQuotaOfTheLevels) {
  group("", {{"cpu.max", "800000 100000\n"}});
  group("job", {{"cpu.max", "150000 100000\n"}});
  group("job/step", {{"cpu.max", "max 100000\n"}});
  EXPECT_EQ(quota("0::/job/step\n"), 1.5);
  EXPECT_EQ(quota("0::/other\n"), 8);
}

TEST_F(Cgroup, VersionOneQuotaOfANestedGroup) {
  group("cpu", {{"cpu.cfs_quota_us", "-1\n"}, {"cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(quota("4:cpu,cpuacct:/job/step\n"), std::nullopt);
  group("cpu/job", {{"cpu.cfs_quota_us", "250000\n"}, {"cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(quota("4:cpu,cpuacct:/job/step\n"), 2.5);
}

TEST_F(Cgroup, CpuMax) {
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max(""), std::nullopt);
  EXPECT_EQ(parse_cpu_max("0 100000"), std::nullopt);
  EXPECT_EQ(parse_cpu_max("100000 0"), std::nullopt);
}

TEST(HostMemory, LiesWithinTheMachineAndItsGroups) {
  const MemoryInfo memory = make_host_device()->memory();
  EXPECT_GT(memory.free_bytes, 0u);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
  EXPECT_LE(memory.total_bytes, proc_bytes("/proc/meminfo", "MemTotal"));
  const auto group = memory_limit(find_cgroups("memory"));
  EXPECT_LE(memory.total_bytes, group ? group->limit : memory.total_bytes);
}

// The name of a program may hold any word, and one key may begin another.
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

// How much memory the measurement of the copy bandwidth takes.

constexpr double long_run = 1e12;  // bytes that its sweeps move

TEST(RoofBytes, OfOneRankAreBeyondTheCachesAndBounded) {
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 1), 64 * mebibyte);
  EXPECT_EQ(roof_bytes(100 * mebibyte, long_run, Backend::host, 1), 100 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, long_run, Backend::host, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::cuda, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, long_run, Backend::cuda, 1), 1024 * mebibyte);
}

TEST(RoofBytes, AreSharedByThoseWhoCopyAtTheSameTime) {
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 4), 16 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 8), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::host, 128), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(100 * mebibyte, long_run, Backend::host, 8), 100 * mebibyte);
  EXPECT_EQ(roof_bytes(1, long_run, Backend::cuda, 2), 128 * mebibyte);
}

TEST(RoofBytes, OfARunOfMillisecondsAreNoMoreThanItMoves) {
  EXPECT_EQ(roof_bytes(1, 0, Backend::host, 1), 8 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 40.0 * mebibyte, Backend::host, 1), 20 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 128.0 * mebibyte, Backend::host, 1), 64 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 40.0 * mebibyte, Backend::host, 2), 10 * mebibyte);
  EXPECT_EQ(roof_bytes(30 * mebibyte, 0, Backend::host, 1), 30 * mebibyte);
  EXPECT_EQ(roof_bytes(8000 * mebibyte, 0, Backend::host, 1), 256 * mebibyte);
  EXPECT_EQ(roof_bytes(1, 0, Backend::cuda, 1), 256 * mebibyte);
}

}  // namespace
}  // namespace isotherm
