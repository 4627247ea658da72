#include "output/console/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "output/console/console.hpp"

namespace isotherm {

namespace {

constexpr double memory = 120;      // s, after which what was seen counts 1/e
constexpr double least_seen = 0.5;  // s

constexpr double rewrite_seconds = 0.1;  // a terminal is rewritten ten times per second

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

std::optional<double> Pace::sweeps_per_second() const {
  if (!(sweeps_ > 0) || !(seconds_ > 0)) return std::nullopt;
  return sweeps_ / seconds_;
}

// The residual goes on as the power of the sweeps that it was, until that falls no faster than the slowest
// mode.
std::optional<double> Pace::sweeps_down(double way) const {
  const bool falls = decay_sweeps_ > 0 && decayed_ > 0;
  if (!(slowest_ > 0)) return falls ? std::optional(way / (decayed_ / decay_sweeps_)) : std::nullopt;
  const double here = static_cast<double>(checked_->sweep);
  const double power = log_sweeps_ > 0 ? decayed_ / log_sweeps_ : 0, slow_from = power / slowest_;
  if (slow_from <= here) return way / slowest_;
  const double way_until = power * std::log(slow_from / here);
  return way <= way_until ? here * std::expm1(way / power) : slow_from - here + (way - way_until) / slowest_;
}

Forecast Pace::forecast(std::int64_t last_sweep, std::optional<double> tolerance) const {
  const auto rate = sweeps_per_second();
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

double fraction_done(const ProgressState& s) {
  const double sweeps =
      s.last_sweep > 0 ? static_cast<double>(s.sweep) / static_cast<double>(s.last_sweep) : 1.0;
  double way = 0;  // down to the tolerance, where that is known
  if (s.residual > 0.0 && s.tolerance > 0.0 && s.first_residual > s.tolerance)
    way = std::log(*s.first_residual / *s.residual) / std::log(*s.first_residual / *s.tolerance);
  return std::clamp(std::max(sweeps, way), 0.0, 1.0);
}

std::string progress_line(const ProgressState& s) {
  std::string text = fmt::format("step {}/{}  {:.1f} %", s.sweep, s.last_sweep, 100 * fraction_done(s));
  if (s.sweep < s.last_sweep) text += "  ETA " + eta_text(s.left);
  text += "  " + human_rate(s.points_per_second);
  if (s.residual) text += fmt::format("  residual {:.2e}", *s.residual);
  if (s.time) text += fmt::format("  t {:.6g} s", *s.time);
  return text;
}

bool LineSchedule::due(double wall) {
  if (wall < next_) return false;
  const double interval = wall < 60 ? 10 : wall < 600 ? 30 : 60;
  next_ = (std::floor(wall / interval) + 1) * interval;
  return true;
}

void Progress::update(const ProgressState& state) {
  if (style_ == ProgressStyle::off) return;
  if (lines_.due(state.wall)) {
    const std::string line = progress_line(state);
    style_ == ProgressStyle::lines ? console_.say(line) : console_.log_only(line);
  }
  if (style_ != ProgressStyle::bar || (line_shown_ && since_line_.seconds() < rewrite_seconds)) return;
  since_line_.lap();
  console_.rewrite_line(progress_line(state));
  line_shown_ = true;
}

void Progress::finish() {
  if (line_shown_) console_.rewrite_line("");
  line_shown_ = false;
  lines_ = {};
}

}  // namespace isotherm
