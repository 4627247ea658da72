// Which cells of the grid a file holds, and how they lie in space.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/parts.hpp"
#include "core/box.hpp"
#include "core/communicator.hpp"

namespace isotherm {

// Which box of cells each rank has.

std::vector<Box> all_gather(const Communicator& communicator, Box mine);  // collective; in rank order

struct FileGrid {
  std::string stem;                       // of its files: <stem>_<sweep>.hdf, <stem>.hdf.series
  std::string kind;                       // "isotherm snapshot", "isotherm slice", ...
  Int3 cells;                             // of the file
  Vector3 origin{};                       // m, the corner of their box
  Vector3 spacing{};                      // m
  Precision precision = Precision::fp64;  // as they are stored, where the field is not narrower
  int compression = 0;                    // level of deflate; 0: stored as they are

  Int3 grid_cells;                   // of the run
  Int3 first_cell;                   // of the run's grid, where the file's box begins
  Int3 factor{1, 1, 1};              // so many of the run's cells make one of the file
  int normal = -1;                   // of a slice: 0, 1, 2, the axis that it is normal to
  std::optional<double> position{};  // of a slice: m along that axis, as the deck has it
};

// One layer of cells along some axis, as a slice has.
bool is_flat(const FileGrid& grid);

FileGrid grid_of_snapshots(const Config& config);
FileGrid grid_of_checkpoints(const Config& config);  // with all bits of the field, never compressed
FileGrid grid_of(const Config& config, const FieldPart& part);

}  // namespace isotherm
