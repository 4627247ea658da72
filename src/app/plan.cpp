#include "app/plan.hpp"

#include <fmt/format.h>

#include "config/parts.hpp"
#include "config/problems.hpp"
#include "core/all_or_throw.hpp"
#include "core/host_threads.hpp"
#include "core/text.hpp"
#include "grid/field.hpp"
#include "halo/messages.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "physics/region_values.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/multigrid.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

std::size_t element_bytes(const Config& config) {
  return config.precision == Precision::fp32 ? 4 : 8;
}

// The most that any choice of `auto` takes.
template <class T>
std::size_t norm_bytes(const KernelChoices<T>& choices, Int3 subdomain) {
  const Box box{{0, 0, 0}, subdomain};
  std::size_t most = 0;
  for (const ReductionKernel<T>* kernel : choices.reductions) {
    if (!kernel->fused) most = std::max(most, kernel->scratch_bytes(box));
    for (const SweepChoice<T>& sweep : choices.sweeps) {
      if (kernel->fused && sweep.kernel->fuses_norm()) {
        most = std::max(most, sweep.kernel->norm_scratch_bytes(box, sweep.tile));
      }
    }
  }
  return most;
}

// ... that a run may come to.
template <class T>
std::size_t queue_bytes(const Config& config, const Decomposition& decomposition,
                        const KernelChoices<T>& choices, Int3 subdomain) {
  const int longest = longest_time_block(config, decomposition);
  const Index margin = ghost_layers(config) - 1;  // where a period has several launches
  std::size_t most = 0;
  for (const SweepChoice<T>& choice : choices.sweeps) {
    if (!choice.kernel->memory) continue;
    for (const Index around : {Index{0}, margin}) {
      const Box region{{-around, -around, -around},
                       {subdomain.x + around, subdomain.y + around, subdomain.z + around}};
      const SweepPlan plan{std::min(choice.time_block, longest), choice.tile};
      most = std::max(most, choice.kernel->memory->bytes(region, plan));
    }
  }
  return most;
}

template <class T>
void plan_kernels(const Config& config, const Decomposition& decomposition, int rank, Backend backend,
                  MemoryPlan& plan) {
  const Int3 subdomain = decomposition.subdomain(rank).extent();
  const KernelChoices<T> choices = kernel_choices<T>(config, backend, decomposition.subdomain(0).extent());
  plan.norms = norm_bytes(choices, subdomain);
  plan.queues = queue_bytes(config, decomposition, choices, subdomain);
}

std::array<bool, 3> periodic_axes(const Config& config) {
  std::array<bool, 3> periodic{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    periodic[axis] = config.boundaries[2 * axis].kind == BoundaryKind::periodic;
  }
  return periodic;
}

std::size_t count_datasets(const std::vector<RegionValue>& entries) {
  return static_cast<std::size_t>(std::count_if(
      entries.begin(), entries.end(), [](const RegionValue& e) { return e.shape == Shape::dataset; }));
}

// Layers that subdomains must be thick enough for: what the autotuner may try follows from the process grid.
int asked_halo(const Config& config) {
  return config.solver.halo_width.value_or(1);
}

// Of what is written beside the sweeps, or comes from a device: the whole field, and this rank's cells of
// every part.
std::size_t copy_bytes(const Config& config, Box subdomain, std::size_t field) {
  std::size_t bytes = config.output.snapshots ? field : 0;
  for (const FieldPart& part : field_parts(config)) {
    const Index cells = intersect(subdomain, part.box).cells() / part.factor.product();
    bytes += static_cast<std::size_t>(cells) * element_bytes(config);
  }
  return bytes;
}

}  // namespace

std::size_t resident_bytes() {
  return proc_bytes("/proc/self/status", "VmRSS");
}

// Two arrays that are, with those of the sharers, beyond the caches, and no larger than what the run itself
// will hold. No rank's share is less than an eighth: not all caches are shared by all. A run that moves less
// than that is over in some hundredths of a second, most of which it would spend on making the arrays.
std::size_t copy_probe_bytes(std::size_t field_bytes, double moved, Backend backend, int sharers) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20, beyond_caches = 64 * mebibyte;
  const std::size_t least =
      backend == Backend::host
          ? static_cast<std::size_t>(std::clamp(moved / 2, 8.0 * mebibyte, 1.0 * beyond_caches))
          : 256 * mebibyte;
  const std::size_t share = least / static_cast<std::size_t>(std::clamp(sharers, 1, 8)),
                    most = 4 * (backend == Backend::host ? beyond_caches : least);
  return std::clamp(field_bytes, share, most);
}

MemoryPlan plan_memory(const Config& config, int ranks, int rank, Seat seat, int sharers) {
  const Backend backend = seat.backend;
  const Decomposition decomposition = decompose(config, ranks, backend);
  const int ghosts = ghost_layers(config);
  const std::size_t size = element_bytes(config);
  const FieldLayout layout =
      FieldLayout::make(decomposition.subdomain(rank).extent(), ghosts, size, row_alignment(backend));
  MemoryPlan plan;
  plan.field = static_cast<std::size_t>(layout.elements) * size;
  plan.fields = plan.field * (all_sources(config).empty() ? 2 : 3);
  if (make_method(config).has_coarse_grids) plan.fields += coarse_bytes(config, decomposition, rank, backend);
  // Exchanges of fewer layers have buffers of their own while the autotuner tries them.
  for (int layers = ghosts; layers > 0; layers = config.solver.halo_width ? 0 : layers / 2)
    plan.halo += 2 * size * static_cast<std::size_t>(exchange_traffic(decomposition, rank, layers).cells);
  if (seat.host == Host::this_one) {
    (config.precision == Precision::fp32 ? plan_kernels<float> : plan_kernels<double>)(config, decomposition,
                                                                                       rank, backend, plan);
  }
  if (backend == Backend::cuda) plan.mirror = plan.field + plan.halo;
  if (!plan_files(config).empty() || config.output.checkpoint.write) {
    plan.writing = std::min(static_cast<std::size_t>(decomposition.subdomain(rank).cells()) * size,
                            static_cast<std::size_t>(SnapshotWriter::default_slab_bytes));
    // Beside the packed cells what comes from other ranks, and what HDF5 compresses.
    if (config.output.compression > 0) plan.writing *= 3;
  }
  const bool beside = config.output.asynchronous;
  if (beside || backend == Backend::cuda)
    plan.copies = copy_bytes(config, decomposition.subdomain(rank), beside ? plan.field : 0);
  const auto datasets = std::max(count_datasets(config.initial), count_datasets(config.sources));
  plan.initialising = datasets * sizeof(double) * static_cast<std::size_t>(layout.extent.product());
  const double moved = 2.0 * static_cast<double>(likely_sweeps(config)) * static_cast<double>(plan.field);
  plan.copy_bandwidth = 2 * copy_probe_bytes(plan.field, moved, backend, sharers);
  plan.program = resident_bytes();
  return plan;
}

std::vector<FileGroup> plan_files(const Config& config) {
  const Schedule schedule(config);
  std::vector<FileGroup> groups;
  const auto add = [&](const FileGrid& grid, std::int64_t files) {
    groups.push_back({fmt::format("{}_*.hdf", grid.stem), files, static_cast<double>(grid.cell_bytes())});
  };
  if (config.output.snapshots) add(grid_of_snapshots(config), schedule.snapshots());
  const std::vector<FieldPart> parts = field_parts(config);
  for (std::size_t i = 0; i < parts.size(); ++i) add(grid_of(config, parts[i]), schedule.files_of(i));
  return groups;
}

CheckpointPlan plan_checkpoints(const Config& config) {
  const CheckpointConfig& checkpoint = config.output.checkpoint;
  if (!checkpoint.write) return {};
  // Without an interval there is the one of a stop, or of the end.
  return {checkpoint.has_interval() ? checkpoint.keep + 1 : 1,
          static_cast<double>(config.grid.cells.product()) * static_cast<double>(element_bytes(config))};
}

ExchangeWeights exchange_weights(const Config& config, Backend backend) {
  return ExchangeWeights::of(backend, static_cast<int>(element_bytes(config)));
}

SweepCost estimate(const Config& config, Int3 process_grid, Backend backend) {
  return sweep_cost(config.grid.cells, process_grid, periodic_axes(config), asked_halo(config),
                    exchange_weights(config, backend));
}

ProcessGridChoice weigh_process_grids(const Config& config, int ranks, Backend backend) {
  return cheapest_process_grid(config.grid.cells, ranks, periodic_axes(config), asked_halo(config),
                               exchange_weights(config, backend));
}

Decomposition decompose(const Config& config, int ranks, Backend backend) {
  const int ghosts = asked_halo(config);
  if (!config.parallel.process_grid) {
    return {config.grid.cells, weigh_process_grids(config, ranks, backend).grid, periodic_axes(config),
            ghosts};
  }
  const Int3 grid = *config.parallel.process_grid;
  if (grid.product() != ranks)
    throw deck_error(config, "parallel.process_grid",
                     "{} x {} x {} is a grid of {} and the job has {}; use auto, or start {}", grid.x, grid.y,
                     grid.z, counted(grid.product(), "rank"), ranks, counted(grid.product(), "rank"));
  return {config.grid.cells, grid, periodic_axes(config), ghosts};
}

std::string memory_table(const MemoryPlan& plan, Backend backend) {
  const char* const place = backend == Backend::cuda ? "device" : "host";
  const std::size_t held = plan.fields + plan.halo + plan.norms +
                           (backend == Backend::host ? plan.queues + plan.writing + plan.copies : 0);
  std::string table;
  const auto add = [&](const char* purpose, std::size_t bytes, const char* where) {
    table += fmt::format("  {:<26}{:>10}  {}\n", purpose, human_bytes(static_cast<double>(bytes)), where);
  };
  add("fields, ghosts, sources", plan.fields, place);
  add("packed halos", plan.halo, place);
  if (plan.norms) add("partial results of norms", plan.norms, place);
  if (plan.queues) add("queues of temporal sweeps", plan.queues, "host");
  if (plan.mirror) add("field for output, staging", plan.mirror, "host");
  if (plan.writing) add("a file being written", plan.writing, "host");
  if (plan.copies) add("copies (asynchronous)", plan.copies, "host");
  if (plan.initialising) add("datasets of initial values and sources", plan.initialising, "host");
  if (plan.copy_bandwidth > held) add("bandwidth, before fields", plan.copy_bandwidth, place);
  add("program and libraries", plan.program, "host");
  return table;
}

void check_memory(const MemoryPlan& mine, const Placement& placement, const Communicator& world) {
  const Communicator host = world.split_by_host();
  const double programs = host.all_reduce(static_cast<double>(mine.program), ReduceOp::sum);
  const double on_host = host.all_reduce(static_cast<double>(mine.host(placement.backend)), ReduceOp::sum);
  all_or_throw(world, [&] {
    const auto check = [&](const std::string& ranks, const char* memory, double wanted, double free,
                           const char* more) {
      if (wanted > free)
        throw Error(ExitCode::memory, fmt::format("the ranks of {} need {} of {} and {} are free; use a "
                                                  "smaller grid, fp32 or more {}. Rank {} needs:\n{}",
                                                  ranks, human_bytes(wanted), memory, human_bytes(free), more,
                                                  world.rank(), memory_table(mine, placement.backend)));
    };
    const double free = static_cast<double>(make_host_device()->memory().free_bytes);
    check("host " + processor_name(), "memory", on_host, free + programs,
          "hosts");  // which are there already
    if (placement.backend != Backend::cuda) return;
    check(placement.ranks[static_cast<std::size_t>(world.rank())].device, "its memory",
          static_cast<double>(mine.device()) * placement.ranks_on_device,
          static_cast<double>(open_device(placement)->memory().free_bytes), "GPUs");
  });
}

}  // namespace isotherm
