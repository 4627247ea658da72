// How fast a run goes at present, and how long it will still take.
//
// Both come from sums over what has happened, in which the past fades: a run that others slow down tells its
// new end within minutes, and one that was restarted knows nothing of the part before. The residual of a
// steady problem falls as a power of the sweeps while its fast modes die (of its sweeps the latter half
// counts most), and in the end by the factor a sweep of its slowest mode, which is known beforehand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace isotherm {

struct Forecast {
  std::optional<double> seconds{};  // to the end; none: not known
  std::optional<double> most{};     // to the last sweep, where a tolerance may end the run before
  bool misses_tolerance = false;    // the last sweep comes first, as the residual falls at present
};

class Pace {
 public:
  // `slowest`: the decay of the slowest mode a sweep (physics/slowest_mode.hpp); 0 where it is not known.
  explicit Pace(double slowest = 0) : slowest_(slowest) {}

  // `seconds`: of a clock that never jumps, from any start. Sweeps in order, the first where the run begins.
  void reached(std::int64_t sweep, double seconds);
  // Of an earlier sweep perhaps, once each. Not positive or not finite: forgotten.
  void checked(std::int64_t sweep, double residual);

  std::optional<double> sweeps_a_second() const;  // none before the first sweeps
  // Nothing until half a second has been seen. `tolerance`: of a steady problem, in the unit of the
  // residuals.
  Forecast forecast(std::int64_t last_sweep, std::optional<double> tolerance) const;

 private:
  std::optional<double> decay() const;  // of the logarithm of the residual, a sweep; none unless it falls
  std::optional<double> sweeps_down(double way) const;  // for which the residual falls by e^way

  struct Reached {
    std::int64_t sweep;
    double seconds;
  };
  struct Checked {
    std::int64_t sweep;
    double residual;
  };
  double slowest_;
  std::optional<Reached> reached_;
  std::optional<Checked> checked_;
  double sweeps_ = 0, seconds_ = 0;                         // fading
  double decayed_ = 0, decay_sweeps_ = 0, log_sweeps_ = 0;  // fading; the last by the logarithm of the sweep
  double seen_ = 0;                                         // s, not fading
};

// "1 h 02 min", "unknown", "unknown, < 1 h 02 min", "1 h 02 min, unconverged".
std::string eta_text(const Forecast& forecast);

}  // namespace isotherm
