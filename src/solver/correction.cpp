#include <optional>
#include <type_traits>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "kernels/change.hpp"
#include "physics/operator.hpp"
#include "solver/material_correction.hpp"
#include "solver/multigrid.hpp"

namespace isotherm {

// What boundaries hold does not change.
Config config_of_change(const Config& config) {
  Config change = config;
  ProblemConfig& problem = change.problem;
  if (config.precision == Precision::mixed) change.precision = Precision::fp32;
  if (is_implicit(config)) problem.implicit_dt = implicit_share(config) * time_plan(config).dt;
  problem.kind = ProblemKind::steady;
  problem.method = MethodName::multigrid;
  clear_values(change.boundaries);
  change.initial.clear();
  change.sources.clear();
  return change;
}

namespace {

template <class T, class Change>
class CorrectionBy : public Correction<T> {
 public:
  explicit CorrectionBy(Step<T>& step) : CorrectionBy(step, config_of_change(step.level().config())) {}

  void take(bool from_the_start) override {
    solve(1, 1, from_the_start);
    level_.advance_in_place(level_.method().cycle());
  }

  void solve(double scale, int cycles, bool from_the_start) override {
    const ChangeTransfer<T, Change>& transfer = change_transfer<T, Change>(level_.device().backend());
    const Config& config = level_.config();
    follow_step();
    level_.wait_for_copy(true);  // the field is changed in place
    step_.refresh_ghosts();
    level_.fill_boundaries(level_.whole());
    if (sum_)
      multigrid_.want_mean(*config.problem.mean_temperature - sum_->mean(level_.field(), config.grid.cells));
    step_.timed(Phase::sweep, [&] {
      transfer.find_defect({level_.field(), level_.source(), level_.coefficients(),
                            change_.source_field().view(), level_.whole(), static_cast<T>(scale * scale_)},
                           level_.compute());
      change_.set_zero();
    });
    change_step_.forget_ghosts();
    if (exchanges(change_.sides())) step_.timed(Phase::halo, [&] { change_.exchange_source(); });
    for (int i = 0; i < cycles; ++i) multigrid_.take(i == 0 && from_the_start);
    step_.timed(Phase::sweep, [&] {
      transfer.add(change_.field(), level_.current().view(), level_.whole(), level_.compute());
    });
    step_.forget_ghosts();
  }

  void time_phases() override {
    change_step_.time_phases();
    multigrid_.time_phases();
  }
  std::vector<TimedGrid> timed() override {
    std::vector<TimedGrid> all = multigrid_.timed();
    all.insert(all.begin(), {change_.config().grid.cells, &change_step_.times});
    return all;
  }

 private:
  CorrectionBy(Step<T>& step, const Config& config)
      : level_(step.level()),
        step_(step),
        is_coarsest_(coarse_grids(config, level_.decomposition()).empty()),
        change_(config, level_.decomposition(), level_.communicator(), level_.device(),
                {.method = is_coarsest_ ? coarsest_method(config) : make_method(config),
                 .compute = level_.compute()}),
        change_step_(change_,
                     smoothing_kernel<Change>(config, level_.decomposition(), level_.device().backend())),
        multigrid_(change_step_),
        dt_(level_.dt()) {
    weigh();
    if (mean_is_free(config))
      sum_.emplace(level_.communicator(), level_.device(), level_.extent(), level_.compute());
  }

  // Its length, and coefficients of boundaries at the time of the stage.
  void follow_step() {
    const Config& config = level_.config();
    if (level_.dt() == dt_ && !coefficients_use_time(config)) return;
    dt_ = level_.dt();
    const double dt = dt_ * implicit_share(config), time = level_.values_time();
    change_.use_stage(dt, time, is_coarsest_);
    multigrid_.use_stage(dt, time);
    weigh();
  }

  // Of the update of a sweep of the unit weight: inversely as the diagonals.
  void weigh() { scale_ = half_diagonal(level_.config()) / half_diagonal(change_.config()); }

  Level<T>& level_;
  Step<T>& step_;
  bool is_coarsest_;
  Level<Change> change_;
  Step<Change> change_step_;
  Multigrid<Change> multigrid_;
  std::optional<FieldSum<T>> sum_;  // where no boundary fixes the mean
  double dt_, scale_ = 1;
};

}  // namespace

template <class T>
std::unique_ptr<Correction<T>> make_correction(Step<T>& step) {
  if (has_several_materials(step.level().config())) return make_material_correction(step);
  if constexpr (std::is_same_v<T, double>)
    if (step.level().config().precision == Precision::mixed)
      return std::make_unique<CorrectionBy<T, float>>(step);
  return std::make_unique<CorrectionBy<T, T>>(step);
}

std::size_t correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                             Backend backend) {
  if (has_several_materials(config)) return material_correction_bytes(config, decomposition, rank, backend);
  const Config change = config_of_change(config);
  return level_bytes(change, decomposition.subdomain(rank).extent(), backend) +
         coarse_bytes(change, decomposition, rank, backend);
}

template std::unique_ptr<Correction<float>> make_correction(Step<float>&);
template std::unique_ptr<Correction<double>> make_correction(Step<double>&);

}  // namespace isotherm
