#include "app/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/verification.hpp"
#include "config/parts.hpp"
#include "core/agree.hpp"
#include "core/communicator.hpp"
#include "core/watchdog.hpp"
#include "halo/transport.hpp"
#include "output/field_files/compression.hpp"
#include "physics/diagnostics.hpp"
#include "physics/exact.hpp"
#include "physics/paint.hpp"
#include "solver/rows.hpp"

namespace isotherm {
namespace {

// A step that is stable on the deck's grid need not be on the finer ones of its series.
void refuse_unstable(const Config& each) {
  const ProblemConfig& problem = each.problem;
  if (!problem.dt || problem.allow_unstable || *problem.dt <= stable_dt(each)) return;
  throw Error(ExitCode::deck,
              fmt::format("{}: {:.6g} s is above the stability limit {:.6g} s of the grid {} x {} x {} of "
                          "the series; lower it, or write auto",
                          each.at("problem.dt"), *problem.dt, stable_dt(each), each.grid.cells.x,
                          each.grid.cells.y, each.grid.cells.z));
}

void refuse_compression(const Config& config) {
  if (config.output.compression == 0) return;
  if (const std::string why = why_not_compressed(); !why.empty())
    throw Error(ExitCode::unavailable,
                fmt::format("{}: {} cannot be written ({}); write 0, or use an HDF5 with zlib",
                            config.at("output.compression"), config.output.compression, why));
}

// Collective. Where no wall holds the temperature, all heat that comes in must go out.
void refuse_unbalanced(const Config& config, const Communicator& world, Backend backend) {
  if (!mean_is_free(config)) return;
  HeatBalance balance = agree(world, [&] {
    const Decomposition decomposition = decompose(config, world.size(), backend);
    return heat_balance(config, decomposition.block(world.rank()), decomposition.boundaries(world.rank()));
  });
  balance.net = world.all_reduce(balance.net, ReduceOp::sum);
  balance.gross = world.all_reduce(balance.gross, ReduceOp::sum);
  agree(world, [&] { check_balance(config, balance); });
}

// A launched `check` without --ranks is of the job that it stands in.
bool is_plan(const CommandLine& command) {
  return command.verb == Verb::check &&
         (command.ranks > 0 || command.check.gpu_bytes > 0 || !is_under_launcher());
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

void plan_again(Session& session, const Communicator& world) {
  const int ranks = session.decomposition.ranks();
  session.decomposition =
      agree(world, [&] { return decompose(session.deck.config, ranks, session.placement.backend); });
  const std::size_t program = session.memory.program;
  session.memory = agree(world, [&] { return memory_of(session, world); });
  session.memory.program = program;
}

bool moves_data(const Config& config) {
  const TransportRow<double>* row = find_transport<double>(config.parallel.transport);
  return !row || row->moves_data;
}

std::vector<Config> sound_cases(const Config& config) {
  make_exact(config);  // refuses walls that do not fit the solution
  io_timeout();
  refuse_compression(config);
  std::vector<Config> all = cases_of(config);
  for (const Config& each : all) {
    refuse_unstable(each);
    field_parts(each);  // refuses what does not fit the grid
    Painter(each, each.initial, "initial").check_datasets();
    Painter(each, each.sources, "sources").check_datasets();
    shape_warnings(each);  // throws where a source lies outside the domain
  }
  return all;
}

void refuse_on(const Config& config, int ranks, Backend backend) {
  const Int3 largest = decompose(config, ranks, backend).block(0).extent();
  if (config.precision == Precision::fp32) {
    row_choices<float>(config, backend, largest);
  } else {
    row_choices<double>(config, backend, largest);
  }
}

void refuse_transport(const Config& config, const Device& device) {
  const TransportRow<double>* row = find_transport<double>(config.parallel.transport);
  if (!row) return;  // auto
  const std::string why = row->unsupported(device);
  if (why.empty()) return;
  throw Error(ExitCode::unavailable,
              fmt::format("{}: transport '{}' cannot be used here ({}); use auto, or another "
                          "of isotherm list",
                          config.at("parallel.transport"), row->name, why));
}

Session plan_session(const CommandLine& command, const Communicator& world) {
  return plan_session(command, load_deck(command, world), world);
}

Session plan_session(const CommandLine& command, LoadedDeck deck, const Communicator& world) {
  const Config& config = deck.config;
  ThreadPlan threads = plan_threads(world.split_by_host());
  use_threads(threads.threads);
  const int ranks = command.ranks ? command.ranks : world.size();
  std::vector<Config> cases = agree(world, [&] { return sound_cases(config); });
  for (std::string& warning : shape_warnings(config)) deck.config.warnings.push_back(std::move(warning));
  Placement placement = is_plan(command)
                            ? plan_ranks(config, world, threads.threads, command.check.gpu_bytes > 0)
                            : place_ranks(config, world, threads.threads);
  const bool is_here = placement.host == Host::this_one;
  agree(world, [&] {
    for (const Config& each : cases)
      is_here ? refuse_on(each, ranks, placement.backend) : void(decompose(each, ranks, placement.backend));
  });
  Decomposition decomposition = decompose(config, ranks, placement.backend);
  // Before any field is allocated. Where the transport may work, the halos prove it.
  if (is_here && config.parallel.transport != "auto")
    agree(world, [&] { refuse_transport(config, *open_device(placement)); });
  refuse_unbalanced(config, world, placement.backend);
  Session session{std::move(deck),
                  std::move(cases),
                  std::move(threads),
                  std::move(decomposition),
                  std::move(placement),
                  {},
                  {}};
  session.memory = agree(world, [&] { return memory_of(session, world); });
  return session;
}

}  // namespace isotherm
