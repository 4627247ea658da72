// Exact solutions of the deck's problem, for `verify` and for initial states of shape `exact`.
#pragma once

#include <functional>
#include <optional>

#include "config/config.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// Arguments in metres and seconds.
struct ExactField {
  std::function<double(double x, double y, double z, double t)> temperature;  // K
  // The heat source that makes it a solution, W/m^3; 0 except for manufactured solutions.
  std::function<double(double x, double y, double z)> source = [](double, double, double) { return 0.0; };

  double operator()(double x, double y, double z, double t) const { return temperature(x, y, z, t); }
};

// Empty if verify.solution is none. Throws Error(deck), with the reason, if the deck does not fit.
std::optional<ExactField> make_exact(const Config& config);

struct VerificationErrors {
  double max = 0;          // K; NaN as soon as one cell is
  double sum_squares = 0;  // K^2, over this subdomain's cells, each times its volume over the first cell's
};

// The errors of the subdomain's cells at time t; `field` is in host memory. Independent of the thread count.
template <class T>
VerificationErrors verification_errors(const Config& config, FieldView<const T> field, Box subdomain,
                                       const ExactField& exact, double t);

}  // namespace isotherm
