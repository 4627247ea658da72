#include "app/ending.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "physics/boundaries.hpp"
#include "physics/coverage.hpp"
#include "physics/operator.hpp"
#include "physics/slowest_mode.hpp"
#include "solver/method.hpp"

namespace isotherm {

std::string swallowed_heat_text(const Config& config, const SwallowedHeat& heat) {
  constexpr double least_share = 0.01;  // the rims of a gaussian are always lost
  if (!(heat.lost > least_share * heat.all)) return {};
  const bool transient = config.problem.kind == ProblemKind::transient;
  const std::string longer =
      transient && time_plan(config).dt < 0.99 * stable_dt(config)
          ? fmt::format(", or a larger problem.dt (the stability limit is {:.6g} s)", stable_dt(config))
          : "";
  return fmt::format(
      "fp32 loses {:.3g} % of the heat of sources and flux boundaries: what a {} adds to these cells is less "
      "than half the last digit of their temperature, which stays as it is; use precision: fp64{}",
      100 * heat.lost / heat.all, transient ? "step" : "sweep", longer);
}

namespace {

constexpr const char* anew_words = "start it again";

// The distance from a temperature to the next, K.
double last_digit(const Config& config, double temperature) {
  return config.precision == Precision::fp32
             ? std::nextafter(static_cast<float>(temperature), std::numeric_limits<float>::infinity()) -
                   static_cast<float>(temperature)
             : std::nextafter(temperature, std::numeric_limits<double>::infinity()) - temperature;
}

// Upwards to two digits, so that it can be remembered.
std::int64_t rounded_up(double count) {
  const double unit = std::pow(10.0, std::max(std::floor(std::log10(count)) - 1, 0.0));
  return static_cast<std::int64_t>(std::ceil(count / unit) * unit);
}

std::string remedy(const Config& config, const std::string& tolerance) {
  return config.precision == Precision::fp32 ? tolerance + ", or precision: fp64 in a new run" : tolerance;
}

std::string stagnation_text(const Config& config, const Residual& r, double largest, double unit) {
  return fmt::format(
      "the residual stopped falling at {:.3g} K, above the tolerance of {:.3g} K: the last digit of {} is "
      "{:.2g} K at {:.4g} K, and by it the slowest mode may be off by about {:.2g} K; use {}",
      *r.last, config.problem.tolerance * unit, word(config.precision), last_digit(config, largest), largest,
      *r.last / slowest_decay(config),
      remedy(config, fmt::format("a tolerance of {:.2g} or more", 2 * *r.last / unit)));
}

std::string unconverged_text(const Config& config, const Residual& r, double largest, double unit,
                             std::int64_t sweeps, const std::string& next) {
  const double tolerance = config.problem.tolerance * unit, decay = make_method(config).decay;
  std::string text =
      fmt::format("not converged: after {} sweeps the residual is {:.3g} K, the tolerance {:.3g} K", sweeps,
                  *r.last, tolerance);
  const double digit = last_digit(config, largest);
  if (tolerance < digit)
    return text + fmt::format(", which is below the last digit of the temperatures ({:.2g} K); use {}", digit,
                              remedy(config, "a larger problem.tolerance"));
  const double missing = std::log(*r.last / tolerance) / decay;
  if (!(decay > 0 && missing < 1e15)) return text;
  const double all = static_cast<double>(sweeps) + 1.1 * missing;
  const std::string enough =
      config.problem.max_cycles
          ? fmt::format("max_cycles={}", rounded_up(all / static_cast<double>(sweeps_of_cycle(config))))
          : fmt::format("max_sweeps={}", rounded_up(all));
  return text + fmt::format("; about {} more are likely to be needed: {} problem.{}", rounded_up(missing),
                            next, enough);
}

}  // namespace

std::string next_command(const CommandLine& command, const std::string& directory, bool kept,
                         std::string_view anew) {
  const auto words = without(without(command.overrides, anew), kept ? "" : "output.overwrite");
  return fmt::format("{}: {} {}", kept ? "go on with" : anew_words, run_words(command, words),
                     kept ? "--restart " + shell_word(directory) : "output.overwrite=true");
}

std::string stopped_text(const LoopOutcome& outcome, std::int64_t sweeps, const std::string& next) {
  return fmt::format("stopped by {} at sweep {}{}; {}", outcome.stopped_by, sweeps,
                     next.starts_with(anew_words) ? " (it has left no checkpoint)" : "", next);
}

std::string steady_end_text(const Config& config, const LoopOutcome& outcome, std::int64_t sweeps,
                            const std::string& next) {
  const Residual& r = outcome.residual;
  if (!r.last || !(config.problem.tolerance > 0)) return {};
  const double unit = r.criterion == Criterion::relative ? *r.first : 1;
  if (r.convergence == Convergence::stagnated)
    return stagnation_text(config, r, outcome.largest_temperature, unit);
  if (r.convergence == Convergence::not_reached)
    return unconverged_text(config, r, outcome.largest_temperature, unit, sweeps, next);
  return {};
}

namespace {

// The largest number among boundaries and initial values, "boundaries.x_min.value is 1e11"; empty where it is
// ordinary.
std::string extraordinary_value(const Config& config) {
  constexpr double ordinary = 1e6;  // K
  double largest = ordinary;
  std::string text;
  const auto look = [&](const std::string& key, double value, double kelvin) {
    if (!(std::abs(kelvin) > largest)) return;
    largest = std::abs(kelvin);
    text = fmt::format("{} is {:g}", config.at(key), value);
  };
  for (int f = 0; f < face_count; ++f) {
    const auto face = static_cast<std::size_t>(f);
    const BoundaryConfig& boundary = config.boundaries[face];
    if (boundary.kind == BoundaryKind::periodic || !boundary.value.is_constant()) continue;
    const double value = boundary.value(0, 0, 0, 0);
    look(fmt::format("boundaries.{}.{}", face_names[face],
                     boundary.kind == BoundaryKind::convection ? "ambient" : "value"),
         value, value * boundary_law(config, static_cast<Face>(f)).slope);
  }
  for (std::size_t i = 0; i < config.initial.size(); ++i)
    if (const auto value = config.initial[i].value) look(fmt::format("initial.{}.value", i), *value, *value);
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const RegionValue& source = config.sources[i];
    look(fmt::format("sources.{}.{}", i, source.power ? "power" : "value"),
         source.power.value_or(source.value.value_or(0)),
         source_strength(config, source) * source_scale(config));
  }
  return text;
}

std::string remedy_of(const Config& config, double residual) {
  const std::string limit = fmt::format("{:.6g} s", stable_dt(config));
  if (config.problem.kind == ProblemKind::transient && time_plan(config).dt > stable_dt(config))
    return fmt::format("keep problem.dt below the stability limit {} and look at boundaries and sources",
                       limit);
  std::string why;
  if (std::isfinite(residual))
    why = fmt::format("it changed by {:.3g} K in a sweep, more than 1e9 K; ", residual);
  if (config.problem.kind == ProblemKind::transient)
    why += fmt::format("problem.dt is stable (at most {}); ", limit);
  const std::string value = extraordinary_value(config);
  return why +
         (value.empty() ? "look at boundaries and sources" : "look at the values of the deck: " + value);
}

}  // namespace

template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked, double residual) {
  const ExtremeCell extreme = solver.most_extreme_cell();
  const std::string state = std::isinf(extreme.magnitude)
                                ? std::string("is not finite")
                                : fmt::format("has reached {:.3g} K", extreme.magnitude);
  const std::string what =
      fmt::format("cell ({}, {}, {}) {}", extreme.cell.x, extreme.cell.y, extreme.cell.z, state);
  const std::int64_t here = solver.sweeps();
  return fmt::format("diverged: {} after sweep {} (residuals are checked every {} sweeps{}); {}", what, here,
                     config.problem.check_interval * sweeps_of_cycle(config),
                     checked < here ? fmt::format(" and looked at late: that of sweep {} told", checked) : "",
                     remedy_of(config, residual));
}

template std::string divergence(const Config&, Solver<float>&, std::int64_t, double);
template std::string divergence(const Config&, Solver<double>&, std::int64_t, double);

}  // namespace isotherm
