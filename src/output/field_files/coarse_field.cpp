#include "output/field_files/coarse_field.hpp"

#include <algorithm>

#include "core/mpi_native.hpp"
#include "output/field_files/dense_copy.hpp"
#include "output/field_files/file_grid.hpp"
#include "output/field_files/slabs.hpp"

namespace isotherm {
namespace {

constexpr int tag = 2;

template <class T>
MPI_Datatype mpi_type();
template <>
MPI_Datatype mpi_type<float>() {
  return MPI_FLOAT;
}
template <>
MPI_Datatype mpi_type<double>() {
  return MPI_DOUBLE;
}

// `at(x, y, z)`: a cell of the grid.
template <class At>
double mean(Box cells, const At& at) {
  double sum = 0;
  for (Index z = cells.lo.z; z < cells.hi.z; ++z)
    for (Index y = cells.lo.y; y < cells.hi.y; ++y)
      for (Index x = cells.lo.x; x < cells.hi.x; ++x) sum += static_cast<double>(at(x, y, z));
  return sum / static_cast<double>(cells.cells());
}

}  // namespace

CoarseField::CoarseField(const Communicator& communicator, Box block, Int3 factor)
    : communicator_(communicator.split(0, communicator.rank())),  // no message of ours meets a halo's
      block_(block),
      mine_(coarse_begun_in(block, factor)),
      factor_(factor) {
  const std::vector<Box> blocks = all_gather(communicator_, block);
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    const Box other = blocks[static_cast<std::size_t>(rank)];
    const Box lent = intersect(fine_of(coarse_begun_in(other, factor), factor), block);
    const Box borrowed = intersect(fine_of(mine_, factor), other);
    if (!lent.empty()) lent_.push_back({rank, lent});
    if (!borrowed.empty()) borrowed_.push_back({rank, borrowed});
  }
}

// Dense, one after the other as in borrowed_.
template <class T>
std::vector<std::vector<T>> CoarseField::fetch(FieldView<const T> field) const {
  const MPI_Comm comm = communicator_.native().comm;
  std::vector<MPI_Request> requests;
  const auto buffers = [](const std::vector<Share>& shares) {
    std::vector<std::vector<T>> all;
    for (const Share& share : shares) all.emplace_back(static_cast<std::size_t>(share.cells.cells()));
    return all;
  };
  std::vector<std::vector<T>> arriving = buffers(borrowed_), leaving = buffers(lent_);
  for (std::size_t i = 0; i < borrowed_.size(); ++i)
    check_mpi(MPI_Irecv(arriving[i].data(), static_cast<int>(arriving[i].size()), mpi_type<T>(),
                        borrowed_[i].rank, tag, comm, &requests.emplace_back()),
              "MPI_Irecv");
  for (std::size_t i = 0; i < lent_.size(); ++i) {
    copy_to_dense(field, lent_[i].cells.shifted(Int3{} - block_.lo), leaving[i].data());
    check_mpi(MPI_Isend(leaving[i].data(), static_cast<int>(leaving[i].size()), mpi_type<T>(), lent_[i].rank,
                        tag, comm, &requests.emplace_back()),
              "MPI_Isend");
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
  return arriving;
}

template <class T>
std::vector<T> CoarseField::means(FieldView<const T> field) const {
  const std::vector<std::vector<T>> arrived = fetch(field);
  const auto own = [&](Index x, Index y, Index z) {
    return field(x - block_.lo.x, y - block_.lo.y, z - block_.lo.z);
  };
  const auto any = [&](Index x, Index y, Index z) {
    if (block_.contains({x, y, z})) return own(x, y, z);
    for (std::size_t i = 0; i < borrowed_.size(); ++i) {
      const Box box = borrowed_[i].cells;
      if (box.contains({x, y, z})) return dense_view(arrived[i].data(), box.extent())(Int3{x, y, z} - box.lo);
    }
    return T(0);  // not reached: the blocks are the whole grid
  };
  const Int3 n = mine_.extent();
  std::vector<T> means(static_cast<std::size_t>(mine_.cells()));
#pragma omp parallel for collapse(2)
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y)
      for (Index x = 0; x < n.x; ++x) {
        const Int3 coarse = mine_.lo + Int3{x, y, z};
        const Box cells = fine_of({coarse, coarse + Int3{1, 1, 1}}, factor_);
        const bool all_own = intersect(cells, block_) == cells;
        means[static_cast<std::size_t>(x + n.x * (y + n.y * z))] =
            static_cast<T>(all_own ? mean(cells, own) : mean(cells, any));
      }
  return means;
}

template std::vector<float> CoarseField::means(FieldView<const float>) const;
template std::vector<double> CoarseField::means(FieldView<const double>) const;

}  // namespace isotherm
