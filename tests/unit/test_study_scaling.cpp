// `scaling:` of a deck: its cases, how a body grows with its ranks, and what times say of speed-up and
// efficiency.
#include <gtest/gtest.h>

#include "config/deck.hpp"
#include "study/scaled_case.hpp"
#include "study/scaling_series.hpp"
#include "study/study_deck.hpp"
#include "support/deck_text.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::rows;
using Names = std::vector<std::string>;

// Behind the base deck, whose last line is the ninth.
StudyDeck parse(const std::string& sections, const std::vector<std::string>& overrides = {}) {
  return parse_study(base + sections, "deck.yaml", overrides, rows());
}

Names names(const StudyDeck& deck) {
  Names all;
  for (const DeckCase& each : deck.cases) all.push_back(each.study.name);
  return all;
}

void expect_problem(const std::string& sections, const std::string& expected,
                    const std::vector<std::string>& overrides = {}) {
  try {
    parse(sections, overrides);
    ADD_FAILURE() << "accepted:\n" << sections;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), expected) << sections;
    EXPECT_EQ(error.code(), ExitCode::deck) << sections;
  }
}

Config grid_of(Int3 cells, std::optional<Int3> process_grid = {}) {
  Config config;
  config.grid.cells = cells;
  config.parallel.process_grid = process_grid;
  return config;
}

TEST(ScalingDeck, EachCountIsACaseOfTheSameGrid) {
  const StudyDeck deck = parse("scaling: {kind: strong, ranks: [1, 2, 6]}\n");
  EXPECT_EQ(names(deck), (Names{"ranks-1", "ranks-2", "ranks-6"}));
  EXPECT_EQ(deck.varied, Names{"ranks"});
  for (const DeckCase& each : deck.cases) {
    EXPECT_EQ(each.config.grid.cells, (Int3{8, 9, 10}));
    EXPECT_EQ(each.config.grid.lengths, (Vector3{1, 1, 1}));
  }
  EXPECT_EQ(deck.cases[2].study.ranks, 6);
}

TEST(ScalingDeck, AWeakBodyGrowsAndItsCellsStayAsTheyAre) {
  const StudyDeck deck = parse("scaling: {kind: weak, ranks: [1, 2, 4, 8]}\n");
  const std::vector<Int3> cells{{8, 9, 10}, {8, 9, 20}, {8, 18, 20}, {16, 18, 20}};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(deck.cases[i].config.grid.cells, cells[i]) << i;
    EXPECT_EQ(spacing(deck.cases[i].config), (Vector3{1.0 / 8, 1.0 / 9, 1.0 / 10})) << "every bit of it";
    const Config read_back = parse_deck(deck.cases[i].deck, "case.yaml", {}, rows());
    EXPECT_EQ(read_back.grid.cells, cells[i]) << "a run of the case's deck is of the whole body";
    EXPECT_EQ(stable_dt(read_back), stable_dt(deck.cases[0].config));
  }
  EXPECT_EQ(parse("scaling: {kind: weak, ranks: [2]}\n", {"grid.cells=4"}).cases[0].config.grid.cells,
            (Int3{4, 4, 8}));
}

TEST(ScalingDeck, AnAxisGrowsAsOftenAsTheProcessGridCutsIt) {
  const Config free = grid_of({10, 10, 10});
  EXPECT_EQ(weak_growth(free, 1), (Int3{1, 1, 1}));
  EXPECT_EQ(weak_growth(free, 3), (Int3{1, 1, 3}));
  EXPECT_EQ(weak_growth(free, 6), (Int3{1, 2, 3}));
  EXPECT_EQ(weak_growth(free, 7), (Int3{1, 1, 7}));
  EXPECT_EQ(weak_growth(free, 16), (Int3{2, 2, 4}));
  EXPECT_EQ(weak_growth(free, 4096), (Int3{16, 16, 16}));
  EXPECT_EQ(weak_growth(grid_of({10, 10, 10}, Int3{4, 1, 2}), 8), (Int3{4, 1, 2}));
  EXPECT_EQ(weak_growth(grid_of({10, 10, 1}), 8), (Int3{2, 4, 1})) << "what is flat stays flat";
  EXPECT_EQ(weak_growth(grid_of({1, 1, 10}), 8), (Int3{1, 1, 8}));
  EXPECT_EQ(weak_growth(grid_of({1, 1, 1}), 8), (Int3{2, 2, 2}));
}

TEST(ScalingDeck, GridsOfAVerificationDoNotGrow) {
  const std::string verify = "verify: {solution: decaying_mode, modes: [1, 0, 0], order: [8, 16, 32]}\n";
  const std::string deck =
      deck_text::replaced(base, "initial:\n  - {shape: constant, value: 300}\n", "") + verify;
  EXPECT_EQ(parse_study(deck, "deck.yaml", {"scaling={kind: strong, ranks: [2]}"}, rows()).cases.size(), 1U);
  try {
    parse_study(deck, "deck.yaml", {"scaling={kind: weak, ranks: [2]}"}, rows());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "deck.yaml:8:60: verify.order: has grids of its own (and weak scaling lets that of the deck grow); "
        "remove it, or write scaling.kind: strong [case ranks-2]");
  }
}

TEST(ScalingDeck, RepeatsTakeTurns) {
  const StudyDeck deck = parse("scaling: {kind: strong, ranks: [1, 2], repeats: 2}\n");
  EXPECT_EQ(names(deck), (Names{"ranks-1_run-1", "ranks-2_run-1", "ranks-1_run-2", "ranks-2_run-2"}));
  EXPECT_EQ(deck.cases[0].study.series, deck.cases[3].study.series);
}

TEST(ScalingDeck, EachOtherCaseOfAStudyIsASeries) {
  const StudyDeck deck = parse(
      "study:\n  matrix: {precision: [fp32, fp64], grid.cells: [4, 6]}\n  exclude: [{precision: fp32, ranks: "
      "2}]\n"
      "  name: \"{precision} {grid.cells} {ranks} {run}\"\n"
      "scaling: {kind: weak, ranks: [1, 2], repeats: 2}\n");
  ASSERT_EQ(deck.cases.size(), 12U);
  EXPECT_EQ(deck.cases[3].study.name, "fp64-4-2-1");
  std::vector<int> series;
  for (const DeckCase& each : deck.cases) series.push_back(each.study.series);
  EXPECT_EQ(series, (std::vector{0, 1, 2, 2, 3, 3, 0, 1, 2, 2, 3, 3}));
  EXPECT_EQ(deck.cases[5].config.grid.cells, (Int3{6, 6, 12}));
}

TEST(ScalingDeck, GpusAreRanksWithAGpuEach) {
  const StudyDeck deck = parse("scaling: {kind: strong, gpus: [1, 4]}\n");
  EXPECT_EQ(names(deck), (Names{"ranks-1", "ranks-4"}));
  EXPECT_EQ(deck.cases[0].config.parallel.device, DeviceChoice::cuda);
  EXPECT_EQ(deck.cases[0].config.parallel.ranks_per_gpu, 1);
  EXPECT_EQ(deck.cases[1].config.grid.lengths, (Vector3{1, 1, 1}));
  expect_problem("scaling: {kind: strong, gpus: [1, 4]}\n",
                 "argument 1: parallel.device: cpu (and scaling counts GPUs); write scaling.ranks, or cuda",
                 {"parallel.device=cpu"});
  expect_problem(
      "scaling: {kind: strong, gpus: [1, 4]}\n",
      "argument 1: parallel.ranks_per_gpu: 2 (and scaling.gpus counts GPUs with a rank each); write "
      "scaling.ranks",
      {"parallel.ranks_per_gpu=2"});
}

TEST(ScalingDeck, WhatIsWrongIsSaidWhereItStands) {
  expect_problem("scaling: {kind: strong, ranks: [1, 2, 1]}\n",
                 "deck.yaml:10:32: scaling.ranks: 1 stands twice; keep one");
  expect_problem("scaling: {kind: strong, ranks: [0, 2]}\n",
                 "deck.yaml:10:33: scaling.ranks.0: 0 is out of range; write a whole number from 1 to 1e6");
  expect_problem(
      "scaling: {kind: week, ranks: [1, 2]}\n",
      "deck.yaml:10:17: scaling.kind: unknown word 'week'; did you mean 'weak'? One of strong, weak");
  expect_problem("scaling: {ranks: [1, 2]}\n", "deck.yaml:10:1: scaling.kind: is missing; add kind: strong");
  expect_problem("scaling: {kind: weak}\n",
                 "deck.yaml:10:1: scaling.gpus: is missing, and so is ranks; add gpus: [1, 2, 4, 8] or "
                 "ranks: [1, 2, 4, 8]");
  expect_problem(
      "scaling: {kind: weak, ranks: []}\n",
      "deck.yaml:10:30: scaling.ranks: the list is empty (it would leave no case); write [1, 2, 4]");
  expect_problem("scaling: {kind: weak, gpus: [1], ranks: [1]}\n",
                 "deck.yaml:10:34: scaling.ranks: says what gpus (on line 10) says too; keep one");
  expect_problem("scaling: {kind: weak, ranks: [1], repeats: 0}\n",
                 "deck.yaml:10:44: scaling.repeats: 0 is out of range; write a whole number from 1 to 1000");
}

TEST(ScalingDeck, CountsAreSaidOnce) {
  const std::string scaling = "scaling: {kind: strong, ranks: [1, 2]}\n";
  expect_problem(scaling + "study: {matrix: {ranks: [3]}}\n",
                 "deck.yaml:11:18: study.matrix.ranks: scaling.ranks on line 10 says it too; keep one");
  expect_problem(scaling + "study: {ranks: 3}\n",
                 "deck.yaml:11:16: study.ranks: says what scaling says too; keep one");
  expect_problem(scaling + "study: {launcher: \"srun -N {nodes} -n {ranks}\"}\n",
                 "deck.yaml:11:19: study.launcher: has {nodes} (which follow from the ranks of each); add "
                 "ranks_per_node: 8");
}

TEST(ScalingDeck, IsNotTakenForOneRun) {
  const std::string scaling = "scaling: {kind: strong, ranks: [1, 2]}\n";
  deck_text::expect_problem(
      base + scaling,
      "deck.yaml:10:1: scaling: the deck is of several cases, not of one run; start them with "
      "isotherm study deck.yaml");
  EXPECT_TRUE(is_study(base + scaling));
  EXPECT_TRUE(is_study(base, {"scaling.kind=weak"}));
  EXPECT_FALSE(is_study(base + scaling, {"scaling=null"}));
  EXPECT_EQ(deck_text::parse(base + scaling, {"scaling=null"}).grid.cells, (Int3{8, 9, 10}));
}

// Series 0 of a body of 100 cells along x for each `n` of `grows`.
ScaledCase timed(int ranks, std::optional<double> step_s, Index cells = 100, const std::string& print = "a") {
  return {.name = "ranks-" + std::to_string(ranks),
          .ranks = ranks,
          .state = step_s ? "done" : "failed",
          .cells = {cells, 1, 1},
          .step_s = step_s,
          .sweeps = 10,
          .fingerprint = print};
}

TEST(ScalingSeries, StrongIsComparedByTheTimeOfOneGrid) {
  const std::vector<ScaledCase> cases{timed(4, 3), timed(1, 8), timed(2, 5)};
  const std::vector<ScalingSeries> all = scaling_series(cases);
  ASSERT_EQ(all.size(), 1U);
  const std::vector<ScalingRow>& rows = all[0].rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].ranks, 4) << "by ranks, however the deck has them";
  EXPECT_DOUBLE_EQ(rows[1].speed->speedup, 8.0 / 5);
  EXPECT_DOUBLE_EQ(rows[1].speed->efficiency_percent, 100 * 8.0 / (2 * 5));
  EXPECT_DOUBLE_EQ(rows[2].speed->efficiency_percent, 100 * 8.0 / (4 * 3));
  EXPECT_EQ(base_text(all[0]), "1 rank");
  EXPECT_TRUE(all[0].disagreement.empty());
}

TEST(ScalingSeries, WeakIsComparedByTheTimeOfABodyThatGrows) {
  const std::vector<ScaledCase> cases{timed(1, 8, 100, "a"), timed(4, 10, 400, "b")};
  const ScalingRow& row = scaling_series(cases)[0].rows[1];
  EXPECT_DOUBLE_EQ(row.speed->speedup, 4 * 8.0 / 10);
  EXPECT_DOUBLE_EQ(row.speed->efficiency_percent, 100 * 8.0 / 10);
}

TEST(ScalingSeries, WithoutOneRankTheSmallestCountIsTheBase) {
  const std::vector<ScaledCase> cases{timed(2, 8), timed(8, 4)};
  const ScalingSeries series = scaling_series(cases)[0];
  EXPECT_DOUBLE_EQ(series.rows[0].speed->speedup, 2);
  EXPECT_DOUBLE_EQ(series.rows[0].speed->efficiency_percent, 100);
  EXPECT_DOUBLE_EQ(series.rows[1].speed->efficiency_percent, 50);
  EXPECT_EQ(base_text(series), "2 ranks");
}

TEST(ScalingSeries, TheRunInTheMiddleCounts) {
  std::vector<ScaledCase> cases{timed(1, 9), timed(1, 7), timed(1, 30),
                                timed(2, 6), timed(2, 4), timed(2, std::nullopt)};
  const ScalingSeries series = scaling_series(cases)[0];
  EXPECT_EQ(*series.rows[0].middle, 0U);
  EXPECT_EQ(*series.rows[1].middle, 4U) << "of two the quicker";
  EXPECT_EQ(series.rows[1].runs, 2);
  EXPECT_EQ(series.rows[1].remark, "ranks-2: failed");
  EXPECT_DOUBLE_EQ(series.rows[1].speed->speedup, 9.0 / 4);
  EXPECT_DOUBLE_EQ(speed_of(cases[3], series, cases)->speedup, 9.0 / 6)
      << "of each beside the middle of the base";
  EXPECT_FALSE(speed_of(cases[5], series, cases));
}

TEST(ScalingSeries, ABaseWithoutATimeIsNotReplacedUnasked) {
  const std::vector<ScaledCase> cases{timed(1, std::nullopt), timed(2, 5)};
  const ScalingSeries series = scaling_series(cases)[0];
  EXPECT_FALSE(series.rows[1].speed);
  EXPECT_FALSE(speed_of(cases[1], series, cases));
  EXPECT_EQ(base_text(series), "none (ranks-1: failed)");
  EXPECT_EQ(scaling_text(ScalingKind::strong, "precision fp32", series, cases),
            "strong scaling of precision fp32, compared with none (ranks-1: failed)\n"
            "  ranks        cells  runs  step_s  speed-up  efficiency  hidden  remark\n"
            "      1  100 x 1 x 1     0       -         -           -       -  ranks-1: failed\n"
            "      2  100 x 1 x 1     1       5         -           -       -\n");
}

TEST(ScalingSeries, OneProblemHasOneAnswer) {
  std::vector<ScaledCase> cases{timed(1, 8), timed(2, 5, 100, "b")};
  EXPECT_EQ(scaling_series(cases)[0].disagreement,
            "2 different fingerprints of 100 x 1 x 1 cells (one problem has one answer on any ranks)");
  cases[1].sweeps = 11;
  EXPECT_EQ(scaling_series(cases)[0].disagreement, "") << "a steady problem may end at another sweep";
  cases[1].sweeps = 10;
  cases[1].series = 1;
  EXPECT_EQ(scaling_series(cases).size(), 2U);
  EXPECT_EQ(scaling_series(cases)[0].disagreement, "");
}

}  // namespace
}  // namespace isotherm
