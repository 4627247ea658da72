// `isotherm bench solve`: the time of each method to reach a steady field, on all ranks.

#include <algorithm>
#include <numeric>

#include "app/bench/bench.hpp"
#include "app/session.hpp"
#include "config/deck.hpp"
#include "config/materials.hpp"
#include "config/problems.hpp"
#include "core/all_or_throw.hpp"
#include "core/hash.hpp"
#include "core/statistics.hpp"
#include "kernels/semicoarsening.hpp"
#include "solver/multigrid.hpp"
#include "solver/prediction.hpp"
#include "solver/solver.hpp"

namespace isotherm {
namespace {

constexpr double tolerance = 1e-8;  // of the first l2 residual

// Temperature 0 at all faces, source and conductivity 1, start 0.
constexpr const char* cube =
    R"deck(material: {conductivity: 1}
boundaries: {x_min: &cold {kind: temperature, value: 0}, x_max: *cold,
             y_min: *cold, y_max: *cold, z_min: *cold, z_max: *cold}
initial: [{shape: constant, value: 0}]
sources: [{shape: constant, value: 1}]
)deck";

// The steady problem of a box of cubic cells, longest edge 1, or of a deck on its own cells or on `cells`.
Config config_of(const Bench& bench, MethodName method, Int3 cells, Precision precision) {
  const BenchOptions& options = bench.options;
  const bool is_cube = options.deck.empty();
  std::vector<std::string> overrides{
      fmt::format("problem={{kind: steady, norm: l2, method: {}}}", word(method)), "precision=fp64"};
  if (is_cube || !options.sizes.empty())
    overrides.push_back(fmt::format("grid.cells=[{}, {}, {}]", cells.x, cells.y, cells.z));
  if (is_cube)
    overrides.push_back(fmt::format("grid.spacing={}", 1.0 / std::max({cells.x, cells.y, cells.z})));
  Config config = all_or_throw(bench.world, [&] {
    if (is_cube) return parse_deck(cube, "bench_solve", overrides, registry_names());
    const std::string text = read_deck_file(options.deck);
    const Config own = parse_deck(text, options.deck, {}, registry_names());
    if (own.problem.kind == ProblemKind::transient)
      throw deck_error(own, "problem.kind", "bench solve is for steady problems; name a deck of one");
    if (own.problem.method == method)
      overrides[0] = "problem.norm=l2";  // keeps the keys of this method
    else if (const auto& mean = own.problem.mean_temperature)
      overrides[0].insert(overrides[0].size() - 1, fmt::format(", mean_temperature: {}", *mean));
    return parse_deck(text, options.deck, overrides, registry_names());
  });
  check_all_cells(config, bench.world);
  config.precision = precision;
  config.solver.ghosts = widest_halo(config, decompose(config, bench.world.size(), bench.device.backend()));
  return config;
}

template <class T>
class SolveBench {
 public:
  SolveBench(const Bench& bench, const Config& config)
      : SolveBench(bench, config, decompose(config, bench.world.size(), bench.device.backend())) {}

  Json measure() {
    const std::vector<double> seconds = samples([&] { solve(); }, [&] { start_anew(); });
    const std::int64_t cycle = solver_.level().method().cycle();
    Json entry = figures(config_, seconds, solver_.own_sweeps() / cycle, residual_);
    entry["sweeps"] = solver_.own_sweeps();
    if (config_.problem.method == MethodName::multigrid) describe_cycle(entry);
    return entry;
  }

  // The equations of the change of the initial field; their coefficients are conductances of faces.
  Equations equations() {
    Level<T>& level = solver_.level();
    start_anew();
    solver_.step().refresh_ghosts();
    level.fill_boundaries(level.whole());
    const BodyConductances<T> body{level.materials(), level.boundaries().boundaries(), level.extent()};
    Equations all;
    for_each_cell({{}, level.extent()}, [&](Int3 cell) {
      double faces[face_count], sum = body.ground_of(cell);
      for (int f = 0; f < face_count; ++f) {
        sum += faces[f] = body.face(f / 2, f % 2 == 1, cell);
        if (body.at_boundary(f / 2, f % 2 == 1, cell)) faces[f] = 0;
      }
      const double heat = level.source().empty() ? level.coefficients().heat : level.source()(cell);
      all.rows.push_back(sum > 0 ? sum : 1);  // no change in a void
      for (const double each : faces) all.rows.push_back(-each);
      all.sources.push_back(sum > 0 ? body.residual(level.field(), cell, heat) : 0);
    });
    return all;
  }

  static Json figures(const Config& config, const std::vector<double>& seconds, std::int64_t cycles,
                      double residual) {
    return {{"solve_s", spread_json(seconds)},
            {"cycles", cycles},
            {"unknowns_per_s", static_cast<double>(config.grid.cells.product()) / median(seconds)},
            {"relative_residual", residual},
            {"samples", {{"solve_s", seconds}}}};
  }

 private:
  SolveBench(const Bench& bench, const Config& config, const Decomposition& decomposition)
      : bench_(bench),
        config_(config),
        solver_(config, decomposition, bench.world, bench.device,
                kernels(config, bench.device, decomposition.subdomain(0).extent())) {}

  // The usual choice of the autotuner on large grids: a temporal kernel that is queued as graphs.
  static SolverKernels<T> kernels(const Config& config, const Device& device, Int3 extent) {
    const KernelChoices<T> choices = kernel_choices<T>(config, device.backend(), extent);
    SolverKernels<T> chosen = default_kernels(config, choices);
    const auto temporal = std::ranges::find_if(choices.sweeps, &SweepChoice<T>::is_temporal);
    if (temporal != choices.sweeps.end()) chosen.sweep = *temporal;
    chosen.graph = device.backend() == Backend::cuda;
    return chosen;
  }

  // Seconds of the slowest rank. Omits the first sample, which includes work that later ones do not repeat.
  std::vector<double> samples(
      const std::function<void()>& work, const std::function<void()>& prepare = [] {}) {
    std::vector<double> seconds;
    for (int i = 0; i <= bench_.options.repeats; ++i) {
      prepare();
      solver_.synchronize();
      seconds.push_back(bench_.seconds([&] {
        work();
        solver_.synchronize();
      }));
    }
    return {seconds.begin() + 1, seconds.end()};
  }

  void start_anew() {
    solver_.level().initialise();
    solver_.level().count_from(0);
    solver_.step().invalidate_ghosts();
  }

  // Solves from the start to the tolerance as a run does: with a check after every cycle.
  void solve() {
    const std::int64_t most = 100000 / solver_.level().method().cycle();  // fp32 stalls above the tolerance
    residual_ = isotherm::solve(solver_, tolerance, most).relative_residual;
  }

  // Measures a V cycle and the share of each grid.
  void describe_cycle(Json& entry) {
    const std::int64_t cycle = solver_.level().method().cycle();
    const double seconds = median(samples([&] { solver_.sweep(cycle); }));
    entry["cycle_s"] = seconds;
    if (!solver_.level().method().by_correction) {
      const double least = least_of_cycle();
      entry["least_cycle_s"] = least;
      entry["least_share_percent"] = 100 * least / seconds;
    }
    solver_.time_phases();
    solver_.reset_times();
    solver_.sweep(cycle);
    std::vector<double> all;
    for (const TimedGrid& each : solver_.timed()) all.push_back(bench_.slowest(sum_of(each.clock->times)));
    for (std::size_t i = 0; i < all.size(); ++i)
      entry["levels"].push_back(
          {{"cells", solver_.timed()[i].cells},
           {"share_percent", 100 * all[i] / std::accumulate(all.begin(), all.end(), 0.0)}});
  }

  // The least seconds that a cycle could take: sweeps at the rate of the finest grid, and the bytes of
  // restriction and interpolation at the copy bandwidth. Coarser grids count by their cells.
  double least_of_cycle() {
    const std::int64_t cycle = solver_.level().method().cycle();
    const double sweeps = median(samples([&] { solver_.step().advance(cycle); }));
    const auto copy = make_copy_probe(bench_.device, solver_.level().current().bytes());
    const double copies = median(samples([&] {
      copy->enqueue(bench_.stream);
      bench_.device.synchronize(bench_.stream);
    }));
    // Restriction reads field and source, interpolation reads and writes the field; an eighth each is coarse.
    const double moved = (2 + 2 + 0.25) * static_cast<double>(solver_.subdomain().cells()) * sizeof(T);
    double cells = 0;
    for (const TimedGrid& each : solver_.timed()) cells += static_cast<double>(each.cells.product());
    return (sweeps + moved / copy->bytes() * copies) * cells / config_.grid.cells.product();
  }

  const Bench& bench_;
  const Config& config_;
  Solver<T> solver_;
  double residual_ = 0;
};

// The equations of the problem without a deck. Beyond a boundary at temperature 0 the neighbour is -T.
Equations uniform_equations(Int3 cells, Box block) {
  Equations all;
  for_each_cell(block, [&](Int3 at) {
    const std::size_t diagonal = all.rows.size();
    all.rows.push_back(0);
    for (int axis = 0; axis < 3; ++axis)
      for (const bool outside : {at[axis] == 0, at[axis] == cells[axis] - 1}) {
        all.rows[diagonal] += outside ? 2 : 1;
        all.rows.push_back(outside ? 0 : -1);
      }
    all.sources.push_back(1);
  });
  return all;
}

Json measure_hypre(const Bench& bench, const Config& config) {
  const Box block = decompose(config, bench.world.size(), Backend::host).subdomain(bench.world.rank());
  const Equations equations = has_several_materials(config) ? SolveBench<double>(bench, config).equations()
                                                            : uniform_equations(config.grid.cells, block);
  std::vector<double> seconds;
  HypreSolve solve;
  for (int i = 0; i < bench.options.repeats; ++i) {
    solve = solve_by_hypre(bench.world, block, equations, tolerance);
    seconds.push_back(bench.slowest(solve.seconds));
  }
  return SolveBench<double>::figures(config, seconds, solve.cycles, solve.relative_residual);
}

std::vector<std::string_view> names(Backend backend) {
  std::vector<std::string_view> all{word(MethodName::multigrid), word(MethodName::chebyshev)};
  if (backend == Backend::host && has_hypre()) all.push_back("hypre");
  return all;
}

std::vector<Json> measure_solutions(const Bench& bench, Int3 cells, Precision precision) {
  std::vector<Json> entries;
  for (const std::string_view name : names(bench.device.backend())) {
    if (!is_wanted(name, bench.options)) continue;
    const bool hypre = name == "hypre";
    Config config = config_of(bench, MethodName::multigrid, cells, precision);
    const bool several = has_several_materials(config), multigrid = name == word(MethodName::multigrid);
    const char* why = hypre && precision != Precision::fp64 ? "only in fp64" : nullptr;
    if (hypre && !several && !bench.options.deck.empty()) why = "only several materials";
    if (!hypre && !multigrid && precision == Precision::mixed) why = "only in fp32 and fp64";
    if (!multigrid && several && mean_is_free(config)) why = "only where a boundary fixes the temperature";
    if (!why && !hypre && !multigrid)
      config = config_of(bench, *from_word<MethodName>(name), cells, precision);
    Json& e =
        entries.emplace_back(Json{{"method", name}, {"precision", precision}, {"cells", config.grid.cells}});
    if (why)
      e.update({{"verdict", "skipped"}, {"note", why}, {"solve_s", nullptr}});
    else if (hypre)
      e.update(measure_hypre(bench, config));
    else
      e.update(with_number(precision, [&]<class T>(T) { return SolveBench<T>(bench, config).measure(); }));
  }
  return entries;
}

// Two fields, the source, a quarter more for coarse grids, two arrays to copy; hypre: 25 fields at 128^3,
// counted as 30.
BenchMemory solver_memory(const Bench& bench, Int3 cells, Precision precision) {
  constexpr double of_halo = 1.5, ours = 3 * 1.25 + 2, of_hypre = 30;
  const double field = field_bytes(cells, 0, precision) / bench.world.size() * of_halo;
  const double ranks_here = bench.world.split_by_host().size();
  if (!bench.on_host()) return {ours * field, 2 * field};
  const bool hypre = has_hypre() && is_wanted("hypre", bench.options);
  return {0, ranks_here * std::max(ours, hypre ? of_hypre : 0) * field};
}

}  // namespace

std::string deck_contents(const std::string& path) {
  Config config = parse_deck(read_deck_file(path), path, {}, registry_names());
  record_contents(config);
  config.output = {};
  return contents_text(hash_of(to_yaml(config)));
}

const Subject solve_subject{names, solver_memory, measure_solutions};

}  // namespace isotherm
