// Boxes of cells that are copied from the subdomains of ranks into files.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "config/grid_axes.hpp"
#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/mpi_native.hpp"
#include "grid/field.hpp"
#include "grid/slabs.hpp"

namespace isotherm {

std::vector<Box> all_gather(const Communicator& communicator, Box mine);  // collective; in rank order

// Copies `box` of the field (interior indices) to `at` in a dense box of `extent`, x fastest; may round.
template <class From, class To>
void copy_into_dense(FieldView<const From> field, Box box, To* dense, Int3 extent, Int3 at) {
  const Int3 n = box.extent();
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y) {
      const From* row = &field(box.lo.x, box.lo.y + y, box.lo.z + z);
      std::transform(row, row + n.x, dense + at.x + extent.x * (at.y + y + extent.y * (at.z + z)),
                     [](From value) { return static_cast<To>(value); });
    }
}
template <class From, class To>
void copy_to_dense(FieldView<const From> field, Box box, To* dense) {  // dense: of the size of `box`
  copy_into_dense(field, box, dense, box.extent(), {});
}

// Sends cells, as T, to ranks that request them; reuses buffers. `blocks`: subdomains by rank, a partition.
template <class T>
class CellExchange {
 public:
  struct Part {  // cells that one rank sends to another
    int rank;    // the other rank
    Box cells;
    T* dense;
  };

  CellExchange(const Communicator& communicator, std::vector<Box> blocks)
      : communicator_(communicator), blocks_(std::move(blocks)) {}

  // Collective. `boxes`: the request of each rank, the same on all ranks. finish() waits for the cells.
  template <class From>
  void start(FieldView<const From> field, const std::vector<Box>& boxes) {
    const int me = communicator_.rank();
    const Box subdomain = blocks_[me];
    const MPI_Comm comm = communicator_.native().comm;
    const MPI_Datatype type = sizeof(T) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
    received_.lay_out(communicator_, [&](std::size_t rank) { return boxes[me].within(blocks_[rank]); });
    sent_.lay_out(communicator_, [&](std::size_t rank) { return boxes[rank].within(subdomain); });
    for (const Part& part : received_.parts)
      check_mpi(
          MPI_Irecv(part.dense, part.cells.cells(), type, part.rank, tag, comm, &requests_.emplace_back()),
          "MPI_Irecv");
    for (const Part& part : sent_.parts) {
      copy_to_dense(field, part.cells.shifted(Int3{} - subdomain.lo), part.dense);
      // Synchronous: a fast rank must not fill the memory of another with cells not requested yet.
      check_mpi(
          MPI_Issend(part.dense, part.cells.cells(), type, part.rank, tag, comm, &requests_.emplace_back()),
          "MPI_Issend");
    }
  }
  const std::vector<Part>& finish() {
    check_mpi(MPI_Waitall(requests_.size(), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    requests_.clear();
    return received_.parts;
  }

  // start() and finish(); stores all cells of this rank's box in `cells`, dense.
  template <class From>
  void assemble(FieldView<const From> field, const std::vector<Box>& boxes, T* cells) {
    const int me = communicator_.rank();
    const Box box = boxes[me], subdomain = blocks_[me], own = box.within(subdomain);
    start(field, boxes);
    if (!own.empty())
      copy_into_dense(field, own.shifted(Int3{} - subdomain.lo), cells, box.extent(), own.lo - box.lo);
    for (const Part& part : finish()) {
      const Int3 extent = part.cells.extent();
      copy_into_dense(dense_view<const T>(part.dense, extent), {{0, 0, 0}, extent}, cells, box.extent(),
                      part.cells.lo - box.lo);
    }
  }

 private:
  static constexpr int tag = 1;
  struct Side {  // parts, one after the other in a buffer
    std::vector<Part> parts;
    std::vector<T> buffer;

    template <class With>
    void lay_out(const Communicator& communicator, const With& with) {
      parts.clear();
      Index all = 0;
      for (int rank = 0; rank < communicator.size(); ++rank) {
        const Box cells = rank == communicator.rank() ? Box{} : with(static_cast<std::size_t>(rank));
        if (!cells.empty()) parts.push_back({rank, cells, nullptr});
        all += cells.cells();
      }
      if (std::ssize(buffer) < all) buffer.resize(static_cast<std::size_t>(all));
      T* next = buffer.data();
      for (Part& part : parts) part.dense = std::exchange(next, next + part.cells.cells());
    }
  };

  const Communicator& communicator_;
  std::vector<Box> blocks_;
  Side received_, sent_;
  std::vector<MPI_Request> requests_;
};

// Means of the field over coarse cells: those of coarse_begun_in(subdomain, factor), dense, x fastest; may be
// none. The rank with the first cell of a coarse cell adds up all its cells in fp64, in the order of their
// indices: the bits do not depend on the subdomains. Collective. `field`: the cells of `subdomain`.
template <class T>
std::vector<T> coarse_means(const Communicator& communicator, FieldView<const T> field, Box subdomain,
                            Int3 factor, const CellWeights& weights = {});

// Returns on every rank the temperatures of `cells` (global, each in one rank's `subdomain`), in their order
// and bit for bit. `mine`: those in this rank's subdomain, in the same order. Collective.
std::vector<double> gather_cells(const Communicator& communicator, Box subdomain,
                                 const std::vector<Int3>& cells, const std::vector<double>& mine);

}  // namespace isotherm
