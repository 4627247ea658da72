#include "app/subcommands.hpp"

#include <fmt/ranges.h>

#include <set>

#include "app/run.hpp"
#include "app/session.hpp"
#include "config/deck.hpp"
#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "output/console/console.hpp"
#include "physics/boundaries.hpp"
#include "physics/region_values.hpp"
#include "physics/varying_sources.hpp"
#include "solver/method.hpp"
#include "solver/prediction.hpp"
#include "solver/schedule.hpp"
#include "solver/super_step.hpp"

namespace isotherm {
namespace {

constexpr int few_ranks = 16;  // up to so many are listed without --ranks-table

bool lists_ranks(const CheckOptions& options, int ranks) { return options.ranks_table || ranks <= few_ranks; }

std::string estimate_text(const Config& config, const Decomposition& d, Backend backend) {
  const SweepCost cost = estimate(config, d.process_grid(), backend);
  const std::vector<EstimatedGrid> grids = weigh_process_grids(config, d.ranks(), backend);
  const std::string text = fmt::format(
      "  by estimate   {} per sweep of the slowest rank: {} cells, {} copies, {} wire, {} messages",
      human_duration(cost.total()), human_duration(cost.sweep), human_duration(cost.copies),
      human_duration(cost.wire), human_duration(cost.messages));
  const bool is_best = grids[0].grid == d.process_grid();
  if (is_best && grids.size() == 1) return text + "\n";
  const EstimatedGrid& other = grids[is_best ? 1 : 0];
  return text + fmt::format("; {} {}, {}\n", is_best ? "next best" : "auto takes", extent_text(other.grid),
                            human_duration(other.cost.total()));
}

std::string subdomain_lines(const Config& config, const Decomposition& d) {
  std::string text;
  for (int rank = 0; rank < d.ranks(); ++rank) {
    const Box subdomain = d.subdomain(rank);
    text += fmt::format("  rank {:<4} cells [{}, {}) x [{}, {}) x [{}, {})", rank, subdomain.lo.x,
                        subdomain.hi.x, subdomain.lo.y, subdomain.hi.y, subdomain.lo.z, subdomain.hi.z);
    for (const Direction& direction : face_directions()) {
      const int axis = direction[0] ? 0 : direction[1] ? 1 : 2;
      const Face f = face(axis, direction[axis] > 0);
      const auto neighbour = d.neighbour(rank, direction);
      const BoundaryConfig& boundary = config.boundaries[static_cast<std::size_t>(f)];
      text += fmt::format("  {} {}", face_names[static_cast<int>(f)],
                          neighbour               ? std::to_string(*neighbour)
                          : boundary.laws.empty() ? std::string(word(boundary.kind))
                                                  : counted(std::ssize(boundary.laws), "condition"));
    }
    text += '\n';
  }
  return text;
}

std::string decomposition_text(const Config& config, const Decomposition& d, Backend backend,
                               const CheckOptions& options) {
  std::string text = fmt::format(
      "process grid    {} ({}), {}{} cells per rank\n", extent_text(d.process_grid()),
      counted(d.ranks(), "rank"),
      d.smallest_subdomain() < d.largest_subdomain() ? fmt::format("{} to ", d.smallest_subdomain()) : "",
      d.largest_subdomain());
  if (d.ranks() > 1) text += estimate_text(config, d, backend);
  return text + (lists_ranks(options, d.ranks()) ? subdomain_lines(config, d)
                                                 : "  their cells and neighbours: --ranks-table\n");
}

std::string place_lines(const Placement& placement) {
  std::string text;
  for (std::size_t rank = 0; rank < placement.ranks.size(); ++rank) {
    const RankInfo& p = placement.ranks[rank];
    text += fmt::format("  rank {:<4} {} -> {}{}\n", rank, p.host, place_text(p),
                        p.uuid.empty() ? ", " + counted(p.threads, "thread") : " " + p.uuid);
  }
  return text;
}

std::string place_summary(const Placement& placement) {
  std::set<std::string> gpus;
  for (const RankInfo& p : placement.ranks)
    if (!p.uuid.empty()) gpus.insert(p.uuid);
  return fmt::format("  {} on {}{}\n", counted(std::ssize(placement.ranks), "rank"),
                     counted(std::ssize(hosts_of(placement.ranks)), "host"),
                     gpus.empty() ? "" : fmt::format(", {}", counted(std::ssize(gpus), "GPU")));
}

// With --ranks the ranks that would be placed do not exist yet.
std::string placement_text(const Placement& placement, int ranks, const CheckOptions& options) {
  if (placement.host != Host::this_one)
    return fmt::format(
        "placement       a GPU for each rank, on other hosts (here: {}); their memory and speed are not "
        "known here\n",
        placement.note);
  const auto launched = static_cast<int>(placement.ranks.size());
  std::string text =
      launched == ranks
          ? "placement\n"
          : fmt::format("placement       of the {} launched here; {} are placed when they start\n", launched,
                        ranks);
  text += lists_ranks(options, launched) ? place_lines(placement) : place_summary(placement);
  if (!placement.note.empty()) text += "  " + placement.note + "\n";
  for (const std::string& warning : placement.warnings) text += "  warning: " + warning + "\n";
  return text;
}

std::string time_text(const Config& config, const std::optional<PredictedCycles>& predicted) {
  if (config.problem.kind == ProblemKind::steady) {
    const Method method = make_method(config);
    const std::int64_t most = Schedule(config).last();
    const std::int64_t likely = predicted ? predicted->cycles * method.cycle() : likely_sweeps(config);
    return fmt::format(
        "steady          {}, at most {} sweeps{}{}\n",
        method.cycle() > 1 ? fmt::format("{} in cycles of {} sweeps", method.name, method.cycle())
                           : fmt::format("weight {}", config.problem.weight),
        most,
        likely < most
            ? fmt::format(", likely {}{}", predicted && predicted->is_more ? "more than " : "", likely)
            : "",
        predicted ? fmt::format(", as {} cells of this body take{}", extent_text(predicted->cells),
                                predicted->omits_thin_parts ? " without its thin parts" : "")
                  : "");
  }
  const TimePlan plan = time_plan(config);
  std::string of_limit = fmt::format("{:.1f} % of", 100 * plan.dt / stable_dt(config)), parts;
  if (const double times = plan.dt / stable_dt(config); takes_long_steps(config))
    of_limit =
        fmt::format("{}, {} sweeps per step, {} times", word(config.problem.method), sweeps_of_cycle(config),
                    times < 100 ? fmt::format("{:.3g}", times) : fmt::format("{:.0f}", times));
  if (step_control(config))
    parts = fmt::format(", in parts with errors of {:.6g} K at most", *config.problem.tolerance);
  return fmt::format("dt              {:.6g} s ({} the stable limit {:.6g} s), {} to {:.6g} s{}\n", plan.dt,
                     of_limit, stable_dt(config), counted(plan.steps, "step"), plan.dt * plan.steps, parts);
}

// A warning if multigrid is known to be slow for this body, or may be.
std::string slow_text(const PredictedCycles& predicted) {
  constexpr std::int64_t usual = 8;
  const auto& [cells, cycles, is_more, omits_thin_parts] = predicted;
  if (cycles <= usual && !is_more && !omits_thin_parts) return {};
  return fmt::format(
      "warning: multigrid {} slow for this body: {}{} cycles{}, and most take 2 or 3; its conductivities "
      "jump from cell to cell, its layers are one cell thick, or its cells are of very different sizes\n",
      omits_thin_parts ? "may be" : "is", is_more ? "more than " : "", cycles,
      omits_thin_parts ? ", or several times as many, as parts are thinner than the cells of the prediction"
                       : "");
}

// The size, and the power of the sources; on very large grids only the run computes this power.
std::string domain_text(const Config& config) {
  constexpr Index most_cells = Index{1} << 31;
  const std::string text = fmt::format("domain          {}\n", domain_sizes(config));
  if (all_sources(config).empty()) return text;
  if (config.grid.cells.product() > most_cells)
    return text + "sources         their power is computed by the run\n";
  const HeatTotals totals = source_totals(config);
  const std::string replaced = replaced_heat_text(config, totals);
  return text +
         fmt::format("sources         {} in {}{}\n", watts_text(totals.net), counted(totals.cells, "cell"),
                     source_cells_note(config)) +
         (replaced.empty() ? "" : "warning: " + replaced + "\n");
}

std::string probes_text(const Config& config) {
  const auto points = std::ssize(config.output.probes.points);
  if (points == 0) return {};
  const auto lines = Schedule(config).probes.count();
  return fmt::format("  {:<24}  {}{} of {}\n", "probes.csv",
                     config.problem.kind == ProblemKind::steady ? "at most " : "", counted(lines, "line"),
                     counted(points, "probe"));
}

std::string files_text(const Config& config) {
  const std::vector<FileGroup> groups = plan_files(config);
  const std::string most = config.problem.kind == ProblemKind::steady ? "at most " : "";
  double bytes = 0;
  std::string lines;
  for (const FileGroup& group : groups) {
    bytes += group.bytes();
    lines +=
        fmt::format("  {:<24}  {}{}, {} each, {} in all\n", escaped(group.name), most,
                    counted(group.files, "file"), human_bytes(group.bytes_each), human_bytes(group.bytes()));
  }
  return fmt::format("files           {}: {}\n{}", config.output.directory,
                     groups.empty() ? std::string("none of the field")
                                    : fmt::format("{}{} of the field{}", most, human_bytes(bytes),
                                                  config.output.compression ? " before compression" : ""),
                     lines) +
         probes_text(config);
}

std::string checkpoints_text(const Config& config) {
  const CheckpointConfig& checkpoint = config.output.checkpoint;
  const FileGroup files = plan_checkpoints(config);
  if (!checkpoint.write) return "checkpoints     none, also where the run is stopped\n";
  std::vector<std::string> when;
  const char* const unit = config.problem.kind == ProblemKind::transient ? "step"
                           : sweeps_of_cycle(config) > 1                 ? "cycle"
                                                                         : "sweep";
  if (checkpoint.every_steps) when.push_back("every " + counted(*checkpoint.every_steps, unit));
  if (checkpoint.every_time) when.push_back(fmt::format("every {:g} s", *checkpoint.every_time));
  if (checkpoint.every_wall)
    when.push_back(fmt::format("every {} of wall time", human_duration(*checkpoint.every_wall)));
  if (checkpoint.at_end()) {
    when.push_back("at the end");
  } else if (config.problem.kind == ProblemKind::steady && checkpoint.final != FinalCheckpoint::off) {
    when.push_back("at an end above the tolerance");
  }
  when.push_back("where the run is stopped");
  return fmt::format("checkpoints     {}: {} each, at most {} at once\n", fmt::join(when, ", "),
                     human_bytes(files.bytes_each), human_bytes(files.bytes()));
}

std::string halo_text(const Config& config) {
  if (config.solver.halo_width || config.solver.ghosts == 1) return {};
  return fmt::format(
      "halo width      auto: 1 to {} layers, the fastest that the first steps of the run show\n",
      config.solver.ghosts);
}

std::string memory_lines(const Session& session, const CheckOptions& options) {
  const Placement& placement = session.placement;
  const MemoryPlan& memory = session.memory;
  const bool is_here = placement.host == Host::this_one;
  const auto free = [](const Device& device) { return human_bytes(device.memory().free_bytes) + " free"; };
  std::string text = fmt::format("memory          {} of host memory per rank{}\n",
                                 human_bytes(memory.host(placement.backend)),
                                 is_here ? fmt::format(", {} on this host", free(*make_host_device())) : "");
  if (placement.backend == Backend::cuda)
    text += fmt::format("                {} of device memory per rank, {}\n", human_bytes(memory.device()),
                        options.gpu_bytes > 0
                            ? fmt::format("of {} (--gpu-memory)", human_bytes(options.gpu_bytes))
                        : is_here ? free(*open_device(placement))
                                  : "of a GPU that is not here: --gpu-memory 80GiB says what one has");
  text += memory_table(memory, placement.backend);
  if (!is_here) text += "  the memory of norms is not known here\n";
  return text;
}

// Collective. The time of the sweeps at the copy bandwidth of this host or its GPUs, or of the cost model.
std::string sweeps_text(const Session& session, const std::optional<PredictedCycles>& predicted,
                        const Communicator& world) {
  const Placement& placement = session.placement;
  const Config& config = session.deck.config;
  const double sweeps = likely_sweeps(config);
  const double more = predicted ? predicted->cycles * make_method(config).cycle() / sweeps : 1;
  const char* const about = !predicted ? predicted_as(session) : predicted->is_more ? "more than" : "about";
  if (placement.host == Host::this_one) {
    const auto device = all_or_throw(world, [&] { return open_device(placement); });
    const double copied = measure_copy_bandwidth(session, *device, world);
    return fmt::format("sweeps          {} {}, at the copy bandwidth of {:.1f} GB/s measured here\n", about,
                       human_duration(more * predicted_seconds(session, copied)), copied / 1e9);
  }
  const double of_a_rank = ExchangeWeights::of(placement.backend, element_bytes(config)).memory;
  const double copied = of_a_rank * session.decomposition.ranks();
  return fmt::format("sweeps          {} {}, at a copy bandwidth of {:.1f} GB/s for each GPU\n", about,
                     human_duration(more * predicted_seconds(session, copied)), of_a_rank / 1e9);
}

// Checks boundary values and coefficients at t = 0, as a run does. Only the run checks larger faces.
void check_boundaries(const Config& config) {
  constexpr Index most_cells = Index{1} << 20;  // of a face
  const Int3 cells = config.grid.cells;
  std::array<bool, face_count> checked{};
  for (std::size_t i = 0; i < face_count; ++i)
    checked[i] = !periodic_axes(config)[i / 2] && cells.product() / cells[i / 2] <= most_cells;
  with_number(config.precision, [&]<class T>(T) {
    BoundaryConditions<T>(config, *make_host_device(), {{}, cells}, ghost_layers(config), checked);
  });
}

}  // namespace

int check(const CommandLine& command, const Communicator& world) {
  Session session = plan_session(command, world);
  const Config& config = session.deck.config;
  const Decomposition& decomposition = session.decomposition;
  const CheckOptions& options = command.check;
  on_root(world, [&] {
    check_boundaries(config);
    check_overwrite(config);
  });
  const std::optional<PredictedCycles> predicted = predicted_cycles(config);
  on_root(world, [&] {
    std::string text =
        options.resolved ? "# the resolved deck\n" + to_yaml(config) + "\n# the plan of its run\n" : "";
    text += decomposition_text(config, decomposition, session.placement.backend, options) +
            halo_text(config) + placement_text(session.placement, decomposition.ranks(), options) +
            domain_text(config) + time_text(config, predicted) + files_text(config) +
            checkpoints_text(config) + memory_lines(session, options);
    for (const std::string& warning : config.warnings) text += "warning: " + warning + "\n";
    if (predicted) text += slow_text(*predicted);
    if (!session.threads.warning.empty() && command.ranks == 0)
      text += "warning: " + session.threads.warning + "\n";
    print_now(text);
  });
  const std::size_t wanted = session.memory.device();  // of GPUs, whether this host has them or not
  if (options.gpu_bytes > 0 && static_cast<double>(wanted) > options.gpu_bytes)
    throw error_of<CollectiveError>(ExitCode::memory,
                                    "a rank needs {} of device memory and --gpu-memory gives it {}; use a "
                                    "smaller grid, fp32 or more ranks",
                                    human_bytes(wanted), human_bytes(options.gpu_bytes));
  const bool is_here = session.placement.host == Host::this_one;
  if (decomposition.ranks() == world.size() && is_here)
    check_memory(session.memory, session.placement, world);
  const std::string seconds = sweeps_text(session, predicted, world);
  on_root(world, [&] { print_now(seconds); });
  return static_cast<int>(ExitCode::done);
}

}  // namespace isotherm
