#include "solver/kernel_choice.hpp"

#include <fmt/format.h>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "config/problems.hpp"
#include "physics/varying_sources.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

constexpr std::int64_t enough_sweeps = 16;  // of a graph, so that its launch costs little per sweep

// The kernels of a backend that a name in the deck selects; `auto` selects the candidates.
template <class Registry>
auto kernels_of(const Config& config, const char* key, const Registry& kernels, const std::string& name,
                Backend backend) {
  std::vector<decltype(kernels.data())> found;
  std::string valid;
  for (const auto& kernel : kernels) {
    if (kernel.backend != backend || !kernel.available()) continue;
    if (kernel.name == name || (name == "auto" && kernel.is_candidate)) found.push_back(&kernel);
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", kernel.name);
  }
  if (found.empty())
    throw deck_error(config, key, "'{}' does not run on {}; use auto or one of: {}", name, word(backend),
                     valid);
  return found;
}

// Sweeps per launch that a kernel may fuse: the default first, then the most useful for a measurement. Where
// the deck does not name the kernel, a kernel that can fuse is not tried with single sweeps.
std::vector<int> time_blocks_of(int max_time_block, int most, bool named) {
  most = std::min(most, max_time_block);
  std::vector<int> time_blocks;
  const auto add = [&](int time_block) {
    if (time_block <= most && std::ranges::find(time_blocks, time_block) == time_blocks.end())
      time_blocks.push_back(time_block);
  };
  if (most > 1 && most < 8) add(most);
  for (const int time_block : {4, 8, 2, 6}) add(time_block);
  for (int time_block = 2; time_block <= most; ++time_block) add(time_block);
  if (max_time_block == 1 || named) time_blocks.push_back(1);
  return time_blocks;
}

// Adds the kernel's tiles that the deck allows and that can run such a subdomain on the current device.
template <class T>
void add_tiles(const Config& config, const StencilKernel<T>& kernel, Int3 subdomain,
               std::vector<SweepChoice<T>>& choices) {
  const SolverConfig& s = config.solver;
  if (s.tile != "auto" && std::ranges::find(kernel.tiles, s.tile) == kernel.tiles.end())
    throw deck_error(config, "solver.tile", "'{}' is no tile of kernel {}; use auto or one of: {}", s.tile,
                     kernel.name, fmt::join(kernel.tiles, ", "));
  const std::vector<int> time_blocks =
      time_blocks_of(kernel.max_time_block, longest_time_block(config), s.kernel != "auto");
  std::string unsupported;
  for (int i = 0; i < static_cast<int>(kernel.tiles.size()); ++i) {
    if (s.tile != "auto" && s.tile != kernel.tiles[i]) continue;
    unsupported = why_no_room(kernel, subdomain);
    if (unsupported.empty()) unsupported = kernel.why_unsupported(i);
    for (const int time_block : time_blocks)
      if (unsupported.empty()) choices.push_back({&kernel, i, time_block});
  }
  if (choices.empty() && s.kernel != "auto")
    throw Error(ExitCode::unavailable, fmt::format("{}: '{}' does not run on this device ({}); use auto",
                                                   config.at("solver.kernel"), s.kernel, unsupported));
}

// Bytes of a subdomain below which streaming kernels leave most of a GPU idle, in any precision.
constexpr Index worth_walking = Index{1} << 21;

bool sources_vary_by_sweep(const Config& config) {
  return !takes_long_steps(config) && std::ranges::any_of(config.sources, &RegionValue::uses_time);
}

bool stores_faces(const Config& config, const Decomposition& decomposition) {
  return config.parallel.overlap == Overlap::in_kernel && decomposition.ranks() > 1;
}

// A fused norm needs a sweep that returns one.
template <class T>
void match_fused_norm(const Config& config, Backend backend, KernelChoices<T>& choices) {
  // Where cells are swept again, the launch does not compute their final update.
  const bool sees_all =
      !sources_in_boxes(config) && !(has_several_materials(config) && backend == Backend::cuda);
  const auto fuses = [&](const SweepChoice<T>& c) { return sees_all && c.kernel->fuses_norm(); };
  const auto fused = [](const ReductionKernel<T>* kernel) { return kernel->fused; };
  if (std::none_of(choices.sweeps.begin(), choices.sweeps.end(), fuses)) {
    if (config.solver.reduction != "auto" && fused(choices.reductions.front())) {
      const std::string why =
          sees_all
              ? fmt::format("kernel {} returns no norm", choices.sweeps.front().kernel->name)
              : "some cells are swept again (at interfaces of materials, in the boxes of sources that vary "
                "in time), and sweeps have not seen their update";
      throw deck_error(config, "solver.reduction", "{}; use solver.reduction auto, or another kernel", why);
    }
    std::erase_if(choices.reductions, fused);
  } else if (std::all_of(choices.reductions.begin(), choices.reductions.end(), fused)) {
    std::erase_if(choices.sweeps, [&](const SweepChoice<T>& c) { return !fuses(c); });
  }
}

}  // namespace

bool may_fuse(const SolverConfig& solver) {
  const auto table = stencil_kernels<double>();
  const auto named = std::ranges::find(table, solver.kernel, &StencilKernel<double>::name);
  return named == table.end() || named->max_time_block > 1;
}

bool values_vary_by_sweep(const Config& config) {
  return sources_vary_by_sweep(config) || (!takes_long_steps(config) && boundaries_use_time(config));
}
bool sources_fill_a_field(const Config& config) {
  return sources_vary_by_sweep(config) && !sources_in_boxes(config);
}

std::int64_t sweeps_until_due(const Config& config) {
  std::int64_t intervals = config.problem.check_interval;
  for (const auto& interval : {config.output.diagnostics, config.output.every_steps})
    if (interval) intervals = std::min(intervals, *interval);
  const Method method = make_method(config);
  return method.is_taken_whole() ? method.in_a_row : intervals * method.cycle();
}

int longest_time_block(const Config& config) {
  if (sources_fill_a_field(config)) return 1;
  if (config.solver.time_block) return *config.solver.time_block;
  if (config.solver.halo_width) return *config.solver.halo_width;
  return static_cast<int>(std::clamp<std::int64_t>(sweeps_until_due(config), 1, 64));
}

int longest_time_block(const Config& config, const Decomposition& decomposition) {
  if (stores_faces(config, decomposition)) return 1;
  const int longest = longest_time_block(config);
  return decomposition.max_halo_width() ? std::min(longest, ghost_layers(config)) : longest;
}

int widest_halo(const Config& config, const Decomposition& decomposition, int most) {
  const SolverConfig& s = config.solver;
  if (s.halo_width) return *s.halo_width;
  if (sources_fill_a_field(config)) return 1;  // wider halos would need exchanges of the source too
  const std::optional<Index> thinnest = decomposition.max_halo_width();  // none: no exchanges
  if (!thinnest || stores_faces(config, decomposition)) return 1;
  if (decomposition.ranks() == 1 && !may_fuse(s)) return 1;  // periodic: only time blocks need wider halos
  const std::int64_t due = std::min(sweeps_until_due(config), Schedule(config).last());
  return static_cast<int>(std::max<std::int64_t>(1, std::min({std::int64_t{most}, due, *thinnest})));
}

std::string why_no_graph(const Config& config, Backend backend) {
  if (backend == Backend::host) return "only GPUs have graphs";
  if (values_vary_by_sweep(config)) return "boundaries or sources vary in time";
  return "";
}

bool settle_graph(const Config& config, bool wanted, const std::string& why_not) {
  if (why_not.empty()) return wanted;
  if (config.solver.cuda_graph == GraphChoice::on)
    throw deck_error(config, "solver.cuda_graph", "sweeps cannot be queued as graphs here ({}); use auto",
                     why_not);
  return false;
}

template <class T>
KernelChoices<T> kernel_choices(const Config& config, Backend backend, Int3 subdomain) {
  const SolverConfig& s = config.solver;
  KernelChoices<T> choices;
  auto kernels = kernels_of(config, "solver.kernel", stencil_kernels<T>(), s.kernel, backend);
  if (has_several_materials(config))
    std::erase_if(kernels, [](const auto* kernel) { return !kernel->sweeps_materials; });
  if (has_several_materials(config) ? coefficients_use_time(config) : has_varying_coefficients(config))
    std::erase_if(kernels, [](const auto* kernel) { return !kernel->takes_varying_a(); });
  // The registry is in the order of the ladder: its last entry is the default.
  std::reverse(kernels.begin(), kernels.end());
  for (const auto* kernel : kernels) add_tiles(config, *kernel, subdomain, choices.sweeps);
  // Fusing may not pay: without a measurement it is the default only in whole cycles, which allow none.
  const bool fuses = make_method(config).is_taken_whole();
  const Index bytes = subdomain.product() * static_cast<Index>(sizeof(T));
  const bool small = bytes > 0 && bytes < worth_walking;
  if (s.kernel == "auto")
    std::ranges::stable_sort(choices.sweeps, {}, [&](const SweepChoice<T>& c) {
      return std::pair(c.is_temporal() != fuses, c.kernel->suits_small_blocks != small);
    });
  // Sums of two reduction kernels differ in their last digits, and so would the sweep at which a run stops.
  // So `auto` takes one fixed kernel for sums, unless cycles are executed whole: they prefer the fused one.
  const bool sums = config.problem.norm != Norm::max && !fuses;
  const char* const steady = backend == Backend::host ? "openmp" : "warp_shuffle";
  const std::string reduction = s.reduction == "auto" && sums ? steady : s.reduction;
  choices.reductions = kernels_of(config, "solver.reduction", reduction_kernels<T>(), reduction, backend);
  std::stable_partition(choices.reductions.begin(), choices.reductions.end(),
                        [](const auto* kernel) { return kernel->fused; });
  match_fused_norm(config, backend, choices);
  choices.histogram =  // the default is the last of the ladder
      kernels_of(config, "solver.histogram", histogram_kernels<T>(), s.histogram, backend).back();
  return choices;
}

std::optional<RequiredBackend> required_backend(const Config& config) {
  const DeviceChoice asked = config.parallel.device;
  std::optional<RequiredBackend> found;
  if (asked != DeviceChoice::automatic)
    found = {asked == DeviceChoice::cuda ? Backend::cuda : Backend::host, "parallel.device"};
  const auto check = [&](const char* key, std::string_view name, const auto& registry) {
    const auto is_on = [&](Backend backend) {
      return std::ranges::any_of(
          registry, [&](const auto& kernel) { return kernel.name == name && kernel.backend == backend; });
    };
    const bool on_gpu = is_on(Backend::cuda);  // a name on both backends selects neither
    if (!found && on_gpu != is_on(Backend::host)) found = {on_gpu ? Backend::cuda : Backend::host, key};
  };
  check("solver.kernel", config.solver.kernel, stencil_kernels<double>());
  check("solver.reduction", config.solver.reduction, reduction_kernels<double>());
  check("solver.histogram", config.solver.histogram, histogram_kernels<double>());
  return found;
}

std::vector<int> launch_sizes(int count, int most, bool last_alone) {
  const int alone = last_alone && count > 0 ? 1 : 0;
  std::vector<int> launches;
  for (int left = count - alone; left > 0; left -= launches.back()) launches.push_back(std::min(left, most));
  if (alone) launches.push_back(1);
  return launches;
}

std::vector<PeriodLaunch> launches_of_period(Int3 extent, const GhostSides& sides, int count, int most,
                                             bool last_alone) {
  std::array<bool, face_count> own{};  // faces whose ghosts are copies of cells of this subdomain
  for (std::size_t f = 0; f < face_count; ++f) own[f] = sides.filled[f] && !sides.remote[f];
  std::vector<PeriodLaunch> launches;
  int after = count;
  for (const int sweeps : launch_sizes(count, most, last_alone)) {
    after -= sweeps;
    const Box region = widened_subdomain(extent, sides.filled, after);
    launches.push_back({sweeps, region, widened_subdomain(extent, own, after),
                        interior_box(extent, region, sides.remote, sweeps)});
  }
  return launches;
}

std::int64_t launches_of(std::int64_t sweeps, int period, int fused) {
  const auto of_period = [&](std::int64_t count) {
    return std::ssize(launch_sizes(static_cast<int>(count), fused));
  };
  return sweeps / period * of_period(period) + of_period(sweeps % period);
}

std::int64_t sweeps_of_a_graph(int period, int fused, std::int64_t cycle) {
  const std::int64_t unit = cycle == 1 ? period : cycle;
  const std::int64_t even = launches_of(unit, period, fused) % 2 == 0 ? unit : 2 * unit;
  return cycle == 1 ? (enough_sweeps + even - 1) / even * even : even;
}

template <class T>
std::string why_no_room(const StencilKernel<T>& kernel, Int3 subdomain) {
  const auto [x, y, z] = subdomain;
  if (const Index longest = std::max({x, y, z}); longest > kernel.longest_axis)
    return fmt::format("it has room for {} cells along an axis, and a subdomain has {}", kernel.longest_axis,
                       longest);
  constexpr Index edges = 2 * 64;
  if (x + edges <= kernel.largest_plane / (y + edges)) return "";
  return fmt::format("it has room for {} cells in a plane across z, and a subdomain has {} x {} with ghosts",
                     kernel.largest_plane, x + edges, y + edges);
}

template std::string why_no_room(const StencilKernel<float>&, Int3);
template std::string why_no_room(const StencilKernel<double>&, Int3);
template KernelChoices<float> kernel_choices<float>(const Config&, Backend, Int3);
template KernelChoices<double> kernel_choices<double>(const Config&, Backend, Int3);

}  // namespace isotherm
