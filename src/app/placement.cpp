#include "app/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/device_map.hpp"
#include "core/error.hpp"
#include "solver/rows.hpp"

namespace isotherm {
namespace {

using nlohmann::json;

struct Wish {
  Backend backend = Backend::host;
  std::string demanded_by;  // the key that admits no other; empty: the CPU will do
};

Wish wished_backend(const Config& config) {
  const std::optional<RequiredBackend> needed = required_backend(config);
  switch (config.parallel.device) {
    case DeviceChoice::cpu:
      return {};
    case DeviceChoice::cuda:
      return {Backend::cuda, "parallel.device"};
    case DeviceChoice::automatic:
      break;
  }
  if (!needed) return {Backend::cuda, ""};
  return {needed->backend, needed->backend == Backend::cuda ? needed->key : ""};
}

// Its control daemon leaves a pipe of this name in the folder where clients look for it.
bool mps_runs() {
  const char* named = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::filesystem::path folder = named && *named ? named : "/tmp/nvidia-mps";
  std::error_code unreadable;
  return std::filesystem::exists(folder / "control", unreadable);
}

// What identifies a GPU among those of all hosts. Some virtual GPUs have a UUID of zeros.
std::string identity(const DeviceInfo& device, const std::string& host) {
  const bool known = device.uuid.find_first_of("123456789abcdef") != std::string::npos;
  return known ? device.uuid : fmt::format("{} of {}", device.index, host);
}

// Collective: what each rank sees, by rank.
std::vector<RankSight> gather_sights(const CudaDevices& found, const Communicator& world) {
  const int group = static_cast<int>(
      world.split_by_host().all_reduce(static_cast<std::int64_t>(world.rank()), ReduceOp::min));
  std::vector<std::string> gpus;
  for (const DeviceInfo& device : found.devices) gpus.push_back(identity(device, processor_name()));
  const json mine = {processor_name(), group, gpus, found.why_none, mps_runs()};
  std::vector<RankSight> all;
  for (const std::string& text : world.all_gather(mine.dump())) {
    const json sight = json::parse(text);
    all.push_back({sight[0], sight[1], sight[2], sight[3], sight[4]});
  }
  return all;
}

// The same on every rank, as all know what all see.
void take_gpus(const Config& config, const std::vector<RankSight>& sights, const CudaDevices& found, int rank,
               Placement& placement) {
  const std::optional<int> limit = config.parallel.ranks_per_gpu;
  const DeviceMap map = map_devices(sights, limit.has_value());
  if (limit && map.most_sharers > *limit) {
    throw CollectiveError(
        ExitCode::unavailable,
        fmt::format("{}: {} ranks share one GPU and {} may; start fewer ranks or raise the limit",
                    config.at("parallel.ranks_per_gpu"), map.most_sharers, *limit));
  }
  const auto mine = static_cast<std::size_t>(rank);
  placement.device_index = found.devices[static_cast<std::size_t>(map.gpu[mine])].index;
  placement.ranks_on_device = map.sharers[mine];
  placement.warnings = map.warnings;
  for (const std::string& note : map.notes) placement.note += (placement.note.empty() ? "" : ", ") + note;
}

bool sees_none(const std::vector<RankSight>& sights) {
  return std::ranges::all_of(sights, [](const RankSight& sight) { return sight.gpus.empty(); });
}

// Collective.
Placement place(const Config& config, const Wish& wish, const Communicator& world, int threads,
                Host allowed) {
  const CudaDevices found = wish.backend == Backend::cuda ? find_cuda_devices() : CudaDevices{};
  Placement placement;
  RankPlace mine{processor_name(), "CPU", "", threads};
  if (wish.backend == Backend::cuda) {
    const std::vector<RankSight> sights = gather_sights(found, world);
    const std::string problem = why_not_on_gpus(sights);
    if (problem.empty()) {
      placement.backend = Backend::cuda;
      take_gpus(config, sights, found, world.rank(), placement);
    } else if (allowed == Host::either && !wish.demanded_by.empty() && sees_none(sights)) {
      placement.backend = Backend::cuda;
      placement.host = Host::another;
      placement.note = problem;
    } else if (!wish.demanded_by.empty()) {
      throw CollectiveError(ExitCode::unavailable,
                            fmt::format("{}: {}; use parallel.device=cpu, or run where every rank sees a GPU",
                                        config.at(wish.demanded_by), problem));
    } else if (sees_none(sights)) {
      placement.note = problem + ": computing on the CPU";
    } else {
      placement.warnings.push_back(problem + ": all compute on the CPU; run where every rank sees a GPU");
    }
  }
  if (placement.device_index >= 0) {
    const auto device = std::find_if(found.devices.begin(), found.devices.end(),
                                     [&](const DeviceInfo& d) { return d.index == placement.device_index; });
    mine.device = fmt::format("{} {}", device->name, device->index);
    mine.uuid = device->uuid;
  }
  const json packed = {mine.host, mine.device, mine.uuid, mine.threads};
  for (const std::string& text : world.all_gather(packed.dump())) {
    const json place = json::parse(text);
    placement.ranks.push_back({place[0], place[1], place[2], place[3]});
  }
  if (placement.backend == Backend::host) {
    placement.ranks_on_device = static_cast<int>(std::count_if(
        placement.ranks.begin(), placement.ranks.end(), [&](auto& rank) { return rank.host == mine.host; }));
  }
  return placement;
}

}  // namespace

Placement place_ranks(const Config& config, const Communicator& world, int threads) {
  return place(config, wished_backend(config), world, threads, Host::this_one);
}

Placement plan_ranks(const Config& config, const Communicator& world, int threads, bool wants_gpus) {
  Wish wish = wished_backend(config);
  if (wants_gpus && wish.demanded_by.empty()) {
    if (wish.backend == Backend::host)
      throw CollectiveError(ExitCode::command_line,
                            "--gpu-memory is of GPUs, and the deck computes on the CPU; use "
                            "parallel.device=cuda, or leave it out");
    wish.demanded_by = "parallel.device";
  }
  return place(config, wish, world, threads, Host::either);
}

Seat seat_among(const Config& config, const CudaDevices& found, Host allowed) {
  const Wish wish = wished_backend(config);
  if (wish.backend == Backend::host) return {};
  if (!found.devices.empty()) return {Backend::cuda, Host::this_one};
  if (wish.demanded_by.empty()) return {};
  if (allowed != Host::this_one) return {Backend::cuda, Host::another};
  throw Error(
      ExitCode::unavailable,
      fmt::format("{}: no CUDA device ({}); use parallel.device=cpu, or run where every rank sees a GPU",
                  config.at(wish.demanded_by), found.why_none));
}

std::unique_ptr<Device> open_device(const Placement& placement) {
  return placement.backend == Backend::cuda ? make_cuda_device(placement.device_index) : make_host_device();
}

}  // namespace isotherm
