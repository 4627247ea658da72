// Any bytes as a file to resume from: an Error, or a header with a known format number.
#include "output/field_files/snapshot_file.hpp"
#include "tests/fuzz/targets.hpp"

using namespace isotherm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const SnapshotHeader header = read_snapshot_header(fuzz::file_of(data, size));
    fuzz::expect(header.format >= 1 && header.format <= SnapshotHeader::newest_format, "a header of format",
                 std::to_string(header.format));
  } catch (const Error&) {
  }
  return 0;
}
