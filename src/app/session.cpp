#include "app/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/verification.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "core/all_or_throw.hpp"
#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "core/watchdog.hpp"
#include "halo/transport.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "physics/diagnostics.hpp"
#include "physics/exact.hpp"
#include "physics/region_values.hpp"
#include "solver/kernel_choice.hpp"

namespace isotherm {

namespace {

// Ranks of one job that were started with different binaries or arguments would solve different problems and
// meet in one all-reduce.
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
      throw CollectiveError(ExitCode::internal,
                            fmt::format("rank {} runs '{}' and rank 0 runs '{}' (one job is one problem); "
                                        "start all ranks with the same program and arguments",
                                        rank, all[rank], all[0]));
}

// The resolved one: with the overrides of that run, and its datasets by their whole paths.
std::string deck_within(const SnapshotProvenance& from, const std::string& file) {
  const auto reject = [&](const std::string& problem) {
    throw Error(ExitCode::deck, fmt::format("{}: {}; name another file, or a deck", file, problem));
  };
  if (from.resolved_deck.empty()) reject("holds no deck (its /isotherm/resolved_deck is empty)");
  if (from.name.find('/') != std::string::npos)
    reject(fmt::format("the run's name {} is no file name (a '/' in it would lead out of the run directory)",
                       in_quotes(from.name)));
  return from.resolved_deck;
}

// Of the same name. It replaces a run, such as the one that it comes from, only where the command line says
// so.
void be_another_run(Config& config, const std::string& name) {
  if (!name.empty()) config.name = name;
  if (config.at("output.overwrite").rfind("argument ", 0) != 0) config.output.overwrite = false;
}

}  // namespace

RegistryNames registry_names() {
  RegistryNames registry;
  const auto add = [](std::vector<RegistryNames::Kernel>& known, const auto& table) {
    for (const auto& kernel : table)
      known.push_back({std::string(kernel.name), kernel.available(), kernel.backend == Backend::cuda});
  };
  add(registry.kernels, stencil_kernels<double>());
  add(registry.reductions, reduction_kernels<double>());
  add(registry.histograms, histogram_kernels<double>());
  for (const auto& kernel : transport_registry<double>())
    registry.transports.push_back({std::string(kernel.name), kernel.moves_data});
  return registry;
}

namespace {

// A step that is stable on the deck's grid need not be on the finer ones of its series.
void validate_time_step(const Config& each) {
  const ProblemConfig& problem = each.problem;
  if (!problem.dt || problem.allow_unstable || *problem.dt <= stable_dt(each)) return;
  throw deck_error(each, "problem.dt",
                   "{:.6g} s is above the stability limit {:.6g} s of the grid {} x {} x {} of the series; "
                   "lower it, or write auto",
                   *problem.dt, stable_dt(each), each.grid.cells.x, each.grid.cells.y, each.grid.cells.z);
}

void validate_compression(const Config& config) {
  if (config.output.compression == 0) return;
  if (const std::string why = why_not_compressed(); !why.empty())
    throw Error(ExitCode::unavailable,
                fmt::format("{}: {} cannot be written ({}); write 0, or use an HDF5 with zlib",
                            config.at("output.compression"), config.output.compression, why));
}

// Collective. Where no boundary holds the temperature, all heat that comes in must go out.
void validate_balance(const Config& config, const Communicator& world, Backend backend) {
  if (!mean_is_free(config)) return;
  HeatBalance balance = all_or_throw(world, [&] {
    const Decomposition decomposition = decompose(config, world.size(), backend);
    return heat_balance(config, decomposition.subdomain(world.rank()),
                        decomposition.boundaries(world.rank()));
  });
  balance.net = world.all_reduce(balance.net, ReduceOp::sum);
  balance.gross = world.all_reduce(balance.gross, ReduceOp::sum);
  all_or_throw(world, [&] { check_balance(config, balance); });
}

// A `check` that a launcher started without --ranks is of its own job.
bool is_plan(const CommandLine& command) {
  return command.subcommand == Subcommand::check &&
         (command.ranks > 0 || command.check.gpu_bytes > 0 || !is_under_launcher());
}

LoadedDeck load_deck(const CommandLine& command, const Communicator& world) {
  compare_ranks(command, world);
  LoadedDeck deck;
  std::string name;  // of the run that left the deck
  all_or_throw(world, [&] {
    if (!world.is_root()) return;
    if (!command.from_output) {
      deck.text = read_deck_file(command.file);
      return;
    }
    const SnapshotHeader header = read_snapshot_header(command.file);
    deck.text = stored_deck_text(deck_within(header.provenance, command.file));
    name = header.provenance.name;
  });
  deck.text = world.broadcast(deck.text);
  name = world.broadcast(name);
  deck.config = all_or_throw(world, [&] {
    return parse_deck(deck.text, command.file, command.overrides, registry_names(),
                      command.override_arguments);
  });
  if (command.from_output) be_another_run(deck.config, name);
  return deck;
}

}  // namespace

MemoryPlan memory_of(const Session& session, const Communicator& world) {
  const int ranks = session.decomposition.ranks();
  const int as_many =
      std::max(1, ranks / world.size());  // on each device, where --ranks speaks of a larger job
  const Placement& placement = session.placement;
  return plan_memory(session.cases.back(), ranks, std::min(world.rank(), ranks - 1),
                     {placement.backend, placement.host},
                     placement.host == Host::this_one ? placement.ranks_on_device * as_many : 1);
}

namespace {

void allow_ghosts(Session& session, int most, const Communicator& world) {
  const int ranks = session.decomposition.ranks();
  const Backend backend = session.placement.backend;
  const auto allow = [&](Config& config) {
    config.solver.ghosts = 1;
    config.solver.ghosts = widest_halo(config, decompose(config, ranks, backend), most);
  };
  for (Config& each : session.cases) allow(each);
  session.deck.config.solver.ghosts = session.cases.back().solver.ghosts;
  const std::size_t program = session.memory.program;
  session.memory = all_or_throw(world, [&] { return memory_of(session, world); });
  if (program > 0) session.memory.program = program;  // this process is as it was
}

bool fits(const Session& session, const Communicator& world) {
  try {
    check_memory(session.memory, session.placement, world);
    return true;
  } catch (const CollectiveError& e) {
    if (e.code() != ExitCode::memory) throw;
    return false;
  }
}

}  // namespace

void fit_ghosts(Session& session, const Communicator& world) {
  for (int most = session.cases.back().solver.ghosts; most > 1 && !fits(session, world);)
    allow_ghosts(session, --most, world);
}

bool moves_data(const Config& config) {
  const TransportEntry<double>* entry = find_transport<double>(config.parallel.transport);
  return !entry || entry->moves_data;
}

std::vector<Config> sound_cases(const Config& config) {
  make_exact(config);  // rejects boundaries that do not fit the solution
  io_timeout();
  validate_compression(config);
  std::vector<Config> all = cases_of(config);
  for (const Config& each : all) {
    validate_time_step(each);
    field_parts(each);  // rejects what does not fit the grid
    RegionValues(each, each.initial, "initial").check_datasets();
    RegionValues(each, each.sources, "sources").check_datasets();
    shape_warnings(each);  // throws where a source lies outside the domain
  }
  return all;
}

void validate_on(const Config& config, int ranks, Backend backend) {
  const Int3 largest = decompose(config, ranks, backend).subdomain(0).extent();
  if (config.precision == Precision::fp32) {
    kernel_choices<float>(config, backend, largest);
  } else {
    kernel_choices<double>(config, backend, largest);
  }
}

void validate_transport(const Config& config, const Device& device) {
  const TransportEntry<double>* entry = find_transport<double>(config.parallel.transport);
  if (!entry) return;  // auto
  const std::string why = entry->unsupported(device);
  if (why.empty()) return;
  throw Error(
      ExitCode::unavailable,
      fmt::format("{}: transport '{}' cannot be used here ({}); use auto, or another of isotherm list",
                  config.at("parallel.transport"), entry->name, why));
}

Session plan_session(const CommandLine& command, const Communicator& world) {
  LoadedDeck deck = load_deck(command, world);
  const Config& config = deck.config;
  ThreadPlan threads = plan_threads(world.split_by_host());
  use_threads(threads.threads);
  const int ranks = command.ranks ? command.ranks : world.size();
  std::vector<Config> cases = all_or_throw(world, [&] { return sound_cases(config); });
  for (std::string& warning : shape_warnings(config)) deck.config.warnings.push_back(std::move(warning));
  Placement placement = is_plan(command)
                            ? plan_ranks(config, world, threads.threads, command.check.gpu_bytes > 0)
                            : place_ranks(config, world, threads.threads);
  const bool is_here = placement.host == Host::this_one;
  all_or_throw(world, [&] {
    for (const Config& each : cases)
      is_here ? validate_on(each, ranks, placement.backend) : void(decompose(each, ranks, placement.backend));
  });
  Decomposition decomposition = decompose(config, ranks, placement.backend);
  // Before any field is allocated. Where the transport may work, the halos prove it.
  if (is_here && config.parallel.transport != "auto")
    all_or_throw(world, [&] { validate_transport(config, *open_device(placement)); });
  validate_balance(config, world, placement.backend);
  Session session{std::move(deck),          std::move(cases),     std::move(threads),
                  std::move(decomposition), std::move(placement), {}};
  constexpr int most_ghosts = 8;
  allow_ghosts(session, most_ghosts, world);
  return session;
}

}  // namespace isotherm
