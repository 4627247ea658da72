#include "solver/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

constexpr std::int64_t enough_sweeps = 16;  // of a graph, so that its own launch is cheap beside theirs

// The rows that a word stands for on a backend; `auto` for those that are meant for it.
template <class Rows>
auto rows_of(const Config& config, const char* key, const Rows& rows, const std::string& name,
             Backend backend) {
  std::vector<decltype(rows.data())> found;
  std::string valid;
  for (const auto& row : rows) {
    if (row.backend != backend || !row.available()) continue;
    if (row.name == name || (name == "auto" && row.on_trial)) found.push_back(&row);
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", row.name);
  }
  if (found.empty()) {
    throw Error(ExitCode::deck, fmt::format("{}: '{}' does not run on {}; use auto or one of: {}",
                                            config.at(key), name, word(backend), valid));
  }
  return found;
}

// How many sweeps a launch of the row may fuse: first the one to take unasked, and those that tell most to a
// trial, which has no time for all. Beside other rows, single sweeps of one that can fuse are no choice.
std::vector<int> fused_depths(int max_depth, int most, bool named) {
  most = std::min(most, max_depth);
  std::vector<int> depths;
  const auto add = [&](int depth) {
    if (depth <= most && std::find(depths.begin(), depths.end(), depth) == depths.end())
      depths.push_back(depth);
  };
  if (most > 1 && most < 8) add(most);
  for (const int depth : {4, 8, 2, 6}) add(depth);
  for (int depth = 2; depth <= most; ++depth) add(depth);
  if (max_depth == 1 || named) depths.push_back(1);
  return depths;
}

// The row's policies that the deck leaves open and that can run such a block on the current device.
template <class T>
void add_policies(const Config& config, const StencilKernel<T>& row, Int3 block,
                  std::vector<SweepChoice<T>>& choices) {
  const SolverConfig& s = config.solver;
  std::string valid, unsupported;
  bool known = false;
  for (int i = 0; i < static_cast<int>(row.policies.size()); ++i) {
    const std::string_view policy = row.policies[static_cast<std::size_t>(i)];
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", policy);
    if (s.tile != "auto" && s.tile != policy) continue;
    known = true;
    unsupported = why_no_room(row, block);
    if (unsupported.empty()) unsupported = row.why_unsupported(i);
    for (const int depth : fused_depths(row.max_depth, most_fused(config), s.kernel != "auto"))
      if (unsupported.empty()) choices.push_back({&row, i, depth});
  }
  if (!known) {
    throw Error(ExitCode::deck, fmt::format("{}: '{}' is no tile of kernel {}; use auto or one of: {}",
                                            config.at("solver.tile"), s.tile, row.name, valid));
  }
  if (choices.empty() && s.kernel != "auto") {
    throw Error(ExitCode::unavailable, fmt::format("{}: '{}' does not run on this device ({}); use auto",
                                                   config.at("solver.kernel"), s.kernel, unsupported));
  }
}

// The sums of two reductions differ in their last digits, and so would the sweep at which a run stops: where
// a sum decides, `auto` takes the same row every time, whatever is faster today.
std::string_view steady_reduction(Backend backend) {
  return backend == Backend::host ? "openmp" : "warp_shuffle";
}

// The histogram of the diagnostics; unasked the last of the backend's ladder.
template <class T>
const HistogramKernel<T>* choose_histogram(const Config& config, Backend backend) {
  return rows_of(config, "solver.histogram", histogram_kernels<T>(), config.solver.histogram, backend).back();
}

template <class Rows>
std::optional<Backend> backend_of(const Rows& rows, std::string_view name) {
  std::optional<Backend> found;
  for (const auto& row : rows) {
    if (row.name != name) continue;
    if (found && *found != row.backend) return std::nullopt;  // a word of both tables binds nothing
    found = row.backend;
  }
  return found;
}

// A fused norm needs a sweep that returns one.
template <class T>
void match_fused(const Config& config, RowChoices<T>& choices) {
  const auto fuses = [](const SweepChoice<T>& c) { return c.row->fuses_norm(); };
  const auto fused = [](const ReductionKernel<T>* row) { return row->fused; };
  if (std::none_of(choices.sweeps.begin(), choices.sweeps.end(), fuses)) {
    if (config.solver.reduction != "auto" && fused(choices.reductions.front())) {
      throw Error(ExitCode::deck,
                  fmt::format("{}: kernel {} returns no norm; use solver.reduction auto, or another kernel",
                              config.at("solver.reduction"), choices.sweeps.front().row->name));
    }
    std::erase_if(choices.reductions, fused);
  } else if (std::all_of(choices.reductions.begin(), choices.reductions.end(), fused)) {
    std::erase_if(choices.sweeps, [&](const SweepChoice<T>& c) { return !fuses(c); });
  }
}

}  // namespace

bool boundaries_vary_in_time(const Config& config) {
  return std::any_of(config.boundaries.begin(), config.boundaries.end(), [](const BoundaryConfig& boundary) {
    return boundary.kind != BoundaryKind::periodic && boundary.value.uses('t');
  });
}

template <class T>
std::string why_no_room(const StencilKernel<T>& row, Int3 block) {
  const Index longest = std::max({block.x, block.y, block.z});
  if (longest <= row.longest_axis) return "";
  return fmt::format("it has room for {} cells along an axis, and a block has {}", row.longest_axis, longest);
}

std::int64_t sweeps_until_due(const Config& config) {
  std::int64_t sweeps = config.problem.check_interval;
  for (const auto& interval : {config.output.diagnostics, config.output.every_steps})
    if (interval) sweeps = std::min(sweeps, *interval);
  return sweeps;
}

int most_fused(const Config& config) {
  if (boundaries_vary_in_time(config)) return 1;
  if (config.solver.time_block) return *config.solver.time_block;
  if (config.solver.halo_width) return *config.solver.halo_width;
  return static_cast<int>(std::clamp<std::int64_t>(sweeps_until_due(config), 1, 64));
}

int most_fused(const Config& config, const Decomposition& decomposition) {
  if (config.parallel.overlap == Overlap::in_kernel && decomposition.ranks() > 1) return 1;
  return exchanges(ghost_sides(decomposition, 0)) ? std::min(most_fused(config), halo_depth(config))
                                                  : most_fused(config);
}

int widest_halo(const Config& config, const Decomposition& decomposition, int most) {
  const SolverConfig& s = config.solver;
  if (s.halo_width) return *s.halo_width;
  const bool stores_faces = config.parallel.overlap == Overlap::in_kernel && decomposition.ranks() > 1;
  // Values of boundaries that vary in time are computed for the ghosts too, for every sweep.
  if (!exchanges(ghost_sides(decomposition, 0)) || stores_faces || boundaries_vary_in_time(config)) return 1;
  if (decomposition.ranks() == 1 && s.kernel != "auto") {  // its own neighbour needs them for time blocks
    const auto table = stencil_kernels<double>();
    const auto named =
        std::find_if(table.begin(), table.end(), [&](const auto& k) { return k.name == s.kernel; });
    if (named != table.end() && named->max_depth == 1) return 1;
  }
  const std::int64_t due = std::min(sweeps_until_due(config), Schedule(config).last());
  const Index thinnest = decomposition.deepest_halo().value_or(1);
  return static_cast<int>(
      std::max<std::int64_t>(1, std::min({std::int64_t{most}, due, std::int64_t{thinnest}})));
}

template <class T>
bool has_row_that_fuses(Backend backend) {
  const auto rows = stencil_kernels<T>();
  return std::any_of(rows.begin(), rows.end(), [&](const StencilKernel<T>& row) {
    return row.backend == backend && row.available() && row.on_trial && row.max_depth > 1 &&
           row.why_unsupported(0).empty();
  });
}

std::string why_no_graph(const Config& config, const Device& device) {
  if (!device.records_graphs()) return "only GPUs have graphs";
  if (boundaries_vary_in_time(config)) return "the host computes the walls that vary in time, sweep by sweep";
  return "";
}

bool settle_graph(const Config& config, bool wanted, const std::string& why_not) {
  if (why_not.empty()) return wanted;
  if (config.solver.cuda_graph == GraphChoice::on) {
    throw Error(ExitCode::deck, fmt::format("{}: sweeps cannot be queued as graphs here ({}); use auto",
                                            config.at("solver.cuda_graph"), why_not));
  }
  return false;
}

bool overlaps(Overlap choice, Backend backend, int ranks) {
  if (choice != Overlap::automatic) return choice != Overlap::off;
  return backend != Backend::host && ranks > 1;
}

template <class T>
RowChoices<T> row_choices(const Config& config, Backend backend, Int3 block) {
  const SolverConfig& s = config.solver;
  RowChoices<T> choices;
  auto rows = rows_of(config, "solver.kernel", stencil_kernels<T>(), s.kernel, backend);
  // The table goes up the ladder: what stands last is what to take unasked.
  std::reverse(rows.begin(), rows.end());
  for (const auto* row : rows) add_policies(config, *row, block, choices.sweeps);
  // Without a trial nobody knows that fusing pays.
  if (s.kernel == "auto")
    std::stable_partition(choices.sweeps.begin(), choices.sweeps.end(),
                          [](const SweepChoice<T>& c) { return !c.can_fuse(); });
  const bool sums = config.problem.norm != Norm::max;
  const std::string reduction =
      s.reduction == "auto" && sums ? std::string(steady_reduction(backend)) : s.reduction;
  choices.reductions = rows_of(config, "solver.reduction", reduction_kernels<T>(), reduction, backend);
  std::stable_partition(choices.reductions.begin(), choices.reductions.end(),
                        [](const auto* row) { return row->fused; });
  match_fused(config, choices);
  choices.histogram = choose_histogram<T>(config, backend);
  return choices;
}

template <class T>
SolverRows<T> choose_rows(const Config& config, Backend backend, Int3 block) {
  const RowChoices<T> choices = row_choices<T>(config, backend, block);
  const SweepChoice<T> sweep = choices.sweeps.front();
  const auto fits = [&](const ReductionKernel<T>* row) { return !row->fused || sweep.row->fuses_norm(); };
  return {sweep, *std::find_if(choices.reductions.begin(), choices.reductions.end(), fits), choices.histogram,
          config.solver.cuda_graph == GraphChoice::on};
}

std::optional<RequiredBackend> required_backend(const Config& config) {
  if (const auto backend = backend_of(stencil_kernels<double>(), config.solver.kernel)) {
    return RequiredBackend{*backend, "solver.kernel"};
  }
  if (const auto backend = backend_of(reduction_kernels<double>(), config.solver.reduction)) {
    return RequiredBackend{*backend, "solver.reduction"};
  }
  if (const auto backend = backend_of(histogram_kernels<double>(), config.solver.histogram)) {
    return RequiredBackend{*backend, "solver.histogram"};
  }
  return std::nullopt;
}

bool exchanges(const GhostSides& sides) {
  return std::any_of(sides.filled.begin(), sides.filled.end(), [](bool filled) { return filled; });
}

std::vector<int> fused_sweeps(int count, const Fusing& fusing) {
  const int alone = fusing.last_alone && count > 0 ? 1 : 0;
  std::vector<int> launches;
  for (int left = count - alone; left > 0; left -= launches.back())
    launches.push_back(std::min(left, fusing.most));
  if (alone) launches.push_back(1);
  return launches;
}

std::vector<PeriodLaunch> launches_of_period(Int3 extent, const GhostSides& sides, int count,
                                             const Fusing& fusing) {
  std::array<bool, face_count> own{};  // ghosts that are copies of this block
  for (std::size_t f = 0; f < face_count; ++f) own[f] = sides.filled[f] && !sides.remote[f];
  std::vector<PeriodLaunch> launches;
  int after = count;
  for (const int sweeps : fused_sweeps(count, fusing)) {
    after -= sweeps;
    const Box region = widened_block(extent, sides.filled, after);
    launches.push_back({sweeps, region, widened_block(extent, own, after),
                        interior_box(extent, region, sides.remote, sweeps)});
  }
  return launches;
}

std::int64_t even_periods(std::int64_t wanted, int depth, int fused) {
  const std::int64_t launches = std::ssize(fused_sweeps(depth, {fused}));
  const std::int64_t unit = launches % 2 == 0 ? depth : 2 * std::int64_t{depth};
  return std::max<std::int64_t>(1, (wanted + unit - 1) / unit) * unit;
}

std::int64_t sweeps_of_a_graph(int depth, int fused) {
  return even_periods(enough_sweeps, depth, fused);
}

std::int64_t whole_periods(std::int64_t wanted, std::int64_t left, int depth) {
  return std::min(left, std::max<std::int64_t>(wanted / depth, 1) * depth);
}

template std::string why_no_room(const StencilKernel<float>&, Int3);
template std::string why_no_room(const StencilKernel<double>&, Int3);
template bool has_row_that_fuses<float>(Backend);
template bool has_row_that_fuses<double>(Backend);
template RowChoices<float> row_choices<float>(const Config&, Backend, Int3);
template RowChoices<double> row_choices<double>(const Config&, Backend, Int3);
template SolverRows<float> choose_rows<float>(const Config&, Backend, Int3);
template SolverRows<double> choose_rows<double>(const Config&, Backend, Int3);

}  // namespace isotherm
