#include "core/memory_limits.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/device.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

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

}  // namespace
}  // namespace isotherm
