// The limits that control groups (Linux cgroups, versions 1 and 2) set on this process.
//
// A limit binds at every level: a batch system or a container sets it on some group above the process's own,
// so that all levels are read and the tightest counts. What cannot be read sets no limit: a container often
// shows its own group as the root, and then the folders named in /proc/self/cgroup do not exist.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace isotherm {

// Figures of memory in /proc/meminfo and /proc/self/status.

// The value of the line "Key:   123 kB" of `file`, in bytes; 0 where there is no such line.
std::size_t proc_bytes(const std::filesystem::path& file, std::string_view key);

enum class CgroupVersion { v1, v2 };

// A process's groups for one controller ("cpu", "memory").
struct Cgroups {
  CgroupVersion version = CgroupVersion::v2;
  std::vector<std::filesystem::path> folders;  // from the innermost group up to the root; they need not exist
};

// `text` is that of /proc/self/cgroup, `root` the folder where the groups are mounted. Reads no file.
Cgroups parse_cgroups(std::string_view text, std::string_view controller, const std::filesystem::path& root);
Cgroups find_cgroups(std::string_view controller);  // of this process

// The least cores' worth of time that a level grants; none: no limit.
std::optional<double> cpu_quota(const Cgroups& cpu);
// "max 100000" -> none, "150000 100000" -> 1.5: the file cpu.max of version 2.
std::optional<double> parse_cpu_max(std::string_view text);

// The least of each over the levels, in bytes. Version 1 says "no limit" by a number near 2^63.
struct CgroupMemory {
  std::size_t limit = 0;
  std::size_t free = 0;  // what may be allocated: the kernel drops inactive file pages before it refuses
};
std::optional<CgroupMemory> memory_limit(const Cgroups& memory);  // none: no limit

}  // namespace isotherm
