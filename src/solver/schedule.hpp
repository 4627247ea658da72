// When something is due in a run: pure arithmetic on sweep numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/config.hpp"
#include "solver/recurrence.hpp"

namespace isotherm {

class Schedule {
 public:
  explicit Schedule(const Config& config);

  std::int64_t last() const { return last_; }  // the sweep at which the run ends at the latest
  double time(std::int64_t sweep) const;       // s; 0 in a steady problem
  // The next sweep after `sweep` at which anything is due; last() at most.
  std::int64_t next_after(std::int64_t sweep) const;
  bool check_due(std::int64_t sweep) const;  // a residual: every check_interval, and at the last sweep
  // May the residual of this sweep be looked at when next something is due? Where the deck says so, and where
  // nothing else waits for the field now: no file is written of a field that nobody has checked.
  bool check_may_lag(std::int64_t sweep) const;
  bool diagnostics_due(std::int64_t sweep) const;  // at the first and last state, and every so many sweeps
  // Files of the field by interval. The final ones are written where the run ends, wherever that is, and are
  // not told here.
  bool snapshot_due(std::int64_t sweep) const;
  bool part_due(std::size_t part, std::int64_t sweep) const;  // by its place in field_parts()
  bool probes_due(std::int64_t sweep) const;
  // By sweeps or time; what the clock asks for is not told here.
  bool checkpoint_due(std::int64_t sweep) const;

  // The expected number, the final one included; in a steady problem the most.
  std::int64_t snapshots() const;
  std::int64_t files_of(std::size_t part) const;
  std::int64_t probe_lines() const;
  std::int64_t checkpoints() const;  // by sweeps or time, before the last sweep

 private:
  std::int64_t last_ = 0;
  std::int64_t check_interval_ = 1;
  bool lagged_ = false;
  std::optional<std::int64_t> diagnostics_interval_;
  double dt_ = 0;
  std::optional<Recurrence> snapshots_, probes_;  // none: not at all, not even the last state
  std::vector<Recurrence> parts_;
  Recurrence checkpoints_;
};

// How many a run will do: of a steady problem with a relative tolerance those that its slowest mode needs,
// where they are fewer than may be done. For estimates.
std::int64_t likely_sweeps(const Config& config);

}  // namespace isotherm
