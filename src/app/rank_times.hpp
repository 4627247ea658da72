// What the phases of a run have taken on this rank.
#pragma once

#include <utility>

#include "app/field_outputs.hpp"
#include "app/time_loop.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/file_thread.hpp"
#include "output/records/run_record.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// What the files of a run took, of all its writers.

// Collective; once nothing is under way. `snapshots` may be null.
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

struct RankTimes {
  PhaseTimes phases;   // of which the parts of exchanges are known after Solver::time_phases() alone
  PhaseTimes profile;  // the same at the end of the loop: what comes behind it is no part of it

  // Of a loop that has ended, of which a series has several.
  void add(const SolverTimes& solver, const LoopOutcome& outcome);
  void finish(double total);
};

}  // namespace isotherm
