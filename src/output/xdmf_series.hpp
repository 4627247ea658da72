// The `.xmf` file: XDMF 3 over the same `.hdf` files, as cells and with their times, for VisIt and other
// readers that know no VTKHDF.
#pragma once

#include <string>
#include <vector>

#include "output/file_grid.hpp"
#include "output/snapshot_series.hpp"

namespace isotherm {

// The files lie in its own folder. `stored`: of their cells.
std::string xdmf_text(const FileGrid& grid, Precision stored, const std::vector<SeriesEntry>& entries);
// Replaces the file `path`, whole or not at all. Throws as write_file_atomically.
void write_xdmf(const std::string& path, const FileGrid& grid, Precision stored,
                const std::vector<SeriesEntry>& entries);

}  // namespace isotherm
