// Any bytes as an HDF5 file: an Error, or a dataset of which a box can be read.
#include <algorithm>
#include <vector>

#include "physics/dataset_reader.hpp"
#include "tests/fuzz/targets.hpp"

using namespace isotherm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const DatasetReader reader(fuzz::file_of(data, size), "temperature");
    const Int3 cells = reader.cells();
    const Box box{{0, 0, 0},
                  {std::min<Index>(cells.x, 4), std::min<Index>(cells.y, 4), std::min<Index>(cells.z, 4)}};
    std::vector<double> values(static_cast<std::size_t>(std::max<Index>(box.cells(), 0)));
    reader.read(box, values.data());
  } catch (const Error&) {
  }
  return 0;
}
