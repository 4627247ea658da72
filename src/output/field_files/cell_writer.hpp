// How cells get into the dataset of a snapshot: by all ranks at once through MPI-IO, or by rank 0, to which
// the others send them. The bytes of the dataset are the same.
#pragma once

#include <memory>
#include <string>

#include "config/config.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"
#include "core/watchdog.hpp"
#include "output/field_files/hdf5_file.hpp"

namespace isotherm {

// Where the cells of this rank belong. `dataset` is open where opens_file() says so.
struct CellTarget {
  Box block;         // of this rank, in cells of the file; may be empty
  Int3 cells;        // of the whole file
  Int3 chunk;        // that is compressed as one, and written once and whole; {1, 1, 1} where the file is not
  Precision stored;  // in the file; a field of another type is rounded on its way
  hid_t dataset;
  Index slab_bytes;  // no call moves, and no buffer holds, more (one chunk at least)
  std::string path;  // for messages
};

class CellWriter {
 public:
  virtual ~CellWriter() = default;
  virtual bool opens_file(const Communicator& communicator) const = 0;  // whether this rank does
  virtual Hdf5List file_access(const Communicator& communicator) const = 0;
  // Collective. Throws Error(io) on the ranks where HDF5 reports an error; others may wait for them for ever,
  // so that nothing can follow it but MPI_Abort, and the watchdog. Returns a remark, empty when all went as
  // it should.
  virtual std::string write(const Communicator& communicator, FieldView<const float> field,
                            const CellTarget& target, Watchdog& watchdog) const = 0;
  virtual std::string write(const Communicator& communicator, FieldView<const double> field,
                            const CellTarget& target, Watchdog& watchdog) const = 0;
};

struct ChosenCellWriter {
  std::unique_ptr<CellWriter> writer;
  std::string remark;  // what the user should know of this way of writing; usually nothing
};

std::unique_ptr<CellWriter> make_gathering_writer();
// Collective; tries MPI-IO in `folder`. A null writer where it does not work, or HDF5 was built without it.
ChosenCellWriter make_collective_writer(const Communicator& communicator, const std::string& folder);
// Collective: the collective one where it works, else the gathering one.
ChosenCellWriter choose_cell_writer(const Communicator& communicator, const std::string& folder);

}  // namespace isotherm
