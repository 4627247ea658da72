#include "core/host_threads.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <string_view>

#include "core/memory_limits.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

// Beyond this many threads for each core OMP_NUM_THREADS is taken for a slip, not a wish.
constexpr int most_threads_a_core = 8;

std::string plural(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

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
    return {std::nullopt, fmt::format("more than {} threads on {}", most, plural(online, "core"))};
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
    why = fmt::format("a quota of {:.4g} cores on {}", *cores.quota, plural(own, "core"));
  else if (alone && own < cores.online)
    why = fmt::format("bound to {} of the host's {}", plural(own, "core"), cores.online);
  else
    why = plural(own, "core");
  if (ranks > 1 && !(alone && granted >= share - rounding)) why += fmt::format(" shared by {} ranks", ranks);
  std::string warning;
  if (ranks > 1 && std::min(share, granted) < 1 - rounding)
    warning =
        fmt::format("{} ranks share {} of this host and take turns; start no more ranks than cores", ranks,
                    granted < share - rounding ? fmt::format("a quota of {:.4g} cores", *cores.quota)
                                               : plural(count_cores(masks), "core"));
  return {threads, fmt::format("{} ({})", plural(threads, "thread"), why), warning};
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
    return {*asked.threads, fmt::format("{} (OMP_NUM_THREADS)", plural(*asked.threads, "thread")), {}};
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
