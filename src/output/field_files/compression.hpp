// How the cells of a compressed file lie in it, and whether this HDF5 can write one.
#pragma once

#include <cstdint>
#include <string>

#include "output/field_files/file_grid.hpp"

namespace isotherm {

// The chunk that is compressed as one: {1, 1, 1} where the file is not. It follows from cells and precision
// of the file alone, so that a file is the same on any ranks: the longest edge of all cells is halved, the
// outermost first, until a chunk has 2 MiB at the most. Ranks that are dealt out by halves own whole chunks.
Int3 chunk_of(const FileGrid& grid);

// The most that the cells take in the file: chunks at its edges are whole ones, and what does not compress
// grows a little.
std::int64_t most_bytes_of_cells(const FileGrid& grid);

// Empty where this HDF5 can write with shuffle and deflate.
std::string why_not_compressed();

}  // namespace isotherm
