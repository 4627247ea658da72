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
#include <map>
#include <set>
#include <sstream>

#include "core/text.hpp"

namespace isotherm {

namespace {

namespace fs = std::filesystem;

// The number after `key` at the beginning of a line; 0 without such a line. Reads lines, not words: the first
// line of /proc/self/status has the program's name, which may contain any word.
std::size_t number_behind(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  return 0;
}

std::string read_small_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<std::size_t> bytes_in_file(const fs::path& path) {
  std::size_t bytes = 0;
  return std::ifstream(path) >> bytes ? std::optional(bytes) : std::nullopt;
}

// Folders of `group`, up to `mount`. Outside of this cgroup namespace ("..") only the mount's is visible.
std::vector<fs::path> walk_up(const fs::path& mount, std::string_view group) {
  std::vector<fs::path> folders{mount};
  for (const fs::path& part : fs::path(group).relative_path()) {
    if (part == "..") return {mount};
    folders.push_back(folders.back() / part);
  }
  std::ranges::reverse(folders);
  return folders;
}

// A larger number of threads per core in OMP_NUM_THREADS is considered a mistake.
constexpr int most_threads_a_core = 8;

// The cores that this process may run on; the kernel's mask may be larger than cpu_set_t.
std::vector<int> affinity_mask() {
  for (std::size_t sets = 1; sets <= 1024; sets *= 2) {
    std::vector<cpu_set_t> set(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0) continue;
    std::vector<int> mask;
    for (std::size_t core = 0; core < 8 * bytes; ++core)
      if (CPU_ISSET_S(core, bytes, set.data())) mask.push_back(static_cast<int>(core));
    return mask;
  }
  return {};
}

// Where OMP_PROC_BIND has bound this thread already, the OpenMP places hold the mask of the process.
std::vector<int> cores_of_places() {
  std::set<int> cores;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    cores.insert(ids.begin(), ids.end());
  }
  return {cores.begin(), cores.end()};
}

// Returns why the text is no valid number of threads, or an empty text. OMP_NUM_THREADS may be a list with a
// number for each level of nested regions; isotherm has one level.
std::string read_omp_num_threads(std::string_view text, int online, int& threads) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "it is empty";
  text.remove_prefix(first);
  text = text.substr(0, text.find(','));
  text = text.substr(0, text.find_last_not_of(" \t") + 1);
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return "it is not a whole number";
  const long long most = static_cast<long long>(most_threads_a_core) * online;
  if (error == std::errc::result_out_of_range || value > most)
    return fmt::format("more than {} threads on {}", most, counted(online, "core"));
  if (value < 1) return "at least 1 thread is needed";
  threads = static_cast<int>(value);
  return {};
}

ThreadPlan plan_share(const HostCores& cores, const std::vector<std::vector<int>>& masks, int rank) {
  const int ranks = static_cast<int>(masks.size());
  const int own = static_cast<int>(masks[rank].size());
  if (own == 0) return {1, "1 thread (the host does not say which cores are free)", {}};
  std::map<int, int> ranks_of_core;
  for (const std::vector<int>& mask : masks)
    for (const int core : mask) ++ranks_of_core[core];
  double share = 0;  // of the cores in its mask, each divided by the ranks that may run on it
  for (const int core : masks[rank]) share += 1.0 / ranks_of_core[core];
  const bool alone = share > own - 1e-9;
  const double granted = cores.quota ? *cores.quota / ranks : share;
  constexpr double rounding = 1e-9;  // so that 6 times 1/3 gives 2
  const int threads = std::max(1, static_cast<int>(std::floor(std::min(share, granted) + rounding)));

  std::string why = counted(own, "core"), quota;
  if (granted < share - rounding) {
    quota = fmt::format("a quota of {:.4g} cores", *cores.quota);
    why = quota + " on " + why;
  } else if (alone && own < cores.online) {
    why = fmt::format("bound to {} of the host's {}", why, cores.online);
  }
  if (ranks > 1 && !(alone && quota.empty())) why += fmt::format(" shared by {} ranks", ranks);
  std::string warning;
  if (ranks > 1 && std::min(share, granted) < 1 - rounding)
    warning = fmt::format("{} ranks share {} of this host and take turns; start no more ranks than cores",
                          ranks, quota.empty() ? counted(std::ssize(ranks_of_core), "core") : quota);
  return {threads, fmt::format("{} ({})", counted(threads, "thread"), why), warning};
}

}  // namespace

std::size_t proc_bytes(const fs::path& path, std::string_view key) {
  return 1024 * number_behind(path, std::string(key) + ":");
}

// Lines such as "4:cpu,cpuacct:/a/b"; version 2 names no controllers. Only the path may hold a further colon.
Cgroups parse_cgroups(const std::string& text, const std::string& controller, const fs::path& root) {
  std::string unified = "/", number, controllers, path;
  std::istringstream lines(text);
  while (std::getline(lines, number, ':') && std::getline(lines, controllers, ':') &&
         std::getline(lines, path)) {
    // A controller belongs to one version only: one that is named here is not in the unified tree.
    if (("," + controllers + ",").find("," + controller + ",") != std::string::npos)
      return {CgroupVersion::v1, walk_up(root / controller, path)};
    if (controllers.empty()) unified = path;
  }
  return {CgroupVersion::v2, walk_up(root, unified)};
}

Cgroups find_cgroups(const std::string& controller) {
  return parse_cgroups(read_small_file("/proc/self/cgroup"), controller, "/sys/fs/cgroup");
}

std::optional<double> parse_cpu_max(const std::string& text) {
  double quota = 0, period = 0;
  std::istringstream numbers(text);
  if (!(numbers >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> cpu_quota(const Cgroups& cpu) {
  std::optional<double> least;
  for (const fs::path& folder : cpu.folders) {
    const auto quota =
        parse_cpu_max(cpu.version == CgroupVersion::v2 ? read_small_file(folder / "cpu.max")
                                                       : read_small_file(folder / "cpu.cfs_quota_us") + " " +
                                                             read_small_file(folder / "cpu.cfs_period_us"));
    if (quota) least = std::min(*quota, least.value_or(*quota));
  }
  return least;
}

MemoryInfo within_limits(MemoryInfo host, const Cgroups& memory) {
  // The counts of both versions include the groups below.
  const bool v2 = memory.version == CgroupVersion::v2;
  for (const fs::path& folder : memory.folders) {
    const auto limit = bytes_in_file(folder / (v2 ? "memory.max" : "memory.limit_in_bytes"));
    if (!limit) continue;  // "max", or no such file
    const std::size_t used =
        bytes_in_file(folder / (v2 ? "memory.current" : "memory.usage_in_bytes")).value_or(0);
    const std::size_t files =
        number_behind(folder / "memory.stat", v2 ? "inactive_file " : "total_inactive_file ");
    // The three files are read one after the other, so their numbers may disagree.
    const std::size_t held = used - std::min(used, files);
    host.total_bytes = std::min(host.total_bytes, *limit);
    host.free_bytes = std::min(host.free_bytes, *limit - std::min(*limit, held));
  }
  return host;
}

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
  int asked = 0;
  const std::string problem = read_omp_num_threads(omp_num_threads, cores.online, asked);
  if (problem.empty()) return {asked, fmt::format("{} (OMP_NUM_THREADS)", counted(asked, "thread")), {}};
  constexpr std::size_t longest_shown = 40;
  std::string shown(omp_num_threads);
  if (shown.size() > longest_shown) shown = shown.substr(0, longest_shown) + "...";
  plan.warning =
      fmt::format("OMP_NUM_THREADS={} is ignored ({}); using {}", in_quotes(shown), problem, plan.note);
  return plan;
}

ThreadPlan plan_threads(const Communicator& host) {
  const HostCores cores = find_host_cores();
  std::vector<std::vector<int>> masks;
  for (const std::string& text : host.all_gather(fmt::format("{}", fmt::join(cores.mask, " ")))) {
    std::istringstream cores_of_rank(text);
    masks.emplace_back(std::istream_iterator<int>(cores_of_rank), std::istream_iterator<int>());
  }
  return plan_threads(cores, masks, host.rank(), std::getenv("OMP_NUM_THREADS"));
}

void use_threads(int threads) { omp_set_num_threads(threads); }

}  // namespace isotherm
