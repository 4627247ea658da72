// Any bytes as a file to go on from: an Error, or a header whose words are those of a checkpoint or a
// snapshot.
#include <cstdlib>
#include <iostream>

#include "output/field_files/snapshot_file.hpp"
#include "tests/fuzz/targets.hpp"

using namespace isotherm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const fuzz::ScratchFile scratch;
  try {
    const SnapshotHeader header = read_snapshot_header(scratch.holding(data, size));
    if (header.format >= 1 && header.format <= SnapshotHeader::newest_format) return 0;
    std::cerr << "a header of format " << header.format << "\n";
    std::abort();
  } catch (const Error&) {
    return 0;
  }
}
