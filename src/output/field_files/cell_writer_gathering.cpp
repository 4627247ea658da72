// Gathering to rank 0, which alone writes: for an HDF5 or an MPI without MPI-IO.
#include <vector>

#include "output/field_files/cell_writer.hpp"
#include "output/field_files/file_grid.hpp"
#include "output/field_files/slabs.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

namespace {

template <class T>
void write_slab(hid_t dataset, Box slab, const T* cells, const std::string& path) {
  const Int3 e = slab.extent();
  const hsize_t start[] = {static_cast<hsize_t>(slab.lo.z), static_cast<hsize_t>(slab.lo.y),
                           static_cast<hsize_t>(slab.lo.x)};
  const hsize_t count[] = {static_cast<hsize_t>(e.z), static_cast<hsize_t>(e.y), static_cast<hsize_t>(e.x)};
  Hdf5Space in_file(check_hdf5(H5Dget_space(dataset), "H5Dget_space", path));
  Hdf5Space in_memory(H5Screate_simple(3, count, nullptr));
  check_hdf5(H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start, nullptr, count, nullptr),
             "H5Sselect_hyperslab", path);
  check_hdf5(H5Dwrite(dataset, native_hdf5_type<T>(), in_memory.get(), in_file.get(), H5P_DEFAULT, cells),
             "H5Dwrite", path);
}

// Slab by slab of the whole file, in its order, so that rank 0 never holds more than two slabs of type T.
template <class T, class From>
std::string gather_and_write(const Communicator& communicator, FieldView<const From> field,
                             const CellTarget& target, Watchdog& watchdog) {
  SlabExchange<T> ranks(communicator, all_gather(communicator, target.block));
  const std::vector<Box> slabs =
      cut_into_slabs({{0, 0, 0}, target.cells}, target.chunk, slab_cells<T>(target.slab_bytes));
  const bool root = communicator.is_root();
  std::vector<Box> of_ranks(static_cast<std::size_t>(communicator.size()));
  std::vector<T> whole(root ? static_cast<std::size_t>(largest(slabs)) : 0);
  const Writeback writeback(target.path);

  for (const Box slab : slabs) {
    watchdog.phase("writing cells");
    of_ranks.front() = slab;
    ranks.assemble(field, of_ranks, whole.data());
    if (!root) continue;
    write_slab(target.dataset, slab, whole.data(), target.path);
    writeback.start();
  }
  return {};
}

class GatheringWriter final : public CellWriter {
 public:
  bool opens_file(const Communicator& communicator) const override { return communicator.is_root(); }

  Hdf5List file_access(const Communicator&) const override {
    Hdf5List access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    H5Pset_file_locking(access.get(), false, true);  // as MPI-IO; the run directory has one writer
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
      return gather_and_write<float>(communicator, field, target, watchdog);
    return gather_and_write<double>(communicator, field, target, watchdog);
  }
};

}  // namespace

std::unique_ptr<CellWriter> make_gathering_writer() {
  return std::make_unique<GatheringWriter>();
}

ChosenCellWriter choose_cell_writer(const Communicator& communicator, const std::string& folder) {
  ChosenCellWriter chosen = make_collective_writer(communicator, folder);
  if (!chosen.writer) chosen.writer = make_gathering_writer();
  return chosen;
}

}  // namespace isotherm
