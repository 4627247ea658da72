// The `.xmf` file: XDMF 3 over the same `.hdf` files, as cells in the box that is theirs and with their
// times. It is what ParaView is to open: as VTKHDF it takes points alone, and so a box that is a cell too
// small.
#pragma once

#include <string>
#include <vector>

#include "output/file_grid.hpp"
#include "output/snapshot_series.hpp"

namespace isotherm {

// The files lie in its own folder.
std::string xdmf_text(const FileGrid& grid, const std::vector<SeriesEntry>& entries);

}  // namespace isotherm
