// Collective writing through HDF5's MPI-IO driver.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "core/mpi_native.hpp"
#include "output/field_files/cell_writer.hpp"
#include "output/field_files/coarse_field.hpp"
#include "output/field_files/file_grid.hpp"
#include "output/field_files/slabs.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

namespace {

Hdf5Space dense_space(Int3 extent) {  // of at least one cell: a null space would end collective mode
  const hsize_t dims[] = {static_cast<hsize_t>(std::max<Index>(extent.z, 1)),
                          static_cast<hsize_t>(std::max<Index>(extent.y, 1)),
                          static_cast<hsize_t>(std::max<Index>(extent.x, 1))};
  return Hdf5Space(H5Screate_simple(3, dims, nullptr));
}

// HDF5 falls back to independent writes without an error.
std::string why_not_collective(hid_t transfer) {
  std::uint32_t here = 0, anywhere = 0;
  if (H5Pget_mpio_no_collective_cause(transfer, &here, &anywhere) < 0 || anywhere == 0) return {};
  return fmt::format(
      "HDF5 wrote independently, not collectively (cause {:#x} of H5D_mpio_no_collective_cause_t); "
      "the data is right, the speed is not",
      anywhere);
}

void select(hid_t space, Box box) {
  const Int3 e = box.extent();
  const hsize_t start[] = {static_cast<hsize_t>(box.lo.z), static_cast<hsize_t>(box.lo.y),
                           static_cast<hsize_t>(box.lo.x)};
  const hsize_t count[] = {static_cast<hsize_t>(e.z), static_cast<hsize_t>(e.y), static_cast<hsize_t>(e.x)};
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
}

// What a rank writes: the chunks that begin in its block, whole. HDF5 would let ranks share a chunk within
// one call, but would compress it anew for each call that has a part of it, at another place in the file.
Box owned(Box block, const CellTarget& target) {
  return intersect(fine_of(coarse_begun_in(block, target.chunk), target.chunk), {{0, 0, 0}, target.cells});
}

// Cells are packed into a dense buffer of the file's own type: a conversion within HDF5 would end collective
// mode. A call of more than 2 GiB was cut short by MPI-IO libraries without an error: slabs stay below it.
template <class T, class From>
std::string write_collectively(const Communicator& communicator, FieldView<const From> field,
                               const CellTarget& target, Watchdog& watchdog) {
  const std::vector<Box> blocks = all_gather(communicator, target.block);
  std::vector<std::vector<Box>> slabs;  // by rank
  // Each call is collective: ranks with fewer slabs take part in the last ones with nothing.
  std::size_t calls = 0;
  for (const Box block : blocks) {
    slabs.push_back(cut_into_slabs(owned(block, target), target.chunk, slab_cells<T>(target.slab_bytes)));
    calls = std::max(calls, slabs.back().size());
  }
  const auto me = static_cast<std::size_t>(communicator.rank());
  std::vector<T> dense(static_cast<std::size_t>(std::max<Index>(1, largest(slabs[me]))));
  SlabExchange<T> ranks(communicator, blocks);
  Hdf5List transfer(H5Pcreate(H5P_DATASET_XFER));
  H5Pset_dxpl_mpio(transfer.get(), H5FD_MPIO_COLLECTIVE);
  Hdf5Space in_file(check_hdf5(H5Dget_space(target.dataset), "H5Dget_space", target.path));
  const Writeback writeback(target.path);

  for (std::size_t call = 0; call < calls; ++call) {
    watchdog.phase("writing cells");
    std::vector<Box> of_ranks;
    for (const std::vector<Box>& all : slabs) of_ranks.push_back(call < all.size() ? all[call] : Box{});
    ranks.assemble(field, of_ranks, dense.data());
    const Box slab = of_ranks[me];
    Hdf5Space in_memory = dense_space(slab.extent());
    if (slab.empty()) {
      H5Sselect_none(in_memory.get());
      H5Sselect_none(in_file.get());
    } else {
      select(in_file.get(), slab);
    }
    check_hdf5(H5Dwrite(target.dataset, native_hdf5_type<T>(), in_memory.get(), in_file.get(), transfer.get(),
                        dense.data()),
               "H5Dwrite", target.path);
    writeback.start();
  }
  return why_not_collective(transfer.get());
}

bool open_and_close(MPI_Comm ranks, const char* path, int mode) {
  MPI_File file = MPI_FILE_NULL;
  if (MPI_File_open(ranks, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) return false;
  MPI_File_close(&file);
  return true;
}

// Does this MPI open files in the folder? One that was built with OMPIO alone has no MPI-IO left here. First
// each rank by itself: where one cannot load MPI-IO (no descriptors left), the others would wait for it in
// the collective call.
bool mpi_io_works(const Communicator& communicator, const std::string& folder) {
  const std::string probe = (std::filesystem::path(folder) / "mpi_io_probe.part").string();
  Watchdog watchdog(io_timeout(), probe, communicator.rank());
  watchdog.phase("opening a file by MPI-IO");
  const auto on_all = [&](bool works) {
    return communicator.all_reduce(std::int64_t{works}, ReduceOp::min) != 0;
  };
  return on_all(open_and_close(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR)) &&
         on_all(open_and_close(communicator.native().comm, probe.c_str(),
                               MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
}

class CollectiveWriter final : public CellWriter {
 public:
  bool opens_file(const Communicator&) const override { return true; }

  Hdf5List file_access(const Communicator& communicator) const override {
    Hdf5List access(H5Pcreate(H5P_FILE_ACCESS));
    check_hdf5(H5Pset_fapl_mpio(access.get(), communicator.native().comm, MPI_INFO_NULL), "H5Pset_fapl_mpio",
               "snapshot");
    H5Pset_coll_metadata_write(access.get(), true);
    H5Pset_all_coll_metadata_ops(access.get(), true);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    return access;
  }

  std::string write(const Communicator& communicator, FieldView<const float> field, const CellTarget& target,
                    Watchdog& watchdog) const override {
    return write_as(communicator, field, target, watchdog);
  }
  std::string write(const Communicator& communicator, FieldView<const double> field, const CellTarget& target,
                    Watchdog& watchdog) const override {
    return write_as(communicator, field, target, watchdog);
  }

 private:
  template <class T>
  static std::string write_as(const Communicator& communicator, FieldView<const T> field,
                              const CellTarget& target, Watchdog& watchdog) {
    if (target.stored == Precision::fp32)
      return write_collectively<float>(communicator, field, target, watchdog);
    return write_collectively<double>(communicator, field, target, watchdog);
  }
};

}  // namespace

ChosenCellWriter make_collective_writer(const Communicator& communicator, const std::string& folder) {
  if (!mpi_io_works(communicator, folder)) {
    return {nullptr,
            "this MPI opens no files here (isotherm excludes OMPIO, which loses data on a full disk without "
            "an error): "
            "rank 0 writes what the others send"};
  }
  // MpiSession excludes OMPIO unless the user names a component.
  const char* component = std::getenv("OMPI_MCA_io");
  if (component && std::string_view(component).find("ompio") != std::string_view::npos &&
      component[0] != '^') {
    return {std::make_unique<CollectiveWriter>(),
            "OMPI_MCA_io asks for OMPIO, which loses data on a full disk without an error; every snapshot is "
            "read back "
            "and compared, but unset it to be told earlier"};
  }
  return {std::make_unique<CollectiveWriter>(), ""};
}

}  // namespace isotherm
