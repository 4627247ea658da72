// A box of cells cut into slabs that a buffer holds.
#pragma once

#include <utility>
#include <vector>

#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"
#include "core/mpi_native.hpp"
#include "output/field_files/dense_copy.hpp"

namespace isotherm {

// Boxes of at most `max_cells` (>= 1) that cover [0, extent) in the order of memory: whole planes of z where
// one fits, else whole rows of x, else parts of one.
std::vector<Box> cut_into_slabs(Int3 extent, Index max_cells);

// The same of any box, in units of chunks: none is cut in two, except by the box itself. A slab has one chunk
// at least, whatever `max_cells` says. {1, 1, 1}: cells are free to be cut anywhere.
std::vector<Box> cut_into_slabs(Box box, Int3 chunk, Index max_cells);

Index largest(const std::vector<Box>& boxes);  // cells of the one that has most; 0 of none

Box intersect(Box a, Box b);  // Box{} where they have no cell in common

// Cells of slabs that lie across the blocks of ranks, on their way to whoever writes them.

// `blocks`: of all ranks, in cells of the file; disjoint, and together all of it. Keeps its buffers from call
// to call: of what arrives, at most a slab, and of what leaves.
template <class T>
class SlabExchange {
 public:
  SlabExchange(const Communicator& communicator, std::vector<Box> blocks)
      : communicator_(communicator), blocks_(std::move(blocks)) {}

  // Collective. `slabs`: what each rank is going to write, by rank, the same on all; empty for one that
  // writes nothing. `field`: the cells of this rank's block. Fills `cells`, dense, with this rank's slab.
  template <class From>
  void assemble(FieldView<const From> field, const std::vector<Box>& slabs, T* cells) {
    const auto me = static_cast<std::size_t>(communicator_.rank());
    const Box slab = slabs[me], block = blocks_[me];
    requests_.clear();
    const std::vector<Part> arriving =
        parts([&](std::size_t rank) { return intersect(slab, blocks_[rank]); });
    const std::vector<Part> leaving = parts([&](std::size_t rank) { return intersect(slabs[rank], block); });
    T* next = reserve(arriving, arriving_);
    for (const Part& part : arriving) {
      check_mpi(MPI_Irecv(next, bytes_of(part), MPI_BYTE, part.rank, tag, communicator_.native().comm,
                          &requests_.emplace_back()),
                "MPI_Irecv");
      next += part.cells.cells();
    }
    next = reserve(leaving, leaving_);
    for (const Part& part : leaving) {
      copy_to_dense(field, part.cells.shifted(Int3{} - block.lo), next);
      // Synchronous: a fast rank must not fill another's memory with cells that it has not asked for yet.
      check_mpi(MPI_Issend(next, bytes_of(part), MPI_BYTE, part.rank, tag, communicator_.native().comm,
                           &requests_.emplace_back()),
                "MPI_Issend");
      next += part.cells.cells();
    }
    if (const Box own = intersect(slab, block); !own.empty())
      copy_into_dense(field, own.shifted(Int3{} - block.lo), cells, slab.extent(), own.lo - slab.lo);
    check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
    const T* arrived = arriving_.data();
    for (const Part& part : arriving) {
      const Int3 extent = part.cells.extent();
      copy_into_dense(dense_view(arrived, extent), {{0, 0, 0}, extent}, cells, slab.extent(),
                      part.cells.lo - slab.lo);
      arrived += extent.product();
    }
  }

 private:
  static constexpr int tag = 1;
  struct Part {
    int rank;  // another one
    Box cells;
  };

  template <class Of>
  std::vector<Part> parts(const Of& with) const {
    std::vector<Part> all;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (rank == communicator_.rank()) continue;
      if (const Box cells = with(static_cast<std::size_t>(rank)); !cells.empty())
        all.push_back({rank, cells});
    }
    return all;
  }
  static int bytes_of(const Part& part) {  // at most a slab's < 2 GiB
    return static_cast<int>(part.cells.cells() * static_cast<Index>(sizeof(T)));
  }
  static T* reserve(const std::vector<Part>& parts, std::vector<T>& buffer) {
    Index cells = 0;
    for (const Part& part : parts) cells += part.cells.cells();
    if (std::ssize(buffer) < cells) buffer.resize(static_cast<std::size_t>(cells));
    return buffer.data();
  }

  const Communicator& communicator_;
  std::vector<Box> blocks_;
  std::vector<T> arriving_, leaving_;
  std::vector<MPI_Request> requests_;
};

// What a rank adds to the file of a part of the field.
template <class T>
struct PartCells {
  FieldView<const T> cells;  // a look at the field; empty where the rank has none
  Box in_file;               // where they stand in it
};

// The cells that `part` and this rank's `block` (both global) have in common.
template <class T>
PartCells<T> cut(FieldView<const T> field, Box block, Box part) {
  const Box common = intersect(block, part);
  if (common.empty()) return {};
  return {view_of(field, common.shifted(Int3{} - block.lo)), common.shifted(Int3{} - part.lo)};
}

}  // namespace isotherm
