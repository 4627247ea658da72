// What is known of a run before its first sweep, as record, banner and files tell it.
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "app/session.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {

RunRecord describe_run(const CommandLine& command, const Session& session, const Device& device,
                       const Communicator& world, const std::string& directory);
RankRow describe_rank(const Session& session, const Device& device, const Communicator& world);
SnapshotProvenance provenance(const Session& session, const RunRecord& record);

// Collective: bytes per second that all devices of the run copy together, measured at once on all.
double measure_roof(const Session& session, Device& device, const Communicator& world);

std::string file_name(const std::string& path);

}  // namespace isotherm
