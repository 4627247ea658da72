#include "tune/tuning_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.hpp"
#include "support/error_text.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using test::TemporaryFolder;

TuningKey some_key() {
  TuningKey key;
  key.version = "0.1.0";
  key.git_revision = "abc";
  key.device = "a device";
  key.precision = "fp64";
  key.cells = {512, 256, 128};
  key.asked = "auto auto auto";
  return key;
}

TEST(TuningFile, KeepsAndFindsAChoice) {
  const TemporaryFolder folder;
  const std::string path = folder / "tuning.json";
  EXPECT_FALSE(find_tuning(path, some_key()));  // no file yet
  keep_tuning(path, some_key(), {"temporal", "8x4x4", "fused", "off", 4, 8, true, 1e-3, 0.5, false});
  const auto found = find_tuning(path, some_key());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kernel, "temporal");
  EXPECT_EQ(found->tile, "8x4x4");
  EXPECT_EQ(found->reduction, "fused");
  EXPECT_EQ(found->overlap, "off");
  EXPECT_EQ(found->time_block, 4);
  EXPECT_EQ(found->halo_width, 8);
  EXPECT_TRUE(found->graph);
  EXPECT_EQ(found->seconds, 1e-3);
  EXPECT_EQ(found->measured, 0.5);
  EXPECT_FALSE(found->complete);
}

// Their keys are of other programs.
TEST(TuningFile, ReplacesEntriesOfVersionOne) {
  const TemporaryFolder folder;
  const std::string path = folder / "tuning.json";
  std::ofstream(path)
      << R"({"schema": "isotherm-tuning", "version": 1, "entries": [{"key": {}, "choice": {}}]})";
  EXPECT_FALSE(find_tuning(path, some_key()));
  keep_tuning(path, some_key(), {"naive", "-", "fused", "off"});
  EXPECT_TRUE(find_tuning(path, some_key()));
}

TEST(TuningFile, TellsKeysApartByEveryPart) {
  const TemporaryFolder folder;
  const std::string path = folder / "tuning.json";
  keep_tuning(path, some_key(), {"naive", "-", "fused", "off"});
  const auto differs = [&](auto change) {
    TuningKey key = some_key();
    change(key);
    return !find_tuning(path, key);
  };
  EXPECT_TRUE(differs([](TuningKey& k) { k.version = "0.2.0"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.git_revision = "abd"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.device = "another"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.precision = "fp32"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.cells.z = 129; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.ranks = 2; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.source = true; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.faces = "wwwwpp"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.asked = "naive auto auto"; }));
}

TEST(TuningFile, ReplacesAChoiceAndKeepsTheOthers) {
  const TemporaryFolder folder;
  const std::string path = folder / "tuning.json";
  TuningKey other = some_key();
  other.cells.x = 64;
  keep_tuning(path, some_key(), {"naive", "-", "fused", "off"});
  keep_tuning(path, other, {"shared", "-", "cub", "off"});
  keep_tuning(path, some_key(), {"coarsened", "-", "fused", "off"});
  EXPECT_EQ(find_tuning(path, some_key())->kernel, "coarsened");
  EXPECT_EQ(find_tuning(path, other)->kernel, "shared");
}

TEST(TuningFile, RefusesWhatIsNone) {
  const TemporaryFolder folder;
  const std::string path = folder / "tuning.json";
  const auto problem = [&](const std::string& text) {
    std::ofstream(path) << text;
    return deck_error([&] { find_tuning(path, some_key()); });
  };
  const std::string end = "; name another in solver.tuning_file, or remove it";
  EXPECT_EQ(problem("hello"), "'" + path + "' is no tuning file of this version (it is not JSON)" + end);
  EXPECT_EQ(problem(R"({"schema": 1})"),
            "'" + path + "' is no tuning file of this version (it has another schema)" + end);
  EXPECT_EQ(problem("[]"), "'" + path + "' is no tuning file of this version (it has another schema)" + end);
  EXPECT_EQ(problem(R"({"schema": "isotherm-tuning", "version": 3})"),
            "'" + path + "' is no tuning file of this version (it has another version)" + end);
  for (const char* text : {R"({"schema": "isotherm-tuning", "version": 2})",
                           R"({"schema": "isotherm-tuning", "version": 2, "entries": [{}]})"})
    EXPECT_EQ(problem(text),
              "'" + path + "' is no tuning file of this version (an entry is not complete)" + end);
}

}  // namespace
}  // namespace isotherm
