// The twin of snapshot_file_hdf5_parallel.cpp for an HDF5 that was built without MPI: rank 0 writes.
#include "output/field_files/snapshot_file.hpp"

namespace isotherm {

WayToWrite choose_way_to_write(const Communicator&, const std::string&) { return {}; }
Hdf5List mpi_io_access(const Communicator&) { return {}; }
Hdf5List mpi_io_transfer() { return {}; }
std::string why_not_collective(hid_t) { return {}; }

}  // namespace isotherm
