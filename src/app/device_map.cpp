#include "app/device_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "core/text.hpp"

namespace isotherm {
namespace {

using Ranks = std::vector<int>;

// The load of GPUs while ranks are dealt out; `on[gpu]` are its ranks in the order in which they came.
class Dealing {
 public:
  explicit Dealing(const std::vector<RankSight>& sights) : sights_(sights), gpu_(sights.size(), -1) {}

  // Along the shortest chain rank -> GPU -> rank on it -> other GPU that this one sees ... to the GPU of
  // least load that any chain reaches.
  void add(int rank) {
    std::map<std::string, int> found_by;  // GPU -> the rank through which it was reached
    std::deque<int> waiting{rank};
    std::string best;
    while (!waiting.empty()) {
      const int at = waiting.front();
      waiting.pop_front();
      for (const std::string& gpu : sight(at).gpus) {
        if (!found_by.emplace(gpu, at).second) continue;
        if (best.empty() || on_[gpu].size() < on_[best].size()) best = gpu;
        waiting.insert(waiting.end(), on_[gpu].begin(), on_[gpu].end());
      }
    }
    while (true) {
      const int mover = found_by.at(best);
      const std::string left = move(mover, best);
      if (mover == rank) return;
      best = left;
    }
  }

  int position(int rank) const { return gpu_[static_cast<std::size_t>(rank)]; }
  const std::map<std::string, Ranks>& loads() const { return on_; }

 private:
  const RankSight& sight(int rank) const { return sights_[static_cast<std::size_t>(rank)]; }

  // The GPU that the rank was on before; empty: none.
  std::string move(int rank, const std::string& gpu) {
    const std::vector<std::string>& seen = sight(rank).gpus;
    int& position = gpu_[static_cast<std::size_t>(rank)];
    const std::string left = position < 0 ? "" : seen[static_cast<std::size_t>(position)];
    if (!left.empty()) std::erase(on_[left], rank);
    position = static_cast<int>(std::find(seen.begin(), seen.end(), gpu) - seen.begin());
    on_[gpu].push_back(rank);
    return left;
  }

  const std::vector<RankSight>& sights_;
  Ranks gpu_;
  std::map<std::string, Ranks> on_;
};

// Ranks of one machine: they share memory, see a common GPU, or have one name for the host.
std::vector<Ranks> machines(const std::vector<RankSight>& sights) {
  Ranks parent(sights.size());
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = static_cast<int>(i);
  const auto root = [&](int rank) {
    while (parent[static_cast<std::size_t>(rank)] != rank) rank = parent[static_cast<std::size_t>(rank)];
    return rank;
  };
  std::map<std::string, int> first;  // rank of each mark
  const auto join = [&](const std::string& mark, int rank) {
    const int a = root(first.emplace(mark, rank).first->second), b = root(rank);
    parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  };
  for (int rank = 0; rank < static_cast<int>(sights.size()); ++rank) {
    const RankSight& sight = sights[static_cast<std::size_t>(rank)];
    join(fmt::format("memory {}", sight.memory_group), rank);
    join("host " + sight.host, rank);
    for (const std::string& gpu : sight.gpus) join("gpu " + gpu, rank);
  }
  std::map<int, Ranks> by_root;
  for (int rank = 0; rank < static_cast<int>(sights.size()); ++rank) by_root[root(rank)].push_back(rank);
  std::vector<Ranks> all;
  for (auto& [_, ranks] : by_root) all.push_back(std::move(ranks));
  return all;
}

// What was found out about one machine.
struct Machine {
  std::string host;
  int most_sharers = 1;
  int gpus = 0, idle = 0;
  bool mps = true;        // on all ranks that share
  int memory_groups = 1;  // among ranks that see a common GPU
};

Machine look_at(const Ranks& ranks, const std::vector<RankSight>& sights, const Dealing& dealing) {
  Machine machine{.host = sights[static_cast<std::size_t>(ranks.front())].host};
  std::map<std::string, std::set<int>> groups;  // of the ranks that see each GPU
  for (const int rank : ranks) {
    const RankSight& sight = sights[static_cast<std::size_t>(rank)];
    for (const std::string& gpu : sight.gpus) groups[gpu].insert(sight.memory_group);
  }
  machine.gpus = static_cast<int>(groups.size());
  for (const auto& [gpu, of_gpu] : groups) {
    machine.memory_groups = std::max(machine.memory_groups, static_cast<int>(of_gpu.size()));
    const auto on = dealing.loads().find(gpu);
    const Ranks sharers = on == dealing.loads().end() ? Ranks{} : on->second;
    machine.idle += sharers.empty();
    machine.most_sharers = std::max(machine.most_sharers, static_cast<int>(sharers.size()));
    if (sharers.size() < 2) continue;
    for (const int rank : sharers) machine.mps = machine.mps && sights[static_cast<std::size_t>(rank)].mps;
  }
  return machine;
}

// A sentence about the first machine that it is true of, and how many more there are.
template <class Which, class Text>
void tell(std::vector<std::string>& sentences, const std::vector<Machine>& machines, Which which, Text text) {
  const auto first = std::find_if(machines.begin(), machines.end(), which);
  if (first == machines.end()) return;
  const auto more = std::count_if(std::next(first), machines.end(), which);
  sentences.push_back(text(*first) + (more ? fmt::format(" (and on {})", counted(more, "more host")) : ""));
}

// What of the dealing is worth a word.
void judge(const std::vector<Machine>& all, bool sharing_intended, DeviceMap& map) {
  const auto share = [](const Machine& m) { return m.most_sharers > 1; };
  tell(
      map.warnings, all, [&](const Machine& m) { return share(m) && m.idle > 0; },
      [](const Machine& m) {
        return fmt::format(
            "{} ranks of {} share one GPU while {} of {} there {} idle (the ranks on it see none of these); "
            "show every rank all GPUs of the host, with srun --gpus-per-node and without a "
            "CUDA_VISIBLE_DEVICES of each rank's own",
            m.most_sharers, m.host, m.idle, m.gpus, m.idle == 1 ? "is" : "are");
      });
  tell(
      map.warnings, all,
      [&](const Machine& m) { return share(m) && m.idle == 0 && !m.mps && !sharing_intended; },
      [](const Machine& m) {
        return fmt::format(
            "{} ranks of {} share one GPU and take turns (they see {} there, and no MPS runs); start one "
            "rank a GPU, or nvidia-cuda-mps-control before the ranks",
            m.most_sharers, m.host, counted(m.gpus, "GPU"));
      });
  tell(
      map.notes, all,
      [&](const Machine& m) { return share(m) && m.idle == 0 && (m.mps || sharing_intended); },
      [](const Machine& m) {
        return fmt::format("{} ranks a GPU{}", m.most_sharers, m.mps ? " through MPS" : " in turns");
      });
  tell(
      map.warnings, all, [](const Machine& m) { return m.memory_groups > 1; },
      [](const Machine& m) {
        return fmt::format(
            "ranks of {} see the same GPU and share no memory (MPI has {} groups of them, as "
            "when each rank has a container or control group of its own); GPUs are dealt out "
            "by UUID, and threads and memory are counted by group: start them in one",
            m.host, m.memory_groups);
      });
}

}  // namespace

std::string why_not_on_gpus(const std::vector<RankSight>& ranks) {
  const auto blind = [](const RankSight& sight) { return sight.gpus.empty(); };
  const auto first = std::find_if(ranks.begin(), ranks.end(), blind);
  if (first == ranks.end()) return "";
  const auto seeing = std::ssize(ranks) - std::count_if(ranks.begin(), ranks.end(), blind);
  if (seeing == 0) return fmt::format("no CUDA device ({})", first->why_none);
  return fmt::format("rank {} on {} has no CUDA device ({}) and {} of {} {} one", first - ranks.begin(),
                     first->host, first->why_none, counted(seeing, "rank"), ranks.size(),
                     seeing == 1 ? "has" : "have");
}

DeviceMap map_devices(const std::vector<RankSight>& ranks, bool sharing_intended) {
  Dealing dealing(ranks);
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) dealing.add(rank);
  DeviceMap map;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const int position = dealing.position(rank);
    const std::string& gpu = ranks[static_cast<std::size_t>(rank)].gpus[static_cast<std::size_t>(position)];
    map.gpu.push_back(position);
    map.sharers.push_back(static_cast<int>(dealing.loads().at(gpu).size()));
    map.most_sharers = std::max(map.most_sharers, map.sharers.back());
  }

  std::vector<Machine> all;
  for (const Ranks& of_machine : machines(ranks)) all.push_back(look_at(of_machine, ranks, dealing));
  judge(all, sharing_intended, map);
  return map;
}

}  // namespace isotherm
