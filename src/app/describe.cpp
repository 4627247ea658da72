#include "app/describe.hpp"

#include <algorithm>
#include <filesystem>

#include "app/plan.hpp"
#include "config/deck.hpp"
#include "core/agree.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/host_info.hpp"
#include "output/field_files/hdf5_file.hpp"
#include "solver/rows.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

MethodRecord describe_method(const Session& session) {
  const Config& config = session.cases.back();  // as the rest of the record
  const Backend backend = session.placement.backend;
  MethodRecord method;
  method.depth = halo_depth(config);
  method.depth_choice = session.depth;
  if (backend == Backend::host) method.instruction_set = host_instruction_set();
  method.threads_note = session.threads.note;
  method.problem = config.problem.kind;
  method.planned_sweeps = Schedule(config).last();
  if (config.problem.kind == ProblemKind::steady) {
    method.weight = config.problem.weight;
  } else {
    const TimePlan plan = time_plan(config);
    method.dt = plan.dt;
    method.dt_limit = stable_dt(config);
    method.end_time = plan.dt * static_cast<double>(plan.steps);
  }
  return method;
}

// Of the last grid of a series, which is the one that is kept.
Decomposition decomposition_of(const Session& session) {
  return decompose(session.cases.back(), session.decomposition.ranks(), session.placement.backend);
}

}  // namespace

RunRecord describe_run(const CommandLine& command, const Session& session, const Device& device,
                       const Communicator& world, const std::string& directory) {
  const Config& config = session.deck.config;
  const Decomposition d = decomposition_of(session);
  RunRecord record;
  record.mpi = mpi_library_version();
  record.hdf5 = hdf5_library_version();
  record.started = utc_now();
  record.command_line = command.program;
  record.name = config.name;
  record.deck_path = command.file;
  record.directory = directory;
  record.resolved_deck = to_yaml(config);
  record.cells = session.cases.back().grid.cells;
  record.lengths = spacing(config);
  for (int axis = 0; axis < 3; ++axis)
    record.lengths[static_cast<std::size_t>(axis)] *= static_cast<double>(config.grid.cells[axis]);
  record.process_grid = d.process_grid();
  record.weights = exchange_weights(session.cases.back(), session.placement.backend);
  record.smallest_rank_cells = d.smallest_block();
  record.largest_rank_cells = d.largest_block();
  record.precision = config.precision;
  record.method = describe_method(session);
  record.memory_estimate_bytes = static_cast<std::int64_t>(world.all_reduce(
      static_cast<std::int64_t>(session.memory.host(session.placement.backend)), ReduceOp::max));
  record.ranks = gather_ranks(describe_rank(session, device, world), world);
  record.warnings = config.warnings;
  if (!session.threads.warning.empty()) record.warnings.push_back(session.threads.warning);
  for (const std::string& warning : session.placement.warnings) record.warnings.push_back(warning);
  record.method.device_note = session.placement.note;
  return record;
}

RankRow describe_rank(const Session& session, const Device& opened, const Communicator& world) {
  const RankPlace& place = session.placement.ranks[static_cast<std::size_t>(world.rank())];
  const DeviceInfo device = opened.info();
  return {
      world.rank(),       place.host,  device.backend, device.index,
      device.name,        device.uuid, place.threads,  decomposition_of(session).block(world.rank()).cells(),
      peak_memory_bytes()};
}

SnapshotProvenance provenance(const Session& session, const RunRecord& record) {
  SnapshotProvenance p;
  p.deck = session.deck.text;
  p.resolved_deck = record.resolved_deck;
  p.version = record.build.version;
  p.git_revision = record.build.git_revision;
  p.device = record.ranks.front().device;
  p.kernel = record.method.kernel;
  p.mpi = record.mpi;
  p.hdf5 = record.hdf5;
  p.name = record.name;
  return p;
}

// All ranks copy at once, as they will sweep at once; a round takes as long as its slowest rank. The median
// of the rounds: sweeps are reported as they ran on the average, not at their best. As many rounds as move
// the bytes of the run's sweeps will do, and at least one: a short run is not kept longer by its roof than by
// itself.
double measure_roof(const Session& session, Device& device, const Communicator& world) {
  const std::size_t bytes = session.memory.roof / 2;
  const double passes_of_run = static_cast<double>(likely_sweeps(session.cases.back())) *
                               static_cast<double>(session.memory.field) / static_cast<double>(bytes);
  const auto probe = agree(world, [&] { return make_copy_probe(device, bytes); });
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  Stopwatch watch(device, stream);
  const auto copy = [&] { probe->enqueue(stream); };
  watch.seconds(copy);  // loads the kernel
  std::vector<double> seconds;
  const Timer timer;
  bool go_on = true;
  while (go_on) {
    world.barrier();
    seconds.push_back(world.all_reduce(watch.seconds(copy), ReduceOp::max));
    const auto passes = static_cast<double>(seconds.size());
    const bool more = passes < passes_of_run && (passes < 3 || timer.seconds() < 0.25);
    go_on = world.all_reduce(std::int64_t{more}, ReduceOp::min) != 0;
  }
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return world.all_reduce(2.0 * static_cast<double>(bytes), ReduceOp::sum) / *middle;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace isotherm
