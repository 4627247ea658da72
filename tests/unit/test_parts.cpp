// Which cells slices, regions and coarse fields are made of.
#include "config/parts.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "output/field_files/snapshot_file.hpp"
#include "output/run_directory.hpp"
#include "support/deck_text.hpp"
#include "support/error_text.hpp"

namespace isotherm {
namespace {

// Of cells of 1/8, 1/9 and 1/10 m.
std::vector<FieldPart> parts_of(const std::string& output) {
  return field_parts(deck_text::parse(deck_text::base + "output:\n  " + output + "\n"));
}
Box box_of(const std::string& output) {
  return parts_of(output).at(0).box;
}

TEST(Parts, ASliceIsThePlaneThatHoldsItsPosition) {
  const auto cell = [](const std::string& position) {
    return box_of("slices: [{axis: x, position: " + position + "}]").lo.x;
  };
  EXPECT_EQ(box_of("slices: [{axis: y, position: 0.5}]"), (Box{{0, 4, 0}, {8, 5, 10}}));
  EXPECT_EQ(box_of("slices: [{cell: 9}]"), (Box{{0, 0, 9}, {8, 9, 10}}));
  EXPECT_EQ(cell("0"), 0);
  EXPECT_EQ(cell("0.12"), 0);
  EXPECT_EQ(cell("0.125"), 1);  // on a face: the upper cell
  EXPECT_EQ(cell("0.874999"), 6);
  EXPECT_EQ(cell("1"), 7);  // the boundary belongs to the last
  // Faces whose position is not exact: 3/10 / (1/10) is less than 3.
  for (int face = 0; face < 10; ++face)
    EXPECT_EQ(box_of(fmt::format("slices: [{{axis: z, position: {}}}]", face / 10.0)).lo.z, face);
}

TEST(Parts, NamesTellThemApart) {
  const auto parts = parts_of("slices: [{cell: 3}, {axis: x, cell: 3}, {cell: 3, name: again}]");
  EXPECT_EQ(parts[0].name, "slice_z3");
  EXPECT_EQ(parts[1].name, "slice_x3");
  EXPECT_EQ(parts[2].name, "slice_again");
  for (const char* file :
       {"run_slice_z3_00000010.hdf", "run_slice_z3.hdf.series", "run_slice_a_b-7_00000010.hdf.part",
        "run_region_00000000.hdf", "run_region.hdf.series", "run_coarse_1.hdf", "run_coarse.xmf", "run.xmf",
        "run_slice_a.xmf", "run_slice_a_b.hdf.series", "run_00000100.diverged.hdf"})
    EXPECT_TRUE(is_run_file(file, "run")) << file;
  for (const char* file :
       {"run_slice_00000010.hdf", "run_slice__.hdf", "run_slice.hdf.series", "run_regions_1.hdf",
        "run_slice_a b_1.hdf", "run_region_.hdf", "run_.diverged.hdf", "run_coarse.hdf", "else_region_1.hdf"})
    EXPECT_FALSE(is_run_file(file, "run")) << file;
}

TEST(Parts, ARegionIsAllCellsThatItsBoxOverlaps) {
  EXPECT_EQ(box_of("region: {from: [0.2, 0.3, 0.3], to: [0.3, 0.31, 0.4]}"), (Box{{1, 2, 3}, {3, 3, 4}}));
  EXPECT_EQ(box_of("region: {from: [0, 0, 0], to: [1, 1, 1]}"), (Box{{0, 0, 0}, {8, 9, 10}}));
  EXPECT_EQ(box_of("region: {from: [0.125, 0, 0.7], to: [0.25, 1e-14, 0.8]}"), (Box{{1, 0, 7}, {2, 1, 8}}));
  EXPECT_EQ(box_of("region: {first_cell: [1, 2, 3], last_cell: [1, 8, 4]}"), (Box{{1, 2, 3}, {2, 9, 5}}));
}

TEST(Parts, LieWhereTheirCellsLie) {
  const Config config = deck_text::parse(
      deck_text::replaced(deck_text::base, "lengths: 1\n", "spacing: [1, 2, 4]\n  origin: [-1, 5, 0.5]\n") +
      "output:\n  slices: [{axis: y, position: 7.5}]\n  region: {first_cell: [2, 0, 1], last_cell: [3, 3, "
      "3]}\n"
      "  coarse: {factor: [4, 3, 1]}\n  precision: fp32\n");
  const auto parts = field_parts(config);
  const FileGrid slice = grid_of(config, parts[0]), region = grid_of(config, parts[1]),
                 coarse = grid_of(config, parts[2]);
  EXPECT_EQ(slice.stem, "deck_slice_y1");
  EXPECT_EQ(slice.kind, "isotherm slice");
  EXPECT_EQ(slice.cells, (Int3{8, 1, 10}));
  EXPECT_EQ(slice.origin, (Vector3{-1, 7, 0.5}));
  EXPECT_EQ(slice.spacing, (Vector3{1, 2, 4}));
  EXPECT_EQ(slice.normal, 1);
  EXPECT_EQ(slice.position, 7.5);
  EXPECT_EQ(slice.precision, Precision::fp32);
  EXPECT_EQ(region.cells, (Int3{2, 4, 3}));
  EXPECT_EQ(region.origin, (Vector3{1, 5, 4.5}));
  EXPECT_EQ(region.normal, -1);
  EXPECT_EQ(coarse.cells, (Int3{2, 3, 10}));
  EXPECT_EQ(coarse.origin, (Vector3{-1, 5, 0.5}));
  EXPECT_EQ(coarse.spacing, (Vector3{4, 6, 4}));
  EXPECT_EQ(coarse.grid_cells, (Int3{8, 9, 10}));
}

// A series of grids may go where the deck's own grid fits and another does not.
TEST(Parts, AnotherGridIsRefusedInTheSameWords) {
  Config config = deck_text::parse(deck_text::base + "output: {coarse: {factor: [2, 3, 5]}}\n");
  config.grid.cells = {8, 10, 10};
  expect_start(refusal([&] { field_parts(config); }, ExitCode::deck),
               "deck.yaml:10:27: output.coarse.factor: 3 does not divide the 10 cells along y");
}

void expect_refused(const std::string& output, const std::string& problem) {
  deck_text::expect_problem(deck_text::base + "output: {" + output + "}\n", "deck.yaml:10:" + problem);
}

TEST(Parts, WrongKeysAreToldApart) {
  expect_refused("slices: [{axis: x}]", "19: output.slices.0.cell: is missing, and so is position");
  expect_refused("slices: [{cell: 1, position: 0.5}]", "29: output.slices.0.position: says what cell");
  expect_refused("slices: [{cell: 10}]", "26: output.slices.0.cell: there is no cell 10 along z");
  expect_refused("slices: [{axis: y, position: -0.1}]", "39: output.slices.0.position: -0.1 m lies outside");
  expect_refused("slices: [{position: 0.51}, {cell: 5}]", "37: output.slices.1: its files would be those");
  expect_refused("slices: [{cell: 1, name: a/b}]", "35: output.slices.0.name: 'a/b' becomes a part of");
  expect_refused("slices: [{cell: 1, evry_steps: 3}]", "29: output.slices.0.evry_steps: unknown key");
  expect_refused("region: {from: [0, 0, 0]}", "25: output.region.from: is one corner of two; add to");
  expect_refused("region: {from: [0, 0, 0], last_cell: [1, 1, 1]}",
                 "10: output.region: has corners in metres and in cells");
  expect_refused("region: {from: [0, 0.5, 0], to: [1, 0.5, 1]}", "42: output.region.to: 0.5 is not beyond");
  expect_refused("region: {first_cell: [0, 0, 4], last_cell: [7, 8, 3]}",
                 "53: output.region.last_cell: 3 is before 4 along z; write the larger corner last");
  expect_refused("region: {every_steps: 3}", "32: output.region.every_steps: says when, but not what to");
  expect_refused("coarse: {factor: 3}", "27: output.coarse.factor: 3 does not divide the 8 cells along x");
  expect_refused("coarse: {factor: 1, every_steps: 2, every_time: 0.1}",
                 "58: output.coarse.every_time: stands beside every_steps; keep one");
  expect_refused("probes: {points: [[0, 0, 0], [0.5, 0.5, 1.5]]}",
                 "39: output.probes.points.1.at: 1.5 m lies outside the box; write a position from 0 to 1 m "
                 "along z");
  expect_refused("probes: {points: [{at: [0, 0, 0], name: p1}, [1, 1, 1]]}",
                 "55: output.probes.points.1: a probe before it is called 'p1' too; give one another name");
  expect_refused("probes: {points: [0.5]}", "28: output.probes.points.0.at: one value stands where three");
  expect_refused("probes: {every_steps: 3}", "32: output.probes.every_steps: says when, but not what to");
}

TEST(Parts, TimeIsTheTransientProblems) {
  deck_text::expect_problem(deck_text::replaced(deck_text::base, "  steps: 10\n", "  kind: steady\n") +
                                "boundaries: {x_min: {kind: temperature, value: 3}}\n"
                                "output: {slices: [{cell: 1, every_time: 3}]}\n",
                            "deck.yaml:11:41: output.slices.0.every_time: a steady problem has no time; use "
                            "every_steps, in sweeps");
}

}  // namespace
}  // namespace isotherm
