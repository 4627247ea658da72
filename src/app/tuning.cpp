#include "app/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/tuning_file.hpp"
#include "core/agree.hpp"
#include "core/build_info.hpp"
#include "kernels/host_info.hpp"
#include "output/records/run_record.hpp"
#include "physics/paint.hpp"

namespace isotherm {
namespace {

// Devices of one job may differ: what is left are the rows that all can run.
template <class T>
void keep_common(RowChoices<T>& choices, const Communicator& world) {
  for (const StencilKernel<T>& row : stencil_kernels<T>()) {
    for (int policy = 0; policy < static_cast<int>(row.policies.size()); ++policy) {
      const auto is_this = [&](const SweepChoice<T>& c) { return c.row == &row && c.policy == policy; };
      const bool mine = std::any_of(choices.sweeps.begin(), choices.sweeps.end(), is_this);
      const bool all = world.all_reduce(std::int64_t{mine}, ReduceOp::min) != 0;
      if (mine && !all) std::erase_if(choices.sweeps, is_this);
    }
  }
  agree(world, [&] {
    if (choices.sweeps.empty()) {
      throw Error(
          ExitCode::unavailable,
          "no kernel runs on the devices of all ranks; use ranks on like devices, or another solver.kernel");
    }
  });
}

// Graphs where the deck leaves it open and the sweeps can be recorded. Whether the halos among them can, and
// what it saves to queue these too, only the solver finds out: true where it should.
template <class T>
bool open_graphs(const Config& config, const Device& device, const Communicator& world,
                 RowChoices<T>& choices) {
  const bool can = agree(world, [&] { return settle_graph(config, true, why_no_graph(config, device)); });
  const bool open = can && config.solver.cuda_graph == GraphChoice::automatic;
  if (open && world.size() == 1) choices.graphs = {false, true};
  return open && world.size() > 1;
}

// The rows of those names among what the deck leaves open.
template <class T>
std::optional<SolverRows<T>> rows_named(const RowChoices<T>& choices, const TuningChoice& names) {
  for (const SweepChoice<T>& sweep : choices.sweeps) {
    if (sweep.row->name != names.kernel ||
        sweep.row->policies[static_cast<std::size_t>(sweep.policy)] != names.policy ||
        sweep.depth != names.fused) {
      continue;
    }
    for (const ReductionKernel<T>* reduction : choices.reductions) {
      if (reduction->name != names.reduction || (reduction->fused && !sweep.row->fuses_norm())) continue;
      return SolverRows<T>{sweep, reduction, choices.histogram, names.graph};
    }
  }
  return std::nullopt;
}

// Does a run want to know more than what another, shorter one has tried?
bool asks_for_more(const Config& config, const TuningChoice& choice) {
  return choice.single && worth_trying_fused(config, choice.seconds);
}

// Rank 0 reads for all: the others may not see the file, or see it at another moment.
std::optional<TuningChoice> recall(const Config& config, const TuningKey& key, const Communicator& world) {
  std::string found;
  agree(world, [&] {
    if (!world.is_root()) return;
    const auto choice = find_tuning(config.solver.tuning_file, key);
    if (choice && !asks_for_more(config, *choice)) {
      found = fmt::format("{}\n{}\n{}\n{}\n{}\n", choice->kernel, choice->policy, choice->reduction,
                          choice->graph ? "graph" : "launches", choice->fused);
    }
  });
  found = world.broadcast(found);
  if (found.empty()) return std::nullopt;
  TuningChoice choice;
  std::string queue, fused;
  std::size_t at = 0;
  for (std::string* name : {&choice.kernel, &choice.policy, &choice.reduction, &queue, &fused}) {
    const std::size_t end = found.find('\n', at);
    *name = found.substr(at, end - at);
    at = end + 1;
  }
  choice.graph = queue == "graph";
  choice.fused = std::stoi(fused);
  return choice;
}

Tuning record_of(const TuningReport& report, const std::string& file) {
  Tuning tuning{Tuning::Source::trial, file, report.seconds, report.cells, {}};
  for (const auto* trials : {&report.sweeps, &report.reductions, &report.graphs}) {
    for (const Trial& trial : *trials)
      tuning.trials.push_back({trial.row, trial.policy, trial.seconds, trial.depth});
  }
  return tuning;
}

template <class T>
TunedRows<T> choose(const Config& config, const Decomposition& decomposition, const Communicator& world,
                    Device& device, int threads, const RowChoices<T>& choices) {
  if (!choices.open()) {
    return {{choices.sweeps.front(), choices.reductions.front(), choices.histogram, choices.graphs.front()},
            {},
            {}};
  }
  const std::string& file = config.solver.tuning_file;
  const TuningKey key = tuning_key(config, decomposition, device, threads);
  if (!file.empty()) {
    if (const auto choice = recall(config, key, world)) {
      if (const auto rows = rows_named(choices, *choice))
        return {*rows, {Tuning::Source::file, file, 0, {}, {}}, {}};
    }
  }
  TuningReport report;
  TunedRows<T> found;
  found.rows = tune(config, decomposition, world, device, choices, report);
  found.tuning = record_of(report, file);
  if (!file.empty()) {
    const auto fastest =
        std::min_element(report.sweeps.begin(), report.sweeps.end(),
                         [](const Trial& a, const Trial& b) { return a.seconds < b.seconds; });
    found.to_keep = {key,
                     {fastest->row, fastest->policy, std::string(found.rows.reduction->name),
                      found.rows.graph, fastest->seconds, fastest->depth, !report.why_single.empty()}};
  }
  return found;
}

}  // namespace

TuningKey tuning_key(const Config& config, const Decomposition& decomposition, const Device& device,
                     int threads) {
  TuningKey key;
  key.version = build_info().version;
  key.git_revision = build_info().git_revision;
  key.device = device.info().name;
  if (device.backend() == Backend::host) {
    key.device += fmt::format(", {}, {} threads", host_instruction_set(), threads);
  }
  key.precision = config.precision == Precision::fp32 ? "fp32" : "fp64";
  key.cells = decomposition.block(0).extent();  // of the largest: the first ranks take what does not divide
  key.ranks = decomposition.ranks();
  key.depth = halo_depth(config);
  key.source = !all_sources(config).empty();
  for (const BoundaryConfig& wall : config.boundaries)
    key.faces += wall.kind == BoundaryKind::periodic ? 'p' : 'w';
  const char* const graph = config.solver.cuda_graph == GraphChoice::automatic ? "auto"
                            : config.solver.cuda_graph == GraphChoice::on      ? "graph"
                                                                               : "launches";
  key.asked = fmt::format("{} {} {} {}, norm {}, overlap {}", config.solver.kernel, config.solver.tile,
                          config.solver.reduction, graph, config.problem.norm == Norm::max ? "max" : "sum",
                          word(config.parallel.overlap));
  if (const int most = most_fused(config, decomposition); most > 1)
    key.asked += fmt::format(", fused up to {}", most);
  return key;
}

template <class T>
TunedRows<T> tuned_rows(const Config& config, const Decomposition& decomposition, const Communicator& world,
                        Device& device, int threads) {
  RowChoices<T> choices =
      agree(world, [&] { return row_choices<T>(config, device.backend(), decomposition.block(0).extent()); });
  keep_common(choices, world);
  const int most = most_fused(config, decomposition);
  std::erase_if(choices.sweeps, [&](const SweepChoice<T>& c) { return c.depth > most; });
  const bool try_graph = open_graphs(config, device, world, choices);
  TunedRows<T> tuned = choose(config, decomposition, world, device, threads, choices);
  tuned.rows.try_graph = try_graph;
  tuned.rows.try_overlap = config.parallel.overlap == Overlap::automatic &&
                           overlaps(Overlap::automatic, device.backend(), world.size());
  return tuned;
}

template TunedRows<float> tuned_rows(const Config&, const Decomposition&, const Communicator&, Device&, int);
template TunedRows<double> tuned_rows(const Config&, const Decomposition&, const Communicator&, Device&, int);

}  // namespace isotherm
