#include "physics/exact.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <vector>

#include "physics/cells.hpp"
#include "physics/exact_solutions.hpp"

namespace isotherm {
namespace {

class FormulaField final : public ExactField {
 public:
  explicit FormulaField(const Expression& formula) : formula_(formula) {}
  double operator()(double x, double y, double z, double t) const override { return formula_(x, y, z, t); }
  std::unique_ptr<ExactField> clone() const override { return std::make_unique<FormulaField>(*this); }

 private:
  Expression formula_;
};

struct RowErrors {
  double max = 0, sum_squares = 0;

  void add(double error) {
    if (!(error <= max) && !std::isnan(max)) max = error;  // a NaN comes in, and stays
    sum_squares += error * error;
  }
};

}  // namespace

Error does_not_fit(const Config& config, const std::string& why, const std::string& remedy) {
  return {ExitCode::deck, fmt::format("{}: {} does not fit the deck ({}); {}", config.at("verify.solution"),
                                      word(config.verify.solution), why, remedy)};
}

bool is_insulated(const BoundaryConfig& boundary) {
  if (boundary.kind == BoundaryKind::flux)
    return boundary.value.is_constant() && boundary.value(0, 0, 0) == 0;
  return boundary.kind == BoundaryKind::insulated;
}

std::unique_ptr<ExactField> make_exact(const Config& config) {
  switch (config.verify.solution) {
    case ExactSolution::none:
      return nullptr;
    case ExactSolution::decaying_mode:
      return make_decaying_mode(config);
    case ExactSolution::steady_profile:
      return make_steady_profile(config);
    case ExactSolution::manufactured:
      return make_manufactured(config);
    case ExactSolution::slab_series:
      return make_slab_series(config);
    case ExactSolution::formula:
      break;
  }
  if (!config.verify.formula)
    throw Error(ExitCode::deck, config.at("verify.formula") +
                                    ": missing (solution formula needs one); give a formula of x, y, z, t");
  return std::make_unique<FormulaField>(*config.verify.formula);
}

template <class T>
VerificationErrors verification_errors(const Config& config, FieldView<const T> field, Box subdomain,
                                       const ExactField& exact, double t) {
  const CellCentres centre(config);
  const Int3 extent = subdomain.extent();
  std::vector<std::unique_ptr<ExactField>> copies(static_cast<std::size_t>(omp_get_max_threads()));
  for (auto& copy : copies) copy = exact.clone();
  // One result a row, added up in order afterwards: the same sum for every number of threads.
  std::vector<RowErrors> rows(static_cast<std::size_t>(extent.y * extent.z));
#pragma omp parallel for collapse(2) schedule(static) num_threads(static_cast <int>(copies.size()))
  for (Index z = 0; z < extent.z; ++z) {
    for (Index y = 0; y < extent.y; ++y) {
      const ExactField& solution = *copies[static_cast<std::size_t>(omp_get_thread_num())];
      RowErrors& row = rows[static_cast<std::size_t>(y + z * extent.y)];
      for (Index x = 0; x < extent.x; ++x) {
        const Vector3 at = centre(subdomain.lo + Int3{x, y, z});
        row.add(std::abs(static_cast<double>(field(x, y, z)) - solution(at[0], at[1], at[2], t)));
      }
    }
  }
  RowErrors all;
  for (const RowErrors& row : rows) {
    const double before = all.sum_squares;
    all.add(row.max);
    all.sum_squares = before + row.sum_squares;
  }
  const double cells = static_cast<double>(subdomain.cells());
  return {all.max, cells > 0 ? std::sqrt(all.sum_squares / cells) : 0, all.sum_squares};
}

template VerificationErrors verification_errors(const Config&, FieldView<const float>, Box, const ExactField&,
                                                double);
template VerificationErrors verification_errors(const Config&, FieldView<const double>, Box,
                                                const ExactField&, double);

}  // namespace isotherm
