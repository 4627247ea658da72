#include "app/case_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "app/plan.hpp"
#include "app/session.hpp"
#include "app/verification.hpp"
#include "config/deck.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/timer.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/stencil.hpp"
#include "physics/paint.hpp"
#include "solver/rows.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

double least_bytes(const Config& config) {
  const bool has_source = !all_sources(config).empty();
  return config.precision == Precision::fp32 ? least_bytes_per_cell<float>(has_source)
                                             : least_bytes_per_cell<double>(has_source);
}

// Why sweeps of this config cannot store the neighbours' ghosts themselves, as far as its words tell.
std::string why_no_stores(const Config& config, Backend backend) {
  if (config.parallel.overlap != Overlap::in_kernel) return "";
  if (backend == Backend::host) return "only kernels of GPUs store faces";
  if (config.solver.halo_width && *config.solver.halo_width != 1) return "in_kernel has depth 1";
  const std::string& transport = config.parallel.transport;
  if (transport != "auto" && transport != "peer") return "in_kernel needs transport peer";
  for (const StencilKernel<double>& row : stencil_kernels<double>())
    if (row.name == config.solver.kernel && row.stores_faces == nullptr) return "the kernel stores no faces";
  return "";
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

void validate_combination(const Config& config, int ranks, const CudaDevices& found) {
  const Seat seat = seat_among(config, found, Host::this_one);
  sound_cases(config);
  if (!moves_data(config))
    throw Error(ExitCode::deck,
                fmt::format("{}: transport '{}' moves nothing (there are no bits to compare); "
                            "use auto, or another of isotherm list",
                            config.at("parallel.transport"), config.parallel.transport));
  if (const std::string why = why_no_stores(config, seat.backend); !why.empty())
    throw Error(ExitCode::deck, fmt::format("{}: {}; use auto", config.at("parallel.overlap"), why));
  const auto device =
      seat.backend == Backend::cuda ? make_cuda_device(found.devices.front().index) : make_host_device();
  refuse_on(config, ranks, seat.backend);
  settle_graph(config, true, why_no_graph(config, *device));
  refuse_transport(config, *device);
}

Config short_run(Config config, std::int64_t sweeps) {
  ProblemConfig& problem = config.problem;
  if (problem.end_time) problem.dt = time_plan(config).dt;
  problem.end_time.reset();
  if (problem.kind == ProblemKind::transient) problem.steps = sweeps;
  problem.max_sweeps = sweeps;
  problem.tolerance = 0;
  OutputConfig output;
  output.directory = config.output.directory;
  output.overwrite = true;
  output.snapshots = output.checkpoint.write = output.xdmf = false;
  output.every_steps = config.output.every_steps;
  if (const auto& interval = config.output.diagnostics)
    output.every_steps = std::min(*interval, output.every_steps.value_or(*interval));
  config.output = output;
  config.verify = {};
  return config;
}

CasePlan plan_case(const Config& config, int ranks, const CudaDevices& found) {
  const Seat seat = seat_among(config, found, Host::either);
  CasePlan plan{.backend = seat.backend};
  plan.process_grid = decompose(config, ranks, seat.backend).process_grid();
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
