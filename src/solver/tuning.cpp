#include "solver/tuning.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/agree.hpp"
#include "core/timer.hpp"
#include "grid/field.hpp"
#include "kernels/face_copy.hpp"
#include "physics/operator.hpp"
#include "physics/paint.hpp"
#include "solver/collective_timer.hpp"
#include "solver/period.hpp"
#include "solver/rows.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

constexpr double budget = 0.8;         // s, of all samples
constexpr double least_share = 0.1;    // of a sweep's time that its cells take, not its launch
constexpr double nearly = 1.05;        // of the time of the fastest
constexpr std::size_t most_close = 5;  // of its row, that are tried again by whole steps
// ... and the best that fuses sweeps, where it does not, or the other way round: over few planes and without
// exchanges, sweeps that a launch fuses cost more or less than they do in a run.
constexpr double within_reach = 1.5;
// Of the time that a run's single sweeps would take, what it may cost to look for better ones.
constexpr double share_of_run = 0.1;
constexpr double least_trial = 8e-3;      // s, of the samples of one choice
constexpr double sweeps_of_a_trial = 20;  // where sweeps are long: five launches that fuse four
constexpr std::size_t most_bytes = std::size_t{256} << 20;  // of a field

// Planes of the local block that fit the trial; x and y are what policies are about.
template <class T>
Int3 trial_extent(Int3 local) {
  const auto plane = static_cast<std::size_t>(local.x * local.y) * sizeof(T);
  local.z = std::clamp<Index>(static_cast<Index>(most_bytes / std::max<std::size_t>(plane, 1)), 1, local.z);
  return local;
}

template <class T>
class Bench {
 public:
  Bench(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
        Device& device)
      : communicator_(communicator),
        device_(device),
        extent_(trial_extent<T>(decomposition.block(communicator.rank()).extent())),
        stream_(own_stream(device, Priority::normal)),
        timer_(communicator, device, stream_),
        result_(agree(communicator, [&] { return Buffer(device, sizeof(double)); })),
        coefficients_(rounded_coefficients<T>(sweep_coefficients(config))) {
    agree(communicator, [&] {
      const FaceCopy<T>& copy = face_copy<T>(device.backend());
      for (std::optional<Field<T>>* field : {&in_, &out_, &source_}) {
        if (field == &source_ && all_sources(config).empty()) continue;
        field->emplace(device, extent_, halo_depth(config));
        copy.fill((*field)->view(), field == &source_ ? T(0) : T(300), stream_);
      }
    });
    // Insulated: the field stays as it is however often it is swept.
    const auto boundaries = decomposition.boundaries(communicator.rank());
    for (std::size_t f = 0; f < face_count; ++f)
      boundaries_.faces[f] = {boundaries[f], T(1), T(0), nullptr, 0};
  }

  Int3 extent() const { return extent_; }

  // A share of those that a launch fuses.
  double sweep(const SweepChoice<T>& choice, Box region, double best = 1e30) {
    return timer_.seconds([&] { launch(choice, region, {}); }, best * choice.depth) / choice.depth;
  }
  Box whole() const { return {{0, 0, 0}, extent_}; }
  // What the norm costs beside the sweep.
  double reduction(const ReductionKernel<T>& row, const SweepChoice<T>& choice, double sweep_seconds) {
    const Box box = whole();
    if (row.fused) {
      const Buffer scratch = memory(choice.row->norm_scratch_bytes(box, choice.policy));
      const UpdateNorm norm{ReductionOp::max_abs, result_.template as<double>(), scratch.data(), false};
      return std::max(0.0, timer_.seconds([&] { launch(choice, box, norm); }) - choice.depth * sweep_seconds);
    }
    const Buffer scratch = memory(row.scratch_bytes(box));
    return timer_.seconds([&] {
      row.launch({std::as_const(*out_).view(), std::as_const(*in_).view(), box, ReductionOp::max_abs,
                  result_.template as<double>(), scratch.data()},
                 stream_);
    });
  }
  // A sweep of those that a graph holds, queued launch by launch or as the graph.
  double sweep_of_many(const SweepChoice<T>& choice, bool as_graph) {
    const std::int64_t sweeps = sweeps_of_a_graph(choice.depth, choice.depth);
    const auto one_by_one = [&] {
      for (std::int64_t i = 0; i < sweeps; i += choice.depth) launch(choice, whole(), {});
    };
    if (!as_graph) return timer_.seconds(one_by_one) / static_cast<double>(sweeps);
    device_.begin_recording(stream_);
    one_by_one();
    const Owned<Graph> graph(device_, device_.end_recording(stream_));
    return timer_.seconds([&] { device_.launch(graph.get(), stream_); }) / static_cast<double>(sweeps);
  }

 private:
  Buffer memory(std::size_t bytes) {
    return agree(communicator_, [&] { return Buffer(device_, bytes); });
  }
  void launch(const SweepChoice<T>& choice, Box region, const UpdateNorm& norm) {
    const Boundaries<T> ghosts = boundaries_in_ghosts(*choice.row, boundaries_);
    const bool any = std::any_of(std::begin(ghosts.faces), std::end(ghosts.faces),
                                 [](const Boundary<T>& boundary) { return boundary.is_boundary; });
    if (any) face_copy<T>(device_.backend()).fill_boundaries(in_->view(), ghosts, region, stream_);
    const FieldView<const T> source = source_ ? std::as_const(*source_).view() : FieldView<const T>{};
    choice.row->launch(
        {std::as_const(*in_).view(), out_->view(), region, coefficients_, boundaries_, source, norm},
        {choice.depth, choice.policy}, stream_);
  }

  const Communicator& communicator_;
  Device& device_;
  Int3 extent_;
  Owned<Stream> stream_;
  CollectiveTimer timer_;
  Buffer result_;
  Coefficients<T> coefficients_;
  std::optional<Field<T>> in_, out_, source_;
  Boundaries<T> boundaries_;
};

// The choices of a deck, tried one after another on all ranks. What comes first counts, as there may be no
// time for all.
template <class T>
class Contest {
 public:
  Contest(const Communicator& communicator, Bench<T>& bench, const Timer& timer, TuningReport& report)
      : communicator_(communicator), bench_(bench), timer_(timer), report_(report) {}

  bool out_of_time(double seconds) const {
    return communicator_.all_reduce(timer_.seconds(), ReduceOp::max) > seconds;
  }
  double best() const { return best_; }  // seconds
  const SweepChoice<T>& fastest() const { return fastest_; }

  // Of rows that do not fuse.
  void try_singles(const std::vector<SweepChoice<T>>& choices, double limit) {
    for (const SweepChoice<T>& choice : choices) {
      if (choice.can_fuse()) continue;
      if (!tried_.empty() && out_of_time(limit)) return;
      attempt(choice);
    }
  }
  // Of rows that do, one after another: all depths in one policy, the other policies at the best of them, and
  // the best policy at the other depths.
  void try_fusing(const std::vector<SweepChoice<T>>& choices, double limit) {
    std::set<const StencilKernel<T>*> done;
    for (const SweepChoice<T>& first : choices) {
      if (!first.can_fuse() || !done.insert(first.row).second) continue;
      const auto of_row = [&](const SweepChoice<T>& c) { return c.row == first.row; };
      if (done.size() == 1 || !out_of_time(limit)) attempt(first);
      const auto go_on = [&](auto is_meant) {
        for (const SweepChoice<T>& choice : choices)
          if (of_row(choice) && is_meant(choice) && !was_tried(choice) && !out_of_time(limit))
            attempt(choice);
        return fastest_of(of_row).value_or(first);
      };
      SweepChoice<T> lead = go_on([&](const auto& c) { return c.policy == first.policy; });
      lead = go_on([&](const auto& c) { return c.depth == lead.depth; });
      go_on([&](const auto& c) { return c.policy == lead.policy; });
    }
  }

  // What whole steps of a run may still prefer to the fastest, for which `norm` has to do: its row's other
  // policies and depths, the fastest first, and before them the best that fuses, or does not, where it did.
  std::vector<SweepChoice<T>> close(const ReductionKernel<T>& norm) const {
    std::vector<std::pair<double, SweepChoice<T>>> near;
    for (std::size_t i = 0; i < tried_.size(); ++i)
      if (tried_[i].row == fastest_.row && !(tried_[i] == fastest_) && seconds_of(i) < nearly * best_)
        near.emplace_back(seconds_of(i), tried_[i]);
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (near.size() > most_close) near.resize(most_close);
    std::vector<SweepChoice<T>> choices;
    const auto other = fastest_of([&](const SweepChoice<T>& c) {
      return c.can_fuse() != fastest_.can_fuse() && (!norm.fused || c.row->fuses_norm());
    });
    if (other && seconds_of(*other) < within_reach * best_) choices.push_back(*other);
    for (const auto& [seconds, choice] : near) choices.push_back(choice);
    return choices;
  }

 private:
  void attempt(const SweepChoice<T>& choice) {
    const double seconds = bench_.sweep(choice, bench_.whole(), best_);
    tried_.push_back(choice);
    report_.sweeps.push_back({std::string(choice.row->name),
                              std::string(choice.row->policies[static_cast<std::size_t>(choice.policy)]),
                              seconds, choice.depth});
    if (seconds >= best_) return;
    best_ = seconds;
    fastest_ = choice;
  }
  double seconds_of(std::size_t i) const { return report_.sweeps[i].seconds; }
  double seconds_of(const SweepChoice<T>& choice) const {
    const auto at = std::find(tried_.begin(), tried_.end(), choice);
    return seconds_of(static_cast<std::size_t>(at - tried_.begin()));
  }
  bool was_tried(const SweepChoice<T>& choice) const {
    return std::find(tried_.begin(), tried_.end(), choice) != tried_.end();
  }
  template <class Predicate>
  std::optional<SweepChoice<T>> fastest_of(Predicate is_meant) const {
    std::optional<SweepChoice<T>> fastest;
    for (std::size_t i = 0; i < tried_.size(); ++i)
      if (is_meant(tried_[i]) && (!fastest || seconds_of(i) < seconds_of(*fastest))) fastest = tried_[i];
    return fastest;
  }

  const Communicator& communicator_;
  Bench<T>& bench_;
  const Timer& timer_;
  TuningReport& report_;
  std::vector<SweepChoice<T>> tried_;  // as in the report
  SweepChoice<T> fastest_{};
  double best_ = 1e30;
};

// Those that boundaries and ghosts allow. Six sweeps a launch and then two take as many launches as twice
// four: of what needs the same number from one exchange, or look at the field, to the next, the most even.
template <class T>
std::vector<SweepChoice<T>> worth_trying(const Config& config, const Decomposition& decomposition,
                                         std::vector<SweepChoice<T>> choices) {
  const int most = most_fused(config, decomposition);
  const std::int64_t span =
      exchanges(ghost_sides(decomposition, 0)) ? std::int64_t{halo_depth(config)} : sweeps_until_due(config);
  const auto launches = [&](int depth) { return (span + depth - 1) / depth; };
  std::erase_if(choices, [&](const SweepChoice<T>& c) {
    return c.depth > most || (c.depth > 1 && launches(c.depth) == launches(c.depth - 1));
  });
  return choices;
}

// Single sweeps first: whether launches that fuse some are worth a trial depends on them.
template <class T>
void try_sweeps(const Config& config, const std::vector<SweepChoice<T>>& choices, Contest<T>& contest,
                TuningReport& report) {
  const auto fuses = [](const SweepChoice<T>& c) { return c.can_fuse(); };
  const bool any_fuses = std::any_of(choices.begin(), choices.end(), fuses);
  const bool any_single = !std::all_of(choices.begin(), choices.end(), fuses);
  contest.try_singles(choices, any_fuses ? budget / 2 : budget);
  if (!any_fuses) return;
  if (any_single && !worth_trying_fused(config, contest.best())) {
    report.why_single = "the run is too short to try others";
    return;
  }
  contest.try_fusing(choices, budget);
}

}  // namespace

bool worth_trying_fused(const Config& config, double sweep_seconds) {
  const double run = static_cast<double>(likely_sweeps(config)) * sweep_seconds;
  return share_of_run * run > std::max(least_trial, sweeps_of_a_trial * sweep_seconds);
}

template <class T>
SolverRows<T> tune(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                   Device& device, const RowChoices<T>& choices, TuningReport& report) {
  const Timer timer;
  Bench<T> bench(config, decomposition, communicator, device);
  report.cells = bench.extent();
  Contest<T> contest(communicator, bench, timer, report);
  try_sweeps(config, worth_trying(config, decomposition, choices.sweeps), contest, report);

  SolverRows<T> fastest{contest.fastest(), nullptr, choices.histogram, false};
  fastest.why_single = report.why_single;
  double best_reduction = 1e30;
  for (const ReductionKernel<T>* row : choices.reductions) {
    if (row->fused && !fastest.sweep.row->fuses_norm()) continue;
    if (fastest.reduction && contest.out_of_time(budget)) break;
    const double seconds = bench.reduction(*row, fastest.sweep, contest.best());
    report.reductions.push_back({std::string(row->name), "", seconds});
    if (seconds < best_reduction) {
      best_reduction = seconds;
      fastest.reduction = row;
    }
  }
  // What was tried is what a run does, where it exchanges nothing and its block was swept whole.
  const Int3 block = decomposition.block(communicator.rank()).extent();
  if (communicator.size() > 1 || !(block == bench.extent()))
    fastest.close = contest.close(*fastest.reduction);
  fastest.graph = choices.graphs.front();
  double best_queue = 1e30;
  for (const bool as_graph : choices.graphs) {
    if (choices.graphs.size() == 1) break;
    const double seconds = bench.sweep_of_many(fastest.sweep, as_graph);
    report.graphs.push_back({as_graph ? "graph" : "launches", "", seconds});
    if (seconds < (as_graph ? worth_a_graph : 1) * best_queue) {
      best_queue = seconds;
      fastest.graph = as_graph;
    }
  }
  report.seconds = timer.seconds();
  return fastest;
}

template <class T>
double seconds_a_cell(const Config& config, const Decomposition& decomposition,
                      const Communicator& communicator, Device& device, const SweepChoice<T>& choice) {
  Bench<T> bench(config, decomposition, communicator, device);
  const Box whole = bench.whole();
  Box plane = whole;
  plane.hi.z = 1;
  const double all = bench.sweep(choice, whole), thin = bench.sweep(choice, plane);
  // Where both are no more than a launch, noise is larger than their difference.
  const auto cells = [&](Index own) { return static_cast<double>(own); };
  const double least = least_share * all / cells(whole.cells());
  const Index between = whole.cells() - plane.cells();
  const double mine =
      between > 0 ? std::max(least, (all - thin) / cells(between)) : all / cells(whole.cells());
  return communicator.all_reduce(mine, ReduceOp::max);  // blocks may differ by a plane
}

template SolverRows<float> tune(const Config&, const Decomposition&, const Communicator&, Device&,
                                const RowChoices<float>&, TuningReport&);
template SolverRows<double> tune(const Config&, const Decomposition&, const Communicator&, Device&,
                                 const RowChoices<double>&, TuningReport&);
template double seconds_a_cell(const Config&, const Decomposition&, const Communicator&, Device&,
                               const SweepChoice<float>&);
template double seconds_a_cell(const Config&, const Decomposition&, const Communicator&, Device&,
                               const SweepChoice<double>&);

}  // namespace isotherm
