// Any bytes as an HDF5 file: an Error, or a dataset of which a box can be read.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "physics/dataset_reader.hpp"

using namespace isotherm;

namespace {

// A file of its own, gone with the process.
class ScratchFile {
 public:
  ScratchFile() {
    char pattern[] = "/tmp/isotherm-fuzz-XXXXXX";
    file_ = mkstemp(pattern);
    path_ = pattern;
    if (file_ < 0) std::abort();
  }
  ~ScratchFile() {
    close(file_);
    unlink(path_.c_str());
  }
  const std::string& holding(const unsigned char* data, std::size_t size) const {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return path_;
  }

 private:
  int file_;
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const ScratchFile scratch;
  try {
    const DatasetReader reader(scratch.holding(data, size), "temperature");
    const Int3 cells = reader.cells();
    const Box box{{0, 0, 0},
                  {std::min<Index>(cells.x, 4), std::min<Index>(cells.y, 4), std::min<Index>(cells.z, 4)}};
    std::vector<double> values(static_cast<std::size_t>(std::max<Index>(box.cells(), 0)));
    reader.read(box, values.data());
  } catch (const Error&) {
  }
  return 0;
}
