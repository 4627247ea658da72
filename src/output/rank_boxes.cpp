#include "output/rank_boxes.hpp"

#include "core/mpi_native.hpp"

namespace isotherm {

std::vector<Box> all_gather(const Communicator& communicator, Box box) {
  const Index mine[] = {box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z};
  std::vector<Index> all(6 * static_cast<std::size_t>(communicator.size()));
  check_mpi(MPI_Allgather(mine, 6, MPI_INT64_T, all.data(), 6, MPI_INT64_T, communicator.native().comm),
            "MPI_Allgather");
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < all.size(); i += 6)
    boxes.push_back({{all[i], all[i + 1], all[i + 2]}, {all[i + 3], all[i + 4], all[i + 5]}});
  return boxes;
}

}  // namespace isotherm
