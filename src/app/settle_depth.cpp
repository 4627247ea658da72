#include "app/settle_depth.hpp"

#include <algorithm>

#include "core/agree.hpp"
#include "core/timer.hpp"
#include "solver/depth.hpp"
#include "solver/period.hpp"
#include "solver/schedule.hpp"
#include "solver/tuning.hpp"

namespace isotherm {
namespace {

constexpr double budget = 0.4;  // s, of launches that fuse sweeps
// Of a cell at the most: below the time that this makes of a run's sweeps nothing is measured for them.
constexpr double slow_cell = 1e-8;  // s

Decomposition decomposition_of(const Session& session, const Config& config) {
  return decompose(config, session.decomposition.ranks(), session.placement.backend);
}

template <class T>
bool fuses(const Config& config, const Session& session) {
  const RowChoices<T> choices =
      row_choices<T>(config, session.placement.backend, session.decomposition.block(0).extent());
  return std::any_of(choices.sweeps.begin(), choices.sweeps.end(),
                     [](const SweepChoice<T>& c) { return c.depth > 1; });
}

// Of one rank around a periodic axis: a run so short, with launches so slow, gains nothing.
bool may_gain(const Session& session, const Config& config) {
  if (session.decomposition.ranks() > 1 || !exchanges(ghost_sides(session.decomposition, 0))) return true;
  if (session.placement.host != Host::this_one) return true;  // its rows cannot be asked
  const auto cells = static_cast<double>(config.grid.cells.product());
  if (!worth_trying_fused(config, slow_cell * cells)) return false;
  return config.precision == Precision::fp32 ? fuses<float>(config, session) : fuses<double>(config, session);
}

bool stores_faces(const Session& session, const Config& config) {
  return config.parallel.overlap == Overlap::in_kernel && session.decomposition.ranks() > 1;
}

// Periods end where something is due: deeper halos than that would not be used.
DepthSetting depth_setting(const Session& session, const Config& config) {
  std::int64_t most = std::min<std::int64_t>(DepthSetting{}.most, config.problem.check_interval);
  most = std::min(most, Schedule(config).last());
  for (const auto& interval : {config.output.diagnostics, config.output.every_steps})
    if (interval) most = std::min(most, *interval);
  if (stores_faces(session, config)) most = 1;
  return {config.precision == Precision::fp32 ? std::size_t{4} : std::size_t{8},
          overlaps(config.parallel.overlap, session.placement.backend, session.decomposition.ranks()),
          static_cast<int>(std::max<std::int64_t>(1, most)), may_gain(session, config)};
}

int deepest_of(const Session& session, const Config& config) {
  return deepest_to_weigh(decomposition_of(session, config), depth_setting(session, config));
}

// Of the largest case, which is the last.
std::string why_one(const Session& session) {
  const Config& config = session.cases.back();
  const Decomposition decomposition = decomposition_of(session, config);
  if (decomposition.ranks() == 1) return "no other rank to exchange with";
  if (decomposition.deepest_halo() == 1) return "blocks are one cell thin";
  if (stores_faces(session, config)) return "sweeps store their faces";
  return "something is due after every sweep";
}

bool fits(const Session& session, const Communicator& world) {
  try {
    refuse_what_does_not_fit(session.memory, session.placement, world);
    return true;
  } catch (const CollectiveError& e) {
    if (e.code() != ExitCode::memory) throw;
    return false;
  }
}

std::vector<DepthEstimate> weigh(const Session& session, Config config, const ExchangeCosts& costs) {
  std::vector<Decomposition> by_depth;
  const int deepest = deepest_of(session, config);
  for (int depth = 1; depth <= deepest; ++depth) {
    config.solver.halo_width = depth;
    by_depth.push_back(decomposition_of(session, config));
  }
  return weigh_depths(by_depth, depth_setting(session, config), costs);
}

DepthRecord record_of(const MeasuredCosts& measured, const std::vector<DepthEstimate>& weighed) {
  DepthRecord record;
  record.automatic = true;
  for (const DepthEstimate& e : weighed) record.weighed.push_back({e.depth, e.seconds, e.messages, e.cells});
  record.exchange_seconds = measured.costs.seconds_an_exchange;
  record.message_seconds = measured.costs.seconds_a_message;
  record.bytes_a_second = measured.costs.bytes_a_second;
  record.cell_seconds = measured.costs.seconds_a_cell;
  record.transports = measured.transports;
  record.seconds = measured.seconds;
  return record;
}

// What a cell costs rows that fuse sweeps, in their first policy, where the deck names them, or the run is
// long enough for `auto` to try them. Collective.
template <class T>
void add_fused_costs(const Session& session, Device& device, const Communicator& world,
                     ExchangeCosts& costs) {
  const Timer timer;
  Config config = session.cases.back();
  const auto block = static_cast<double>(decomposition_of(session, config).largest_block());
  if (config.solver.kernel == "auto" && !worth_trying_fused(config, block * costs.seconds_a_cell)) return;
  const Int3 largest = decomposition_of(session, config).block(0).extent();
  const RowChoices<T> choices =
      agree(world, [&] { return row_choices<T>(config, session.placement.backend, largest); });
  const auto count = static_cast<std::int64_t>(choices.sweeps.size());
  if (world.all_reduce(count, ReduceOp::min) != world.all_reduce(count, ReduceOp::max))
    return;  // unlike devices
  const int deepest = deepest_of(session, config);
  const StencilKernel<T>* row = nullptr;
  for (const SweepChoice<T>& choice : choices.sweeps) {
    const auto fused = static_cast<std::size_t>(choice.depth);
    if (choice.depth == 1 || choice.depth > deepest || fused >= costs.fused_seconds_a_cell.size()) continue;
    double& known = costs.fused_seconds_a_cell[fused];
    if (known > 0 && choice.row == row) continue;  // another policy
    if (row && world.all_reduce(timer.seconds(), ReduceOp::max) > budget) return;
    row = choice.row;
    config.solver.halo_width = choice.depth;  // layers of ghosts
    const double seconds =
        seconds_a_cell<T>(config, decomposition_of(session, config), world, device, choice);
    known = known > 0 ? std::min(known, seconds) : seconds;
  }
}

template <class T>
MeasuredCosts measure(const Session& session, Device& device, const Communicator& world) {
  const Config& config = session.cases.back();
  const Int3 largest = decomposition_of(session, config).block(0).extent();
  SweepChoice<T> sweep =
      agree(world, [&] { return choose_rows<T>(config, session.placement.backend, largest).sweep; });
  sweep.depth = 1;  // as depth is open, it may be several
  MeasuredCosts measured =
      measure_exchange_costs<T>(config, decomposition_of(session, config), world, device, sweep);
  add_fused_costs<T>(session, device, world, measured.costs);
  return measured;
}

}  // namespace

bool depth_is_open(const Session& session) {
  return !session.deck.config.solver.halo_width && deepest_depth(session) > 1;
}

int deepest_depth(const Session& session) {
  if (session.deck.config.solver.halo_width) return *session.deck.config.solver.halo_width;
  return deepest_of(session, session.cases.back());
}

Session at_depth(Session session, int depth, const Communicator& world) {
  session.deck.config.solver.halo_width = depth;
  session.cases.back().solver.halo_width = depth;
  plan_again(session, world);
  return session;
}

std::optional<MeasuredCosts> measure_depth_costs(const Session& session, Device& device,
                                                 const Communicator& world) {
  if (!depth_is_open(session)) return std::nullopt;
  return session.deck.config.precision == Precision::fp32 ? measure<float>(session, device, world)
                                                          : measure<double>(session, device, world);
}

void settle_depth(Session& session, const std::optional<MeasuredCosts>& costs, const Communicator& world) {
  Config& config = session.deck.config;
  if (config.solver.halo_width) return;
  session.depth.automatic = true;
  if (!costs) session.depth.why = why_one(session);
  // Nothing is exchanged: how many sweeps a launch fuses is left to the trial of rows.
  if (!exchanges(ghost_sides(session.decomposition, 0))) return;
  std::vector<std::vector<DepthEstimate>> weighed(session.cases.size());
  for (std::size_t i = 0; costs && i < weighed.size(); ++i)
    weighed[i] = weigh(session, session.cases[i], costs->costs);
  for (;;) {
    for (std::size_t i = 0; i < weighed.size(); ++i)
      session.cases[i].solver.halo_width = choose_depth(weighed[i]);
    config.solver.halo_width = session.cases.back().solver.halo_width;
    if (costs) session.depth = record_of(*costs, weighed.back());
    plan_again(session, world);
    if (*config.solver.halo_width == 1 || fits(session, world)) return;
    for (std::vector<DepthEstimate>& each : weighed)
      if (!each.empty())
        each.resize(std::min(each.size(), static_cast<std::size_t>(*config.solver.halo_width - 1)));
  }
}

}  // namespace isotherm
