// Which checkpoints stay, and what a run may change when it goes on from one.
#include "output/field_files/checkpoint.hpp"

#include <gtest/gtest.h>

#include "config/changes.hpp"
#include "config/deck.hpp"
#include "core/error.hpp"
#include "output/run_directory.hpp"
#include "support/deck_text.hpp"
#include "support/temporary_folder.hpp"

namespace isotherm {
namespace {

using Sweeps = std::vector<std::int64_t>;

TEST(Checkpoints, TheNewestStay) {
  EXPECT_EQ(superfluous({10, 20, 30, 40}, 40, 2), (Sweeps{20, 10}));
  EXPECT_EQ(superfluous({40, 10, 30, 20}, 40, 3), (Sweeps{10}));
  EXPECT_EQ(superfluous({30, 40}, 40, 2), Sweeps{});
  EXPECT_EQ(superfluous({}, 40, 2), Sweeps{});
}

// The one that was just written always stays.
TEST(Checkpoints, ThoseThatARunHasGoneBackBehindGo) {
  EXPECT_EQ(superfluous({10, 20, 30, 90, 100}, 30, 2), (Sweeps{100, 90, 10}));
}

TEST(Checkpoints, AreFoundByTheirNamesTheNewestFirst) {
  const test::TemporaryFolder folder;
  for (const char* name : {"plate_00000020.checkpoint.hdf", "plate_00000100.checkpoint.hdf",
                           "plate_00000030.checkpoint.hdf.part", "plate_00000040.hdf", "latest",
                           "plate_00000050.checkpoint.hdf.aside", "late_00000060.checkpoint.hdf"})
    test::write_file(folder / name, "");
  EXPECT_EQ(find_checkpoints(folder.path(), "plate"), (Sweeps{100, 20}));
  EXPECT_EQ(find_checkpoints(folder / "nowhere", "plate"), Sweeps{});
}

TEST(Checkpoints, LaterOnesAreSetAside) {
  const test::TemporaryFolder folder;
  for (const char* name :
       {"plate_00000020.checkpoint.hdf", "plate_00000030.checkpoint.hdf", "plate_00000040.checkpoint.hdf"})
    test::write_file(folder / name, name);
  set_aside_later(folder.path(), "plate", 30);
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"plate_00000020.checkpoint.hdf", "plate_00000030.checkpoint.hdf",
                                      "plate_00000040.checkpoint.hdf.aside"}));
}

std::vector<std::string> changed(const std::vector<std::string>& overrides, bool allowed) {
  std::vector<std::string> keys;
  for (const Change& change :
       changes(deck_text::parse(deck_text::base), deck_text::parse(deck_text::base, overrides)))
    if (change.allowed == allowed) keys.push_back(change.key + " " + change.before + " -> " + change.now);
  return keys;
}

using Keys = std::vector<std::string>;

TEST(Changes, WhereARunEndsAndHowItIsComputedMayChange) {
  EXPECT_EQ(
      changed({"problem.steps=20", "solver.kernel=openmp", "parallel.device=cpu", "output.checkpoint=false"},
              true),
      (Keys{"problem.steps 10 -> 20", "solver.kernel auto -> openmp", "parallel.device auto -> cpu",
            "output.checkpoint.write true -> false", "output.checkpoint.keep 2 -> nothing",
            "output.checkpoint.final auto -> nothing"}));
  EXPECT_EQ(changed({"problem.steps=20", "solver.kernel=openmp", "output.every_steps=2"}, false), Keys{});
}

TEST(Changes, TheProblemMayNot) {
  EXPECT_EQ(changed({"grid.cells=16"}, false), (Keys{"grid.cells [8, 9, 10] -> [16, 16, 16]"}));
  EXPECT_EQ(changed({"material.diffusivity=2"}, false), (Keys{"material.diffusivity 1 -> 2"}));
  EXPECT_EQ(changed({"precision=fp32"}, false), (Keys{"precision fp64 -> fp32"}));
  EXPECT_EQ(changed({"boundaries.z_min={kind: temperature, value: \"300 + x\"}"}, false),
            (Keys{"boundaries.z_min.kind insulated -> temperature",
                  "boundaries.z_min.value nothing -> \"300 + x\""}));
  EXPECT_EQ(changed({"initial.0.value=301"}, false),
            (Keys{"initial [{shape: constant, mode: set, value: 300}] -> [{shape: constant, mode: set, "
                  "value: 301}]"}));
  EXPECT_EQ(changed({"problem.dt=1e-4"}, false), (Keys{"problem.dt auto -> 0.0001"}));
  EXPECT_EQ(changed({"problem.check_interval=7"}, false), (Keys{"problem.check_interval 100 -> 7"}));
}

TEST(Changes, AResolvedDeckReadsBackWithoutAny) {
  const Config config =
      deck_text::parse(deck_text::base, {"problem.dt=1.1e-4", "output.checkpoint.every_wall=0.3"});
  EXPECT_TRUE(changes(read_resolved_deck(to_yaml(config), "x"), config).empty());
  EXPECT_THROW(read_resolved_deck("grid: {cells: 3", "x"), Error);
  EXPECT_THROW(read_resolved_deck("grids: 3", "x"), Error);
}

}  // namespace
}  // namespace isotherm
