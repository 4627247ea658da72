#include "app/session.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "config/reader.hpp"
#include "core/all_or_throw.hpp"
#include "core/build_info.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/watchdog.hpp"
#include "grid/field.hpp"
#include "halo/messages.hpp"
#include "halo/transport.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "physics/cells.hpp"
#include "physics/diagnostics.hpp"
#include "physics/exact.hpp"
#include "physics/probe.hpp"
#include "physics/region_values.hpp"
#include "physics/varying_sources.hpp"
#include "solver/coarsening.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/multigrid.hpp"
#include "solver/schedule.hpp"
#include "solver/super_step.hpp"
#include "tune/tuning_file.hpp"

namespace isotherm {
namespace {

// The most bytes that any choice of `auto` needs.
template <class T>
std::size_t norm_bytes(const KernelChoices<T>& choices, Int3 subdomain) {
  const Box box{{0, 0, 0}, subdomain};
  std::size_t most = 0;
  for (const ReductionKernel<T>* kernel : choices.reductions) {
    if (!kernel->fused) most = std::max(most, kernel->scratch_bytes(box));
    for (const SweepChoice<T>& sweep : choices.sweeps) {
      if (kernel->fused && sweep.kernel->fuses_norm())
        most = std::max(most, sweep.kernel->norm_scratch_bytes(box, sweep.tile));
    }
  }
  return most;
}

// The most LaunchMemory that any of these choices needs during a run.
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

// Halo width that all subdomains must support. The process grid limits the widths that the autotuner tries.
int asked_halo(const Config& config) { return config.solver.halo_width.value_or(1); }

// Copies of data that is written during sweeps, or from a device: the field, this rank's cells of each part.
std::size_t copy_bytes(const Config& config, Box subdomain, std::size_t field) {
  std::size_t bytes = config.output.snapshots ? field : 0;
  for (const FieldPart& part : field_parts(config)) {
    const Index cells = subdomain.within(part.box).cells() / part.factor.product();
    bytes += static_cast<std::size_t>(cells) * element_bytes(config);
  }
  return bytes;
}

}  // namespace

// The size of a field, but so large that the arrays of all sharers (at most 8 count, as not all share all
// caches) exceed the caches. Smaller for short runs, as creating arrays takes as long as ten copies.
std::size_t copy_probe_bytes(std::size_t field_bytes, double moved, Backend backend, int sharers) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20, beyond_caches = 64 * mebibyte;
  const std::size_t least =
      backend == Backend::host ? std::clamp(moved / 16, 8.0 * mebibyte, 1.0 * beyond_caches) : 256 * mebibyte;
  const std::size_t share = least / static_cast<std::size_t>(std::clamp(sharers, 1, 8)),
                    most = 4 * (backend == Backend::host ? beyond_caches : least);
  return std::clamp(field_bytes, share, most);
}

MemoryPlan plan_memory(const Config& config, int ranks, int rank, PlannedBackend where, int sharers) {
  const Backend backend = where.backend;
  const Decomposition decomposition = decompose(config, ranks, backend);
  const int ghosts = ghost_layers(config);
  const std::size_t size = element_bytes(config);
  const Int3 extent = decomposition.subdomain(rank).extent();
  MemoryPlan plan;
  plan.field = field_bytes(extent, ghosts, size, backend);
  plan.fields = plan.field * (2 + fields_of_sources(config));
  if (has_several_materials(config))
    plan.fields +=
        material_bytes(extent, class_ghosts(config), backend, longest_launch<double>(config, backend), size);
  if (backend == Backend::host && has_void(material_classes(config)))
    plan.fields += plan.field;  // the copy for output, whose cells of voids are NaN
  plan.fields += multigrid_bytes(config, decomposition, rank, backend);
  plan.fields += plan.field * static_cast<std::size_t>(fields_of_super_step(config));
  // Exchanges of fewer layers have buffers of their own while the autotuner tries them.
  for (int layers = ghosts; layers > 0; layers = config.solver.halo_width ? 0 : layers / 2)
    plan.halo += 2 * size * static_cast<std::size_t>(exchanged_cells(decomposition, rank, layers));
  if (where.host == Host::this_one)
    with_number(config.precision, [&]<class T>(T) {
      const auto choices = kernel_choices<T>(config, backend, decomposition.subdomain(0).extent());
      plan.norms = norm_bytes(choices, extent);
      plan.queues = queue_bytes(config, decomposition, choices, extent);
    });
  if (backend == Backend::cuda) plan.mirror = plan.field + plan.halo;
  if (!plan_files(config).empty() || config.output.checkpoint.write) {
    // Rank 0 packs the cells of all ranks where MPI-IO fails, which only a run can find out.
    const Index cells = rank == 0 ? config.grid.cells.product() : decomposition.subdomain(rank).cells();
    plan.writing = std::min(static_cast<std::size_t>(cells) * size,
                            static_cast<std::size_t>(SnapshotWriter::default_slab_bytes));
    // In addition to the packed cells: those of other ranks or of MPI-IO, and those that HDF5 compresses.
    plan.writing *= config.output.compression > 0 ? 3 : ranks > 1 ? 2 : 1;
  }
  const bool asynchronous = config.output.asynchronous;
  if (asynchronous || backend == Backend::cuda)
    plan.copies = copy_bytes(config, decomposition.subdomain(rank), asynchronous ? plan.field : 0);
  const auto datasets = std::max(std::ranges::count(config.initial, Shape::dataset, &RegionValue::shape),
                                 std::ranges::count(config.sources, Shape::dataset, &RegionValue::shape));
  plan.initialising = datasets * sizeof(double) * extent.product();
  const double moved = 2.0 * static_cast<double>(likely_sweeps(config)) * static_cast<double>(plan.field);
  plan.copy_bandwidth = 2 * copy_probe_bytes(plan.field, moved, backend, sharers);
  plan.program = proc_bytes("/proc/self/status", "VmRSS");
  return plan;
}

std::vector<FileGroup> plan_files(const Config& config) {
  const Schedule schedule(config);
  std::vector<FileGroup> groups;
  const auto add = [&](const FileGrid& grid, std::int64_t files) {
    groups.push_back({fmt::format("{}_*.hdf", grid.stem), files, static_cast<double>(grid.cell_bytes())});
  };
  if (config.output.snapshots) add(grid_of_snapshots(config), schedule.snapshots.count());
  const std::vector<FieldPart> parts = field_parts(config);
  for (std::size_t i = 0; i < parts.size(); ++i) add(grid_of(config, parts[i]), schedule.parts[i].count());
  return groups;
}

std::string domain_sizes(const Config& config) {
  Vector3 lengths, smallest, largest;
  for (int axis = 0; axis < 3; ++axis) {
    const GridAxis along(config, axis);
    lengths[axis] = along.length();
    smallest[axis] = along.smallest();
    largest[axis] = along.largest();
  }
  return fmt::format("{}, cells of {}{}", size_text(lengths), size_text(smallest),
                     config.grid.is_graded() ? " to " + size_text(largest) : "");
}

FileGroup plan_checkpoints(const Config& config) {
  const CheckpointConfig& checkpoint = config.output.checkpoint;
  // Without an interval there is one checkpoint, at a stop or at the end.
  const int files = !checkpoint.write ? 0 : checkpoint.has_interval() ? checkpoint.keep + 1 : 1;
  return {config.name, files, static_cast<double>(config.grid.cells.product()) * element_bytes(config)};
}

SweepCost estimate(const Config& config, Int3 process_grid, Backend backend) {
  return sweep_cost(config.grid.cells, process_grid, periodic_axes(config), asked_halo(config),
                    ExchangeWeights::of(backend, element_bytes(config)));
}

double predicted_seconds(const Session& session, double copy_bandwidth) {
  const Backend backend = session.placement.backend;
  double seconds = 0;
  for (const Config& each : session.cases) {
    const Decomposition d = decompose(each, session.decomposition.ranks(), backend);
    const SweepCost cost = estimate(each, d.process_grid(), backend);
    seconds += sweep_work(each, d, backend).seconds(backend, copy_bandwidth) * cost.total() / cost.sweep;
  }
  return seconds;
}

const char* predicted_as(const Session& session) {
  const Config& config = session.cases.back();
  if (step_control(config)) return "at least about";
  const bool is_steady = config.problem.kind == ProblemKind::steady;
  return is_steady && likely_sweeps(config) == Schedule(config).last() ? "at most" : "about";
}

std::vector<EstimatedGrid> weigh_process_grids(const Config& config, int ranks, Backend backend) {
  std::vector<EstimatedGrid> all =
      process_grids_by_cost(config.grid.cells, ranks, periodic_axes(config), asked_halo(config),
                            ExchangeWeights::of(backend, element_bytes(config)));
  const auto is_thin = [&](const EstimatedGrid& each) {
    return !why_too_thin(config, {config.grid.cells, each.grid, periodic_axes(config)}, backend).empty();
  };
  if (!std::ranges::all_of(all, is_thin)) std::erase_if(all, is_thin);
  return all;
}

Decomposition decompose(const Config& config, int ranks, Backend backend) {
  const Int3 grid = config.parallel.process_grid ? *config.parallel.process_grid
                                                 : weigh_process_grids(config, ranks, backend).front().grid;
  if (grid.product() != ranks)
    throw deck_error(config, "parallel.process_grid",
                     "{} is a grid of {} and the job has {}; use auto, or start {}", extent_text(grid),
                     counted(grid.product(), "rank"), ranks, counted(grid.product(), "rank"));
  Decomposition decomposition(config.grid.cells, grid, periodic_axes(config), asked_halo(config));
  if (const std::string why = why_too_thin(config, decomposition, backend); !why.empty())
    throw deck_error(config, config.solver.halo_width ? "solver.halo_width" : "problem.method",
                     "{}; use {}fewer ranks, another parallel.process_grid, or method {}", why,
                     config.solver.halo_width ? "auto, " : "", is_implicit(config) ? "rkl" : "chebyshev");
  return decomposition;
}

std::string memory_table(const MemoryPlan& plan, Backend backend) {
  const char* const place = backend == Backend::cuda ? "device" : "host";
  const std::size_t held = plan.fields + plan.halo + plan.norms +
                           (backend == Backend::host ? plan.queues + plan.writing + plan.copies : 0);
  std::string table;
  const auto add = [&](const char* purpose, std::size_t bytes, const char* where) {
    table += fmt::format("  {:<26}{:>10}  {}\n", purpose, human_bytes(bytes), where);
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
        throw error_of(ExitCode::memory,
                       "the ranks of {} need {} of {} and {} are free; use a smaller grid, fp32 or more {}. "
                       "Rank {} needs:\n{}",
                       ranks, human_bytes(wanted), memory, human_bytes(free), more, world.rank(),
                       memory_table(mine, placement.backend));
    };
    const double free = static_cast<double>(make_host_device()->memory().free_bytes);
    check("host " + processor_name(), "memory", on_host, free + programs,
          "hosts");  // programs already occupy theirs
    if (placement.backend != Backend::cuda) return;
    check(place_text(placement.ranks[world.rank()]), "its memory", mine.device() * placement.ranks_on_device,
          static_cast<double>(open_device(placement)->memory().free_bytes), "GPUs");
  });
}

RegistryNames registry_names() {
  RegistryNames registry;
  const auto add = [](std::vector<RegistryNames::Kernel>& known, const auto& table) {
    for (const auto& kernel : table) {
      bool materials = true, varying = true;  // assumed for kernels that are not in this build
      if constexpr (requires { kernel.sweeps_materials; }) {
        materials = kernel.sweeps_materials || !kernel.available();
        varying = kernel.takes_varying_a() || !kernel.available();
      }
      known.push_back({std::string(kernel.name), kernel.available(), kernel.backend == Backend::cuda,
                       materials, varying});
    }
  };
  add(registry.kernels, stencil_kernels<double>());
  add(registry.reductions, reduction_kernels<double>());
  add(registry.histograms, histogram_kernels<double>());
  for (const auto& kernel : transport_registry<double>())
    registry.transports.push_back({std::string(kernel.name), kernel.moves_data});
  return registry;
}

namespace {

// Contents of the files of a deck's datasets.

// For a snapshot of isotherm, the fingerprint stored in it, as its field may be large; for other files, the
// hash of all bytes.
std::optional<std::string> contents_of(const RegionValue& dataset) {
  static std::map<std::string, std::optional<std::string>> known;  // cases of a study share their files
  const std::string name = dataset.file + '\n' + dataset.dataset;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::optional<std::string> contents;
  try {
    if (dataset.dataset == RegionValue().dataset)
      contents = fmt::format("field-{:016x}", read_snapshot_header(dataset.file).meta.fingerprint);
  } catch (const Error&) {  // it is no snapshot
  }
  if (!contents)
    if (const auto hash = hash_of_file(dataset.file)) contents = contents_text(*hash);
  return known[name] = contents;
}

// The datasets of the deck and their keys, such as "regions.0".
std::vector<std::pair<std::string, RegionValue*>> datasets_of(Config& config) {
  std::vector<std::pair<std::string, RegionValue*>> all;
  const auto add = [&](const char* list, std::size_t i, RegionValue& place) {
    if (!place.file.empty()) all.emplace_back(fmt::format("{}.{}", list, i), &place);
  };
  for (std::size_t i = 0; i < config.regions.size(); ++i) add("regions", i, config.regions[i].place);
  for (std::size_t i = 0; i < config.initial.size(); ++i) add("initial", i, config.initial[i]);
  for (std::size_t i = 0; i < config.sources.size(); ++i) add("sources", i, config.sources[i]);
  return all;
}

// Ranks with different binaries or arguments would solve different problems, but share their all-reduces.
void compare_ranks(const CommandLine& command, const Communicator& world) {
  std::string mine =
      fmt::format("isotherm {} {} {}{}{} {}", build_info().version, build_info().git_revision,
                  word(command.subcommand), command.ranks ? fmt::format(" --ranks {}", command.ranks) : "",
                  command.from_output ? " --from" : "", command.file);
  if (!command.restart.empty()) mine += " --restart " + command.restart;
  if (command.profile) mine += " --profile";
  if (command.check.gpu_bytes > 0) mine += fmt::format(" --gpu-memory {}", command.check.gpu_bytes);
  if (command.force) mine += " --force";
  for (const std::string& o : command.overrides) mine += " " + o;
  const std::vector<std::string> all = world.all_gather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw error_of<CollectiveError>(ExitCode::internal,
                                      "rank {} runs '{}' and rank 0 runs '{}' (one job is one problem); "
                                      "start all ranks with the same program and arguments",
                                      rank, all[rank], all[0]);
}

// The resolved deck in a file of a run: it contains the run's overrides and the full paths of its datasets.
std::string deck_within(const SnapshotProvenance& from, const std::string& file) {
  const auto reject = [&](const std::string& problem) {
    throw error_of(ExitCode::deck, "{}: {}; name another file, or a deck", file, problem);
  };
  if (from.resolved_deck.empty()) reject("holds no deck (its /isotherm/resolved_deck is empty)");
  if (from.name.find('/') != std::string::npos)
    reject(fmt::format("the run's name {} is no file name (a '/' in it would lead out of the run directory)",
                       in_quotes(from.name)));
  return from.resolved_deck;
}

// A step that is stable on the deck's grid need not be on the finer ones of its series.
void validate_time_step(const Config& each) {
  const ProblemConfig& problem = each.problem;
  if (problem.kind == ProblemKind::steady || is_implicit(each) || !problem.dt ||
      (problem.allow_unstable && !is_rkl(each)))
    return;
  const double limit = is_rkl(each) ? rkl_limit(each, most_rkl_stages(each)) : stable_dt(each);
  if (*problem.dt <= limit) return;
  throw deck_error(
      each, "problem.dt",
      "{:.6g} s is above the limit {:.6g} s of the grid {} of the series; lower it, or write auto",
      *problem.dt, limit, extent_text(each.grid.cells));
}

void validate_compression(const Config& config) {
  if (config.output.compression == 0) return;
  if (const std::string why = why_not_compressed(); !why.empty())
    throw error_of(ExitCode::unavailable, "{}: {} cannot be written ({}); write 0, or use an HDF5 with zlib",
                   config.at("output.compression"), config.output.compression, why);
}

// Collective. If no boundary fixes the temperature, all heat that enters must also leave.
void validate_balance(const Config& config, const Communicator& world, Backend backend) {
  if (!mean_is_free(config)) return;
  HeatTotals balance = all_or_throw(world, [&] {
    const Decomposition decomposition = decompose(config, world.size(), backend);
    return heat_balance(config, decomposition.subdomain(world.rank()),
                        decomposition.boundaries(world.rank()));
  });
  balance.net = world.all_reduce(balance.net, ReduceOp::sum);
  balance.gross = world.all_reduce(balance.gross, ReduceOp::sum);
  const double varying = product_totals(config).net;  // double ellipsoids: a steady problem has no time
  balance.net += varying;
  balance.gross += std::abs(varying);
  all_or_throw(world, [&] { check_balance(config, balance); });
}

// A run finds only after its measurements that it cannot keep them. An existing file need not be written.
std::vector<std::string> tuning_warnings(const Config& config) {
  const std::filesystem::path file = config.solver.tuning_file;
  std::error_code ignored;
  if (file.empty() || std::filesystem::exists(file, ignored) || make_method(config).is_taken_whole())
    return {};
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (access((folder / ".").c_str(), W_OK | X_OK) == 0) return {};
  return {fmt::format("{}: {} takes no file ({}), so the tuning is not kept; create it, or name another file",
                      config.at("solver.tuning_file"), in_quotes(folder.string()), std::strerror(errno))};
}

// Is the command a plan? A `check` under a launcher, without --ranks and --gpu-memory, checks its own job.
bool is_plan(const CommandLine& command) {
  return command.subcommand == Subcommand::check &&
         (command.ranks > 0 || command.check.gpu_bytes > 0 || !is_under_launcher());
}

LoadedDeck load_deck(const CommandLine& command, const Communicator& world) {
  compare_ranks(command, world);
  LoadedDeck deck;
  SnapshotProvenance stored;  // rank 0 alone has all of it
  on_root(world, [&] {
    if (!command.from_output) {
      deck.text = read_deck_file(command.file);
      return;
    }
    stored = read_snapshot_header(command.file).provenance;
    try {
      deck.text = stored_deck_text(deck_within(stored, command.file));
    } catch (const YamlError&) {
      stored_config(stored, command.file);  // throws, with the place
    }
  });
  deck.text = world.broadcast(deck.text);
  stored.name = world.broadcast(stored.name);
  deck.config = all_or_throw(world, [&] {
    try {
      return parse_deck(deck.text, command.file, command.overrides, registry_names(),
                        command.override_arguments);
    } catch (const Error&) {
      if (!stored.resolved_deck.empty()) stored_config(stored, command.file);  // throws if that deck is wrong
      throw;
    }
  });
  // Each rank searches for the deck's files itself, and another run may write a newer file meanwhile.
  const std::string mine = to_yaml(deck.config);
  if (world.any(mine != world.broadcast(mine)))
    throw error_of<CollectiveError>(ExitCode::deck,
                                    "{}: ranks found different files by its paths (files change, or ranks "
                                    "start in different directories); start all again, in one directory",
                                    command.file);
  record_contents(deck.config, world);
  if (command.from_output && !stored.name.empty()) deck.config.name = stored.name;
  // Only output.overwrite on the command line lets a run from a file replace another, such as its origin.
  if (command.from_output && !deck.config.at("output.overwrite").starts_with("argument "))
    deck.config.output.overwrite = false;
  // 100 bytes for the longest ending, _slice_(64 letters)_(18 digits).hdf.aside.
  if (constexpr std::size_t longest = 255 - 100; deck.config.name.size() > longest)
    throw error_of<CollectiveError>(ExitCode::deck,
                                    "{}: the name of the run has {} bytes (file systems allow 255, with what "
                                    "follows it in names of files); rename the deck, to at most {} without "
                                    "its ending",
                                    command.file, deck.config.name.size(), longest);
  return deck;
}

// Sets ghost layers, at most `most`. Plans the memory of this rank, or one of --ranks, in the largest case.
void allow_ghosts(Session& session, int most, const Communicator& world) {
  const Placement& placement = session.placement;
  const int ranks = session.decomposition.ranks();
  for (Config& each : session.cases) {
    each.solver.ghosts = 1;
    each.solver.ghosts = widest_halo(each, decompose(each, ranks, placement.backend), most);
  }
  session.deck.config.solver.ghosts = session.cases.back().solver.ghosts;
  const int as_many =
      std::max(1, ranks / world.size());  // planned ranks per launched rank, if --ranks plans a larger job
  const int sharers = placement.host == Host::this_one ? placement.ranks_on_device * as_many : 1;
  const std::size_t program = session.memory.program;
  session.memory = all_or_throw(world, [&] {
    return plan_memory(session.cases.back(), ranks, std::min(world.rank(), ranks - 1), placement, sharers);
  });
  if (program > 0) session.memory.program = program;  // keeps the earlier measurement
}

// Keeps the lengths of zones and changes their numbers of cells.
void refine_zones(const Config& config, Config& level, int axis, std::int64_t cells) {
  const std::int64_t n = config.grid.cells[axis], more = level.grid.cells[axis];
  for (SpacingZone& zone : level.grid.zones[axis]) {
    if (zone.cells * more % n != 0)
      throw deck_error(config, "verify.order",
                       "{} cells leave {} x {} / {} in a zone along {}, not a whole number; choose cells "
                       "that are multiples of each other",
                       cells, zone.cells, more, n, "xyz"[axis]);
    zone.size *= static_cast<double>(n) / static_cast<double>(more);
    zone.cells = zone.cells * more / n;
  }
}

// The same body with `cells` along x, or the first axis of more than one cell, and other axes in proportion;
// an axis of one cell keeps it.
Config refined(const Config& config, std::int64_t cells) {
  Config level = config;
  const Int3 n = config.grid.cells;
  const int along = n.x > 1 ? 0 : n.y > 1 ? 1 : 2;
  if (n.product() == 1)
    throw deck_error(config, "verify.order",
                     "a grid of a single cell has no order; give grid.cells more than one along an axis");
  for (int axis = 0; axis < 3; ++axis) {
    if (n[axis] == 1) continue;  // a direction in which nothing varies
    if (n[axis] * cells % n[along] != 0)
      throw deck_error(config, "verify.order",
                       "{} cells along {} leave {} x {} / {} along {}, not a whole number; choose cells that "
                       "are multiples of each other",
                       cells, "xyz"[along], n[axis], cells, n[along], "xyz"[axis]);
    level.grid.cells[axis] = n[axis] * cells / n[along];
  }
  level.grid.lengths.emplace();
  for (int axis = 0; axis < 3; ++axis) {
    (*level.grid.lengths)[axis] = GridAxis(config, axis).length();
    refine_zones(config, level, axis, cells);
  }
  level.grid.spacing.reset();
  check_all_cells(level);
  return level;
}

}  // namespace

void record_contents(Config& config) {
  for (const auto& [key, place] : datasets_of(config)) {
    const std::optional<std::string> found = contents_of(*place);
    if (!found) continue;
    if (!place->contents.empty() && place->contents != *found)
      throw deck_error(
          config, key + ".contents",
          "{} holds something else than when this deck was resolved ({}, now {}); restore it, or "
          "remove contents",
          place->file, place->contents, *found);
    place->contents = *found;
  }
}

void record_contents(Config& config, const Communicator& world) {
  on_root(world, [&] { record_contents(config); });
  for (const auto& [key, place] : datasets_of(config)) place->contents = world.broadcast(place->contents);
}

void check_all_cells(Config& config) {
  if (!has_several_materials(config)) return;
  if (config.problem.kind == ProblemKind::steady)
    config.lowest_eigenvalue = lowest_eigenvalue(config);
  else
    set_step_limits(config, step_limits_of(config, {{}, config.grid.cells}));
}

void check_all_cells(Config& config, const Communicator& world) {
  if (!has_several_materials(config)) return;
  if (config.problem.kind == ProblemKind::steady)
    return all_or_throw(world, [&] { check_all_cells(config); });
  Box mine{{}, config.grid.cells};
  const int axis = mine.hi.z >= mine.hi.y ? 2 : 1;
  mine.lo[axis] = config.grid.cells[axis] * world.rank() / world.size();
  mine.hi[axis] = config.grid.cells[axis] * (world.rank() + 1) / world.size();
  StepLimits limits = all_or_throw(world, [&] { return step_limits_of(config, mine); });
  for (double* const each : {&limits.stable, &limits.monotone, &limits.alone})
    *each = world.all_reduce(*each, ReduceOp::min);
  all_or_throw(world, [&] { set_step_limits(config, limits); });
}

std::vector<Config> cases_of(const Config& config) {
  if (config.verify.order.empty()) return {config};
  std::vector<Config> cases;
  for (const std::int64_t nx : config.verify.order) cases.push_back(refined(config, nx));
  return cases;
}

// A warning where the time step of a series of grids does not fall with their cells, or none.
std::vector<std::string> order_warnings(const Config& config, const std::vector<Config>& cases) {
  if (cases.size() < 2 || config.problem.kind != ProblemKind::transient) return {};
  const double dt = time_plan(cases.back()).dt;
  if (dt < time_plan(cases[cases.size() - 2]).dt) return {};
  return {fmt::format(
      "{}: dt is {:.4g} s on both of the finest grids, so the observed order includes the error of time; "
      "if it is not the expected one, use a smaller problem.dt",
      config.at("verify.order"), dt)};
}

void fit_ghosts(Session& session, const Communicator& world) {
  for (int most = session.cases.back().solver.ghosts;; allow_ghosts(session, --most, world)) {
    try {
      return check_memory(session.memory, session.placement, world);
    } catch (const CollectiveError& e) {
      if (e.code() != ExitCode::memory || most <= 1) throw;
    }
  }
}

bool moves_data(const Config& config) {
  const TransportEntry<double>* entry = find_transport(config.parallel.transport);
  return !entry || entry->moves_data;
}

void check_tuning_file(const Config& config) {
  const std::string& file = config.solver.tuning_file;
  if (!file.empty() && !make_method(config).is_taken_whole()) find_tuning(file, {});
}

std::vector<Config> sound_cases(const Config& config) {
  make_exact(config);  // rejects boundaries that do not fit the solution
  io_timeout();
  validate_compression(config);
  std::vector<Config> all = cases_of(config);
  for (const Config& each : all) {
    validate_time_step(each);
    field_parts(each);  // rejects parts that do not fit the grid
    RegionValues(each, each.initial, "initial").check_datasets();
    RegionValues(each, each.sources, "sources").check_datasets();
    if (each.problem.kind == ProblemKind::transient) {
      const TimePlan plan = time_plan(each);
      std::vector<double> times = step_starts(each, 256);
      times.push_back(plan.dt * static_cast<double>(std::max<std::int64_t>(plan.steps - 1, 0)));
      check_boundaries(each, times);
      check_sources(each, times);
    }
    shape_warnings(each);  // throws where a source lies outside the domain
    for (const ProbePoint& point : each.output.probes.points) Probe(each, point.at);  // throws in a void
  }
  return all;
}

void validate_on(const Config& config, int ranks, PlannedBackend where) {
  const Int3 largest = decompose(config, ranks, where.backend).subdomain(0).extent();
  const bool is_here = where.host == Host::this_one;
  settle_graph(config, true, why_no_graph(config, is_here ? where.backend : Backend::cuda));
  if (!is_here) return;
  with_number(config.precision, [&]<class T>(T) { kernel_choices<T>(config, where.backend, largest); });
}

void validate_transport(const Config& config, const Device& device) {
  const TransportEntry<double>* entry = find_transport(config.parallel.transport);
  if (!entry) return;  // auto
  const std::string why = entry->unsupported(device);
  if (why.empty()) return;
  throw error_of(ExitCode::unavailable,
                 "{}: transport '{}' cannot be used here ({}); use auto, or another of isotherm list",
                 config.at("parallel.transport"), entry->name, why);
}

Session plan_session(const CommandLine& command, const Communicator& world) {
  LoadedDeck deck = load_deck(command, world);
  const Config& config = deck.config;
  ThreadPlan threads = plan_threads(world.split_by_host());
  use_threads(threads.threads);
  const int ranks = command.ranks ? command.ranks : world.size();
  check_all_cells(deck.config, world);
  std::vector<Config> cases = all_or_throw(world, [&] { return sound_cases(config); });
  on_root(world, [&] { check_tuning_file(config); });
  for (const auto& warnings : {shape_warnings(config), time_warnings(config), tuning_warnings(config),
                               order_warnings(config, cases)})
    deck.config.warnings.insert(deck.config.warnings.end(), warnings.begin(), warnings.end());
  Placement placement =
      place_ranks(config, world, threads.threads, is_plan(command) ? Host::either : Host::this_one,
                  command.check.gpu_bytes > 0);
  all_or_throw(world, [&] {
    for (const Config& each : cases) validate_on(each, ranks, placement);
  });
  Decomposition decomposition = decompose(config, ranks, placement.backend);
  // Checked before any field is allocated. The halo exchange tests later whether the transport works.
  if (placement.host == Host::this_one && config.parallel.transport != "auto")
    all_or_throw(world, [&] { validate_transport(config, *open_device(placement)); });
  validate_balance(config, world, placement.backend);
  Session session{std::move(deck),          std::move(cases),     std::move(threads),
                  std::move(decomposition), std::move(placement), {}};
  constexpr int most_ghosts = 8;
  allow_ghosts(session, most_ghosts, world);
  return session;
}

}  // namespace isotherm
