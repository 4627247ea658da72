#include "app/ending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "physics/slowest_mode.hpp"

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
      "than half "
      "the last digit of their temperature, which stays as it is; use precision: fp64{}",
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
  const double tolerance = config.problem.tolerance * unit, decay = slowest_decay(config);
  std::string text =
      fmt::format("not converged: after {} sweeps the residual is {:.3g} K, the tolerance {:.3g} K", sweeps,
                  *r.last, tolerance);
  const double digit = last_digit(config, largest);
  if (tolerance < digit)
    return text + fmt::format(", which is below the last digit of the temperatures ({:.2g} K); use {}", digit,
                              remedy(config, "a larger problem.tolerance"));
  const double missing = std::log(*r.last / tolerance) / decay;
  if (!(decay > 0 && missing < 1e15)) return text;
  return text + fmt::format("; about {} more are likely to be needed: {} problem.max_sweeps={}",
                            rounded_up(missing), next,
                            rounded_up(static_cast<double>(sweeps) + 1.1 * missing));
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

}  // namespace isotherm
