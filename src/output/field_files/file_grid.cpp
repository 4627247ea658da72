#include "output/field_files/file_grid.hpp"

#include <fmt/format.h>

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

bool is_flat(const FileGrid& grid) {
  return grid.cells.x == 1 || grid.cells.y == 1 || grid.cells.z == 1;
}

FileGrid grid_of_snapshots(const Config& config) {
  FileGrid grid;
  grid.stem = config.name;
  grid.kind = "isotherm snapshot";
  grid.cells = grid.grid_cells = config.grid.cells;
  grid.origin = config.grid.origin;
  grid.spacing = spacing(config);
  grid.precision = config.output.precision == OutputPrecision::fp32 ? Precision::fp32 : config.precision;
  grid.compression = config.output.compression;
  return grid;
}

FileGrid grid_of_checkpoints(const Config& config) {
  FileGrid grid = grid_of_snapshots(config);
  grid.kind = "isotherm checkpoint";
  grid.precision = config.precision;
  grid.compression = 0;
  return grid;
}

FileGrid grid_of(const Config& config, const FieldPart& part) {
  FileGrid grid = grid_of_snapshots(config);
  grid.stem = fmt::format("{}_{}", config.name, part.name);
  grid.kind = fmt::format("isotherm {}", word(part.kind));
  grid.cells = part.cells();
  grid.first_cell = part.box.lo;
  grid.factor = part.factor;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    grid.origin[a] += static_cast<double>(part.box.lo[axis]) * grid.spacing[a];
    grid.spacing[a] *= static_cast<double>(part.factor[axis]);
  }
  grid.normal = part.normal;
  grid.position = part.position;
  return grid;
}

}  // namespace isotherm
