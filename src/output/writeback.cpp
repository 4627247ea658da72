#include "output/writeback.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace isotherm {

Writeback::Writeback(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

Writeback::~Writeback() {
  if (descriptor_ >= 0) close(descriptor_);
}

// A hint: what fails here is told by fsync.
void Writeback::start() const {
  if (descriptor_ >= 0) sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

}  // namespace isotherm
