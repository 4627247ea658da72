// The file of a snapshot or checkpoint.
//
//   /temperature            (nz, ny, nx), kelvin; in format 1 it was /VTKHDF/PointData/T
//   /VTKHDF                 attributes for VTK; absent for one layer of cells, with which ParaView 5.11
//                           was seen to hang or crash, and for cells of several sizes
//   /VTKHDF/PointData/temperature   the same dataset; points, because VTK 9.1 and 9.2 misread cell data
//   /isotherm               attributes: all of SnapshotHeader, with the origin as in the deck, and texts on
//                           axes and units
//   /isotherm/edges_x, edges_y, edges_z   of a grid whose cells differ in size: their faces, m
//   /isotherm/deck, /isotherm/resolved_deck
//   /isotherm/checkpoint    of a checkpoint: attributes version, those of CheckpointState, and header_xxh3, a
//                           hash that protects SnapshotHeader as the fingerprint protects the cells
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.hpp"
#include "config/parts.hpp"
#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"
#include "core/hdf5_file.hpp"
#include "core/watchdog.hpp"
#include "physics/dataset_reader.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

// Cells in host memory, of either precision.
using CellsView = std::variant<FieldView<const float>, FieldView<const double>>;

// The cells of the grid in a file, and their position in space.
struct FileGrid {
  std::string stem;   // of its files: <stem>_<sweep>.hdf, <stem>.hdf.series
  std::string kind;   // "isotherm snapshot", "isotherm slice", ...
  Int3 cells;         // of the file
  Vector3 origin{};   // m, the corner of their box
  Vector3 spacing{};  // m; if cells differ in size, of the first cell
  // m; if cells differ in size: the faces of cells along each axis, one more than cells. Else empty.
  std::array<std::vector<double>, 3> edges{};
  Precision precision = Precision::fp64;  // of the stored cells, unless the field has a lower one
  int compression = 0;                    // level of deflate; 0: not compressed
  std::string material_file{};            // of the same cells, in the same folder; empty: none

  Int3 grid_cells;                   // of the run
  Int3 first_cell;                   // of the file's box, in the run's grid
  Int3 factor{1, 1, 1};              // cells of the run per cell of the file
  int normal = -1;                   // of a slice: 0, 1, 2, the axis that it is normal to
  std::optional<double> position{};  // of a slice: m along that axis, as the deck has it

  bool is_graded() const { return !edges[0].empty(); }
  // Several layers of equal cells along each axis, which VTKHDF can describe.
  bool is_image() const { return cells.x > 1 && cells.y > 1 && cells.z > 1 && !is_graded(); }
  double centre(int axis, Index i) const {  // m
    return is_graded() ? (edges[axis][i] + edges[axis][i + 1]) / 2 : origin[axis] + (i + 0.5) * spacing[axis];
  }
  std::int64_t cell_bytes() const { return cells.product() * (precision == Precision::fp32 ? 4 : 8); }
};

FileGrid grid_of_snapshots(const Config& config);
FileGrid grid_of_checkpoints(const Config& config);  // with all bits of the field, never compressed
FileGrid grid_of(const Config& config, const FieldPart& part);

// Cells of a chunk, the unit of compression; {1, 1, 1}: not compressed. Independent of the ranks: the longest
// edge (the outermost of equals) is halved down to 2 MiB. Subdomains from such halvings own whole chunks.
Int3 chunk_of(const FileGrid& grid);
std::int64_t most_bytes_of_cells(const FileGrid& grid);  // an upper bound of their size in the file
std::string why_not_compressed();  // empty where this HDF5 can write with shuffle and deflate

// Creates the dataset for the cells of a file, which stores them as `type`. Collective if the file is.
hid_t create_cells(hid_t file, const char* name, hid_t type, const FileGrid& grid, const std::string& path);

// The state besides its field that a run needs to resume as if it had never stopped.
struct CheckpointState {
  // 1: without stagnation, and sources heat the cells whose centres they contain; 2: without step_halvings
  static constexpr std::int64_t newest_version = 3;

  std::int64_t version = newest_version;
  std::optional<double> first_residual, last_residual;  // K
  std::int64_t last_checked = 0;                        // the sweep of last_residual; 0 without one
  std::int64_t checks = 0;
  // An asynchronous check that is not finished: its sweep (0: no such check) and its residual.
  std::int64_t pending_sweep = 0;
  std::optional<double> pending_residual;
  // Steady problem: lowest residual (K), its sweep, and whether the run ended because none was lower.
  std::optional<double> lowest_residual;
  std::int64_t lowest_sweep = 0;
  bool stagnated = false;
  std::optional<Interval> histogram_range;  // K, of the bins
  double wall = 0;                          // s, as history.csv counts it
  double dt = 0;                            // s; 0 in a steady problem
  std::int64_t step_halvings = 0;           // of the next part of a step

  friend bool operator==(const CheckpointState&, const CheckpointState&) = default;
};

struct SnapshotMeta {
  double time = 0;  // s; steady: 0
  std::int64_t sweep = 0;
  std::uint64_t fingerprint = 0;  // of all cells of the file, as they are stored
};

struct SnapshotProvenance {
  std::string deck, resolved_deck, version, git_revision, device, kernel, mpi, hdf5;
  std::string name{};  // of the run; empty in files of the first versions
};

struct SnapshotHeader : FileGrid {  // VTK's origin is half a cell further in
  static constexpr std::int64_t newest_format = 2;
  std::int64_t format = newest_format;
  SnapshotMeta meta;
  SnapshotProvenance provenance;
  std::optional<CheckpointState> checkpoint{};  // none: a snapshot
};

// The file is of a newer version than this isotherm reads.
struct NewerVersion : Error {
  using Error::Error;
};

std::string fingerprint_text(std::uint64_t fingerprint);  // "0x0123456789abcdef"

// Writes the group /isotherm. Collective if the file is; one rank, the `text_writer`, writes the texts.
void write_snapshot_header(hid_t file, const SnapshotHeader& header, bool text_writer,
                           const std::string& path);
// Throws Error(file_missing), or Error(deck) for another kind of file or a changed header, or NewerVersion.
SnapshotHeader read_snapshot_header(const std::string& path);
// read_resolved_deck() of the deck in this file; errors name the isotherm that wrote it.
Config stored_config(const SnapshotProvenance& from, const std::string& file);

// Fingerprint of the cells of `subdomain` (may be empty) in the file, read by this process; disjoint
// subdomains add up to the file's. Adds to `extremes`. Throws Error(io) if these cells cannot be read.
std::uint64_t fingerprint_on_disk(const std::string& path, Box subdomain, Int3 cells, Precision precision,
                                  Index slab_bytes, TemperatureExtremes* extremes = nullptr);

struct WayToWrite {
  bool collective = false;  // all ranks through MPI-IO; else rank 0, to which the others send cells
  std::string warning{};    // about this way, for the user; usually empty
};
// MPI-IO, if HDF5 has it and it works in `folder`; else rank 0 writes. Collective.
WayToWrite choose_way_to_write(const Communicator& communicator, const std::string& folder);
Hdf5List mpi_io_access(const Communicator& communicator);
Hdf5List mpi_io_transfer();
std::string why_not_collective(hid_t transfer);  // a description; empty if it was collective

// A snapshot that is being written: the `.part` file and its dataset of cells.
//
// No destructor closes the file, on purpose. With HDF5 on MPI-IO a close is collective, and after a failed
// call it waits for ever (measured with ROMIO and MPICH). So an exception leaves the file open, `main` ends
// all ranks with MPI_Abort, and only close() closes it, after success or an error that all ranks know of.
class SnapshotFile {
 public:
  // Collective, like all members. Writes and flushes all but the cells' values. The arguments outlive it.
  SnapshotFile(const std::string& path, const Communicator& communicator, bool collective,
               const SnapshotHeader& header);
  SnapshotFile& operator=(SnapshotFile&&) = delete;

  std::int64_t cells_end() const;  // offset in bytes; not of compressed cells, which have none yet
  // `subdomain`: of this rank, in cells of the file; may be empty. No call writes, and no buffer holds, more
  // than `slab_bytes` (one chunk at least). Throws Error(io) on the ranks where HDF5 reports an error: other
  // ranks may wait for ever, until MPI_Abort. Returns a warning, usually empty.
  std::string write(const CellsView& field, Box subdomain, Index slab_bytes, Watchdog& watchdog);
  void close();  // flushes

 private:
  template <class Stored, class T>
  std::string write_as(FieldView<const T> field, Box subdomain, Index slab_bytes, Watchdog& watchdog);

  const std::string& path_;
  const Communicator& communicator_;
  bool collective_;
  const SnapshotHeader& header_;
  hid_t file_ = H5I_INVALID_HID, cells_ = H5I_INVALID_HID;
};

// The material of each cell, in a file next to the snapshots: no sweep changes it, so a run writes it once.
//
//   /material   (nz, ny, nx), uint8: the index of the material in the deck's `materials`; cells of the word
//               void have the number of materials
//   /names      of these numbers, a line each

// "plate_material.h5"; empty where the deck has no body of several materials.
std::string material_file_name(const Config& config);
// Called by one process. A file of this name is complete or absent. Throws Error(cannot_create), Error(io),
// or the errors of RegionMaterials for a dataset.
void write_material_file(const Config& config, const std::string& path, Watchdog& watchdog);

}  // namespace isotherm
