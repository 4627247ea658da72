// Fills the record of a run: before its first sweep, and at the end of its loop.
#pragma once

#include <string>
#include <utility>

#include "app/command_line.hpp"
#include "app/field_outputs.hpp"
#include "app/session.hpp"
#include "app/time_loop.hpp"
#include "config/config.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/file_thread.hpp"
#include "output/records/end_state.hpp"
#include "output/records/run_record.hpp"
#include "solver/solver.hpp"
#include "tune/autotuner.hpp"

namespace isotherm {

RunRecord describe_run(const CommandLine& command, const Session& session, const Device& device,
                       const Communicator& world, const std::string& directory);
RankInfo describe_rank(const Session& session, const Device& device, const Communicator& world);
SnapshotProvenance provenance(const Session& session, const RunRecord& record);

// Collective: bytes per second that all devices of the run copy together, measured at once on all.
double measure_copy_bandwidth(const Session& session, Device& device, const Communicator& world);

std::string file_name(const std::string& path);

// How steps are made, by the autotuner or (null) otherwise.
template <class T>
void describe_steps(const Solver<T>& solver, const Autotuner<T>* autotuner, MethodRecord& method);

// The state at the end. Collective; every rank returns the same. The field stays as it is. None where the
// transport moves nothing.
template <class T>
std::optional<EndState> find_end_state(const Config& config, Solver<T>& solver);

// The time and bytes of all writers. Collective; once all files are written. `snapshots` may be null.
template <class T>
WritingRecord writing_of(const FileThread& files, const SnapshotWriter* snapshots,
                         const FieldOutputs<T>& fields, const LoopOutcome& outcome,
                         const Communicator& world) {
  WritingRecord mine;
  mine.why_in_step = files.why_in_step();
  if (snapshots) snapshots->add_to(mine);
  fields.add_to(mine);
  mine.seconds += outcome.copy_seconds;
  mine.at_end = outcome.end_seconds;
  mine.exposed = files.waited() - mine.at_end + outcome.copy_seconds;
  return slowest(std::move(mine), world);
}

// The time of each phase on this rank.
struct RankTimes {
  PhaseTimes phases;   // of which the parts of exchanges are known after Solver::time_phases() alone
  PhaseTimes profile;  // the same at the end of the loop: what comes behind it is no part of it

  // Of a loop that has ended, of which a series has several.
  void add(const SolverTimes& solver, const LoopOutcome& outcome);
  void finish(double total);
};

}  // namespace isotherm
