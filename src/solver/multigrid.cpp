#include "solver/multigrid.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/all_or_throw.hpp"
#include "core/error.hpp"
#include "kernels/field_algebra.hpp"
#include "kernels/grid_transfer.hpp"
#include "physics/operator.hpp"
#include "solver/gathering.hpp"

namespace isotherm {
namespace {

// The kernel of the smoothing sweeps: the default, without a measurement.
template <class T>
SweepChoice<T> smoothing_kernel(const Config& config, const Decomposition& decomposition, Backend backend) {
  const Int3 largest = decomposition.subdomain(0).extent();
  return fitting(kernel_choices<T>(config, backend, largest).sweeps.front(), config, decomposition);
}

// A coarse level, and the tables of transfers to and from the next finer one, of this rank, on the device.
template <class T>
struct CoarseLevel {
  CoarseLevel(const CoarseGrid& grid, bool coarsest, const Communicator& communicator, Level<T>& fine,
              Stream compute)
      : level(grid.config, grid.decomposition, communicator, fine.device(),
              {.compute = compute, .coarsest = coarsest}),
        step(level, smoothing_kernel<T>(grid.config, grid.decomposition, fine.device().backend())) {
    make_tables(fine, grid);
    weigh(fine.config());
  }

  void make_tables(Level<T>& fine, const CoarseGrid& grid) {
    const Decomposition& finer = fine.decomposition();
    const int rank = fine.communicator().rank();
    const Int3 n = fine.config().grid.cells, m = grid.config.grid.cells;
    const Int3 fine_lo = fine.subdomain().lo, lo = level.subdomain().lo;
    std::vector<Box> parts;
    for (int r = 0; r < finer.ranks(); ++r)
      parts.push_back(restricted_by(r, finer, grid).shifted(Int3{0, 0, 0} - lo));
    restricted = parts[finer.ranks() == 1 ? 0 : static_cast<std::size_t>(rank)];
    if (grid.whole && fine.communicator().size() > 1)
      gathering.emplace(fine.communicator(), fine.device(), level.source_field(), parts);
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<CellOverlap<T>> each_overlap;
      for (Index cell = 0; cell < level.extent()[axis]; ++cell) {
        const CellOverlap<double> global = overlap_of(cell + lo[axis], n[axis], m[axis]);
        CellOverlap<T> local{static_cast<int>(global.first - fine_lo[axis]), global.count};
        for (int i = 0; i < 3; ++i) local.share[i] = static_cast<T>(global.share[i]);
        each_overlap.push_back(local);
      }
      if (!restricted.empty()) {
        const CellOverlap<T>& last = each_overlap[restricted.hi[axis] - 1];
        read.lo[axis] = each_overlap[restricted.lo[axis]].first;
        read.hi[axis] = last.first + last.count;
      }
      overlaps[axis] = copied_to(fine.device(), each_overlap);
    }
    const auto is_even = [](Int3 i) { return (i.x | i.y | i.z) % 2 == 0; };
    restricts_nested = n == m + m && read.lo.x % 2 == 0;
    prolongs_nested = n == m + m && is_even(fine_lo) && is_even(fine.extent());
    find_interpolations(fine);
  }

  void find_interpolations(const Level<T>& fine) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto coarse_lo = static_cast<int>(level.subdomain().lo[axis]);
      std::vector<Interpolation<T>> each;
      for (Index cell = 0; cell < fine.extent()[axis]; ++cell) {
        Interpolation<T> local =
            between(level.config(), axis, cell + fine.subdomain().lo[axis], fine.config().grid.cells[axis]);
        local.lower -= coarse_lo;
        local.upper -= coarse_lo;
        each.push_back(local);
      }
      interpolations[axis] = copied_to(fine.device(), each);
    }
  }

  // Scale of the restricted residual (the update of a unit sweep): inverse ratio of the diagonals.
  void weigh(const Config& fine) {
    scale = static_cast<T>(half_diagonal(fine) / half_diagonal(level.config()));
  }

  // `cell`: global. Beyond a boundary of the coarse grid, which holds 0, the ghost is a T.
  static Interpolation<T> between(const Config& coarse, int axis, Index cell, Index fine) {
    const Index cells = coarse.grid.cells[axis];
    const AxisInterpolation at = interpolation_of(cell, fine, cells);
    const auto lower = static_cast<int>(at.lower);
    double lower_weight = 1 - at.upper_weight, upper_weight = at.upper_weight;
    const bool below = at.lower < 0, above = at.lower + 1 == cells && upper_weight > 0;
    const Face nearest = face(axis, above);
    const bool periodic = coarse.boundaries[static_cast<int>(nearest)].kind == BoundaryKind::periodic;
    if (upper_weight == 0) return {lower, lower, static_cast<T>(lower_weight), T(0)};
    if (periodic || !(below || above))
      return {lower, lower + 1, static_cast<T>(lower_weight), static_cast<T>(upper_weight)};
    const double a = mean_a(coarse, nearest, conductivity(coarse));
    const int there = below ? 0 : lower;
    return {there, there,
            static_cast<T>(below ? upper_weight + a * lower_weight : lower_weight + a * upper_weight), T(0)};
  }

  Level<T> level;
  Step<T> step;
  Box restricted;  // the cells to which this rank restricts
  Box read{};      // cells of the finer level that restriction reads
  Buffer overlaps[3], interpolations[3];
  T scale = 0;
  bool restricts_nested = false, prolongs_nested = false;  // Restriction::nested, Prolongation::nested
  std::optional<Gathering<T>> gathering;  // if this level is whole on every rank and the finer one is not
};

// Stores `scale` times the update of a sweep of the unit weight in `defect` (may be empty), and its norm.
template <class T, class Change>
void find_defect(Step<T>& step, FieldView<Change> defect, double scale, const UpdateNorm& norm) {
  Level<T>& level = step.level();
  step.refresh_ghosts();
  level.fill_boundaries(level.whole());
  step.clock.timed(Phase::sweep, [&] {
    ChangeTransfer<T, Change>::on(level.device().backend())
        .find_defect({level.field(), level.source(), level.coefficients(), defect, level.whole(),
                      static_cast<T>(scale), norm},
                     level.compute());
  });
}
template <class T>
bool finds_norms(const Level<T>& level) {
  return ChangeTransfer<T, T>::on(level.device().backend()).norm_scratch_bytes != nullptr;
}

template <class T>
class Multigrid : public WholeCycle {
 public:
  // As make_multigrid(): collective, throws CollectiveError where the finest level has too few ghosts.
  // `finest` must outlive it.
  explicit Multigrid(Step<T>& finest) : finest_(finest), self_(Communicator::self()) {
    Level<T>& field = finest.level();
    const Communicator& ranks = field.communicator();
    const std::vector<CoarseGrid> grids =
        coarse_grids(field.config(), field.decomposition(), field.device().backend());
    if (!grids.empty()) widen_halo(grids.front());
    for (const CoarseGrid& grid : grids) {
      Level<T>& finer = level(coarse_.size());
      const bool whole = grid.whole && ranks.size() > 1;
      const auto make = [&] {
        return std::make_unique<CoarseLevel<T>>(grid, &grid == &grids.back(), whole ? self_ : ranks, finer,
                                                field.compute());
      };
      coarse_.push_back(whole ? all_or_throw(ranks, make) : make());
      if (coarse_.back()->gathering) coarse_.back()->gathering->connect(finer.halo());
    }
    if (mean_is_free(field.config())) wanted_mean_ = field.config().problem.mean_temperature;
    if (!can_be_recorded()) return;
    // Recording also loads the kernels, so the first cycle does not pay for that.
    field.record(start_, [&] { start(); });
    field.record(v_cycle_, [&] { v_cycle(0); });
  }

  // One V cycle; with `from_the_start` after a full multigrid cycle, which starts on the coarsest level and
  // interpolates its solution to each finer one (Brandt 1977, section 4).
  void take(bool from_the_start) override {
    if (from_the_start) run(start_, [&] { start(); });
    run(v_cycle_, [&] { v_cycle(0); });
  }
  bool find_norm(const UpdateNorm& norm) override {
    if (!finds_norms(level(0))) return false;
    find_defect(finest_, FieldView<T>{}, 1, norm);
    return true;
  }
  // Level::use_stage() for all coarse levels; call it after that of the finest.
  void use_stage(double dt, double time) {
    for (std::size_t i = 1; i <= coarse_.size(); ++i) {
      level(i).use_stage(dt, time);
      coarse_[i - 1]->weigh(level(i - 1).config());
      if (coefficients_use_time(level(i).config())) coarse_[i - 1]->find_interpolations(level(i - 1));
    }
    start_.starts_at = v_cycle_.starts_at = nullptr;  // coefficients in the graphs are out of date
  }
  // Where no boundary fixes the mean of the field, K; the default is that of the deck.
  void want_mean(double kelvin) { wanted_mean_ = kelvin; }

  std::vector<TimedGrid> timed() override {
    std::vector<TimedGrid> all;
    for (const auto& each : coarse_) all.push_back({each->level.config().grid.cells, &each->step.clock});
    return all;
  }

 private:
  Step<T>& step(std::size_t i) { return i == 0 ? finest_ : coarse_[i - 1]->step; }
  Level<T>& level(std::size_t i) { return step(i).level(); }

  // Widens the halo to the layers that restriction to the next grid reads.
  void widen_halo(const CoarseGrid& next) {
    const Level<T>& field = finest_.level();
    const Config& config = field.config();
    const Index needed = transfer_reach(field.decomposition(), next).fine;
    StepPlan<T> plan = finest_.plan();
    if (!exchanges(field.sides()) || plan.halo_width >= needed) return;
    if (needed > ghost_layers(config))  // fewer than why_too_thin() found to be possible
      throw CollectiveError(
          ExitCode::memory,
          fmt::format("multigrid needs a halo of {} layers between these subdomains, and the memory suffices "
                      "for {}; use more ranks, or precision: fp32",
                      needed, ghost_layers(config)));
    plan.halo_width = static_cast<int>(needed);
    finest_.use(plan);
  }

  std::int64_t sweeps_before(std::size_t i) {  // before the correction from the next grid; all, if last
    const std::int64_t cycle = level(i).method().cycle();
    return i == coarse_.size() ? cycle : cycle / 2;
  }

  // `is_zero`: the field of the finer level is 0, ghosts included. `sweeps`: also makes a first sweep.
  void restrict_to(std::size_t i, bool is_zero, bool sweeps) {
    CoarseLevel<T>& coarse = *coarse_[i - 1];
    Step<T>& finer = step(i - 1);
    Level<T>& fine = finer.level();
    const auto table = [&](int axis) { return coarse.overlaps[axis].template as<const CellOverlap<T>>(); };
    const GridTransfer<T>& transfer = GridTransfer<T>::on(fine.device().backend());
    const Boundary<T>* const faces = fine.boundaries().boundaries().faces;
    const bool own_x = transfer.computes_uniform_x && coarse.restricts_nested && faces[0].is_uniform() &&
                       faces[1].is_uniform();
    if (!is_zero) {
      finer.refresh_ghosts();
      fine.fill_boundaries(coarse.read, {own_x, false, false});
    }
    finer.clock.timed(Phase::sweep, [&] {
      transfer.restrict_residual({fine.field(),
                                  fine.source(),
                                  fine.coefficients(),
                                  coarse.level.source_field().view(),
                                  coarse.restricted,
                                  coarse.scale,
                                  {table(0), table(1), table(2)},
                                  coarse.restricts_nested,
                                  {own_x ? faces[0] : Boundary<T>{}, own_x ? faces[1] : Boundary<T>{}},
                                  sweeps ? coarse.level.current().view() : FieldView<T>{},
                                  coarse.level.next_coefficients()},
                                 fine.compute());
      if (!sweeps) coarse.level.set_zero();
      coarse.step.invalidate_ghosts();
    });
    finer.clock.timed(Phase::halo, [&] {
      if (coarse.gathering) coarse.gathering->gather(fine.compute());
      if (exchanges(coarse.level.sides())) coarse.level.exchange(coarse.level.source_field());
    });
  }

  void prolong_from(std::size_t i, double shift) {
    CoarseLevel<T>& coarse = *coarse_[i - 1];
    Step<T>& finer = step(i - 1);
    Level<T>& fine = finer.level();
    const auto table = [&](int axis) {
      return coarse.interpolations[axis].template as<const Interpolation<T>>();
    };
    coarse.step.refresh_ghosts();
    finer.clock.timed(Phase::sweep, [&] {
      GridTransfer<T>::on(fine.device().backend())
          .prolong_add({coarse.level.field(),
                        fine.current().view(),
                        fine.whole(),
                        static_cast<T>(shift),
                        {table(0), table(1), table(2)},
                        coarse.prolongs_nested},
                       fine.compute());
    });
    finer.invalidate_ghosts();
  }

  // Can restriction make the first sweep of this coarse grid, from a field of 0? Not if that saves a launch:
  // a graph needs an even number of launches.
  bool begins_swept(std::size_t i) {
    const std::int64_t sweeps = sweeps_before(i);
    return !coarse_[i - 1]->gathering && step(i).launches(sweeps - 1) == step(i).launches(sweeps);
  }

  // `without_first`: the first sweep of this grid has been made.
  void v_cycle(std::size_t i, bool without_first = false) {
    const std::int64_t cycle = level(i).method().cycle();
    if (without_first) level(i).advance_in_place(1);
    step(i).advance(sweeps_before(i) - (without_first ? 1 : 0));
    if (i == coarse_.size()) return;
    const bool swept = begins_swept(i + 1);
    restrict_to(i + 1, false, swept);
    v_cycle(i + 1, swept);
    // Interpolation changes the mean of an error where cells do not nest; this deviation converges too.
    prolong_from(i + 1, i == 0 && wanted_mean_ ? *wanted_mean_ - level(0).mean() : 0);
    step(i).advance(cycle / 2);
  }

  void start() {
    level(0).wait_for_copy(true);  // the field is changed in place; a V cycle first writes the other one
    for (std::size_t i = 1; i <= coarse_.size(); ++i) restrict_to(i, i > 1, false);
    for (std::size_t i = coarse_.size(); i > 0; --i) {
      v_cycle(i);
      prolong_from(i, 0);
    }
  }

  // Launching a graph is faster than queueing. No graph if the host gathers, finds means or times phases.
  bool can_be_recorded() {
    const Config& config = level(0).config();
    if (coarse_.empty()) return false;  // the number of launches need not be even
    if (config.solver.cuda_graph == GraphChoice::off || finest_.clock.waits || wanted_mean_) return false;
    if (!why_no_graph(config, level(0).device().backend()).empty()) return false;
    for (std::size_t i = 0; i <= coarse_.size(); ++i)
      if (!level(i).halo().why_not_recordable().empty() ||
          (i > 0 && coarse_[i - 1]->gathering && coarse_[i - 1]->gathering->needs_host()))
        return false;
    return true;
  }

  // Runs a cycle as a graph. Each grid has an even number of launches, so its current field stays the same.
  void run(RecordedSweeps<T>& recorded, const std::function<void()>& work) {
    if (!recorded.graph || finest_.clock.waits) return work();
    Level<T>& field = level(0);
    field.wait_for_copy(true);  // the second launch would overwrite the field
    if (recorded.starts_at != field.field().origin) field.record(recorded, work);
    finest_.clock.timed(Phase::sweep, [&] { field.launch(recorded, false); });
  }

  Step<T>& finest_;
  Communicator self_;
  std::vector<std::unique_ptr<CoarseLevel<T>>> coarse_;  // the finest first
  std::optional<double> wanted_mean_;                    // K; none where boundaries fix it
  RecordedSweeps<T> start_, v_cycle_;                    // graphs only where can_be_recorded()
};

template <class T, class Change>
class CorrectionBy : public Correction<T> {
 public:
  explicit CorrectionBy(Step<T>& step) : CorrectionBy(step, config_of_change(step.level().config())) {}

  void take(bool from_the_start) override {
    solve(1, 1, from_the_start);
    level_.advance_in_place(level_.method().cycle());
  }

  // Also stores the source of the next cycle.
  bool find_norm(const UpdateNorm& norm) override {
    if (is_implicit(level_.config()) || !finds_norms(level_)) return false;
    find_defect(step_, change_.source_field().view(), scale_, norm);
    has_source_of_ = level_.sweeps();
    return true;
  }

  void solve(double scale, int cycles, bool from_the_start) override {
    follow_step();
    const Config& config = level_.config();
    if (mean_is_free(config)) multigrid_.want_mean(*config.problem.mean_temperature - level_.mean());
    if (has_source_of_ != level_.sweeps())
      find_defect(step_, change_.source_field().view(), scale * scale_, {});
    has_source_of_.reset();
    step_.clock.timed(Phase::sweep, [&] { change_.set_zero(); });
    change_step_.invalidate_ghosts();
    if (exchanges(change_.sides()))
      step_.clock.timed(Phase::halo, [&] { change_.exchange(change_.source_field()); });
    for (int i = 0; i < cycles; ++i) multigrid_.take(i == 0 && from_the_start);
    level_.wait_for_copy(true);  // the field is changed in place
    step_.clock.timed(Phase::sweep, [&] {
      ChangeTransfer<T, Change>::on(level_.device().backend())
          .add(change_.field(), level_.current().view(), level_.whole(), level_.compute());
    });
    step_.invalidate_ghosts();
  }

  std::vector<TimedGrid> timed() override {
    std::vector<TimedGrid> all = multigrid_.timed();
    all.insert(all.begin(), {change_.config().grid.cells, &change_step_.clock});
    return all;
  }

 private:
  CorrectionBy(Step<T>& step, const Config& config)
      : level_(step.level()),
        step_(step),
        change_(
            config, level_.decomposition(), level_.communicator(), level_.device(),
            {.compute = level_.compute(),
             .coarsest = coarse_grids(config, level_.decomposition(), level_.device().backend()).empty()}),
        change_step_(change_,
                     smoothing_kernel<Change>(config, level_.decomposition(), level_.device().backend())),
        multigrid_(change_step_),
        dt_(level_.dt()) {
    weigh();
  }

  // Adopts the step's length, and the boundary coefficients at the time of the stage.
  void follow_step() {
    const Config& config = level_.config();
    if (level_.dt() == dt_ && !coefficients_use_time(config)) return;
    dt_ = level_.dt();
    const double dt = dt_ * implicit_share(config), time = level_.times_of_values().front();
    change_.use_stage(dt, time);
    multigrid_.use_stage(dt, time);
    weigh();
  }

  // Scale of the update of a sweep of the unit weight: inverse ratio of the diagonals.
  void weigh() {
    scale_ = half_diagonal(level_.config()) / half_diagonal(change_.config());
    if (is_implicit(level_.config()) && sizeof(Change) == sizeof(float)) demand_digits();
  }
  // A change of the slowest mode has a residual of lambda times itself. Rounding adds about the error of a
  // cell over the root of the number of cells. A steady problem recomputes its residual after each cycle.
  void demand_digits() const {
    constexpr double most = 1e-5;
    const Config& config = level_.config();
    const double left = std::numeric_limits<float>::epsilon() / 2 /
                        (sweep_spectrum(change_.config()).lowest * std::sqrt(config.grid.cells.product()));
    if (left > most)
      throw CollectiveError(
          ExitCode::deck, fmt::format("{}: cycles in fp32 cannot tell the mean of this body from rounding in "
                                      "steps so long; use fp64, or shorter steps",
                                      config.at("precision")));
  }

  Level<T>& level_;
  Step<T>& step_;
  Level<Change> change_;
  Step<Change> change_step_;
  Multigrid<Change> multigrid_;
  double dt_, scale_ = 1;
  std::optional<std::int64_t> has_source_of_;  // the sweep whose residual find_norm() has stored for solve()
};

}  // namespace

template <class T>
std::unique_ptr<WholeCycle> make_multigrid(Step<T>& finest) {
  return std::make_unique<Multigrid<T>>(finest);
}

template <class T>
std::unique_ptr<Correction<T>> make_correction(Step<T>& step) {
  if (has_several_materials(step.level().config())) return make_material_correction(step);
  if constexpr (std::is_same_v<T, double>)
    if (step.level().config().precision == Precision::mixed)
      return std::make_unique<CorrectionBy<T, float>>(step);
  return std::make_unique<CorrectionBy<T, T>>(step);
}

// The values of boundaries do not change, so the change has boundary values of 0.
Config config_of_change(const Config& config) {
  Config change = config;
  ProblemConfig& problem = change.problem;
  if (config.precision == Precision::mixed) change.precision = Precision::fp32;
  if (is_implicit(config)) problem.implicit_dt = implicit_share(config) * time_plan(config).dt;
  problem.kind = ProblemKind::steady;
  problem.method = MethodName::multigrid;
  make_homogeneous(change);
  return change;
}

std::size_t multigrid_bytes(const Config& config, const Decomposition& decomposition, int rank,
                            Backend backend) {
  const Method method = make_method(config);
  if (method.by_correction && has_several_materials(config))
    return material_correction_bytes(config, decomposition, rank, backend);
  if (!method.by_correction && !method.has_coarse_grids) return 0;
  const auto of_level = [&](const Config& grid, Box block) {  // two fields and the source
    return 3 * field_bytes(block.extent(), ghost_layers(grid), element_bytes(grid), backend);
  };
  const Config finest = method.by_correction ? config_of_change(config) : config;
  std::size_t bytes = method.by_correction ? of_level(finest, decomposition.subdomain(rank)) : 0;
  for (const CoarseGrid& grid : coarse_grids(finest, decomposition, backend)) {
    const Box block = grid.decomposition.subdomain(grid.whole ? 0 : rank);
    bytes += of_level(grid.config, block);
    if (grid.whole && decomposition.ranks() > 1) bytes += element_bytes(finest) * block.cells();
  }
  return bytes;
}

template std::unique_ptr<WholeCycle> make_multigrid(Step<float>&);
template std::unique_ptr<WholeCycle> make_multigrid(Step<double>&);
template std::unique_ptr<Correction<float>> make_correction(Step<float>&);
template std::unique_ptr<Correction<double>> make_correction(Step<double>&);

}  // namespace isotherm
