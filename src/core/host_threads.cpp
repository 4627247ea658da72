#include "core/host_threads.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "core/text.hpp"

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

namespace {

// Beyond this many threads for each core OMP_NUM_THREADS is taken for a slip, not a wish.
constexpr int most_threads_a_core = 8;

// The cores that this process may run on. The mask's size is not known beforehand: the kernel's may be larger
// than cpu_set_t.
std::vector<int> affinity_mask() {
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(capacity),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    if (!set) break;
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<int> mask;
    for (int core = 0; core < capacity; ++core)
      if (CPU_ISSET_S(core, bytes, set.get())) mask.push_back(core);
    return mask;
  }
  return {};
}

// Where OMP_PROC_BIND has bound this thread already, the mask of the process is in its places.
std::vector<int> cores_of_places() {
  std::set<int> cores;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    cores.insert(ids.begin(), ids.end());
  }
  return {cores.begin(), cores.end()};
}

// OMP_NUM_THREADS may be a list, a number for each level of nested regions; isotherm has one level.
struct AskedThreads {
  std::optional<int> threads;
  std::string problem;  // why there are none
};
AskedThreads read_omp_num_threads(std::string_view text, int online) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {std::nullopt, "it is empty"};
  text.remove_prefix(first);
  text = text.substr(0, text.find(','));
  text = text.substr(0, text.find_last_not_of(" \t") + 1);
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return {std::nullopt, "it is not a whole number"};
  const long long most = static_cast<long long>(most_threads_a_core) * online;
  if (error == std::errc::result_out_of_range || value > most)
    return {std::nullopt, fmt::format("more than {} threads on {}", most, counted(online, "core"))};
  if (value < 1) return {std::nullopt, "at least 1 thread is needed"};
  return {static_cast<int>(value), {}};
}

// This rank's part of the cores in its mask, each divided by the ranks that may run on it.
double share_of_cores(const std::vector<std::vector<int>>& masks, int rank) {
  double share = 0;
  for (const int core : masks[static_cast<std::size_t>(rank)])
    share += 1.0 / static_cast<double>(std::ranges::count_if(
                       masks, [&](const auto& mask) { return std::ranges::binary_search(mask, core); }));
  return share;
}

int count_cores(const std::vector<std::vector<int>>& masks) {
  std::set<int> all;
  for (const std::vector<int>& mask : masks) all.insert(mask.begin(), mask.end());
  return static_cast<int>(all.size());
}

ThreadPlan plan_share(const HostCores& cores, const std::vector<std::vector<int>>& masks, int rank) {
  const int ranks = static_cast<int>(masks.size());
  const int own = static_cast<int>(masks[static_cast<std::size_t>(rank)].size());
  if (own == 0) return {1, "1 thread (the host does not say which cores are free)", {}};
  const double share = share_of_cores(masks, rank);
  const bool alone = share > own - 1e-9;
  const double granted = cores.quota ? *cores.quota / ranks : share;
  constexpr double rounding = 1e-9;  // 2 = 6 times 1/3
  const int threads = std::max(1, static_cast<int>(std::floor(std::min(share, granted) + rounding)));

  std::string why;
  if (granted < share - rounding)
    why = fmt::format("a quota of {:.4g} cores on {}", *cores.quota, counted(own, "core"));
  else if (alone && own < cores.online)
    why = fmt::format("bound to {} of the host's {}", counted(own, "core"), cores.online);
  else
    why = counted(own, "core");
  if (ranks > 1 && !(alone && granted >= share - rounding)) why += fmt::format(" shared by {} ranks", ranks);
  std::string warning;
  if (ranks > 1 && std::min(share, granted) < 1 - rounding)
    warning =
        fmt::format("{} ranks share {} of this host and take turns; start no more ranks than cores", ranks,
                    granted < share - rounding ? fmt::format("a quota of {:.4g} cores", *cores.quota)
                                               : counted(count_cores(masks), "core"));
  return {threads, fmt::format("{} ({})", counted(threads, "thread"), why), warning};
}

}  // namespace

HostCores find_host_cores() {
  HostCores cores;
  cores.online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  cores.mask = omp_get_num_places() > 0 ? cores_of_places() : affinity_mask();
  cores.quota = cpu_quota(find_cgroups("cpu"));
  return cores;
}

ThreadPlan plan_threads(const HostCores& cores, const std::vector<std::vector<int>>& masks, int rank_on_host,
                        const char* omp_num_threads) {
  ThreadPlan plan = plan_share(cores, masks, rank_on_host);
  if (!omp_num_threads) return plan;
  const AskedThreads asked = read_omp_num_threads(omp_num_threads, cores.online);
  if (asked.threads)
    return {*asked.threads, fmt::format("{} (OMP_NUM_THREADS)", counted(*asked.threads, "thread")), {}};
  constexpr std::size_t longest_shown = 40;
  std::string shown(omp_num_threads);
  if (shown.size() > longest_shown) shown = shown.substr(0, longest_shown) + "...";
  plan.warning =
      fmt::format("OMP_NUM_THREADS={} is ignored ({}); using {}", in_quotes(shown), asked.problem, plan.note);
  return plan;
}

ThreadPlan plan_threads(const Communicator& host) {
  const HostCores cores = find_host_cores();
  std::vector<std::vector<int>> masks;
  for (const std::string& text : host.all_gather(fmt::format("{}", fmt::join(cores.mask, " ")))) {
    std::vector<int>& mask = masks.emplace_back();
    for (const char *at = text.data(), *end = at + text.size(); at < end; ++at)
      at = std::from_chars(at, end, mask.emplace_back()).ptr;
  }
  return plan_threads(cores, masks, host.rank(), std::getenv("OMP_NUM_THREADS"));
}

void use_threads(int threads) {
  omp_set_num_threads(threads);
}

}  // namespace isotherm
