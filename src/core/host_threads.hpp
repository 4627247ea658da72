// The resources that this process may use: threads, and memory within the limits of control groups.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

// Figures of memory in /proc/meminfo and /proc/self/status.

// The value of the line "Key:   123 kB" of `file`, in bytes; 0 where there is no such line.
std::size_t proc_bytes(const std::filesystem::path& file, std::string_view key);

// Limits of control groups (Linux cgroups 1 and 2) apply at every level. The tightest of all levels counts,
// as a batch system or container sets it above the process's own group. An unreadable level sets no limit: a
// container often shows its own group as the root, without the folders of /proc/self/cgroup.
enum class CgroupVersion { v1, v2 };

// A process's groups for one controller ("cpu", "memory").
struct Cgroups {
  CgroupVersion version = CgroupVersion::v2;
  std::vector<std::filesystem::path> folders;  // from the innermost group up to the root; they need not exist
};

// `text` is that of /proc/self/cgroup, `root` the folder where the groups are mounted. Reads no file.
Cgroups parse_cgroups(const std::string& text, const std::string& controller,
                      const std::filesystem::path& root);
Cgroups find_cgroups(const std::string& controller);  // of this process

// The lowest CPU quota of all levels, in cores; none: no limit.
std::optional<double> cpu_quota(const Cgroups& cpu);
// "max 100000" -> none, "150000 100000" -> 1.5: the file cpu.max of version 2. -1 as a quota: none.
std::optional<double> parse_cpu_max(const std::string& text);

// `host`, or less where a level has a lower limit or less free memory: bytes that may be allocated, as the
// kernel drops inactive file pages before it fails. In version 1 a number near 2^63 means "no limit".
MemoryInfo within_limits(MemoryInfo host, const Cgroups& memory);

// A usable OMP_NUM_THREADS sets the number. Otherwise the ranks of a host share its cores: a core in the
// masks of k ranks counts 1/k for each. So ranks bound to different cores keep their masks, and ranks with
// the same mask divide it, as they divide a cgroup's quota. The number is rounded down, at least 1: with
// unequal numbers of threads all ranks would wait for the slowest.
struct ThreadPlan {
  int threads = 1;
  std::string note;     // for the banner: "2 threads (4 cores shared by 2 ranks)"
  std::string warning;  // or empty: OMP_NUM_THREADS is wrong, or there are more ranks than cores
};

// The cores of the host, as this process sees them.
struct HostCores {
  int online = 1;               // logical cores that are on
  std::vector<int> mask;        // those this process may run on, ascending
  std::optional<double> quota;  // CPU time that the cgroup grants, in cores; none: no limit
};
HostCores find_host_cores();

// `masks`: of all ranks of the host, by rank on the host; `omp_num_threads` null: unset. A pure function.
ThreadPlan plan_threads(const HostCores& cores, const std::vector<std::vector<int>>& masks, int rank_on_host,
                        const char* omp_num_threads);
// Collective over the ranks of one host (Communicator::split_by_host); reads the environment.
ThreadPlan plan_threads(const Communicator& host);

void use_threads(int threads);  // for the parallel regions of this process

}  // namespace isotherm
