#include "core/memory_limits.hpp"

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

// The name of a program may hold any word, and one key may begin another.
TEST(ProcStatus, BytesOfALine) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "status";
  test::write_file(file, "Name:\tVmRSS: 5 kB\nVmRSSX:\t1 kB\nVmRSS:\t    2048 kB\nVmHWM:\nVmLck:\tmany kB\n");
  EXPECT_EQ(proc_bytes(file, "VmRSS"), std::size_t{2} << 20);
  EXPECT_EQ(proc_bytes(file, "VmHWM"), 0u);
  EXPECT_EQ(proc_bytes(file, "VmLck"), 0u);
  EXPECT_EQ(proc_bytes(file, "VmSwap"), 0u);
  EXPECT_EQ(proc_bytes(folder / "absent", "VmRSS"), 0u);
}

}  // namespace
}  // namespace isotherm
