#include "solver/material_correction.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "config/boundary_laws.hpp"
#include "kernels/conjugate_steps.hpp"
#include "solver/diagnosis.hpp"
#include "solver/material_multigrid.hpp"
#include "solver/zeroed_field.hpp"

namespace isotherm {
namespace {

template <class T>
class MaterialCorrection : public Correction<T> {
 public:
  explicit MaterialCorrection(Step<T>& step)
      : step_(step),
        level_(step.level()),
        multigrid_(level_.config(), level_.decomposition(), level_.communicator(), level_.device(),
                   has_ground(level_.config()), level_.compute(),
                   [this](int along, bool above, FieldView<float> to, Box cells) {
                     kernels().take_conductances(body(), along, above, to, cells, level_.compute());
                   }),
        last_(zeroed_field<float>(level_.communicator(), level_.device(), level_.extent(), 0)),
        image_(zeroed_field<float>(level_.communicator(), level_.device(), level_.extent(), 0)),
        sums_(level_.device(), conjugate_products * sizeof(LongAccumulator)) {
    if (mean_is_free(level_.config()))
      sum_.emplace(level_.communicator(), level_.device(), level_.extent(), level_.compute());
  }

  void take(bool from_the_start) override {
    solve(1, v_cycles(level_.config()), from_the_start);
    restore_mean();
    level_.advance_in_place(level_.method().cycle());
  }

  void solve(double scale, int cycles, bool) override {
    if (level_.dt() != dt_) {
      dt_ = level_.dt();
      multigrid_.take_ground();
    }
    if (coefficients_use_time(level_.config())) multigrid_.take_faces();
    level_.wait_for_copy(true);  // the field is changed in place
    step_.refresh_ghosts();
    level_.fill_boundaries(level_.whole());
    step_.timed(Phase::sweep, [&] {
      kernels().find_residual_of_body(body(), static_cast<T>(scale), level_.field(), level_.source(),
                                      multigrid_.finest().source().view(), level_.whole(), level_.compute());
    });
    for (int i = 0; i < cycles; ++i) {
      if (i == 0) last_product_ = 0;
      multigrid_.v_cycle();
      add_correction();
    }
    step_.forget_ghosts();
  }

  void time_phases() override { multigrid_.time_phases(); }
  std::vector<TimedGrid> timed() override { return multigrid_.timed(); }

 private:
  const Semicoarsening<T>& kernels() const { return semicoarsening<T>(level_.device().backend()); }
  BodyConductances<T> body() {
    BodyConductances<T> body{level_.materials(), level_.boundaries().boundaries(), level_.extent()};
    const Config& config = level_.config();
    if (is_implicit(config))
      body.storage = static_cast<T>(time_plan(config).dt / (dt_ * implicit_share(config)));
    return body;
  }

  ConjugateFields<T> fields() {
    ConductanceGrid& grid = multigrid_.finest();
    return {level_.current().view(),
            grid.source().view(),
            std::as_const(grid.current()).view(),
            std::as_const(grid.other()).view(),
            last_.view(),
            image_.view(),
            level_.whole()};
  }

  // Where no boundary fixes it, the mean over the volume of the body becomes that of the deck.
  void restore_mean() {
    if (!sum_) return;
    const BodyCells& body = level_.body();
    LongAccumulator sum = sum_->mine(level_.field(), level_.materials(), body.weights);
    level_.communicator().template all_reduce<std::int64_t>(sum.word, ReduceOp::sum);
    const double mean = sum.rounded() / body.volume;
    conjugate_steps<T>(level_.device().backend())
        .take(fields(), {0, 0, *level_.config().problem.mean_temperature - mean}, level_.compute());
    if (level_.has_void()) level_.hold_voids();
  }

  void add_correction() {
    ConductanceGrid& grid = multigrid_.finest();
    const ConjugateSteps<T>& steps = conjugate_steps<T>(level_.device().backend());
    const ConjugateFields<T> fields = this->fields();
    ConjugateParts parts;
    grid.exchange(grid.current());
    grid.timed(Phase::sweep, [&] {
      kernels().find_residual(grid.faces(), {.axis = -1}, fields.correction, {}, grid.other().view(),
                              level_.whole(), level_.compute());
    });
    if (level_.config().problem.accelerate == Acceleration::cg)
      grid.timed(Phase::reduction, [&] {
        steps.products(fields, sums_.template as<LongAccumulator>(), level_.compute());
        parts = best_parts();
      });
    grid.timed(Phase::sweep, [&] { steps.take(fields, parts, level_.compute()); });
  }

  // Those that leave the least error in the norm of A; all of the correction, and a new beginning, where
  // rounding spoils them.
  ConjugateParts best_parts() {
    std::array<LongAccumulator, conjugate_products> sums;
    level_.device().copy(sums.data(), sums_.data(), sums_.bytes(), level_.compute());
    level_.device().synchronize(level_.compute());
    std::array<double, conjugate_products> of{};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      level_.communicator().template all_reduce<std::int64_t>(sums[i].word, ReduceOp::sum);
      of[i] = sums[i].rounded();
    }
    const double d_Ad = std::exchange(last_product_, 0), determinant = of[z_Az] * d_Ad - of[z_Ad] * of[z_Ad];
    double of_correction = of[r_z] / of[z_Az], of_last = 0;
    constexpr double independent = 1e-12, most = 100;
    if (determinant > independent * of[z_Az] * d_Ad) {
      of_correction = of[r_z] * d_Ad / determinant;
      of_last = -of[r_z] * of[z_Ad] / determinant;
    }
    if (!(of_correction > 0 && of_correction < most && std::abs(of_last) < most)) return {};
    last_product_ =
        of_correction * (of_correction * of[z_Az] + 2 * of_last * of[z_Ad]) + of_last * of_last * d_Ad;
    return {static_cast<float>(of_correction), static_cast<float>(of_last)};
  }

  Step<T>& step_;
  Level<T>& level_;
  double dt_ = level_.dt();
  MaterialMultigrid multigrid_;
  Field<float> last_, image_;  // the last step and what it takes from the residual
  double last_product_ = 0;    // of these two; 0: there is no last step
  Buffer sums_;
  std::optional<FieldSum<T>> sum_;  // where no boundary fixes the mean
};

}  // namespace

template <class T>
std::unique_ptr<Correction<T>> make_material_correction(Step<T>& step) {
  return std::make_unique<MaterialCorrection<T>>(step);
}

std::size_t material_correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                      Backend backend) {
  const FieldLayout layout =
      FieldLayout::make(decomposition.subdomain(rank).extent(), 0, sizeof(float), row_alignment(backend));
  return 2 * sizeof(float) * static_cast<std::size_t>(layout.elements) +
         material_grid_bytes(config, decomposition, rank, backend);
}

template std::unique_ptr<Correction<float>> make_material_correction(Step<float>&);
template std::unique_ptr<Correction<double>> make_material_correction(Step<double>&);

}  // namespace isotherm
