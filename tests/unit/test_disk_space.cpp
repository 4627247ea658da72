#include "output/field_files/disk_space.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "output/safe_file.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

std::string refusal(const std::string& path, std::int64_t bytes) {
  try {
    reserve_space(path, bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::io);
    return e.what();
  }
  return "not refused";
}

TEST(ReserveSpace, TheBlocksAreTheFiles) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  create_empty_file(path);
  if (reserve_space(path, 100000) != Reserved::on_disk) GTEST_SKIP() << "the temporary folder cannot reserve";
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 100000);
  EXPECT_GE(status.st_blocks * 512, 100000);
}

// Sparse files, as a truncation leaves them, are filled too.
TEST(ReserveSpace, ALongerFileIsReservedWhole) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  create_empty_file(path);
  ASSERT_EQ(::truncate(path.c_str(), 200000), 0);
  if (reserve_space(path, 1) != Reserved::on_disk) GTEST_SKIP() << "the temporary folder cannot reserve";
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 200000);
  EXPECT_GE(status.st_blocks * 512, 200000);
}

TEST(ReserveSpace, BehindTheEndOfAFileItIsGivenBack) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  create_empty_file(path);
  if (reserve_space(path, 1 << 20, FileSize::stays) != Reserved::on_disk)
    GTEST_SKIP() << "the temporary folder cannot reserve";
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
  EXPECT_GE(status.st_blocks * 512, 1 << 20);
  ASSERT_EQ(::truncate(path.c_str(), 5000), 0);
  ASSERT_EQ(reserve_space(path, 1 << 20, FileSize::stays), Reserved::on_disk);
  release_space(path);
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 5000);
  EXPECT_LT(status.st_blocks * 512, 1 << 17);
}

TEST(ReserveSpace, RefusesWithPathAndBytes) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  create_empty_file(path);
  const std::string text = refusal(path, std::int64_t{1} << 60);
  EXPECT_EQ(text.find(path + ": no room for the file ("), 0u) << text;
  EXPECT_NE(text.find(": 1152921504606846976 bytes wanted, "), std::string::npos) << text;
}

TEST(ReserveSpace, AFileSizeLimitIsAnErrorAndNotASignal) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "file";
  create_empty_file(path);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string text;
  {
    const FileSizeSignalIgnored ignored;
    text = refusal(path, 100000);
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(text.find("(File too large: "), std::string::npos) << text;
}

// ramfs knows no fallocate and does not say what is free.
TEST(ReserveSpace, WhereTheFileSystemCannotReserveItIsAnEstimate) {
  const test::TemporaryFolder folder;
  if (::mount("ramfs", folder.path().c_str(), "ramfs", 0, "") != 0)
    GTEST_SKIP() << "no right to mount a ramfs: " << std::strerror(errno);
  const std::string path = folder / "file";
  create_empty_file(path);
  EXPECT_EQ(reserve_space(path, 100000), Reserved::estimated);
  EXPECT_EQ(::umount(folder.path().c_str()), 0);
}

}  // namespace
}  // namespace isotherm
