// Writing of snapshots by HDF5's MPI-IO driver.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "core/mpi_native.hpp"
#include "output/field_files/snapshot_file.hpp"

namespace isotherm {

namespace {

bool open_and_close(MPI_Comm ranks, const char* path, int mode) {
  MPI_File file = MPI_FILE_NULL;
  if (MPI_File_open(ranks, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) return false;
  MPI_File_close(&file);
  return true;
}

// Does this MPI open files in the folder (one built with OMPIO alone does not)? First each rank opens one
// alone: if a rank cannot load MPI-IO, the others would wait for it in the collective call.
bool mpi_io_works(const Communicator& communicator, const std::string& folder) {
  const std::string probe = (std::filesystem::path(folder) / "mpi_io_probe.part").string();
  Watchdog watchdog(io_timeout(), probe, "opening a file by MPI-IO", communicator.rank());
  return communicator.all(open_and_close(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR)) &&
         communicator.all(open_and_close(communicator.native().comm, probe.c_str(),
                                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
}

}  // namespace

Hdf5List mpi_io_access(const Communicator& communicator) {
  Hdf5List access(H5Pcreate(H5P_FILE_ACCESS));
  check_hdf5(H5Pset_fapl_mpio(access.get(), communicator.native().comm, MPI_INFO_NULL), "H5Pset_fapl_mpio",
             "snapshot");
  H5Pset_coll_metadata_write(access.get(), true);
  H5Pset_all_coll_metadata_ops(access.get(), true);
  return access;
}

Hdf5List mpi_io_transfer() {
  Hdf5List transfer(H5Pcreate(H5P_DATASET_XFER));
  H5Pset_dxpl_mpio(transfer.get(), H5FD_MPIO_COLLECTIVE);
  return transfer;
}

// HDF5 falls back to independent writes without an error.
std::string why_not_collective(hid_t transfer) {
  std::uint32_t here = 0, anywhere = 0;
  if (H5Pget_mpio_no_collective_cause(transfer, &here, &anywhere) < 0 || anywhere == 0) return {};
  return fmt::format(
      "HDF5 wrote independently, not collectively (cause {:#x} of H5D_mpio_no_collective_cause_t); the data "
      "is right, the speed is not",
      anywhere);
}

WayToWrite choose_way_to_write(const Communicator& communicator, const std::string& folder) {
  if (!mpi_io_works(communicator, folder)) {
    return {false,
            "this MPI opens no files here (isotherm excludes OMPIO, which loses data on a full disk without "
            "an error): rank 0 writes what the others send"};
  }
  // MpiSession excludes OMPIO unless the user names a component.
  const char* component = std::getenv("OMPI_MCA_io");
  if (component && std::string_view(component).find("ompio") != std::string_view::npos &&
      component[0] != '^') {
    return {true,
            "OMPI_MCA_io asks for OMPIO, which loses data on a full disk without an error; every snapshot is "
            "read back and compared, but unset it to learn of it earlier"};
  }
  return {true, ""};
}

}  // namespace isotherm
