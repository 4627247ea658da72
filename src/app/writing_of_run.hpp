// What the files of a run took, of all its writers.
#pragma once

#include <utility>

#include "app/field_outputs.hpp"
#include "app/time_loop.hpp"
#include "output/file_thread.hpp"
#include "output/snapshot.hpp"
#include "output/writing_record.hpp"

namespace isotherm {

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

}  // namespace isotherm
