// A snapshot while it is written: the `.part` file and its dataset of cells.
#pragma once

#include <cstdint>
#include <string>

#include "core/box.hpp"
#include "output/field_files/hdf5_file.hpp"
#include "output/field_files/snapshot_header.hpp"
#include "physics/diagnostics.hpp"

namespace isotherm {

// The proof that a file holds the field that was meant.

// The fingerprint of the cells of `block` (which may be empty) as they stand in the file, read by this
// process alone, slab by slab; the sum over disjoint blocks is the file's. T must be the file's type. Throws
// Error(io) when the file cannot be read as a snapshot of these cells. `extremes`: of the block too, where
// they are wanted.
template <class T>
std::uint64_t fingerprint_on_disk(const std::string& path, Box block, Int3 cells, Index slab_bytes,
                                  TemperatureExtremes* extremes = nullptr);

// No destructor closes it, on purpose. With HDF5 on MPI-IO a close is collective, and after a failed call it
// waits for ever (measured with ROMIO and MPICH). So an exception leaves the file open, `main` ends all ranks
// with MPI_Abort, and only `close` closes, after success or after a refusal that all ranks know of.
class SnapshotFile {
 public:
  // Collective over the ranks of `access`. Everything but the cells is written: header, and the dataset with
  // its place in the file, but no value in it. `text_writer`: true on one of the ranks.
  SnapshotFile(const std::string& path, hid_t access, const SnapshotHeader& header, bool text_writer);
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;

  hid_t cells() const { return cells_; }
  std::int64_t cells_end() const;  // bytes into the file; not of compressed cells, which have no place yet
  void flush();
  void close();  // flushes

 private:
  std::string path_;
  hid_t file_ = H5I_INVALID_HID, cells_ = H5I_INVALID_HID;
};

}  // namespace isotherm
