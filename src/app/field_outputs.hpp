// What a run writes of its field beside whole snapshots: slices, the region, the coarse field, probes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/parts.hpp"
#include "core/communicator.hpp"
#include "core/error.hpp"
#include "output/console/console.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/records/history.hpp"
#include "output/records/run_record.hpp"
#include "output/run_directory.hpp"
#include "physics/probe.hpp"
#include "solver/schedule.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// Collective: `write` makes a file that is no checkpoint. Where it fails on all ranks together, and
// output.on_error is warn, the run goes on, rank 0 with a warning. A rank's own failure always ends the run:
// HDF5 and MPI-IO were seen to hang after one.
template <class Write>
void write_or_warn(const Config& config, const Communicator& world, Console* console, Write&& write) {
  try {
    write();
  } catch (const CollectiveError& e) {
    if (config.output.on_error == OnError::stop) throw;
    if (console && world.is_root())
      console->warn(fmt::format("{}; the run goes on without it (output.on_error: warn)", e.what()));
  }
}

// Collective. Why files of the field are written in step with the sweeps; empty where they need not be.
std::string why_in_step(const Config& config, const Communicator& world);

template <class T>
class FieldOutputs {
 public:
  // Collective, as everything here. The folder must exist. `subdomain`: this rank's cells. `resumed`: the
  // sweep from which a run in its own folder goes on; its files up to it stay.
  FieldOutputs(const Config& config, const Communicator& communicator, Box subdomain,
               const RunDirectory& directory, const SnapshotProvenance& provenance, Console& console,
               FileThread& files, std::optional<std::int64_t> resumed = {});

  // All that is due after so many sweeps of the solver; at the end of a run, everything once more that this
  // state is not in yet. Returns the paths of new files, the same on all ranks; those that `files` writes
  // beside the sweeps are there when it has finished.
  std::vector<std::string> write_due(Solver<T>& solver);
  std::vector<std::string> write_last(Solver<T>& solver);

  void flush();                              // what was added is on the disk on return
  void publish_series();                     // each names all files that were started
  std::string viewer_file() const;           // of the first part that has one
  void finish();                             // all files are complete on return
  std::vector<std::string> remarks() const;  // of all writers, as SnapshotWriter has them
  void add_to(WritingRecord& record) const;  // what was written, once nothing is under way

 private:
  struct Part {
    FieldPart what;
    SnapshotWriter writer;
    std::optional<CoarseField> coarse;  // where its cells are means
    std::int64_t written = -1;          // the sweep of the last file
    std::vector<T> cells{};             // of the file that is being written beside the sweeps
  };
  struct Probes {
    std::vector<Probe> points;
    std::vector<Int3> cells;        // eight a point
    std::optional<ProbeFile> file;  // rank 0's
    std::int64_t written = -1;      // the sweep of the last line
  };
  void write(Part& part, Solver<T>& solver, std::vector<std::string>& files);
  void read_probes(Solver<T>& solver);

  Config config_;
  Communicator communicator_;
  FileThread& files_;
  Schedule schedule_;
  Console* console_;
  std::vector<Part> parts_;
  Probes probes_;
};

}  // namespace isotherm
