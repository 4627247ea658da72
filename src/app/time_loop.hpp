// The loop of a run: sweeps until an event is due, and handles it. Its outputs, and its wall-time limit.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/grid_axes.hpp"
#include "config/parts.hpp"
#include "core/all_or_throw.hpp"
#include "core/communicator.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "core/trace.hpp"
#include "output/console/console.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/records/history.hpp"
#include "output/records/run_record.hpp"
#include "output/run_directory.hpp"
#include "physics/probe.hpp"
#include "solver/schedule.hpp"
#include "solver/solver.hpp"
#include "tune/autotuner.hpp"

namespace isotherm {

// due: the outputs that the schedule asks for. last, at the end of a run: all that lack its last state.
enum class Wanted { due, last };

template <class T>
class FieldOutputs {
 public:
  // Collective, like all members. The folder must exist; `solver` and `files` outlive this. `resumed`: the
  // sweep from which a run resumes in its own folder; its files up to this sweep are kept.
  FieldOutputs(const Config& config, const Communicator& communicator, Solver<T>& solver,
               const RunDirectory& directory, const SnapshotProvenance& provenance, Console& console,
               FileThread& files, std::optional<std::int64_t> resumed)
      : config_(config),
        communicator_(communicator),
        solver_(solver),
        files_(files),
        schedule_(config),
        console_(console) {
    const auto writer_of = [&](const FileGrid& grid) {
      SnapshotWriter writer(config, grid, communicator, directory.path.string(), provenance, files);
      if (resumed) writer.continue_series(*resumed);
      return writer;
    };
    const ProbesConfig& probes = config.output.probes;
    if (!probes.points.empty()) names_.push_back(directory.probes().filename());
    if (config.output.snapshots) {
      parts_.push_back({std::nullopt, writer_of(grid_of_snapshots(config))});
      if (!files.in_step()) {
        copy_.emplace(all_or_throw(communicator, [&] { return HostCopy<T>(solver.level()); }));
        copy_->take();  // touches its memory here rather than during the first snapshot
      }
      const std::string name = material_file_name(config);
      if (!name.empty())
        write_or_warn([&] {
          parts_.back().writer.write_materials(config);
          names_.push_back(name);
        });
    }
    for (FieldPart& part : field_parts(config)) {
      SnapshotWriter writer = writer_of(grid_of(config, part));
      parts_.push_back({std::move(part), std::move(writer)});
    }
    for (const ProbePoint& point : probes.points) {
      const Probe& probe = probes_.points.emplace_back(config, point.at);
      for (int corner = 0; corner < Probe::corners; ++corner) probes_.cells.push_back(probe.cell(corner));
    }
    if (!probes.points.empty() && communicator.is_root())
      probes_.file.emplace(directory.probes(), console, probes_head(probes), "its probes", resumed);
  }

  // Writes the wanted outputs of the solver's state.
  void write(Wanted wanted) {
    const bool at_end = wanted == Wanted::last;
    const std::int64_t sweep = solver_.sweeps();
    auto next = schedule_.parts.begin();
    for (Part& part : parts_) {
      const Series& series = part.what ? *next++ : schedule_.snapshots;
      if (at_end ? part.written != sweep : series.due(sweep)) write(part);
    }
    if (at_end ? probes_.written != sweep : schedule_.probes.due(sweep)) read_probes();
  }

  // Writes the field of a run that has diverged, for inspection. No series lists it, because it is no state
  // of the problem. Returns the end of the error message. A file that cannot be written is no error.
  std::string write_diverged() {
    if (parts_.empty() || parts_.front().what) return "";
    SnapshotWriter& writer = parts_.front().writer;
    files_.finish();  // outside of `try`: an error here is of an earlier file
    const std::string name = file_of_sweep(config_.name, solver_.sweeps(), diverged_suffix);
    const FieldView<const T> field = solver_.host_field();
    try {
      writer.write_file(name, field, solver_.subdomain(),
                        {solver_.time(), solver_.sweeps(), writer.fingerprint(field, solver_.subdomain())},
                        std::nullopt);
      names_.push_back(name);
      return fmt::format(", and at the field in {}", name);
    } catch (const CollectiveError& e) {
      return fmt::format(" (the field is lost: {})", e.what());
    }
  }

  // On return all lines of probes that were added are on the disk.
  void flush() {
    if (probes_.file) probes_.file->flush();
  }

  // Lists all files written so far in their series, for viewers that open a series now.
  void publish_series() {
    write_or_warn([&] {
      for (Part& part : parts_) part.writer.publish_series();
    });
  }

  // All files, the same on all ranks. The file thread may still write the last of them.
  const std::vector<std::string>& names() const { return names_; }

  // Time and bytes of all writers; no file may be under way. `at_end`: s of this rank, after the last sweep.
  WritingRecord record(double at_end) {
    WritingRecord mine;
    mine.why_in_step = files_.why_in_step();
    mine.at_end = at_end;
    for (const Part& part : parts_) part.writer.add_to(mine);
    count_copy();
    mine.seconds += copy_seconds_;
    mine.exposed = files_.waited() - at_end + copy_seconds_;
    for (double* seconds : {&mine.seconds, &mine.exposed, &mine.at_end})
      *seconds = communicator_.all_reduce(*seconds, ReduceOp::max);
    return mine;
  }

 private:
  struct Part {
    std::optional<FieldPart> what;  // none: the whole field, always the first part
    SnapshotWriter writer;
    std::int64_t written = -1;  // the sweep of the last file
    std::vector<T> cells{};     // of the file that the file thread writes now
  };
  struct Probes {
    std::vector<Probe> points;
    std::vector<Int3> cells;       // eight per point
    std::optional<LineFile> file;  // rank 0's
    std::int64_t written = -1;     // the sweep of the last line
  };

  // If a file fails on all ranks together and output.on_error is warn, rank 0 warns and the run continues.
  // The failure of a single rank always ends the run: HDF5 and MPI-IO were seen to hang after one.
  template <class Write>
  void write_or_warn(Write&& write) {
    try {
      write();
    } catch (const CollectiveError& e) {
      if (config_.output.on_error == OnError::stop) throw;
      if (communicator_.is_root())
        console_.warn(fmt::format("{}; the run continues without it (output.on_error: warn)", e.what()));
    }
  }

  // The field, or its one copy, which later sweeps do not change: sweeps wait if the disk is slower.
  std::function<CellsView()> take_field() {
    if (!copy_) return [field = solver_.host_field()] { return field; };
    count_copy();
    copy_->take();
    copied_ = true;
    return [this] { return copy_->view(); };
  }

  // Call it when the file of the copy is complete: on a device the copy is only queued before.
  void count_copy() {
    if (std::exchange(copied_, false)) copy_seconds_ += copy_->seconds();
  }

  void read_probes() {
    if (probes_.points.empty()) return;
    std::vector<Box> mine;
    for (const Int3 cell : probes_.cells) {
      const Int3 local = cell - solver_.subdomain().lo;
      if (solver_.subdomain().contains(cell)) mine.push_back({local, local + Int3{1, 1, 1}});
    }
    const std::vector<T> held = solver_.host_cells(mine);
    const std::vector<double> cells =
        gather_cells(communicator_, solver_.subdomain(), probes_.cells, {held.begin(), held.end()});
    probes_.written = solver_.sweeps();
    if (!probes_.file) return;
    std::vector<double> kelvins;
    for (std::size_t i = 0; i < probes_.points.size(); ++i) {
      std::array<double, Probe::corners> around{};
      std::copy_n(cells.begin() + i * Probe::corners, Probe::corners, around.begin());
      kelvins.push_back(probes_.points[i].value(config_, around, solver_.time()));
    }
    probes_.file->add(probes_line(solver_.sweeps(), solver_.time(), kelvins));
  }

  // Waits for the last file of the part. During sweeps, or from a device, a copy of its cells is written.
  void write(Part& part) {
    const TraceRange range(Phase::output);  // profilers show each file separately
    part.writer.wait();
    part.written = solver_.sweeps();
    const Box subdomain = solver_.subdomain();
    FieldView<const T> cells;  // of this rank; empty where it has none
    Box in_file = subdomain;   // their position in the file
    if (part.what && part.what->kind == PartKind::coarse) {
      const Int3 factor = part.what->factor;
      const CellWeights volumes(config_, {{0, 0, 0}, config_.grid.cells});
      part.cells = coarse_means(communicator_, solver_.host_field(), subdomain, factor, volumes);
      in_file = coarse_begun_in(subdomain, factor);
      cells = dense_view(part.cells.data(), in_file.extent());
    } else if (part.what) {
      const Box common = subdomain.within(part.what->box), here = common.shifted(Int3{} - subdomain.lo);
      const bool in_place = files_.in_step() && !solver_.is_asynchronous();
      const FieldView<const T> field = in_place ? solver_.host_field() : FieldView<const T>{};
      if (!in_place) part.cells = solver_.host_cells({here});
      if (!common.empty())
        cells = in_place ? field.part(here) : dense_view(part.cells.data(), common.extent());
      in_file = common.empty() ? Box{} : common.shifted(Int3{} - part.what->box.lo);
    }
    write_or_warn([&] {
      const auto source = part.what ? [cells] { return CellsView(cells); } : take_field();
      const std::filesystem::path path = part.writer.start(source, in_file, solver_.time(), part.written);
      names_.push_back(path.filename());
    });
  }

  Config config_;
  Communicator communicator_;
  Solver<T>& solver_;
  FileThread& files_;
  Schedule schedule_;
  Console& console_;
  std::vector<std::string> names_;
  std::optional<HostCopy<T>> copy_;  // the cells of a snapshot that the file thread writes
  bool copied_ = false;              // into copy_; its time is not counted yet
  double copy_seconds_ = 0;          // of this rank, to take copies
  std::vector<Part> parts_;
  Probes probes_;
};

struct WallLimit {
  double seconds =
      std::numeric_limits<double>::infinity();  // from the start of the run; the same on all ranks
  std::string source{};                         // "solver.walltime 3600 s"; empty without a limit
  std::string warning{};                        // about a SLURM_JOB_END_TIME that is no time
  std::string_view stops_by = "the wall time";  // LoopOutcome::stopped_by; or "the end of the Slurm job"

  // The latest time to begin a checkpoint that takes `write` seconds: it leaves twice that and a margin.
  double latest_stop(double write) const {
    return seconds - 2 * write - std::clamp(0.01 * seconds, 1.0, 60.0);
  }
  // Seconds of measuring the rate before a warning that the run will not end in time; infinite: no limit.
  double time_to_judge() const { return source.empty() ? seconds : std::clamp(0.1 * seconds, 1.0, 60.0); }
};

// Collective. The sooner of solver.walltime and the end of the Slurm job (SLURM_JOB_END_TIME, Unix s).
WallLimit find_wall_limit(const Config& config, const Communicator& world, const Timer& started);

// The files of a case, and where its loop reports. Only rank 0 has a history and a progress display.
template <class T>
struct LoopOutputs {
  FileThread files;  // outlives the writers that queue work for it
  std::optional<FieldOutputs<T>> fields{};
  std::optional<CheckpointWriter> checkpoints{};
  DiagnosticsColumns columns{};  // of the history
  std::optional<LineFile> history{};
  Progress* progress = nullptr;
  Console* console = nullptr;
};

// The facts of a run that its loop needs. The same on all ranks, except for the start of the timer.
struct LoopFrame {
  const Communicator& world;
  Timer started;  // of the run
  WallLimit limit{};
  const CheckpointState* resumed = nullptr;       // the state to resume from; null: the initial state
  std::optional<std::int64_t> last_checkpoint{};  // the sweep of the newest in the run's directory
};

// The autotuner's sweeps: their number, this rank's time, and the part of it in the solver's times.
struct TunedSweeps {
  std::int64_t sweeps = 0;
  double seconds = 0;
  PhaseTimes times{};
};

struct LoopOutcome {
  Residual residual;
  std::vector<std::string> checkpoints;  // of which only the newest are kept
  double output_seconds = 0;             // of this rank
  double end_seconds = 0;                // of this rank, for files after the last sweep
  double wall = 0;                       // s, the whole loop
  double largest_temperature = 0;        // K, magnitude; of a steady run that ended above its tolerance
  double unbalanced_share = 0;           // of the heat given, if more than 1 % is lost in rounding
  std::string divergence;                // why the loop stopped early; empty when it did not
  std::string stopped_by;                // "SIGUSR1", "the wall time"; empty if the run is complete
  TunedSweeps tuning;                    // empty if the autotuner did not finish: its sweeps count as others
  std::optional<HaloCost> halo_cost;     // of the steps that the autotuner chose; one rank has none
};

// Collective. The autotuner, unless it is null, makes the first steps. Stops if the field is not finite or an
// update exceeds 1e9 K, and keeps this field; after a signal; and when a checkpoint just fits into the time
// left. When a signal or lack of time stops it, it writes a checkpoint, unless time ran out before any sweep
// or `outputs` has no checkpoints. All files are complete on return; none is under way if it throws.
template <class T>
LoopOutcome run_time_loop(const Config& config, Solver<T>& solver, Autotuner<T>* autotuner,
                          LoopOutputs<T>& outputs, const LoopFrame& frame);

}  // namespace isotherm
