// The autotuner: finds the kernel, tile, time block, halo width, overlap, graph and reduction with the
// fastest steps of this run on these devices. Settings of the deck are not varied. Candidates are measured
// with the first steps of the run itself: fields have the same bits with each, so no step is repeated, and a
// measurement includes all of a step (exchanges, boundaries, sources). All ranks measure together, and the
// slowest counts. Where a step takes more than a tenth of the budget, it is measured on a level of fewer
// planes. Choices with the largest gain are made first. Each is a race of successive halving: every candidate
// has a short measurement, slow ones drop out, the others are measured again (Jamieson and Talwalkar,
// Non-stochastic Best Arm Identification and Hyperparameter Optimization, AISTATS 2016).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "core/all_or_throw.hpp"
#include "core/statistics.hpp"
#include "core/timer.hpp"
#include "output/records/run_record.hpp"
#include "solver/solver.hpp"
#include "tune/tuning_file.hpp"

namespace isotherm {

// The names of a plan's parts, for records.
template <class T>
StepRecord step_record(const StepPlan<T>& plan, std::string_view reduction) {
  const auto& [kernel, tile, time_block] = plan.sweep;
  return {std::string(kernel->name),
          std::string(kernel->tiles[tile]),
          std::string(reduction),
          time_block,
          plan.halo_width,
          plan.overlap,
          plan.graph};
}

template <class T>
class Autotuner {
 public:
  // `solver` has the default plan and outlives the autotuner. `choices` are the same on all ranks.
  Autotuner(const Config& config, Solver<T>& solver, KernelChoices<T> choices)
      : config_(config), solver_(solver), choices_(std::move(choices)) {
    tried_.push_back({solver.plan()});
    tuning_.planes = solver.level().extent().z;
    tuning_.complete = false;
  }

  // Is there a choice to measure, and a tuning budget for it?
  bool open() const {
    return config_.solver.tuning_budget > 0 &&
           (choices_.open() || step_candidates().size() > 1 || graph_candidates().size() > 1);
  }

  bool done() const { return stage_ == Stage::done; }
  double sweep_seconds() const { return sweep_seconds_ * shrunk_; }  // of the fastest, on all planes

  // Collective. Measures steps up to `until`, then uses the fastest plan. No residual may be under way.
  void advance(std::int64_t until) {
    while (!done()) {
      if (race_.empty() && !begin_race()) return finish(true);
      if (next_ == race_.size()) {
        end_round();
        if (race_.size() > 1 && round_ < static_cast<int>(std::size(tolerance))) continue;
        const std::size_t best = best_of_race();
        const bool is_gain = !tried_[best].plan.graph || tried_[fastest_].plan.graph ||
                             tried_[best].score() < worth_a_graph * tried_[fastest_].score();
        if (is_gain) fastest_ = best;
        race_.clear();
        continue;
      }
      if (sweep_seconds_ > 0 && tuning_.seconds > budget()) {
        if (stage_ != Stage::reductions && stage_ != Stage::graphs) fastest_ = best_of_race();
        return finish(false);
      }
      if (!measure(tried_[race_[next_]], until)) return use_fastest();
      ++next_;
      const bool is_long = sweep_seconds_ > long_step * budget() &&
                           budget() >= std::min(config_.solver.tuning_budget, worth_a_level);
      if (!fewer_ && is_long && tried_.front().samples.size() == 1 && next_ == 1 &&
          stage_ == Stage::temporal) {
        use_fewer_planes();
        if (fewer_) next_ = 0;
      }
    }
  }

  Tuning record() const {
    Tuning tuning = tuning_;
    tuning.source = done() ? Tuning::Source::measurement : Tuning::Source::defaults;
    for (const Candidate& c : tried_)
      if (!c.samples.empty())
        tuning.candidates.push_back({step_record(c.plan, c.reduction ? c.reduction->name : ""), c.score(),
                                     static_cast<int>(c.samples.size())});
    return tuning;
  }

 private:
  static constexpr double long_step = 0.1;  // of the budget: longer steps are measured on fewer planes
  // s: with this budget, the creation of a level of fewer planes is comparatively cheap.
  static constexpr double worth_a_level = 0.02;
  static constexpr double share_of_planes = 0.02;  // of the budget, for one sweep of them
  static constexpr Index fewest_planes = 16;       // of a rank
  // The memory plan of a run does not include the level of fewer planes. Its fields take at most so many
  // bytes each, or one part in so many of a field of the run.
  static constexpr std::size_t most_bytes = std::size_t{128} << 20;
  static constexpr Index share_of_field = 16;
  static constexpr double samples_in_budget = 64;  // samples for which the budget should last
  static constexpr double shortest_sample = 2e-4, longest_sample = 8e-3;  // s
  // By round: candidates slower than the fastest by more than this drop out.
  static constexpr double tolerance[] = {0.25, 0.08, 0};
  // A single sweep within this factor of the fastest may win with other tiles and overlaps.
  static constexpr double within_tolerance = 1.5;
  static constexpr double worth_a_graph = 0.98;        // a graph must take less than this share of the time
  static constexpr double sweep_without_graph = 2e-3;  // s: longer sweeps gain nothing by graphs

  enum class Stage { temporal, singles, tiles, blocks, steps, graphs, reductions, done };
  struct Candidate {
    StepPlan<T> plan;
    const ReductionKernel<T>* reduction = nullptr;  // of a candidate whose steps end with a norm
    std::vector<double> samples = {};               // s per sweep
    double score() const {                          // median of the samples; infinite if it cannot run
      return samples.empty() ? std::numeric_limits<double>::infinity() : median(samples);
    }
  };

  // The run's problem on fewer planes of each rank, with the same process grid. Fields of zeros.
  struct FewerPlanes {
    FewerPlanes(const Config& config, const Level<T>& whole, const SweepChoice<T>& sweep)
        : level(config,
                {config.grid.cells, whole.decomposition().process_grid(), whole.decomposition().periodic(),
                 ghost_layers(config)},
                whole.communicator(), whole.device()),
          step(level, sweep) {}

    Level<T> level;
    Step<T> step;
  };

  Level<T>& level() { return fewer_ ? fewer_->level : solver_.level(); }

  Step<T>& step() { return fewer_ ? fewer_->step : solver_.step(); }

  double budget() const {
    if (sweep_seconds_ == 0) return config_.solver.tuning_budget;
    return tuning_seconds(config_, sweep_seconds_ * shrunk_);
  }

  // The plan `from` with each other choice of sweep for which wanted(choice) holds.
  template <class Wanted>
  std::vector<Candidate> with_sweeps(const StepPlan<T>& from, const Wanted& wanted) const {
    std::vector<Candidate> all;
    for (const SweepChoice<T>& choice : choices_.sweeps) {
      if (choice == from.sweep || !wanted(choice)) continue;
      StepPlan<T> plan = from;
      plan.sweep = choice;
      if (choice.time_block != from.sweep.time_block || choice.kernel != from.sweep.kernel)
        plan.halo_width =
            config_.solver.halo_width.value_or(exchanges(solver_.level().sides()) ? choice.time_block : 1);
      all.push_back({plan});
    }
    return all;
  }

  // Each kernel that fuses sweeps (`temporal`), or that does not, with its first tile and time block.
  std::vector<Candidate> kernels(bool temporal) const {
    return with_sweeps(tried_[fastest_].plan, [&](const SweepChoice<T>& c) {
      const bool is_first = &c == &*std::ranges::find(choices_.sweeps, c.kernel, &SweepChoice<T>::kernel);
      return is_first && c.is_temporal() == temporal && c.kernel != tried_.front().plan.sweep.kernel;
    });
  }

  // Time blocks, except those with as many launches between exchanges or events as a shorter one.
  std::vector<Candidate> time_block_candidates() const {
    const bool exchanged = exchanges(solver_.level().sides());
    const std::int64_t span = exchanged ? std::int64_t{ghost_layers(config_)} : sweeps_until_due(config_);
    const auto launches = [&](int time_block) { return ceil_div(span, time_block); };
    const StepPlan<T>& fastest = tried_[fastest_].plan;
    return with_sweeps(fastest, [&](const SweepChoice<T>& c) {
      return c.kernel == fastest.sweep.kernel && c.tile == fastest.sweep.tile &&
             (c.time_block == 1 || launches(c.time_block) < launches(c.time_block - 1));
    });
  }

  const Candidate* best_single() const {
    const Candidate* best = nullptr;
    for (const Candidate& c : tried_)
      if (c.plan.sweep.time_block == 1 && !c.reduction && (!best || c.score() < best->score())) best = &c;
    return best && best->score() < within_tolerance * tried_[fastest_].score() ? best : nullptr;
  }

  // The fastest plan and, where there are exchanges (they may decide), the fastest plan of single sweeps.
  std::vector<StepPlan<T>> plans_to_vary() const {
    std::vector<StepPlan<T>> plans = {tried_[fastest_].plan};
    const Candidate* single = best_single();
    if (single && single != &tried_[fastest_] && exchanges(solver_.level().sides()))
      plans.push_back(single->plan);
    return plans;
  }

  std::vector<Candidate> tile_candidates() const {
    std::vector<Candidate> all;
    for (const StepPlan<T>& from : plans_to_vary()) {
      const auto is_like = [&](const SweepChoice<T>& c) {
        return c.kernel == from.sweep.kernel && c.time_block == from.sweep.time_block;
      };
      for (const Candidate& each : with_sweeps(from, is_like)) all.push_back(each);
    }
    return all;
  }

  // Powers of two, and one and two time blocks, up to the layers of ghosts.
  std::vector<int> halo_widths(const SweepChoice<T>& sweep) const {
    if (config_.solver.halo_width) return {*config_.solver.halo_width};
    std::vector<int> widths;
    for (const int width : {sweep.time_block, 2 * sweep.time_block, 2, 4, 8})
      if (width >= sweep.time_block && width <= ghost_layers(config_) &&
          std::ranges::find(widths, width) == widths.end())
        widths.push_back(width);
    return widths;
  }

  std::vector<Candidate> step_candidates() const {
    if (!exchanges(solver_.level().sides())) return {};
    const bool varies = solver_.level().sources_vary();  // fewer planes have no sources
    const bool overlap_is_open = config_.parallel.overlap == Overlap::automatic &&
                                 overlaps(Overlap::automatic, solver_.level().device().backend(),
                                          solver_.level().communicator().size());
    std::vector<Candidate> all;
    for (const StepPlan<T>& from : plans_to_vary()) {
      std::vector<Overlap> overlaps = {from.overlap};
      if (overlap_is_open) overlaps = {Overlap::on, Overlap::off, Overlap::in_kernel};
      for (const int width : halo_widths(from.sweep))
        for (const Overlap overlap : overlaps) {
          if (overlap == Overlap::in_kernel && (varies || width > 1 || from.sweep.time_block > 1)) continue;
          StepPlan<T> plan = from;
          plan.halo_width = width;
          plan.overlap = overlap;
          if (!(plan == from)) all.push_back({plan});
        }
    }
    return all;
  }

  std::vector<Candidate> graph_candidates() const {
    const Level<T>& level = solver_.level();
    if (config_.solver.cuda_graph != GraphChoice::automatic || !level.why_no_graph().empty() ||
        sweep_seconds_ > sweep_without_graph)
      return {};
    StepPlan<T> plan = tried_[fastest_].plan;
    plan.graph = true;
    // A measurement takes two graphs between events: with longer graphs it would never end.
    const int period = exchanges(level.sides()) ? plan.halo_width : plan.sweep.time_block;
    const std::int64_t graph = sweeps_of_a_graph(period, plan.sweep.time_block, level.method().cycle());
    if (2 * graph >= sweeps_until_due(config_)) return {};
    return {{plan}};
  }

  // Steps that end with a norm. Not on fewer planes, where a norm does not pass over the whole field.
  std::vector<Candidate> reduction_candidates() const {
    std::vector<Candidate> all;
    const StepPlan<T>& plan = tried_[fastest_].plan;
    for (const ReductionKernel<T>* reduction : choices_.reductions)
      if (plan.sweep.suits(reduction)) all.push_back({plan, reduction});
    if (all.size() < 2 || fewer_) all.clear();
    return all;
  }

  // The candidates of the current stage.
  std::vector<Candidate> candidates() const {
    if (stage_ == Stage::temporal) return kernels(true);
    if (stage_ == Stage::tiles) return tile_candidates();
    if (stage_ == Stage::blocks) return time_block_candidates();
    if (stage_ == Stage::steps) return step_candidates();
    if (stage_ == Stage::graphs) return graph_candidates();
    if (stage_ == Stage::reductions) return reduction_candidates();
    // Single sweeps, where one of them may be faster than time blocks.
    return best_single() ? kernels(false) : std::vector<Candidate>{};
  }

  // Begins the race of the next stage that has candidates, with the fastest plan. False: there is none.
  bool begin_race() {
    const bool is_first = tried_[fastest_].samples.empty();
    if (!is_first) stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
    for (; stage_ != Stage::done; stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1)) {
      const std::vector<Candidate> found = candidates();
      if (found.empty() && !is_first) continue;
      race_.clear();
      if (stage_ != Stage::reductions) race_.push_back(fastest_);
      for (const Candidate& candidate : found) {
        race_.push_back(tried_.size());
        tried_.push_back(candidate);
      }
      next_ = 0;
      round_ = 0;
      return true;
    }
    return false;
  }

  std::size_t best_of_race() const {
    return *std::ranges::min_element(race_, {}, [&](std::size_t i) { return tried_[i].score(); });
  }

  void end_round() {
    const double best = tried_[best_of_race()].score();
    std::erase_if(race_, [&](std::size_t i) { return tried_[i].score() > (1 + tolerance[round_]) * best; });
    next_ = 0;
    ++round_;
  }

  template <class Work>
  double timed(const Work& work) {
    const Communicator& ranks = level().communicator();
    ranks.barrier();
    const Timer timer;
    work();
    level().synchronize();
    const double seconds = ranks.all_reduce(timer.seconds(), ReduceOp::max);
    tuning_.seconds += seconds;
    return seconds;
  }

  // Takes a sample, the first after a warm-up of kernel and caches. False: too few sweeps until `until`.
  bool measure(Candidate& candidate, std::int64_t until) {
    step().use(candidate.plan);
    if (!step().can_run()) return true;
    const std::int64_t unit = step().unit();
    const std::int64_t room = fewer_ ? std::numeric_limits<std::int64_t>::max() : until - level().sweeps();
    const bool is_first = candidate.samples.empty();
    if (room / unit < (is_first ? 2 : 1)) return false;
    const std::int64_t before = level().sweeps();
    if (candidate.reduction && is_first) solver_.use(candidate.plan, *candidate.reduction);
    const auto advance = [&](std::int64_t units) {
      if (!candidate.reduction) return step().advance(units * unit);
      for (std::int64_t i = 0; i < units; ++i) {
        solver_.sweep(unit);
        solver_.residual();
      }
    };
    double known = is_first ? timed([&] { advance(1); }) : candidate.score() * static_cast<double>(unit);
    if (is_first && sweep_seconds_ > 0) known = std::min(known, sweep_seconds_ * static_cast<double>(unit));
    const double wanted = std::clamp(budget() / samples_in_budget, shortest_sample, longest_sample);
    const std::int64_t left = room / unit - (is_first ? 1 : 0);
    const std::int64_t units = std::min<std::int64_t>(left, std::clamp(wanted / known, 1.0, 1e6));
    const double seconds = timed([&] { advance(units); }) / static_cast<double>(units * unit);
    candidate.samples.push_back(seconds);
    if (!fewer_) tuning_.sweeps += level().sweeps() - before;
    if (!candidate.reduction && (sweep_seconds_ == 0 || seconds < sweep_seconds_)) sweep_seconds_ = seconds;
    return true;
  }

  // Collective. Is there memory, with a margin, for the fields, sources and halos of such subdomains? Assumes
  // that all ranks of the host share one device.
  bool fits(Int3 extent) {
    const Level<T>& whole = solver_.level();
    const Device& device = whole.device();
    const std::size_t field = field_bytes(extent, ghost_layers(config_), sizeof(T), device.backend());
    const Communicator& ranks = whole.communicator();
    const auto sharers = static_cast<std::size_t>(ranks.split_by_host().size());
    const std::size_t free = all_or_throw(ranks, [&] { return device.memory().free_bytes; });
    return ranks.all(5 * field * sharers < free);
  }

  // Switches to fewer planes if it can. Discards the sample so far, of the default plan on all planes.
  void use_fewer_planes() {
    // A dataset has the cells of the whole grid, and a file may be written meanwhile.
    if (std::ranges::count(config_.regions, RegionShape::dataset, &MaterialRegion::shape) > 0) return;
    Level<T>& whole = solver_.level();
    const Communicator& ranks = whole.communicator();
    const Int3 extent = whole.extent();
    const double planes_in_budget = share_of_planes * budget() / sweep_seconds_ * extent.z;
    const std::size_t plane = static_cast<std::size_t>(extent.x * extent.y) * sizeof(T);
    const Index most = std::max(static_cast<Index>(most_bytes / plane), extent.z / share_of_field);
    const Index planes = std::min(most, std::max(fewest_planes, static_cast<Index>(planes_in_budget)));
    // Ranks may differ by a plane. There must be more planes than layers of ghosts.
    const Index thinnest = ranks.all_reduce(extent.z, ReduceOp::min);
    const Index agreed = ranks.all_reduce(planes, ReduceOp::min);
    if (agreed < fewest_planes || agreed <= ghost_layers(config_) || 2 * agreed > thinnest) return;
    if (!fits({extent.x, extent.y, agreed})) return;
    Config config = config_;
    config.grid.cells.z = agreed * whole.decomposition().process_grid().z;
    config.grid.lengths.reset();
    config.grid.spacing = spacing(config_);
    fewer_ = std::make_unique<FewerPlanes>(config, whole, tried_.front().plan.sweep);
    tuning_.planes = agreed;
    tried_.front().samples.clear();
    shrunk_ = static_cast<double>(config_.grid.cells.z) / static_cast<double>(config.grid.cells.z);
    sweep_seconds_ /= shrunk_;
  }

  // The solver continues with the fastest plan so far, or the default if only fewer planes can run that.
  void use_fastest() {
    solver_.step().use(tried_[fastest_].plan);
    if (!solver_.step().can_run()) fastest_ = 0;
    const Candidate& fastest = tried_[fastest_];
    const ReductionKernel<T>* const default_reduction = choices_.first_reduction(fastest.plan.sweep);
    solver_.use(fastest.plan, fastest.reduction ? *fastest.reduction : *default_reduction);
  }

  void finish(bool complete) {
    stage_ = Stage::done;
    tuning_.complete = complete;
    fewer_.reset();
    for (const StencilKernel<T>& kernel : stencil_kernels<T>())
      if (kernel.memory) kernel.memory->release();  // of candidates that are not chosen
    use_fastest();
    solver_.level().halo().release_others();
  }

  const Config& config_;
  Solver<T>& solver_;
  KernelChoices<T> choices_;
  std::vector<Candidate> tried_;
  std::size_t fastest_ = 0;        // index in tried_; the default while nothing is measured
  std::vector<std::size_t> race_;  // indices in tried_: those that have not dropped out
  std::size_t next_ = 0;           // index in race_
  int round_ = 0;
  Stage stage_ = Stage::temporal;  // of the race
  double sweep_seconds_ = 0;       // of the fastest sweep so far; 0: none was measured
  Tuning tuning_;                  // without its candidates
  std::unique_ptr<FewerPlanes> fewer_;
  double shrunk_ = 1;  // the planes of the grid over those of fewer_
};

// Records how steps are executed, and the measurements of the autotuner (may be null).
template <class T>
void describe_steps(const Solver<T>& solver, const Autotuner<T>* autotuner, MethodRecord& method) {
  static_cast<StepRecord&>(method) = step_record(solver.plan(), solver.reduction().name);
  if (autotuner) method.tuning = autotuner->record();
  const bool temporal =
      std::ranges::any_of(method.tuning.candidates, [](const auto& c) { return c.time_block > 1; });
  method.why_single = solver.why_single(!autotuner || !autotuner->done() ? ""
                                        : temporal                       ? "the fastest measured"
                                                                         : "no time to measure others");
}

// Collective. Choices that the deck allows and that the devices of all ranks can run; the default first.
template <class T>
KernelChoices<T> common_choices(const Config& config, const Decomposition& decomposition,
                                const Communicator& world, const Device& device) {
  KernelChoices<T> choices = all_or_throw(world, [&] {
    return kernel_choices<T>(config, device.backend(), decomposition.subdomain(0).extent());
  });
  const int most = longest_time_block(config, decomposition);
  std::erase_if(choices.sweeps, [&](const SweepChoice<T>& c) { return c.time_block > most; });
  for (const StencilKernel<T>& kernel : stencil_kernels<T>())
    for (int tile = 0; tile < static_cast<int>(kernel.tiles.size()); ++tile) {
      const auto is_this = [&](const SweepChoice<T>& c) { return c.kernel == &kernel && c.tile == tile; };
      const bool mine = std::ranges::any_of(choices.sweeps, is_this);
      const bool all = world.all(mine);
      if (mine && !all) std::erase_if(choices.sweeps, is_this);
    }
  all_or_throw(world, [&] {
    if (choices.sweeps.empty())
      throw Error(ExitCode::unavailable,
                  "no kernel runs on the devices of all ranks; use ranks on like devices, or another "
                  "solver.kernel");
  });
  return choices;
}

}  // namespace isotherm
