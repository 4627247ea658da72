#include "output/safe_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using test::TemporaryFolder;

ExitCode code_of(auto&& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.code();
  }
  return ExitCode::done;
}

TEST(SafeFile, ReplacesTheWholeFileAndLeavesNoPart) {
  const TemporaryFolder folder;
  const std::string path = folder / "series";
  const std::string long_text(1 << 20, 'a');
  write_file_atomically(path, long_text);
  EXPECT_EQ(test::read_file(path), long_text);
  const std::string with_nul("b\0c", 3);
  write_file_atomically(path, with_nul);
  EXPECT_EQ(test::read_file(path), with_nul);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"series"});
}

TEST(SafeFile, AMissingFolderIsCannotCreate) {
  const TemporaryFolder folder;
  EXPECT_EQ(code_of([&] { write_file_atomically(folder / "no/such/file", "x"); }), ExitCode::cannot_create);
  EXPECT_EQ(code_of([&] { create_empty_file(folder / std::string(300, 'n')); }), ExitCode::cannot_create);
}

// The old file stays when the new one cannot take its name: here, because the name is a folder's.
TEST(SafeFile, AFailedRenameIsIoAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkdir((folder / "taken").c_str(), 0777), 0);
  EXPECT_EQ(code_of([&] { write_file_atomically(folder / "taken", "x"); }), ExitCode::io);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"taken"});
}

TEST(SafeFile, AFullDiskIsIoAndKeepsTheOldFile) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  ASSERT_EQ(::symlink("/dev/full", (folder / "file.part").c_str()), 0);
  EXPECT_EQ(code_of([&] { write_file_atomically(folder / "file", "new"); }), ExitCode::io);
  EXPECT_EQ(test::read_file(folder / "file"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
}

TEST(SafeFile, ThePathIsNeverAFormat) {
  const TemporaryFolder folder;
  const std::string name = "a%s{}\n..b";
  write_file_atomically(folder / name, "x");
  EXPECT_EQ(folder.names(), std::vector<std::string>{name});
  EXPECT_EQ(code_of([&] { write_file_atomically(folder / "{}%s/x", "x"); }), ExitCode::cannot_create);
}

}  // namespace
}  // namespace isotherm
