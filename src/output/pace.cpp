#include "output/pace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"

namespace isotherm {
namespace {

constexpr double memory = 120;      // s, after which what was seen counts 1/e
constexpr double least_seen = 0.5;  // s

}  // namespace

void Pace::reached(std::int64_t sweep, double seconds) {
  if (reached_) {
    const double passed = std::max(seconds - reached_->seconds, 0.0), fade = std::exp(-passed / memory);
    sweeps_ = fade * sweeps_ + static_cast<double>(sweep - reached_->sweep);
    seconds_ = fade * seconds_ + passed;
    seen_ += passed;
  }
  reached_ = {sweep, seconds};
}

void Pace::checked(std::int64_t sweep, double residual) {
  if (!(residual > 0) || !std::isfinite(residual)) return;
  if (checked_ && sweep <= checked_->sweep) return;
  if (checked_) {
    const double share = static_cast<double>(checked_->sweep) / static_cast<double>(sweep);
    decayed_ = share * share * decayed_ + std::log(checked_->residual / residual);
    decay_sweeps_ = share * share * decay_sweeps_ + static_cast<double>(sweep - checked_->sweep);
    log_sweeps_ = share * share * log_sweeps_ - std::log(share);
  }
  checked_ = {sweep, residual};
}

std::optional<double> Pace::sweeps_a_second() const {
  if (!(sweeps_ > 0) || !(seconds_ > 0)) return std::nullopt;
  return sweeps_ / seconds_;
}

std::optional<double> Pace::decay() const {
  if (!(decay_sweeps_ > 0) || !(decayed_ > 0)) return std::nullopt;
  return decayed_ / decay_sweeps_;
}

// The residual goes on as the power of the sweeps that it was, until that falls no faster than the slowest
// mode.
std::optional<double> Pace::sweeps_down(double way) const {
  const std::optional<double> measured = decay();
  if (!(slowest_ > 0)) return measured ? std::optional(way / *measured) : std::nullopt;
  const double here = static_cast<double>(checked_->sweep);
  const double power = log_sweeps_ > 0 ? decayed_ / log_sweeps_ : 0, slow_from = power / slowest_;
  if (slow_from <= here) return way / slowest_;
  const double way_until = power * std::log(slow_from / here);
  return way <= way_until ? here * std::expm1(way / power) : slow_from - here + (way - way_until) / slowest_;
}

Forecast Pace::forecast(std::int64_t last_sweep, std::optional<double> tolerance) const {
  const auto rate = sweeps_a_second();
  if (!rate || seen_ < least_seen) return {};
  const double left = static_cast<double>(std::max<std::int64_t>(last_sweep - reached_->sweep, 0));
  if (!tolerance) return {left / *rate};
  const auto needed = checked_ && *tolerance > 0
                          ? sweeps_down(std::max(std::log(checked_->residual / *tolerance), 0.0))
                          : std::nullopt;
  if (!needed) return {std::nullopt, left / *rate};
  const double to_tolerance = std::max(*needed - static_cast<double>(reached_->sweep - checked_->sweep), 0.0);
  if (!(decay_sweeps_ > 0))
    return {std::nullopt, std::min(to_tolerance, left) / *rate};  // of one check alone
  return {std::min(to_tolerance, left) / *rate, left / *rate, to_tolerance > left};
}

std::string eta_text(const Forecast& forecast) {
  if (forecast.seconds)
    return human_duration(*forecast.seconds) + (forecast.misses_tolerance ? ", unconverged" : "");
  return forecast.most ? "unknown, < " + human_duration(*forecast.most) : "unknown";
}

}  // namespace isotherm
