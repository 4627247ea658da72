#include "app/session.hpp"

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "core/text.hpp"
#include "output/records/json_value.hpp"
#include "solver/kernel_choice.hpp"

namespace isotherm {

ISOTHERM_KEYS(RankSight, host, memory_group, gpus, why_none, mps)

namespace {

using Ranks = std::vector<int>;

bool sees_none(const RankSight& sight) { return sight.gpus.empty(); }

struct Assignment {
  std::vector<std::string> gpu;     // of each rank; empty: none yet
  std::map<std::string, Ranks> on;  // the ranks of each GPU, in the order in which they were added
};

// Adds a rank along the shortest chain rank -> GPU -> rank on it -> ... to the least loaded GPU it reaches.
void add(int rank, const std::vector<RankSight>& sights, Assignment& assignment) {
  auto& [gpu_of, on] = assignment;
  std::map<std::string, int> found_by;  // GPU -> the rank through which it was reached
  std::deque<int> waiting{rank};
  std::string best;
  while (!waiting.empty()) {
    const int at = waiting.front();
    waiting.pop_front();
    for (const std::string& gpu : sights[at].gpus) {
      if (!found_by.emplace(gpu, at).second) continue;
      if (best.empty() || on[gpu].size() < on[best].size()) best = gpu;
      waiting.insert(waiting.end(), on[gpu].begin(), on[gpu].end());
    }
  }
  // Each rank of the chain moves to the GPU found through it, and frees its own for the rank before it.
  for (int mover = -1; mover != rank;) {
    mover = found_by.at(best);
    on[best].push_back(mover);
    best = std::exchange(gpu_of[mover], best);
    if (!best.empty()) std::erase(on[best], mover);
  }
}

// Ranks of each machine, by its first rank: they share memory, see a common GPU, or have the same host name.
std::map<std::size_t, Ranks> machines(const std::vector<RankSight>& sights) {
  std::vector<std::size_t> label(sights.size());
  std::iota(label.begin(), label.end(), std::size_t{0});
  std::map<std::string, std::size_t> first;  // by mark, the first rank that has it
  for (std::size_t rank = 0; rank < sights.size(); ++rank) {
    std::vector<std::string> marks{fmt::format("memory {}", sights[rank].memory_group),
                                   "host " + sights[rank].host};
    for (const std::string& gpu : sights[rank].gpus) marks.push_back("gpu " + gpu);
    for (const std::string& mark : marks) {
      const std::size_t a = label[first.emplace(mark, rank).first->second], b = label[rank];
      if (a != b) std::ranges::replace(label, std::max(a, b), std::min(a, b));
    }
  }
  std::map<std::size_t, Ranks> all;
  for (std::size_t rank = 0; rank < label.size(); ++rank) all[label[rank]].push_back(static_cast<int>(rank));
  return all;
}

struct Machine {
  std::string host;
  int most_sharers = 1;
  int gpus = 0, idle = 0;
  bool mps = true;        // on all ranks that share
  int memory_groups = 1;  // among ranks that see a common GPU
};

Machine summarise(const Ranks& ranks, const std::vector<RankSight>& sights, const Assignment& assignment) {
  Machine machine{.host = sights[ranks.front()].host};
  std::map<std::string, std::set<int>> groups;  // of the ranks that see each GPU
  for (const int rank : ranks) {
    const RankSight& sight = sights[rank];
    for (const std::string& gpu : sight.gpus) groups[gpu].insert(sight.memory_group);
  }
  machine.gpus = static_cast<int>(groups.size());
  for (const auto& [gpu, of_gpu] : groups) {
    machine.memory_groups = std::max(machine.memory_groups, static_cast<int>(of_gpu.size()));
    const Ranks& sharers = assignment.on.at(gpu);  // add() has seen every GPU
    machine.idle += sharers.empty();
    machine.most_sharers = std::max(machine.most_sharers, static_cast<int>(sharers.size()));
    if (sharers.size() < 2) continue;
    for (const int rank : sharers) machine.mps = machine.mps && sights[rank].mps;
  }
  return machine;
}

// Adds the first of these sentences, each about one machine, with the number of further ones.
void add_first(std::vector<std::string>& sentences, const std::vector<std::string>& of_machines) {
  if (of_machines.empty()) return;
  const auto more = std::ssize(of_machines) - 1;
  sentences.push_back(of_machines.front() +
                      (more ? fmt::format(" (and on {})", counted(more, "more host")) : ""));
}

void judge(const std::vector<Machine>& all, bool sharing_intended, DeviceMap& map) {
  std::vector<std::string> idle, in_turns, shared, apart;
  for (const Machine& m : all) {
    if (m.memory_groups > 1)
      apart.push_back(fmt::format(
          "ranks of {} see the same GPU and share no memory (MPI has {} groups of them, as when each rank "
          "has a container or control group of its own); GPUs are assigned by UUID, and threads and "
          "memory are counted by group: start them in one",
          m.host, m.memory_groups));
    if (m.most_sharers < 2) continue;
    if (m.idle > 0)
      idle.push_back(fmt::format(
          "{} ranks of {} share one GPU while {} of {} there {} idle (the ranks on it see none of these); "
          "show every rank all GPUs of the host, with srun --gpus-per-node and without a "
          "CUDA_VISIBLE_DEVICES of each rank's own",
          m.most_sharers, m.host, m.idle, m.gpus, m.idle == 1 ? "is" : "are"));
    else if (m.mps || sharing_intended)
      shared.push_back(
          fmt::format("{} ranks per GPU{}", m.most_sharers, m.mps ? " through MPS" : " in turns"));
    else
      in_turns.push_back(fmt::format(
          "{} ranks of {} share one GPU and take turns (they see {} there, and no MPS runs); start one "
          "rank per GPU, or nvidia-cuda-mps-control before the ranks",
          m.most_sharers, m.host, counted(m.gpus, "GPU")));
  }
  for (const auto* sentences : {&idle, &in_turns, &apart}) add_first(map.warnings, *sentences);
  add_first(map.notes, shared);
}

}  // namespace

std::string why_not_on_gpus(const std::vector<RankSight>& ranks) {
  const auto first = std::ranges::find_if(ranks, sees_none);
  if (first == ranks.end()) return "";
  const auto seeing = std::ssize(ranks) - std::ranges::count_if(ranks, sees_none);
  if (seeing == 0) return fmt::format("no CUDA device ({})", first->why_none);
  return fmt::format("rank {} on {} has no CUDA device ({}) and {} of {} {} one", first - ranks.begin(),
                     first->host, first->why_none, counted(seeing, "rank"), ranks.size(),
                     seeing == 1 ? "has" : "have");
}

DeviceMap map_devices(const std::vector<RankSight>& ranks, bool sharing_intended) {
  Assignment assignment{std::vector<std::string>(ranks.size()), {}};
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) add(rank, ranks, assignment);
  DeviceMap map;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const std::vector<std::string>& seen = ranks[rank].gpus;
    const std::string& gpu = assignment.gpu[rank];
    map.gpu.push_back(static_cast<int>(std::ranges::find(seen, gpu) - seen.begin()));
    map.sharers.push_back(static_cast<int>(assignment.on.at(gpu).size()));
    map.most_sharers = std::max(map.most_sharers, map.sharers.back());
  }

  std::vector<Machine> all;
  for (const auto& [_, of_machine] : machines(ranks)) all.push_back(summarise(of_machine, ranks, assignment));
  judge(all, sharing_intended, map);
  return map;
}

namespace {

bool needs_cpu(const std::optional<RequiredBackend>& needed) {
  return needed && needed->backend == Backend::host;
}

// `needed`: not the CPU; `problem`: why not all ranks see a GPU, or empty; `none_here`: none does.
PlannedBackend choose_backend(const Config& config, const std::optional<RequiredBackend>& needed,
                              const std::string& problem, bool none_here, Host allowed) {
  if (problem.empty()) return {Backend::cuda, Host::this_one};
  if (!needed) return {};
  if (allowed != Host::this_one && none_here) return {Backend::cuda, Host::another};
  throw error_of<CollectiveError>(ExitCode::unavailable,
                                  "{}: {}; use parallel.device=cpu, or run where every rank sees a GPU",
                                  config.at(needed->key), problem);
}

// The control daemon of MPS creates a pipe of this name in the folder where clients expect it.
bool mps_runs() {
  const char* named = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::filesystem::path folder = named && *named ? named : "/tmp/nvidia-mps";
  std::error_code unreadable;
  return std::filesystem::exists(folder / "control", unreadable);
}

// Identifies a GPU among those of all hosts. Some virtual GPUs have a UUID of zeros.
std::string identity(const DeviceInfo& device, const std::string& host) {
  const bool known = device.uuid.find_first_of("123456789abcdef") != std::string::npos;
  return known ? device.uuid : fmt::format("{} of {}", device.index, host);
}

// Collective: the sights of all ranks, by rank.
std::vector<RankSight> gather_sights(const CudaDevices& found, const Communicator& world) {
  const int group = world.split_by_host().all_reduce(std::int64_t{world.rank()}, ReduceOp::min);
  std::vector<std::string> gpus;
  for (const DeviceInfo& device : found.devices) gpus.push_back(identity(device, processor_name()));
  return gather(RankSight{processor_name(), group, gpus, found.why_none, mps_runs()}, world);
}

// All ranks compute the same assignment, as all have the sights of all ranks.
void take_gpus(const Config& config, const std::vector<RankSight>& sights, const CudaDevices& found, int rank,
               Placement& placement, RankInfo& mine) {
  const std::optional<int> limit = config.parallel.ranks_per_gpu;
  const DeviceMap map = map_devices(sights, limit.has_value());
  if (limit && map.most_sharers > *limit)
    throw error_of<CollectiveError>(
        ExitCode::unavailable, "{}: {} ranks share one GPU and {} may; start fewer ranks or raise the limit",
        config.at("parallel.ranks_per_gpu"), map.most_sharers, *limit);
  const DeviceInfo& device = found.devices[map.gpu[rank]];
  mine.backend = Backend::cuda;
  mine.device = device.name;
  mine.uuid = device.uuid;
  mine.device_index = placement.device_index = device.index;
  placement.ranks_on_device = map.sharers[rank];
  placement.warnings = map.warnings;
  for (const std::string& note : map.notes) placement.note += (placement.note.empty() ? "" : ", ") + note;
}

}  // namespace

Placement place_ranks(const Config& config, const Communicator& world, int threads, Host allowed,
                      bool wants_gpus) {
  std::optional<RequiredBackend> needed = required_backend(config);
  if (wants_gpus && needs_cpu(needed))
    throw CollectiveError(ExitCode::command_line,
                          "--gpu-memory is of GPUs, and the deck computes on the CPU; use "
                          "parallel.device=cuda, or leave it out");
  if (wants_gpus && !needed) needed = {Backend::cuda, "parallel.device"};
  Placement placement;
  RankInfo mine;
  mine.rank = world.rank();
  mine.host = processor_name();
  mine.device = make_host_device()->info().name;
  mine.threads = threads;
  if (!needs_cpu(needed)) {
    const CudaDevices found = find_cuda_devices();
    const std::vector<RankSight> sights = gather_sights(found, world);
    const std::string problem = why_not_on_gpus(sights);
    const bool none_here = std::ranges::all_of(sights, sees_none);
    static_cast<PlannedBackend&>(placement) = choose_backend(config, needed, problem, none_here, allowed);
    if (problem.empty()) {
      take_gpus(config, sights, found, world.rank(), placement, mine);
    } else if (placement.host == Host::another) {
      placement.note = problem;
    } else if (none_here) {
      placement.note = problem + ": computing on the CPU";
    } else {
      placement.warnings.push_back(problem + ": all compute on the CPU; run where every rank sees a GPU");
    }
  }
  placement.ranks = gather_ranks(mine, world);
  if (placement.backend == Backend::host)
    placement.ranks_on_device = std::ranges::count(placement.ranks, mine.host, &RankInfo::host);
  return placement;
}

PlannedBackend planned_backend(const Config& config, const CudaDevices& found, Host allowed) {
  const std::optional<RequiredBackend> needed = required_backend(config);
  if (needs_cpu(needed)) return {};
  const std::string problem = found.devices.empty() ? fmt::format("no CUDA device ({})", found.why_none) : "";
  return choose_backend(config, needed, problem, true, allowed);
}

std::string place_text(const RankInfo& rank) {
  return rank.backend == Backend::host ? "CPU" : fmt::format("{} {}", rank.device, rank.device_index);
}

std::unique_ptr<Device> open_device(const Placement& placement) {
  return placement.backend == Backend::cuda ? make_cuda_device(placement.device_index) : make_host_device();
}

}  // namespace isotherm
