// Any bytes as an HDF5 file: an Error, or a dataset of which a box can be read.
#include <vector>

#include "physics/dataset_reader.hpp"
#include "tests/fuzz/targets.hpp"

using namespace isotherm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const DatasetReader reader(fuzz::file_of(data, size), "temperature");
    const Box box = Box{{0, 0, 0}, reader.cells()}.within({{0, 0, 0}, {4, 4, 4}});
    std::vector<double> values(static_cast<std::size_t>(box.cells()));
    reader.read(box, values.data());
  } catch (const Error&) {
  }
  return 0;
}
