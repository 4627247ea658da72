#include "solver/tuning.hpp"

#include <algorithm>
#include <optional>
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

namespace isotherm {
namespace {

constexpr double budget = 0.8;         // s, of all samples
constexpr double least_share = 0.1;    // of a sweep's time that its cells take, not its launch
constexpr double nearly = 1.05;        // of the time of the fastest
constexpr std::size_t most_close = 5;  // policies beside it that are tried again with exchanges
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
    const auto walls = decomposition.walls(communicator.rank());
    for (std::size_t f = 0; f < face_count; ++f) walls_.faces[f] = {walls[f], T(1), T(0), nullptr, 0};
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
    const Walls<T> ghosts = walls_in_ghosts(*choice.row, walls_);
    const bool any = std::any_of(std::begin(ghosts.faces), std::end(ghosts.faces),
                                 [](const Wall<T>& wall) { return wall.is_wall; });
    if (any) face_copy<T>(device_.backend()).fill_walls(in_->view(), ghosts, region, stream_);
    const FieldView<const T> source = source_ ? std::as_const(*source_).view() : FieldView<const T>{};
    choice.row->launch(
        {std::as_const(*in_).view(), out_->view(), region, coefficients_, walls_, source, norm},
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
  Walls<T> walls_;
};

// The policies that steps with exchanges may still prefer, the fastest alone first.
template <class T>
std::vector<int> close_policies(const std::vector<SweepChoice<T>>& choices, const std::vector<Trial>& trials,
                                const SweepChoice<T>& fastest, double best) {
  std::vector<std::pair<double, int>> close;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const bool other = choices[i].row == fastest.row && choices[i].depth == fastest.depth &&
                       choices[i].policy != fastest.policy;
    if (other && trials[i].seconds < nearly * best) close.emplace_back(trials[i].seconds, choices[i].policy);
  }
  std::sort(close.begin(), close.end());
  std::vector<int> policies;
  for (const auto& [seconds, policy] : close) {
    if (policies.size() < most_close) policies.push_back(policy);
  }
  return policies;
}

}  // namespace

template <class T>
SolverRows<T> tune(const Config& config, const Decomposition& decomposition, const Communicator& communicator,
                   Device& device, const RowChoices<T>& choices, TuningReport& report) {
  Timer timer;
  const auto out_of_time = [&] { return communicator.all_reduce(timer.seconds(), ReduceOp::max) > budget; };
  Bench<T> bench(config, decomposition, communicator, device);
  report.cells = bench.extent();

  SolverRows<T> fastest{choices.sweeps.front(), nullptr, choices.histogram, false};
  double best = 1e30;
  const int most = most_fused(config, decomposition);
  std::vector<SweepChoice<T>> tried;
  // Fused sweeps first, as there may be no time for all.
  std::vector<SweepChoice<T>> open = choices.sweeps;
  std::stable_partition(open.begin(), open.end(), [](const SweepChoice<T>& c) { return c.depth > 1; });
  for (const SweepChoice<T>& choice : open) {
    if (choice.depth > most) continue;
    if (!tried.empty() && out_of_time()) break;
    tried.push_back(choice);
    const double seconds = bench.sweep(choice, bench.whole(), best);
    report.sweeps.push_back({std::string(choice.row->name),
                             std::string(choice.row->policies[static_cast<std::size_t>(choice.policy)]),
                             seconds, choice.depth});
    if (seconds < best) {
      best = seconds;
      fastest.sweep = choice;
    }
  }
  // What was tried is what a run does, where it exchanges nothing and its block was swept whole.
  const Int3 block = decomposition.block(communicator.rank()).extent();
  if (communicator.size() > 1 || !(block == bench.extent()))
    fastest.close_policies = close_policies(tried, report.sweeps, fastest.sweep, best);
  double best_reduction = 1e30;
  for (const ReductionKernel<T>* row : choices.reductions) {
    if (row->fused && !fastest.sweep.row->fuses_norm()) continue;
    if (fastest.reduction && out_of_time()) break;
    const double seconds = bench.reduction(*row, fastest.sweep, best);
    report.reductions.push_back({std::string(row->name), "", seconds});
    if (seconds < best_reduction) {
      best_reduction = seconds;
      fastest.reduction = row;
    }
  }
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
