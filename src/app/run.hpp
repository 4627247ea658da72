// isotherm run: one run of a deck, from its solver to its record. src/main.cpp tells it in order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.hpp"
#include "app/loop_progress.hpp"
#include "app/record.hpp"
#include "app/restart.hpp"
#include "app/session.hpp"
#include "app/time_loop.hpp"
#include "core/communicator.hpp"
#include "core/timer.hpp"
#include "output/console/console.hpp"
#include "output/console/progress.hpp"
#include "output/run_directory.hpp"
#include "tune/autotuner.hpp"
#include "tune/tuning_file.hpp"

namespace isotherm {

// What is settled before the first field is allocated.
struct RunPlan {
  const CommandLine& command;
  const Communicator& world;
  const Session& session;
  const std::optional<Restart>& restart;
  Device& device;
  double copy_bandwidth;  // bytes per second, of all devices
  Timer started;          // when the deck was opened
};

inline Force force_of(const CommandLine& command) {
  return command.force ? Force::yes : Force::no;
}

// All functions are collective.
template <class T>
class Run {
 public:
  explicit Run(const RunPlan& plan);

  // Makes the solver of the first case, opens the run's directory and log, and prints the banner. Throws what
  // stops a run before any file.
  void open();
  // Solves the deck, or one grid of its series, of which the last is the one that is kept. False where an
  // error ended it, which report() throws.
  bool solve(const Config& config);
  // Table, figures of merit, run.json. Returns the exit code of a run that came to its end; throws the error
  // of one that did not, once its record is written.
  int report();

 private:
  struct Outputs;
  const Config& config() const { return plan_.session.deck.config; }
  bool is_series() const { return plan_.session.cases.size() > 1; }
  bool is_root() const { return plan_.world.is_root(); }

  void make_solver(const Config& config);
  void solve_case(const Config& config);
  void end_case(const Config& config, const LoopOutcome& outcome);
  void resume();
  void warn_of_plan();
  void warn_new(const std::vector<std::vector<std::string>>& all);
  LoopFrame frame() const;
  std::string next(const LoopOutcome& outcome, std::string_view anew = {}) const;
  void record_solver();
  void record_outcome(const Config& config, const LoopOutcome& outcome);
  void keep_tuning_found(const Config& config);
  void verify_case(const Config& config);
  void judge();
  void write_record();
  void fail(const CollectiveError& error);

  const RunPlan& plan_;
  WallLimit limit_;
  std::unique_ptr<Solver<T>> solver_;
  std::unique_ptr<Autotuner<T>> autotuner_;              // of the solver; none: nothing is left to measure
  Tuning::Source tuning_source_ = Tuning::Source::deck;  // without an autotuner
  std::optional<HaloCost> halo_cost_;                    // of the steps as they are made
  TuningKey tuning_key_;                                 // of its entry in solver.tuning_file
  Console console_;
  Progress progress_;
  std::optional<RunDirectory> directory_;
  RunRecord record_;
  RankTimes times_;
  std::string viewer_file_;  // rank 0's: what to open in ParaView; empty: nothing
};

}  // namespace isotherm
