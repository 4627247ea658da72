#include "output/snapshot_check.hpp"

#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "kernels/fingerprint.hpp"
#include "output/dense_copy.hpp"
#include "output/slabs.hpp"
#include "output/snapshot_header.hpp"
#include "physics/dataset_reader.hpp"

namespace isotherm {
namespace {

// What the reader calls wrong data is here a file that did not become what was written.
DatasetReader open_cells(const std::string& path) {
  try {
    return DatasetReader(path, temperature_dataset);
  } catch (const Error& e) {
    const std::string text = e.what();  // the reader's remedy is for files of strangers
    throw Error(ExitCode::io,
                text.substr(0, text.rfind("; ")) +
                    "; the file is damaged, or its disk loses data: write it again, to another one");
  }
}

}  // namespace

template <class T>
std::uint64_t fingerprint_on_disk(const std::string& path, Box block, Int3 cells, Index slab_bytes,
                                  TemperatureExtremes* extremes) {
  if (block.empty()) return 0;
  const DatasetReader reader = open_cells(path);
  const StoredType wanted = std::is_same_v<T, float> ? StoredType::fp32 : StoredType::fp64;
  if (!(reader.cells() == cells) || reader.type() != wanted)
    throw Error(
        ExitCode::io,
        fmt::format("{}: the dataset {} has not the shape and type that the file is meant to have; the "
                    "file is damaged, write it again",
                    path, temperature_dataset));
  std::uint64_t sum = 0;
  std::vector<T> dense;
  // By chunks: HDF5 keeps none of them, and would decompress one for each slab that cuts it.
  for (const Box slab : cut_into_slabs(block, reader.chunk(), slab_cells<T>(slab_bytes))) {
    dense.resize(static_cast<std::size_t>(slab.cells()));
    reader.read(slab, dense.data());
    const FieldView<const T> view = dense_view(dense.data(), slab.extent());
    sum += fingerprint(view, slab.lo, cells);
    if (extremes) extremes->add(temperature_extremes<T>(view, slab.lo, cells));
  }
  return sum;
}

template std::uint64_t fingerprint_on_disk<float>(const std::string&, Box, Int3, Index, TemperatureExtremes*);
template std::uint64_t fingerprint_on_disk<double>(const std::string&, Box, Int3, Index,
                                                   TemperatureExtremes*);

}  // namespace isotherm
