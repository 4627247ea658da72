#include "solver/correction.hpp"

#include <optional>
#include <type_traits>

#include "kernels/change.hpp"
#include "physics/operator.hpp"
#include "solver/coarsening.hpp"

namespace isotherm {
namespace {

// What boundaries hold does not change.
Config config_of_change(const Config& config) {
  Config change = config;
  ProblemConfig& problem = change.problem;
  if (config.precision == Precision::mixed) change.precision = Precision::fp32;
  if (is_implicit(config)) problem.implicit_dt = implicit_share(config) * time_plan(config).dt;
  problem.kind = ProblemKind::steady;
  problem.method = MethodName::multigrid;
  for (BoundaryConfig& boundary : change.boundaries) boundary.value = 0.0;
  change.initial.clear();
  change.sources.clear();
  return change;
}

template <class T, class Change>
class CorrectionBy : public Correction<T> {
 public:
  CorrectionBy(Level<T>& level, Step<T>& step, SolverTimes& times)
      : CorrectionBy(level, step, times, config_of_change(level.config())) {}

  void solve(double scale, int cycles, bool from_the_start) override {
    const ChangeTransfer<T, Change>& transfer = change_transfer<T, Change>(level_.device().backend());
    level_.wait_for_copy(true);  // the field is changed in place
    step_.refresh_ghosts();
    level_.fill_all_boundaries(level_.whole());
    if (mean_) multigrid_.want_mean(*level_.config().problem.mean_temperature - mean_->find());
    Timer timer;
    transfer.find_defect({level_.field(), level_.source(), level_.coefficients(),
                          change_.source_field().view(), level_.whole(), static_cast<T>(scale * scale_)},
                         level_.compute());
    change_.set_zero();
    change_step_.forget_ghosts();
    step_.settle();
    times_.sweep += timer.lap();
    if (exchanges(change_.sides())) change_.exchange_source();
    step_.settle();
    times_.halo += timer.seconds();
    for (int i = 0; i < cycles; ++i) multigrid_.cycle(i == 0 && from_the_start);
    timer = Timer();
    transfer.add(change_.field(), level_.current().view(), level_.whole(), level_.compute());
    step_.forget_ghosts();
    step_.settle();
    times_.sweep += timer.seconds();
  }

  void use_step(double dt) override {
    if (dt == dt_) return;
    dt_ = dt;
    change_.use_implicit_dt(dt * implicit_share(level_.config()), is_coarsest_);
    multigrid_.use_implicit_dt(dt * implicit_share(level_.config()));
    weigh();
  }

  void time_phases() override {
    change_step_.time_phases();
    multigrid_.time_phases();
  }
  std::vector<TimedGrid> timed() override {
    std::vector<TimedGrid> all{{change_.config().grid.cells, &change_times_}};
    for (const TimedGrid& each : multigrid_.timed()) all.push_back(each);
    return all;
  }

 private:
  CorrectionBy(Level<T>& level, Step<T>& step, SolverTimes& times, const Config& config)
      : level_(level),
        step_(step),
        times_(times),
        is_coarsest_(coarse_grids(config, level.decomposition()).empty()),
        change_(config, level.decomposition(), level.communicator(), level.device(),
                is_coarsest_ ? coarsest_method(config) : make_method(config), level.compute()),
        change_step_(change_,
                     smoothing_kernel<Change>(config, level.decomposition(), level.device().backend()),
                     change_times_),
        multigrid_(change_, change_step_, change_times_),
        dt_(level.dt()) {
    weigh();
    if (mean_is_free(config)) mean_.emplace(level);
  }

  // Of the update of a sweep of the unit weight: inversely as the diagonals.
  void weigh() { scale_ = half_diagonal(level_.config()) / half_diagonal(change_.config()); }

  Level<T>& level_;
  Step<T>& step_;
  SolverTimes &times_, change_times_{};
  bool is_coarsest_;
  Level<Change> change_;
  Step<Change> change_step_;
  Multigrid<Change> multigrid_;
  std::optional<FieldMean<T>> mean_;
  double dt_, scale_ = 1;
};

}  // namespace

template <class T>
std::unique_ptr<Correction<T>> make_correction(Level<T>& level, Step<T>& step, SolverTimes& times) {
  if constexpr (std::is_same_v<T, double>)
    if (level.config().precision == Precision::mixed)
      return std::make_unique<CorrectionBy<T, float>>(level, step, times);
  return std::make_unique<CorrectionBy<T, T>>(level, step, times);
}

std::size_t correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                             Backend backend) {
  const Config change = config_of_change(config);
  const std::size_t size = change.precision == Precision::fp32 ? 4 : 8;
  const FieldLayout layout = FieldLayout::make(decomposition.subdomain(rank).extent(), ghost_layers(change),
                                               size, row_alignment(backend));
  return 3 * size * static_cast<std::size_t>(layout.elements) +
         coarse_bytes(change, decomposition, rank, backend);
}

template std::unique_ptr<Correction<float>> make_correction(Level<float>&, Step<float>&, SolverTimes&);
template std::unique_ptr<Correction<double>> make_correction(Level<double>&, Step<double>&, SolverTimes&);

}  // namespace isotherm
