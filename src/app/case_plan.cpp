#include "app/case_plan.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "app/plan.hpp"
#include "app/session.hpp"
#include "app/verification.hpp"
#include "core/statistics.hpp"
#include "core/timer.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/stencil.hpp"
#include "physics/paint.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

double least_bytes(const Config& config) {
  const bool has_source = !all_sources(config).empty();
  return config.precision == Precision::fp32 ? least_bytes_per_cell<float>(has_source)
                                             : least_bytes_per_cell<double>(has_source);
}

}  // namespace

void validate_case(const Config& config, int ranks, Host host, const CudaDevices& found) {
  const Seat seat = host == Host::another ? Seat{Backend::host, host} : seat_among(config, found, host);
  for (const Config& grid : sound_cases(config)) {
    // Of another host only what is so on all: subdomains that are too thin, a grid of too few processes. A
    // query about kernels of a GPU opens it: a study that holds one open may keep its own cases out.
    if (seat.host == Host::this_one && seat.backend == Backend::host) {
      refuse_on(grid, ranks, seat.backend);
    } else {
      decompose(grid, ranks, seat.backend);
    }
  }
}

CasePlan plan_case(const Config& config, int ranks, const CudaDevices& found) {
  const Seat seat = seat_among(config, found, Host::either);
  CasePlan plan{.backend = seat.backend};
  const std::vector<Config> grids = cases_of(config);
  plan.cells = grids.back().grid.cells;
  for (const Config& grid : grids) {
    const std::int64_t sweeps = likely_sweeps(grid);
    plan.sweeps += sweeps;
    plan.traffic_bytes +=
        static_cast<double>(sweeps) * static_cast<double>(grid.grid.cells.product()) * least_bytes(grid);
  }
  const MemoryPlan memory = plan_memory(grids.back(), ranks, 0, seat, ranks);
  const std::size_t of_a_rank = plan.backend == Backend::cuda ? memory.device() : memory.host(plan.backend);
  plan.memory_bytes = static_cast<double>(of_a_rank) * ranks;
  for (const FileGroup& group : plan_files(config)) plan.file_bytes += group.bytes();
  if (config.output.checkpoint.at_end() || config.output.checkpoint.has_interval())
    plan.file_bytes += plan_checkpoints(config).bytes();
  return plan;
}

double measure_copy_bandwidth(Backend backend, std::size_t field_bytes) {
  const std::unique_ptr<Device> device = backend == Backend::cuda
                                             ? make_cuda_device(find_cuda_devices().devices.front().index)
                                             : make_host_device();
  const auto probe =
      make_copy_probe(*device, roof_bytes(field_bytes, std::numeric_limits<double>::infinity(), backend, 1));
  const Owned<Stream> stream = own_stream(*device, Priority::normal);
  Stopwatch watch(*device, stream);
  std::vector<double> seconds;
  const Timer timer;
  watch.seconds([&] { probe->enqueue(stream); });  // loads the kernel
  while (seconds.size() < 3 || (timer.seconds() < 0.25 && seconds.size() < 100))
    seconds.push_back(watch.seconds([&] { probe->enqueue(stream); }));
  return probe->bytes() / median(std::move(seconds));
}

}  // namespace isotherm
