#include "app/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/bench/bench.hpp"
#include "app/comparison.hpp"
#include "app/describe.hpp"
#include "app/regression.hpp"
#include "app/settle_depth.hpp"
#include "config/deck.hpp"
#include "core/agree.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"
#include "halo/transport.hpp"
#include "output/console/console.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

// The deck as it is compared: nothing is written, and what is due in a run of it still bounds its depth.
Config silent(Config config) {
  OutputConfig output;
  output.directory = config.output.directory;
  output.snapshots = output.history = output.checkpoint.write = false;
  output.every_steps = config.output.every_steps;
  if (const auto& interval = config.output.diagnostics)
    output.every_steps = std::min(*interval, output.every_steps.value_or(*interval));
  config.output = output;
  config.verify = {};
  config.solver.tuning_file.clear();  // what was found another time is not measured now
  return config;
}

void refuse_without_bits(const Config& config) {
  if (moves_data(config)) return;
  throw Error(
      ExitCode::deck,
      fmt::format("{}: transport '{}' moves nothing (there are no bits to compare); use auto, or another of "
                  "isotherm list",
                  config.at("parallel.transport"), config.parallel.transport));
}

bool all_ranks(const Communicator& world, bool mine) {
  return world.all_reduce(std::int64_t{mine}, ReduceOp::min) != 0;
}

// Collective.
CompareSetting setting_of(const Session& session, const Device& device, const Communicator& world) {
  CompareSetting setting{device.backend(), world.size(), world.size() > 1 ? deepest_depth(session) : 1};
  const auto add_kernels = [&](auto rows) {
    for (const auto& row : rows) {
      bool runs = false;
      for (int policy = 0; policy < static_cast<int>(row.policies.size()); ++policy)
        runs = runs ||
               (row.backend == device.backend() && row.available() && row.why_unsupported(policy).empty());
      if (all_ranks(world, runs)) setting.kernels.emplace_back(row.name);
    }
  };
  session.deck.config.precision == Precision::fp32 ? add_kernels(stencil_kernels<float>())
                                                   : add_kernels(stencil_kernels<double>());
  for (const TransportRow<double>& row : transport_rows<double>())
    if (row.moves_data && all_ranks(world, row.unsupported(device).empty()))
      setting.transports.emplace_back(row.name);
  setting.graphs = all_ranks(world, why_no_graph(session.deck.config, device).empty());
  return setting;
}

// Collective: of like devices the same on all ranks, and refused where it is not.
ComparePlan plan_on_all(const CommandLine& command, const Session& session, const Device& device,
                        const Communicator& world) {
  const CompareSetting setting = setting_of(session, device, world);
  ComparePlan plan = agree(world, [&] {
    return plan_comparison(session.deck.config, setting, parse_axes(command.compare.axes),
                           command.compare.limit);
  });
  std::string names;
  for (const Combination& each : plan.combinations) names += combination_name(plan.axes, each.words) + "\n";
  const std::string of_root = world.broadcast(names);
  agree(world, [&] {
    if (names != of_root)
      throw Error(
          ExitCode::unavailable,
          "compare: the devices of the ranks cannot do the same; use ranks on like devices, or name axes "
          "with --axes");
  });
  return plan;
}

CompareRecord describe(const CommandLine& command, const Session& session, const Config& deck,
                       const ComparePlan& plan, const Device& device, const Communicator& world) {
  CompareRecord record;
  record.run = describe_run(command, session, device, world, "");
  record.run.resolved_deck = to_yaml(deck);
  record.run.residual.norm = deck.problem.norm;
  record.check_interval = deck.problem.check_interval;
  for (const CompareAxis* axis : plan.axes)
    record.axes.push_back({std::string(axis->name), std::string(axis->key)});
  for (const CompareAxis* axis : plan.left) record.left.emplace_back(axis->name);
  return record;
}

std::string progress_line(const CompareRecord& record, std::size_t all, double seconds) {
  const CompareEntry& entry = record.entries.back();
  const auto f = figures(record, entry);
  const auto done = static_cast<double>(record.entries.size());
  const auto left = record.entries.size() < all
                        ? std::optional(seconds / done * (static_cast<double>(all) - done))
                        : std::nullopt;
  return fmt::format("{} of {}: {}: {}{}\n", record.entries.size(), all, entry.name,
                     f ? human_duration(f->seconds.median) + " a sweep"
                     : entry.verdict == CompareVerdict::differs ? "other bits, " + entry.note
                                                                : "left out, " + entry.note,
                     left_text(left));
}

// What to type for a run of that combination. Overrides of its own keys make way.
std::string words_for(const CommandLine& command, const CompareRecord& record, const CompareEntry& entry) {
  std::vector<std::string> overrides;
  for (const std::string& given : command.overrides) {
    const std::string key = given.substr(0, given.find('='));
    if (std::ranges::find(record.axes, key, &CompareRecord::Axis::key) == record.axes.end())
      overrides.push_back(given);
  }
  for (std::size_t i = 0; i < record.axes.size(); ++i)
    overrides.push_back(fmt::format("{}={}", record.axes[i].key, entry.words[i]));
  return run_words(command, overrides);
}

// Into the tuning file, for each depth and process grid that was compared, the fastest rows that a run takes
// from one. Returns a line for each.
std::string keep(const CommandLine& command, const Session& session, const Device& device,
                 const CompareRecord& record, int threads) {
  std::vector<TuningKey> kept;
  std::string text;
  for (const CompareEntry& entry : record.entries) {
    if (entry.verdict != CompareVerdict::same) break;  // those behind are of no use
    Config config = session.deck.config;
    const Backend backend = session.placement.backend;
    if (!entry.depth_open) config.solver.depth = entry.depth;
    config.parallel.process_grid = entry.process_grid;
    const TuningChoice choice{
        entry.kernel, entry.policy, entry.reduction, entry.graph, figures(record, entry)->seconds.median,
        entry.fused};
    const bool takes = config.precision == Precision::fp32 ? takes_from_file<float>(config, backend, choice)
                                                           : takes_from_file<double>(config, backend, choice);
    const TuningKey key =
        tuning_key(config, decompose(config, session.decomposition.ranks(), backend), device, threads);
    if (!takes || std::ranges::find(kept, key) != kept.end()) continue;
    keep_tuning(command.compare.keep, key, choice);
    kept.push_back(key);
    text += fmt::format("kept in {}: kernel {}{}, reduction {}, for depth {} on process grid {}\n",
                        escaped(command.compare.keep), choice.kernel,
                        choice.policy == "-" ? "" : " " + choice.policy, choice.reduction, entry.depth,
                        extent_text(entry.process_grid));
  }
  if (!text.empty()) return text;
  return fmt::format("nothing is kept in {}: a run of the deck takes none of these rows from a file\n",
                     escaped(command.compare.keep));
}

// The code of a comparison, by an error where it is not 0.
void refuse_failed(const CompareRecord& record) {
  const auto wrong = std::ranges::count(record.entries, CompareVerdict::differs, &CompareEntry::verdict);
  if (wrong > 0)
    throw CollectiveError(
        ExitCode::diverged,
        fmt::format("compare: {} of {} have other bits than '{}' (the table says where); do not use "
                    "them, and report this",
                    wrong, counted(std::ssize(record.entries), "combination"), record.reference));
  if (!winner(record))
    throw CollectiveError(
        *record.entries.front().refused,
        fmt::format("compare: no combination could be run; the first: {}", record.entries.front().note));
  if (record.run.baseline) refuse_worse(*record.run.baseline);
}

// Collective: table, then files.
void conclude(const CommandLine& command, const Session& session, const Device& device,
              const Regression& regression, CompareRecord& record, const Communicator& world) {
  rank(record);
  const CompareEntry* const best = winner(record);
  record.run.finished = utc_now();
  if (best) record.run.baseline = regression.judge(merits(record));
  std::string text = "\n" + compare_table(record);
  if (best) text += fmt::format("\nthe fastest: {}\n", words_for(command, record, *best));
  if (record.run.baseline) text += baseline_table(*record.run.baseline);
  const CompareOptions& options = command.compare;
  const int threads = session.placement.ranks[static_cast<std::size_t>(world.rank())].threads;
  agree(world, [&] {
    if (!world.is_root()) return;
    print_now(text);
    if (!options.json.empty()) write_file_atomically(options.json, to_json(record));
    if (best && !options.keep.empty()) print_now(keep(command, session, device, record, threads));
  });
}

// Before any work: what would be lost after it.
void refuse_unwritable_files(const CompareOptions& options) {
  refuse_unwritable(options.json);
  refuse_unwritable(options.keep);
  if (!options.keep.empty()) find_tuning(options.keep, {});
}

}  // namespace

int compare(const CommandLine& command, const Communicator& world) {
  LoadedDeck deck = load_deck(command, world);
  const Config given = with_open(deck.config, parse_axes(command.compare.axes));
  agree(world, [&] {
    refuse_without_bits(given);
    if (world.is_root()) refuse_unwritable_files(command.compare);
  });
  deck.config = silent(given);
  const Session session = plan_session(command, std::move(deck), world);
  const auto device = agree(world, [&] { return open_device(session.placement); });
  const Regression regression(command.baseline, session, *device, world);
  const ComparePlan plan = plan_on_all(command, session, *device, world);
  CompareRecord record = describe(command, session, given, plan, *device, world);
  if (world.is_root()) print_now(compare_banner(record, plan.combinations.size()));

  const auto measure_all = [&](auto zero) {
    const Timer timer;
    Comparison<decltype(zero)> comparison(command.compare, session, *device, world, record);
    for (const Combination& combination : plan.combinations) {
      comparison.measure(plan, combination);
      if (world.is_root()) print_now(progress_line(record, plan.combinations.size(), timer.seconds()));
    }
  };
  with_number(session.deck.config.precision, measure_all);
  conclude(command, session, *device, regression, record, world);
  refuse_failed(record);
  return static_cast<int>(ExitCode::done);
}

}  // namespace isotherm
