#include "core/memory_limits.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace isotherm {

// By lines, not by words: the first line of /proc/self/status holds the program's name, and that may hold
// any word.
std::size_t proc_bytes(const std::filesystem::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != ':') continue;
    const std::size_t first = std::min(line.find_first_not_of(" \t", key.size() + 1), line.size());
    std::size_t kilobytes = 0;
    std::from_chars(line.data() + first, line.data() + line.size(), kilobytes);
    return kilobytes * 1024;
  }
  return 0;
}

namespace {

namespace fs = std::filesystem;

std::string read_small_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::size_t> bytes_in_file(const fs::path& path) {
  return parse_number<std::size_t>(read_small_file(path));
}

// The number of a line "key 123" of memory.stat; 0 where there is none.
std::size_t stat_value(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  for (std::size_t value = 0; file >> name >> value;)
    if (name == key) return value;
  return 0;
}

// One line of /proc/self/cgroup, "4:cpu,cpuacct:/a/b". Version 2 has no controllers there. Only the path may
// hold a further colon.
struct Membership {
  std::string_view controllers;
  std::string_view path;
};
std::optional<Membership> parse_membership(std::string_view line) {
  const std::size_t first = line.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return Membership{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

bool lists(std::string_view controllers, std::string_view controller) {
  for (;;) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == controller) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
}

// The folder of `group` below `mount` and those above it. A group outside of this process's cgroup namespace
// is written with "..": of its folders only the mount's can be seen.
std::vector<fs::path> walk_up(const fs::path& mount, std::string_view group) {
  std::vector<fs::path> folders{mount};
  for (const fs::path& part : fs::path(group).relative_path()) {
    if (part == "..") return {mount};
    folders.push_back(folders.back() / part);
  }
  std::ranges::reverse(folders);
  return folders;
}

// -1 as a quota: none.
std::optional<double> granted_cores(std::string_view quota_us, std::string_view period_us) {
  const auto quota = parse_number<double>(quota_us);
  const auto period = parse_number<double>(period_us);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> quota_of_level(CgroupVersion version, const fs::path& folder) {
  if (version == CgroupVersion::v2) return parse_cpu_max(read_small_file(folder / "cpu.max"));
  return granted_cores(read_small_file(folder / "cpu.cfs_quota_us"),
                       read_small_file(folder / "cpu.cfs_period_us"));
}

// The names of one version's files; the counts of both include the groups below.
struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* inactive_file;  // a key of memory.stat
};
constexpr MemoryFiles memory_files(CgroupVersion version) {
  return version == CgroupVersion::v2
             ? MemoryFiles{"memory.max", "memory.current", "inactive_file"}
             : MemoryFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
}

std::optional<CgroupMemory> memory_of_level(CgroupVersion version, const fs::path& folder) {
  const MemoryFiles names = memory_files(version);
  const auto limit = bytes_in_file(folder / names.limit);
  if (!limit) return std::nullopt;  // "max", or no such file
  const std::size_t used = bytes_in_file(folder / names.used).value_or(0);
  // The three files are read one after the other, so that their numbers need not agree.
  const std::size_t held = used - std::min(used, stat_value(folder / "memory.stat", names.inactive_file));
  return CgroupMemory{*limit, *limit - std::min(*limit, held)};
}

}  // namespace

Cgroups parse_cgroups(std::string_view text, std::string_view controller, const fs::path& root) {
  std::string_view unified = "/";
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const auto membership = parse_membership(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
    if (!membership) continue;
    // A controller belongs to one version only: one that is named here is not in the unified tree.
    if (lists(membership->controllers, controller))
      return {CgroupVersion::v1, walk_up(root / controller, membership->path)};
    if (membership->controllers.empty()) unified = membership->path;
  }
  return {CgroupVersion::v2, walk_up(root, unified)};
}

Cgroups find_cgroups(std::string_view controller) {
  return parse_cgroups(read_small_file("/proc/self/cgroup"), controller, "/sys/fs/cgroup");
}

std::optional<double> cpu_quota(const Cgroups& cpu) {
  std::optional<double> least;
  for (const fs::path& folder : cpu.folders) {
    const auto quota = quota_of_level(cpu.version, folder);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return granted_cores(text.substr(0, space), text.substr(space + 1));
}

std::optional<CgroupMemory> memory_limit(const Cgroups& memory) {
  std::optional<CgroupMemory> least;
  for (const fs::path& folder : memory.folders) {
    const auto level = memory_of_level(memory.version, folder);
    if (!level) continue;
    least = least ? CgroupMemory{std::min(least->limit, level->limit), std::min(least->free, level->free)}
                  : *level;
  }
  return least;
}

}  // namespace isotherm
