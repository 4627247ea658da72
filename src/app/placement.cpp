#include "app/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/agree.hpp"
#include "solver/rows.hpp"

namespace isotherm {
namespace {

// What deck and rows ask for; auto takes a GPU when every rank has one.
Backend choose_backend(const Config& config, const Communicator& world, const CudaDevices& found,
                       std::string& note) {
  const std::optional<RequiredBackend> needed = required_backend(config);
  const DeviceChoice choice = config.parallel.device;
  if (choice == DeviceChoice::cpu ||
      (choice == DeviceChoice::automatic && needed && needed->backend == Backend::host)) {
    return Backend::host;
  }
  const bool asked = choice == DeviceChoice::cuda || (needed && needed->backend == Backend::cuda);
  const bool everywhere =
      world.all_reduce(static_cast<std::int64_t>(found.devices.size()), ReduceOp::min) > 0;
  if (everywhere) return Backend::cuda;
  // The reason of a rank without a device, which need not be rank 0.
  std::string why;
  for (const std::string& reason : world.all_gather(found.why_none)) {
    if (why.empty()) why = reason;
  }
  if (asked) {
    throw CollectiveError(
        ExitCode::unavailable,
        fmt::format("{}: no CUDA device ({}); use parallel.device=cpu, or run where every rank sees a GPU",
                    config.at(choice == DeviceChoice::cuda ? "parallel.device" : needed->key), why));
  }
  note = fmt::format("no GPU ({}): computing on the CPU", why);
  return Backend::host;
}

// GPUs that several ranks share while others of the host idle, and shares beyond what the deck allows.
void judge_sharing(const Config& config, const Communicator& host, std::size_t devices,
                   const DeviceInfo& mine, Placement& placement) {
  std::map<std::string, int> users;
  for (const std::string& uuid : host.all_gather(mine.uuid)) ++users[uuid];
  const int most = std::max_element(users.begin(), users.end(), [](auto& a, auto& b) {
                     return a.second < b.second;
                   })->second;
  placement.ranks_on_device = users[mine.uuid];
  if (most == 1) return;
  if (config.parallel.ranks_per_gpu && most > *config.parallel.ranks_per_gpu) {
    throw Error(ExitCode::unavailable,
                fmt::format("{}: {} ranks share one GPU and {} may; start fewer ranks or raise the limit",
                            config.at("parallel.ranks_per_gpu"), most, *config.parallel.ranks_per_gpu));
  }
  const auto idle = devices > users.size() ? devices - users.size() : 0;
  placement.warnings.push_back(fmt::format("{} ranks share one GPU{}", most,
                                           idle ? fmt::format(" while {} of this host are idle", idle) : ""));
}

}  // namespace

Placement place_ranks(const Config& config, const Communicator& world, int threads) {
  const Communicator host = world.split_by_host();
  Placement placement;
  const CudaDevices found = config.parallel.device == DeviceChoice::cpu ? CudaDevices{} : find_cuda_devices();
  placement.backend = choose_backend(config, world, found, placement.note);

  RankPlace mine{processor_name(), "CPU", "", threads};
  if (placement.backend == Backend::cuda) {
    const DeviceInfo& device = found.devices[static_cast<std::size_t>(host.rank()) % found.devices.size()];
    placement.device_index = device.index;
    agree(world, [&] { judge_sharing(config, host, found.devices.size(), device, placement); });
    mine.device = fmt::format("{} {}", device.name, device.index);
    mine.uuid = device.uuid;
  }
  const nlohmann::json packed = {mine.host, mine.device, mine.uuid, mine.threads};
  for (const std::string& text : world.all_gather(packed.dump())) {
    const auto place = nlohmann::json::parse(text);
    placement.ranks.push_back({place[0], place[1], place[2], place[3]});
  }
  return placement;
}

std::unique_ptr<Device> open_device(const Placement& placement) {
  return placement.backend == Backend::cuda ? make_cuda_device(placement.device_index) : make_host_device();
}

}  // namespace isotherm
