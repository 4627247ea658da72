#include "output/field_files/compression.hpp"

#include <fmt/format.h>

#include "output/field_files/coarse_field.hpp"
#include "output/field_files/hdf5_file.hpp"

namespace isotherm {
namespace {

constexpr std::int64_t most_chunk_bytes = 2 << 20;

std::int64_t cell_bytes(const FileGrid& grid) {
  return grid.precision == Precision::fp32 ? 4 : 8;
}

bool can_write_with(H5Z_filter_t filter) {
  unsigned flags = 0;
  return H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &flags) >= 0 &&
         (flags & H5Z_FILTER_CONFIG_ENCODE_ENABLED);
}

}  // namespace

Int3 chunk_of(const FileGrid& grid) {
  if (grid.compression == 0) return {1, 1, 1};
  Int3 chunk = grid.cells;
  while (chunk.product() > most_chunk_bytes / cell_bytes(grid)) {
    int longest = 2;
    for (int axis = 1; axis >= 0; --axis)
      if (chunk[axis] > chunk[longest]) longest = axis;
    chunk[longest] = (chunk[longest] + 1) / 2;
  }
  return chunk;
}

std::int64_t most_bytes_of_cells(const FileGrid& grid) {
  if (grid.compression == 0) return grid.cells.product() * cell_bytes(grid);
  // For deflate's own blocks, a chunk of zeros that stood there first, and its entry in the index.
  constexpr std::int64_t entry = 256;
  const Int3 chunk = chunk_of(grid);
  const std::int64_t bytes = chunk.product() * cell_bytes(grid);
  return up(grid.cells, chunk).product() * (bytes + bytes / 256 + entry);
}

std::string why_not_compressed() {
  start_hdf5();
  for (const auto& [filter, name] :
       {std::pair(H5Z_FILTER_SHUFFLE, "shuffle"), {H5Z_FILTER_DEFLATE, "deflate"}})
    if (!can_write_with(filter))
      return fmt::format("HDF5 {} was built without the filter {}", hdf5_library_version(), name);
  return {};
}

}  // namespace isotherm
