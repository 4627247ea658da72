// What a loop tells of its way: how far it is, when it will end, and, once, that its time will not do.
#pragma once

#include <cstdint>
#include <optional>

#include "app/wall_limit.hpp"
#include "config/config.hpp"
#include "core/timer.hpp"
#include "output/console/console.hpp"
#include "output/console/progress.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

// Of rank 0. Progress and console may be null: that is not told then.
class LoopProgress {
 public:
  LoopProgress(const Config& config, Progress* progress, Console* console, const WallLimit& limit);

  // `time`: s of the problem; none in a steady one. `elapsed`: s since the start of the run.
  void tell(std::int64_t sweep, std::optional<double> time, const Residual& residual, double elapsed);

 private:
  ProgressState state_at(std::int64_t sweep, std::optional<double> time, const Residual& residual);
  void warn_of_limit(const ProgressState& state, double elapsed);

  Progress* progress_;
  Console* console_;
  WallLimit limit_;
  std::int64_t last_sweep_;
  double cells_;
  bool writes_checkpoints_;
  Pace pace_;  // of this part of the run
  bool warned_of_limit_ = false;
  Timer wall_;
};

}  // namespace isotherm
