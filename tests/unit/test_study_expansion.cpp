// `study:` of a deck: which cases it makes, what they are called, and what is refused.
#include <gtest/gtest.h>

#include "config/deck.hpp"
#include "study/case_name.hpp"
#include "study/study_deck.hpp"
#include "support/deck_text.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::rows;

// Behind the base deck, whose last line is the ninth.
StudyDeck parse(const std::string& study, const std::vector<std::string>& overrides = {}) {
  return parse_study(base + "study:\n" + study, "deck.yaml", overrides, rows());
}

std::vector<std::string> names(const std::string& study, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all;
  for (const DeckCase& each : parse(study, overrides).cases) all.push_back(each.study.name);
  return all;
}

void expect_problem(const std::string& study, const std::string& expected,
                    const std::vector<std::string>& overrides = {}, ExitCode code = ExitCode::deck) {
  try {
    parse(study, overrides);
    ADD_FAILURE() << "accepted:\n" << study;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), expected) << study;
    EXPECT_EQ(error.code(), code) << study;
  }
}

using Names = std::vector<std::string>;

TEST(StudyExpansion, AMatrixIsAProductWhoseLastKeyChangesFastest) {
  const StudyDeck deck = parse("  matrix: {solver.kernel: [reference, openmp], problem.steps: [1, 2, 3]}\n");
  ASSERT_EQ(deck.cases.size(), 6U);
  EXPECT_EQ(deck.varied, (Names{"solver.kernel", "problem.steps"}));
  std::size_t i = 0;
  for (const char* kernel : {"reference", "openmp"}) {
    for (const int steps : {1, 2, 3}) {
      EXPECT_EQ(deck.cases[i].config.solver.kernel, kernel) << i;
      EXPECT_EQ(deck.cases[i].config.problem.steps, steps) << i;
      EXPECT_EQ(deck.cases[i].config.grid.cells, (Int3{8, 9, 10})) << "what does not vary stays";
      ++i;
    }
  }
  EXPECT_EQ(deck.cases[4].study.name, "kernel-openmp_steps-2");
}

TEST(StudyExpansion, AZipTakesItsValuesTogether) {
  const StudyDeck deck = parse("  zip: {grid.cells: [16, [8, 8, 4]], problem.steps: [10, 10]}\n");
  ASSERT_EQ(deck.cases.size(), 2U);
  EXPECT_EQ(deck.cases[1].config.grid.cells, (Int3{8, 8, 4}));
  EXPECT_EQ(deck.cases[0].study.name, "cells-16_steps-10");
  EXPECT_EQ(deck.cases[1].study.name, "cells-8x8x4_steps-10");
}

TEST(StudyExpansion, AListNamesItsCases) {
  const StudyDeck deck = parse(
      "  list:\n    - {name: thin, grid.lengths: [1, 1, 0.1]}\n    - {name: as the deck says}\n"
      "    - {problem.steps: 3}\n");
  ASSERT_EQ(deck.cases.size(), 3U);
  EXPECT_EQ(deck.cases[0].config.grid.lengths, (Vector3{1, 1, 0.1}));
  EXPECT_EQ(deck.cases[1].config.grid.lengths, (Vector3{1, 1, 1}));
  EXPECT_EQ(deck.cases[0].study.name, "thin");
  EXPECT_EQ(deck.cases[1].study.name, "as-the-deck-says");
  EXPECT_EQ(deck.cases[2].study.name, "lengths-default_steps-3");
}

TEST(StudyExpansion, AllThreeMultiply) {
  EXPECT_EQ(names("  matrix: {precision: [fp32, fp64]}\n  zip: {problem.steps: [1, 2], ranks: [1, 2]}\n"
                  "  list: [{name: a}, {name: b, solver.kernel: openmp}]\n"),
            (Names{"precision-fp32_steps-1_ranks-1_a", "precision-fp32_steps-1_ranks-1_b",
                   "precision-fp32_steps-2_ranks-2_a", "precision-fp32_steps-2_ranks-2_b",
                   "precision-fp64_steps-1_ranks-1_a", "precision-fp64_steps-1_ranks-1_b",
                   "precision-fp64_steps-2_ranks-2_a", "precision-fp64_steps-2_ranks-2_b"}));
}

TEST(StudyExpansion, RanksAreOfTheCaseNotOfTheDeck) {
  const StudyDeck deck = parse("  ranks: 3\n  list: [{name: a}, {name: b, ranks: 2}]\n");
  EXPECT_EQ(deck.cases[0].study.ranks, 3);
  EXPECT_EQ(deck.cases[1].study.ranks, 2);
  EXPECT_EQ(value_text(deck.cases[1].study, "ranks"), "2");
}

TEST(StudyExpansion, WhatMatchesAllOfAnEntryIsLeftOut) {
  const std::string matrix = "  matrix: {problem.steps: [1, 2.0], precision: [fp32, fp64]}\n";
  EXPECT_EQ(names(matrix + "  exclude: [{problem.steps: 2, precision: fp32}]\n"),
            (Names{"steps-1_precision-fp32", "steps-1_precision-fp64", "steps-2.0_precision-fp64"}));
  const StudyDeck deck = parse(matrix + "  exclude: [{problem.steps: 5}]\n");
  EXPECT_EQ(deck.cases.size(), 4U);
  EXPECT_EQ(
      deck.warnings,
      (Names{"deck.yaml:12:12: study.exclude.0: leaves out no case that none before it does; remove it?"}));
  expect_problem(matrix + "  exclude: [{precision: fp32}, {precision: fp64}]\n",
                 "deck.yaml:12:12: study.exclude: leaves out all 4 cases; remove an entry");
  expect_problem(
      matrix + "  exclude: [{grid.cells: 4}]\n",
      "deck.yaml:12:14: study.exclude.0.grid.cells: does not vary; use one of problem.steps, precision");
}

TEST(StudyExpansion, CasesOfAListAreLeftOutByTheirNames) {
  EXPECT_EQ(names("  matrix: {problem.steps: [1, 2]}\n  list: [{name: a}, {name: b}]\n"
                  "  exclude: [{name: b, problem.steps: 1}]\n"),
            (Names{"steps-1_a", "steps-2_a", "steps-2_b"}));
}

TEST(StudyExpansion, CasesStandInFoldersOfTheStudyAndNeedNoStudyToRun) {
  const StudyDeck deck =
      parse("  matrix: {problem.steps: [1, 2]}\n", {"output.directory=here", "precision=fp32"});
  EXPECT_EQ(deck.directory, "here");
  EXPECT_EQ(deck.cases[1].config.name, "steps-2");
  const Config read_back = parse_deck(deck.cases[1].deck, "steps-2.yaml", {}, rows());
  EXPECT_EQ(read_back.output.directory, "here/steps-2");
  EXPECT_EQ(read_back.precision, Precision::fp32);
  EXPECT_EQ(to_yaml(read_back), deck.cases[1].deck);
  EXPECT_EQ(parse("  matrix: {problem.steps: [1, 2]}\n").directory, "runs/deck");
}

TEST(StudyExpansion, WhatEveryCaseGivesTheDeckMayLeaveOut) {
  const std::string deck = deck_text::replaced(base, "  cells: [8, 9, 10]\n", "");
  EXPECT_EQ(
      parse_study(deck + "study: {matrix: {grid.cells: [4, 5]}}\n", "deck.yaml", {}, rows()).cases.size(),
      2U);
}

TEST(StudyExpansion, AnEntryOfAListOfTheDeckCanVary) {
  const StudyDeck deck = parse("  matrix: {initial.0.value: [1, 2], grid.cells.2: [3]}\n");
  EXPECT_EQ(deck.cases[1].config.initial.at(0).value, 2);
  EXPECT_EQ(deck.cases[1].config.grid.cells, (Int3{8, 9, 3}));
}

TEST(StudyExpansion, WrongKeysAreRefusedWhereTheyStand) {
  expect_problem("  matrix: {solver.kernal: [openmp]}\n",
                 "deck.yaml:11:12: study.matrix.solver.kernal: unknown key; did you mean 'solver.kernel'?");
  expect_problem("  list: [{name: a, steps: 3}]\n",
                 "deck.yaml:11:20: study.list.0.steps: unknown key; did you mean 'problem.steps'?");
  expect_problem(
      "  matrix: {grid.cells.x: [3]}\n",
      "deck.yaml:11:12: study.matrix.grid.cells.x: unknown key; 'grid.cells' holds no keys of its own");
  expect_problem(
      "  matrix: {study.limit: [3]}\n",
      "deck.yaml:11:12: study.matrix.study.limit: unknown key; use one of grid, material, precision, "
      "boundaries, initial, sources, problem, solver, parallel, output, verify");
  expect_problem(
      "  zip: {output.directory: [a, b]}\n",
      "deck.yaml:11:9: study.zip.output.directory: cannot vary (each case has a folder of its own in that "
      "of the study); remove it");
  expect_problem(
      "  matrix: {output: [{snapshots: false}]}\n",
      "deck.yaml:11:12: study.matrix.output: cannot vary as a whole (its directory is the study's); vary "
      "the keys in it");
  expect_problem("  metrix: {precision: [fp32]}\n",
                 "deck.yaml:11:3: study.metrix: unknown key; did you mean 'matrix'?");
}

TEST(StudyExpansion, AKeyIsGivenByOneOfThem) {
  expect_problem("  matrix: {precision: [fp32]}\n  zip: {precision: [fp64]}\n",
                 "deck.yaml:12:9: study.zip.precision: study.matrix on line 11 says it too; keep one");
  expect_problem("  matrix: {solver: [{kernel: openmp}]}\n  list: [{name: a, solver.kernel: openmp}]\n",
                 "deck.yaml:12:20: study.list.0.solver.kernel: 'solver' in study.matrix on line 11 says it "
                 "too; keep one");
  expect_problem("  list: [{name: a, precision: fp32, precision: fp64}]\n",
                 "deck.yaml:11:37: study.list.0.precision: stands twice (first on line 11); keep one");
  expect_problem("  matrix: {precision: [fp32, fp64, fp32]}\n",
                 "deck.yaml:11:36: study.matrix.precision.2: fp32 stands twice; keep one");
  expect_problem(
      "  matrix: {precision: [fp32, fp64]}\n",
      "argument 1: precision: varies in this study (the value would change no case); leave it out, or "
      "override study.matrix",
      {"precision=fp32"});
  expect_problem(
      "  matrix: {solver: [{kernel: openmp}, {kernel: reference}]}\n",
      "argument 1: solver.depth: varies in this study (the value would change no case); leave it out, or "
      "override study.matrix",
      {"solver.depth=2"});
}

TEST(StudyExpansion, WrongShapesAreRefused) {
  expect_problem(
      "  matrix: {precision: fp32}\n",
      "deck.yaml:11:23: study.matrix.precision: one value stands where a list of values is wanted; write "
      "[fp32]");
  expect_problem(
      "  matrix: {precision: []}\n",
      "deck.yaml:11:23: study.matrix.precision: the list is empty (it would leave no case); write a value, "
      "or remove the key");
  expect_problem(
      "  matrix: [precision]\n",
      "deck.yaml:11:11: study.matrix: a list stands where a map of keys is wanted; write {key.path: "
      "[values]}");
  expect_problem(
      "  zip: {precision: [fp32, fp64], problem.steps: [1]}\n",
      "deck.yaml:11:50: study.zip.problem.steps: has 1 value and precision has 2 (they go together); give "
      "them as many");
  expect_problem(
      "  list: []\n",
      "deck.yaml:11:9: study.list: an empty list stands where a list of maps is wanted; write [{key.path: "
      "value}]");
  expect_problem("  limit: 5\n",
                 "deck.yaml:10:1: study: has no cases; add matrix, zip or list, or a section scaling");
  expect_problem("  matrix: {ranks: [0]}\n",
                 "deck.yaml:11:20: study.ranks: 0 is out of range; write a whole number from 1 to 1e6");
  expect_problem("  matrix: {ranks: [0], precision: [fp32, fp64]}\n",
                 "deck.yaml:11:20: study.ranks: 0 is out of range; write a whole number from 1 to 1e6");
  EXPECT_THROW(parse_study(base, "deck.yaml", {}, rows()), Error);
}

TEST(StudyExpansion, WhatIsWrongWithACaseNamesIt) {
  expect_problem(
      "  matrix: {solver.kernel: [reference, nave], problem.steps: [1, 2]}\n",
      "deck.yaml:11:39: solver.kernel: unknown word 'nave'; did you mean 'naive'? One of auto, reference, "
      "openmp, naive [cases kernel-nave_steps-1, kernel-nave_steps-2]");
  expect_problem(
      "  matrix: {problem.steps: [1, -2]}\n",
      "deck.yaml:11:31: problem.steps: -2 is out of range; write a whole number from 0 to 1e15 [case "
      "steps--2]");
  expect_problem("  matrix: {problem.steps: [1, 2]}\n",
                 "argument 1: problem.kind: unknown word 'x'; write one of transient, steady",
                 {"problem.kind=x"});
  expect_problem("  matrix: {solver.kernel: [openmp, shared]}\n",
                 "deck.yaml:11:36: solver.kernel: 'shared' is not in this build (it has no CUDA); use one of "
                 "auto, reference, openmp, naive "
                 "[case kernel-shared]",
                 {}, ExitCode::unavailable);
}

TEST(StudyExpansion, MoreCasesThanTheLimitAreRefused) {
  std::string values;
  for (int i = 1; i <= 15; ++i) values += (i > 1 ? ", " : "") + std::to_string(i);
  const std::string matrix = "  matrix: {problem.steps: [" + values + "], grid.cells: [" + values + "]}\n";
  expect_problem(
      matrix,
      "deck.yaml:10:1: study.limit: 225 cases are more than 200; write --limit 225 (or study.limit) to have "
      "them all, or exclude some");
  EXPECT_EQ(names(matrix, {"study.limit=225"}).size(), 225U);
  expect_problem(
      "  matrix: {problem.steps: [1, 2, 3]}\n  limit: 2\n",
      "deck.yaml:12:10: study.limit: 3 cases are more than 2; write --limit 3 (or study.limit) to have them "
      "all, or exclude some");
  const std::string more = "solver.depth: [" + values + "], problem.check_interval: [" + values +
                           "], problem.weight: [0.1, 0.2, 0.3]}\n";
  expect_problem(
      matrix.substr(0, matrix.size() - 2) + ", " + more,
      "deck.yaml:10:1: study.limit: 151875 cases are more than any study may have (100000); make several "
      "studies of it");
}

TEST(StudyNames, AreByPattern) {
  const std::string matrix = "  matrix: {solver.kernel: [openmp], grid.cells: [16, [4, 4, 8]]}\n";
  EXPECT_EQ(names(matrix + "  name: \"{grid.cells}-{solver.kernel}\"\n"),
            (Names{"16-openmp", "4x4x8-openmp"}));
  EXPECT_EQ(names(matrix + "  name: \"n{grid.cells} on {ranks}\"\n"), (Names{"n16-on-1", "n4x4x8-on-1"}));
  expect_problem(matrix + "  name: \"{grid.cell}\"\n",
                 "deck.yaml:12:9: study.name: 'grid.cell' does not vary; did you mean 'grid.cells'?");
  expect_problem(matrix + "  name: \"a{grid.cells\"\n",
                 "deck.yaml:12:9: study.name: a brace at character 2 of 'a{grid.cells' has no partner; write "
                 "{key.path}");
}

TEST(StudyNames, TwoOfOneNameAreRefusedWithBoth) {
  expect_problem(
      "  matrix: {problem.steps: [1, 2], precision: [fp32]}\n  name: \"{precision}\"\n",
      "deck.yaml:12:9: study.name: case 1 (problem.steps 1, precision fp32) and case 2 (problem.steps 2, "
      "precision fp32) have one name, 'fp32' (and would have one folder); add to the pattern what tells "
      "them apart");
  // Apart in the deck, but not in the names of files.
  expect_problem("  list: [{name: a b}, {name: a/b}]\n",
                 "deck.yaml:10:1: study.name: case 1 (name a b) and case 2 (name a/b) have one name, 'a-b' "
                 "(and would have one "
                 "folder); add to the pattern what tells them apart");
}

TEST(StudyNames, AreSafeForFileSystems) {
  EXPECT_EQ(safe_name("a/b c"), "a-b-c");
  EXPECT_EQ(safe_name("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(safe_name("-rf"), "rf");
  EXPECT_EQ(safe_name("293 + 100*x"), "293-+-100-x");
  EXPECT_EQ(safe_name("{kind: flux, value: 10}"), "kind-flux-value-10");
  EXPECT_EQ(safe_name("grün\n"), "gr-n");
  EXPECT_EQ(safe_name("//"), "");
  expect_problem(
      "  matrix: {precision: [fp32]}\n  name: \"/\"\n",
      "deck.yaml:12:9: study.name: the name '' of case 1 (precision fp32) is empty; write a pattern, such "
      "as \"case_{precision}\"");
  expect_problem("  list: [{name: deck}]\n",
                 "deck.yaml:10:1: study.name: the name 'deck' of case 1 (name deck) is that of a file of the "
                 "study or of a "
                 "run; write a pattern, such as \"case_{name}\"");
}

TEST(StudyDeck, IsNotTakenForOneRun) {
  deck_text::expect_problem(
      base + "study: {matrix: {precision: [fp32]}}\n",
      "deck.yaml:10:1: study: the deck is of several cases, not of one run; start them with "
      "isotherm study deck.yaml");
  EXPECT_TRUE(is_study(base + "study: {matrix: {precision: [fp32]}}\n"));
  EXPECT_FALSE(is_study(base + "study:\n"));
  EXPECT_FALSE(is_study(": ["));
  deck_text::expect_problem(base + "studdy: 1\n",
                            "deck.yaml:10:1: studdy: unknown key; did you mean 'study'?");
}

}  // namespace
}  // namespace isotherm
