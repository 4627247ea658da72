// What a run writes of its field beside whole snapshots: slices, the region, the coarse field, probes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
inline std::string why_in_step(const Config& config, const Communicator& world) {
  if (!config.output.asynchronous) return "output.asynchronous is false";
  if (config.output.on_error == OnError::warn) return "output.on_error is warn";
  const bool threads = world.all_reduce(std::int64_t{mpi_takes_threads()}, ReduceOp::min) != 0;
  return threads ? "" : "this MPI gives no MPI_THREAD_MULTIPLE";
}

// What the schedule has due, or, at the end of a run, everything that its last state is not in yet.
enum class Wanted { due, last };

template <class T>
class FieldOutputs {
 public:
  // Collective, as everything here. The folder must exist. `subdomain`: this rank's cells. `resumed`: the
  // sweep from which a run in its own folder goes on; its files up to it stay.
  FieldOutputs(const Config& config, const Communicator& communicator, Box subdomain,
               const RunDirectory& directory, const SnapshotProvenance& provenance, Console& console,
               FileThread& files, std::optional<std::int64_t> resumed = {})
      : config_(config), communicator_(communicator), files_(files), schedule_(config), console_(&console) {
    for (FieldPart& part : field_parts(config)) {
      SnapshotWriter writer(config, grid_of(config, part), communicator, directory.path.string(), provenance,
                            &files);
      if (resumed) writer.continue_series(*resumed);
      std::optional<CoarseField> coarse;
      if (part.kind == PartKind::coarse) coarse.emplace(communicator, subdomain, part.factor);
      parts_.push_back({std::move(part), std::move(writer), std::move(coarse)});
    }
    const ProbesConfig& probes = config.output.probes;
    for (const ProbePoint& point : probes.points) {
      const Probe& probe = probes_.points.emplace_back(config, point.at);
      for (int corner = 0; corner < Probe::corners; ++corner) probes_.cells.push_back(probe.cell(corner));
    }
    if (!probes.points.empty() && communicator.is_root())
      probes_.file.emplace(directory.probes(), console, probes, resumed);
  }

  // What is wanted after so many sweeps of the solver. Returns the paths of new files, the same on all ranks;
  // those that `files` writes beside the sweeps are there when it has finished.
  std::vector<std::string> write(Solver<T>& solver, Wanted wanted) {
    const bool at_end = wanted == Wanted::last;
    const std::int64_t sweep = solver.sweeps();
    std::vector<std::string> files;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (at_end ? parts_[i].written != sweep : schedule_.parts[i].due(sweep))
        write(parts_[i], solver, files);
    if (at_end ? probes_.written != sweep : schedule_.probes.due(sweep)) read_probes(solver);
    return files;
  }

  // What was added is on the disk on return.
  void flush() {
    if (probes_.file) probes_.file->flush();
  }

  // Each names all files that were started.
  void publish_series() {
    for (Part& part : parts_) part.writer.publish_series();
  }

  // Of the first part that has one.
  std::string viewer_file() const {
    for (const Part& part : parts_)
      if (std::string file = part.writer.viewer_file(); !file.empty()) return file;
    return "";
  }

  // All files are complete on return.
  void finish() {
    if (probes_.file) probes_.file->finish();
  }

  // Of all writers, as SnapshotWriter has them.
  std::vector<std::string> remarks() const {
    std::vector<std::string> all;
    for (const Part& part : parts_)
      all.insert(all.end(), part.writer.remarks().begin(), part.writer.remarks().end());
    return all;
  }

  // What was written, once nothing is under way.
  void add_to(WritingRecord& record) const {
    for (const Part& part : parts_) part.writer.add_to(record);
  }

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

  void read_probes(Solver<T>& solver) {
    if (probes_.points.empty()) return;
    std::vector<Box> mine;
    for (const Int3 cell : probes_.cells) {
      const Int3 local = cell - solver.subdomain().lo;
      if (solver.subdomain().contains(cell)) mine.push_back({local, local + Int3{1, 1, 1}});
    }
    const std::vector<double> cells =
        gather_cells<T>(communicator_, solver.subdomain(), probes_.cells, solver.host_cells(mine));
    probes_.written = solver.sweeps();
    if (!probes_.file) return;
    std::vector<double> kelvins;
    for (std::size_t i = 0; i < probes_.points.size(); ++i) {
      std::array<double, Probe::corners> around{};
      std::copy_n(cells.begin() + static_cast<std::ptrdiff_t>(i * Probe::corners), Probe::corners,
                  around.begin());
      kelvins.push_back(probes_.points[i].value(config_, around, solver.time()));
    }
    probes_.file->add(solver.sweeps(), solver.time(), kelvins);
  }

  // Beside the sweeps it is a copy of these cells that is written, and from a device only they are moved. It
  // waits for the file before it of the same part, whose cells these are going to replace.
  void write(Part& part, Solver<T>& solver, std::vector<std::string>& files) {
    part.writer.wait();
    PartCells<T> mine;
    if (part.coarse) {
      part.cells = part.coarse->means(solver.host_field());
      mine = {dense_view(part.cells.data(), part.coarse->cells().extent()), part.coarse->cells()};
    } else if (files_.in_step() && !solver.is_asynchronous()) {
      mine = cut(solver.host_field(), solver.subdomain(), part.what.box);
    } else {
      const Box common = intersect(solver.subdomain(), part.what.box);
      part.cells = solver.host_cells({common.shifted(Int3{} - solver.subdomain().lo)});
      if (!common.empty())
        mine = {dense_view(part.cells.data(), common.extent()), common.shifted(Int3{} - part.what.box.lo)};
    }
    part.written = solver.sweeps();
    write_or_warn(config_, communicator_, console_, [&] {
      files.push_back(part.writer.start([cells = mine.cells] { return cells; }, mine.in_file, solver.time(),
                                        solver.sweeps()));
    });
  }

  Config config_;
  Communicator communicator_;
  FileThread& files_;
  Schedule schedule_;
  Console* console_;
  std::vector<Part> parts_;
  Probes probes_;
};

}  // namespace isotherm
