// Gathering to rank 0, which alone writes: for an HDF5 or an MPI without MPI-IO.
#include <vector>

#include "core/mpi_native.hpp"
#include "output/cell_writer.hpp"
#include "output/dense_copy.hpp"
#include "output/rank_boxes.hpp"
#include "output/slabs.hpp"
#include "output/writeback.hpp"

namespace isotherm {

namespace {

constexpr int tag = 1;

int byte_count(Box part, std::size_t cell_bytes) {
  return static_cast<int>(part.cells() * static_cast<Index>(cell_bytes));  // at most slab_bytes < 2 GiB
}

// `part` of a slab, both in global cells, from one dense buffer into the other.
template <class T>
void place(const T* part_cells, Box part, T* slab_cells, Box slab) {
  const Int3 p = part.extent(), s = slab.extent();
  for (Index z = part.lo.z; z < part.hi.z; ++z)
    for (Index y = part.lo.y; y < part.hi.y; ++y, part_cells += p.x)
      std::copy_n(part_cells, p.x,
                  slab_cells + (part.lo.x - slab.lo.x) + s.x * ((y - slab.lo.y) + s.y * (z - slab.lo.z)));
}

// On rank 0: the cells of `slab` from the ranks that have them. `parts` has room for a slab, as has `whole`.
template <class T>
void collect(const Communicator& communicator, const std::vector<Box>& blocks, Box slab, T* parts, T* whole) {
  std::vector<MPI_Request> requests;
  T* next = parts;
  for (int rank = 1; rank < communicator.size(); ++rank) {
    const Box part = intersect(slab, blocks[static_cast<std::size_t>(rank)]);
    if (part.empty()) continue;
    check_mpi(MPI_Irecv(next, byte_count(part, sizeof(T)), MPI_BYTE, rank, tag, communicator.native().comm,
                        &requests.emplace_back()),
              "MPI_Irecv");
    next += part.cells();
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
  next = parts;
  for (std::size_t rank = 1; rank < blocks.size(); ++rank) {
    const Box part = intersect(slab, blocks[rank]);
    if (part.empty()) continue;
    place(next, part, whole, slab);
    next += part.cells();
  }
}

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
  const std::vector<Box> blocks = all_gather(communicator, target.block);
  const std::vector<Box> slabs = cut_into_slabs(target.cells, slab_cells<T>(target.slab_bytes));
  const bool root = communicator.is_root();
  std::vector<T> part_cells(static_cast<std::size_t>(slabs.front().cells()));
  std::vector<T> whole(root ? part_cells.size() : 0);
  const Int3 to_local = Int3{} - target.block.lo;
  const Writeback writeback(target.path);

  for (const Box slab : slabs) {
    watchdog.phase("writing cells");
    const Box mine = intersect(slab, target.block);
    if (!root) {
      if (mine.empty()) continue;
      copy_to_dense(field, mine.shifted(to_local), part_cells.data());
      // Synchronous: a fast rank must not fill rank 0's memory with slabs that it has not asked for yet.
      check_mpi(MPI_Ssend(part_cells.data(), byte_count(mine, sizeof(T)), MPI_BYTE, 0, tag,
                          communicator.native().comm),
                "MPI_Ssend");
      continue;
    }
    collect(communicator, blocks, slab, part_cells.data(), whole.data());
    if (!mine.empty()) {
      copy_to_dense(field, mine.shifted(to_local), part_cells.data());
      place(part_cells.data(), mine, whole.data(), slab);
    }
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
