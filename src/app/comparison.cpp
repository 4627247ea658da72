#include "app/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/describe.hpp"
#include "app/settle_depth.hpp"
#include "core/agree.hpp"
#include "core/timer.hpp"

namespace isotherm {
namespace {

constexpr std::int64_t least_sweeps = 4, most_sweeps = 120;  // of a sample
constexpr std::int64_t period = 24;  // sweeps: whole periods of depths 1, 2, 3, 4, 6 and 8
constexpr std::int64_t least_samples = 5, most_samples = 200;
constexpr std::int64_t warming = 2;  // sweeps that load the kernels

// Does a run that is refused so say something of the combination, not of the job?
bool is_of_combination(ExitCode code) {
  return code == ExitCode::deck || code == ExitCode::unavailable || code == ExitCode::memory;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

template <class T>
BlockOfField<T> block_of(Solver<T>& solver) {
  return {solver.host_field(), solver.block(), solver.fingerprint()};
}

}  // namespace

std::int64_t sweeps_of_a_sample(double room, std::int64_t check_interval) {
  const auto most = static_cast<double>(most_sweeps), least = static_cast<double>(least_sweeps);
  const auto sweeps = static_cast<std::int64_t>(std::clamp(room, least, most));
  for (const std::int64_t unit : {check_interval, period})
    if (sweeps >= unit) return sweeps / unit * unit;
  return sweeps;
}

template <class T>
Comparison<T>::Comparison(const CompareOptions& options, const Session& session, Device& device,
                          const Communicator& world, CompareRecord& record)
    : options_(options), session_(session), device_(device), world_(world), record_(record) {}

template <class T>
Session Comparison<T>::session_of(const Config& config) const {
  Session each = session_;
  each.deck.config = config;
  each.cases = {config};
  plan_again(each, world_);
  each.memory.copies += each.memory.field;  // of the first combination, which is kept
  refuse_what_does_not_fit(each.memory, each.placement, world_);
  settle_depth(each, measure_depth_costs(each, device_, world_), world_);
  return each;
}

template <class T>
void Comparison<T>::measure(const ComparePlan& plan, const Combination& combination) {
  CompareEntry entry;
  entry.words = combination.words;
  entry.name = combination_name(plan.axes, combination.words);
  try {
    const Session each = session_of(combination.config);
    const int threads = each.placement.ranks[static_cast<std::size_t>(world_.rank())].threads;
    entry.copy_bandwidth = measure_roof(each, device_, world_);
    const TunedRows<T> tuned = tuned_rows<T>(each.deck.config, each.decomposition, world_, device_, threads);
    measure_with(each, tuned.rows, entry);
  } catch (const CollectiveError& e) {
    if (!is_of_combination(e.code())) throw;
    entry.verdict = CompareVerdict::left_out;
    entry.note = first_line(e.what());
    entry.refused = e.code();
  }
  record_.entries.push_back(std::move(entry));
}

template <class T>
void Comparison<T>::measure_with(const Session& each, const SolverRows<T>& rows, CompareEntry& entry) {
  Solver<T> solver(each.deck.config, each.decomposition, world_, device_, rows, true);
  describe(solver, rows, each, entry);
  sweep_first(solver);
  entry.norm = solver.residual();
  hold_against_first(solver, rows, entry);
  if (entry.verdict == CompareVerdict::same) sample(solver, entry);  // a wrong answer has no speed
}

template <class T>
void Comparison<T>::describe(const Solver<T>& solver, const SolverRows<T>& rows, const Session& each,
                             CompareEntry& entry) const {
  const SweepChoice<T>& sweep = solver.sweep_choice();
  entry.kernel = sweep.row->name;
  entry.policy = sweep.row->policies[static_cast<std::size_t>(sweep.policy)];
  entry.reduction = rows.reduction->name;
  entry.depth = halo_depth(each.deck.config);
  entry.depth_open = !each.deck.config.solver.halo_width;
  entry.fused = solver.fused();
  entry.overlap = solver.overlap();
  entry.graph = solver.queues_graphs();
  entry.process_grid = each.decomposition.process_grid();
  entry.bytes_per_point = solver.bytes_per_point();
  const HaloRecord halo{gather_pairs(solver.halo_links(), world_), solver.halo_cost()};
  entry.transport = transports_in_use(halo);
  if (!halo.cost) return;
  entry.exchange = halo.cost->exchange / solver.depth();
  entry.exposed = halo.cost->exposed / solver.depth();
}

// On the slowest rank.
template <class T>
double Comparison<T>::seconds_of(Solver<T>& solver, std::int64_t sweeps) const {
  world_.barrier();
  const Timer timer;
  solver.sweep(sweeps);
  solver.synchronize();
  return world_.all_reduce(timer.seconds(), ReduceOp::max);
}

// From the initial state to the field that is compared. The first combination says how far that is.
template <class T>
void Comparison<T>::sweep_first(Solver<T>& solver) {
  if (record_.sweeps == 0 && options_.sweeps > 0) record_.sweeps = options_.sweeps;
  if (record_.sweeps == 0) {
    seconds_of(solver, warming);
    const double each = std::max(seconds_of(solver, least_sweeps - warming), 1e-9) / (least_sweeps - warming);
    record_.sweeps = sweeps_of_a_sample(options_.seconds / static_cast<double>(least_samples) / each,
                                        record_.check_interval);
  }
  if (const std::int64_t rest = record_.sweeps - solver.sweeps(); rest > 0) solver.sweep(rest);
  solver.synchronize();
}

template <class T>
void Comparison<T>::hold_against_first(Solver<T>& solver, const SolverRows<T>& rows, CompareEntry& entry) {
  const Config& config = session_.deck.config;
  const Int3 grid = config.grid.cells;
  const bool exact = config.problem.norm == Norm::max || rows.reduction->sum_bits == SumBits::exact;
  const BlockOfField<T> field = block_of(solver);
  entry.fingerprint = field.fingerprint;
  entry.verdict = CompareVerdict::same;
  if (!first_) {
    first_.emplace(First{KeptField<T>(world_, field), *entry.norm, exact});
    record_.reference = entry.name;
  } else if (const auto difference = first_->field.compare(field)) {
    entry.verdict = CompareVerdict::differs;
    entry.note = text_of(*difference, grid);
  } else if (!norms_agree(*entry.norm, first_->norm, exact && first_->exact, grid.product())) {
    entry.verdict = CompareVerdict::differs;
    entry.note = fmt::format("the norm is {} and should be {}", *entry.norm, first_->norm);
  }
}

template <class T>
void Comparison<T>::sample(Solver<T>& solver, CompareEntry& entry) const {
  CompareSamples& samples = entry.samples;
  const Timer all;
  for (bool go_on = true; go_on;) {
    samples.sweep_seconds.push_back(seconds_of(solver, record_.sweeps) / static_cast<double>(record_.sweeps));
    const Timer timer;
    solver.residual();
    samples.check_seconds.push_back(world_.all_reduce(timer.seconds(), ReduceOp::max));
    const std::int64_t taken = std::ssize(samples.sweep_seconds);
    const bool more = taken < least_samples || (taken < most_samples && all.seconds() < options_.seconds);
    go_on = world_.all_reduce(std::int64_t{more}, ReduceOp::min) != 0;
  }
}

template class Comparison<float>;
template class Comparison<double>;

}  // namespace isotherm
