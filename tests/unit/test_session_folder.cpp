#include "study/session_folder.hpp"

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

TEST(SessionFolder, LiesWhereTheUserWantsSuchFilesAndGoes) {
  const test::TemporaryFolder wanted;
  const char* const before = std::getenv("OMPI_MCA_orte_tmpdir_base");
  const std::string kept = before ? before : "";
  setenv("OMPI_MCA_orte_tmpdir_base", wanted.path().c_str(), 1);
  {
    const SessionFolder one(1), two(2);
    const std::filesystem::path folder = one.variable().second;
    EXPECT_EQ(one.variable().first, "OMPI_MCA_orte_tmpdir_base");
    EXPECT_EQ(folder.parent_path(), wanted.path());
    EXPECT_NE(folder, two.variable().second);
    std::filesystem::create_directories(folder / "a job");
  }
  EXPECT_TRUE(wanted.names().empty());
  unsetenv("OMPI_MCA_orte_tmpdir_base");
  EXPECT_EQ(std::filesystem::path(SessionFolder(1).variable().second).parent_path(),
            std::filesystem::temp_directory_path());
  if (before) setenv("OMPI_MCA_orte_tmpdir_base", kept.c_str(), 1);
}

}  // namespace
}  // namespace isotherm
