// What is reported of a run: its record; why it ended before its aim, and how to resume it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.hpp"
#include "app/field_outputs.hpp"
#include "app/session.hpp"
#include "app/time_loop.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/file_thread.hpp"
#include "output/records/end_state.hpp"
#include "output/records/run_record.hpp"
#include "output/run_directory.hpp"
#include "solver/diagnosis.hpp"
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

// Collective; every rank returns the same. None where the transport moves nothing.
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
  void add(const PhaseTimes& solver, const LoopOutcome& outcome);
  void finish(double total);
};

// Of a run whose precision loses the heat of sources and flux boundaries; empty: no reason to warn.
std::string swallowed_heat_text(const Config& config, const SwallowedHeat& heat);

// "go on with: isotherm run deck.yaml --restart 'runs/deck'" from the newest checkpoint; from the beginning
// where none is `kept`. `anew`: a key that gets another value behind it.
std::string next_command(const CommandLine& command, const std::string& directory, bool kept,
                         std::string_view anew = {});

std::string stopped_text(const LoopOutcome& outcome, std::int64_t sweeps, const std::string& next);

// Empty where there is nothing to say. `next`: the command, with problem.max_sweeps anew.
std::string steady_end_text(const Config& config, const LoopOutcome& outcome, std::int64_t sweeps,
                            const std::string& next);

// Collective. Writes the field of a run that has diverged, adds the file to `files`, and returns what the
// message says of it. A file that cannot be written is no error.
template <class T>
std::string write_diverged(const Config& config, Solver<T>& solver, SnapshotWriter& writer,
                           std::vector<std::string>& files) {
  const std::string name = file_of_sweep(config.name, solver.sweeps(), diverged_suffix);
  const FieldView<const T> field = solver.host_field();
  try {
    files.push_back(writer.write_file(
        name, field, solver.subdomain(),
        {solver.time(), solver.sweeps(), writer.fingerprint(field, solver.subdomain())}, std::nullopt));
    return fmt::format(", and at the field in {}", name);
  } catch (const CollectiveError& e) {
    return fmt::format(" (the field is lost: {})", e.what());
  }
}

// Collective. `checked`: the sweep whose `residual` (K) showed it; with asynchronous checks the field is of a
// later sweep.
template <class T>
std::string divergence(const Config& config, Solver<T>& solver, std::int64_t checked, double residual);

}  // namespace isotherm
