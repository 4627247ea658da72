#include "output/records/baseline.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/error_text.hpp"

namespace isotherm {
namespace {

constexpr const char* record = R"({
  "schema": "isotherm-run", "schema_version": 1,
  "grid": {"cells": [8, 9, 10], "precision": "fp32"},
  "ranks": [{"device": "Some CPU"}, {"device": "Some CPU"}],
  "figures_of_merit": {
    "cell_updates": {"value": 2.0, "unit": "GLUP/s", "better": "higher"},
    "time_per_step": {"value": 100.0, "unit": "ms", "better": "lower"},
    "halo_fraction": {"value": 10.0, "unit": "%", "better": "lower"},
    "copy_bandwidth_share": {"value": 90.0, "unit": "%", "better": "higher"}}})";

Baseline baseline() {
  return parse_baseline(record, "old.json");
}
Merit updates(double value) {
  return {"cell_updates", value, "GLUP/s", Better::higher, 3};
}
Merit time(double value) {
  return {"time_per_step", value, "ms", Better::lower, 3};
}

TEST(Baseline, HoldsSubjectAndFigures) {
  const Baseline b = baseline();
  EXPECT_EQ(b.subject, (Subject{{8, 9, 10}, Precision::fp32, {"Some CPU", "Some CPU"}}));
  ASSERT_EQ(b.merits.size(), 4u);
  EXPECT_EQ(b.merits[1].name, "time_per_step");
  EXPECT_EQ(b.merits[1].value, 100);
  EXPECT_EQ(b.merits[1].better, Better::lower);
  EXPECT_EQ(b.merits[0].better, Better::higher);
}

TEST(Baseline, FiguresWriteWhatIsRead) {
  const std::vector<Merit> merits{updates(2.5), time(7), {"nothing", 0.0 / 0.0, "s", Better::lower, 1}};
  auto json = nlohmann::ordered_json::parse(record);
  json["figures_of_merit"] = to_json_object(merits);
  const Baseline b = parse_baseline(json.dump(), "new.json");
  ASSERT_EQ(b.merits.size(), 2u);  // none that is not finite
  EXPECT_EQ(b.merits[0].value, 2.5);
  EXPECT_EQ(b.merits[1].unit, "ms");
}

// As the records of the fixtures, which python tests hand to the program.
TEST(Baseline, RecordsFromBeforeTheyHadFiguresTellThem) {
  auto json = nlohmann::ordered_json::parse(record);
  json.erase("figures_of_merit");
  json.update(
      {{"result", "PASS"},
       {"exit_code", 0},
       {"performance", {{"points_per_s", 5e8}, {"step_s", 0.001}, {"copy_bandwidth_share_percent", nullptr}}},
       {"halo", {{"hidden_percent", 90.5}}}});
  const std::vector<Merit> merits = parse_baseline(json.dump(), "old.json").merits;
  ASSERT_EQ(merits.size(), 3u);
  EXPECT_EQ(merits[0].name + merits[1].name + merits[2].name, "cell_updatestime_per_stephalo_hidden");
  EXPECT_DOUBLE_EQ(merits[0].value, 0.5);
  EXPECT_DOUBLE_EQ(merits[1].value, 1);
  EXPECT_EQ(merits[2].value, 90.5);
  EXPECT_EQ(merits[1].better, Better::lower);
  json["result"] = "FAIL";
  json["exit_code"] = 76;
  EXPECT_NE(deck_error([&] { parse_baseline(json.dump(), "x.json"); }).find("(it has no figures of merit)"),
            std::string::npos);
  json["exit_code"] = 10;  // not converged: right as far as it went
  EXPECT_EQ(parse_baseline(json.dump(), "x.json").merits.size(), 3u);
}

TEST(Baseline, EachFigureHasItsDirection) {
  const BaselineVerdict slower = judge(baseline(), {updates(1), time(200)}, 5);
  EXPECT_DOUBLE_EQ(slower.changes[0].worse, 50);   // half as many
  EXPECT_DOUBLE_EQ(slower.changes[1].worse, 100);  // twice as long
  EXPECT_EQ(slower.worse(), 2);
  const BaselineVerdict faster = judge(baseline(), {updates(4), time(50)}, 5);
  EXPECT_DOUBLE_EQ(faster.changes[0].worse, -100);
  EXPECT_DOUBLE_EQ(faster.changes[1].worse, -50);
  EXPECT_EQ(faster.worse(), 0);
  EXPECT_TRUE(faster.is_better(faster.changes[0]));
}

TEST(Baseline, SharesChangeByPoints) {
  const BaselineVerdict verdict = judge(
      baseline(),
      {{"halo_fraction", 13, "%", Better::lower, 1}, {"copy_bandwidth_share", 81, "%", Better::higher, 1}},
      5);
  EXPECT_DOUBLE_EQ(verdict.changes[0].worse, 3);
  EXPECT_DOUBLE_EQ(verdict.changes[1].worse, 9);
  EXPECT_EQ(verdict.worse(), 1);
}

TEST(Baseline, TheToleranceItselfIsTolerated) {
  EXPECT_EQ(judge(baseline(), {time(105)}, 5).worse(), 0);
  EXPECT_EQ(judge(baseline(), {time(105.001)}, 5).worse(), 1);
  EXPECT_EQ(judge(baseline(), {time(100)}, 0).worse(), 0);
  EXPECT_EQ(judge(baseline(), {time(100.001)}, 0).worse(), 1);
  const BaselineVerdict edge = judge(baseline(), {time(95)}, 5);
  EXPECT_FALSE(edge.is_better(edge.changes[0]));
}

TEST(Baseline, WhatOnlyOneOfThemHasIsNotCompared) {
  const BaselineVerdict verdict =
      judge(baseline(), {time(100), {"new", 1, "s", Better::lower, 1}, {"cell_updates", 1, "MLUP/s"}}, 5);
  ASSERT_EQ(verdict.changes.size(), 1u);
  EXPECT_EQ(verdict.gone,
            (std::vector<std::string>{"cell_updates", "halo_fraction", "copy_bandwidth_share"}));
  EXPECT_EQ(baseline_table(verdict),
            "against old.json: 0 of 1 figure worse by more than 5 %, 0 better, 1 within it; 3 figures of the "
            "baseline's not measured now\n");
  EXPECT_EQ(baseline_problem(verdict), "");
  const BaselineVerdict nothing = judge(baseline(), {}, 5);
  EXPECT_EQ(nothing.worse(), 0);
  EXPECT_EQ(baseline_problem(nothing).rfind("'old.json' has no figure of merit in common with this (", 0),
            0u);
}

TEST(Baseline, TheTableHasWhatChanged) {
  const BaselineVerdict verdict =
      judge(baseline(), {updates(2), time(125), {"copy_bandwidth_share", 99.5, "%", Better::higher, 1}}, 5);
  EXPECT_EQ(baseline_table(verdict),
            "  figure of merit           before         now              change\n"
            "  time_per_step         100.000 ms  125.000 ms        25.0 % worse\n"
            "  copy_bandwidth_share      90.0 %      99.5 %  9.50 points better\n"
            "against old.json: 1 of 3 figures worse by more than 5 %, 1 better, 1 within it; 1 figure of the "
            "baseline's not measured now\n");
  EXPECT_EQ(
      baseline_problem(verdict),
      "1 of 3 figures of merit got worse than in 'old.json' by more than 5 %; look at the table for which, "
      "or allow more with --tolerance");
  const auto json = to_json_object(verdict);
  EXPECT_EQ(json["worse"], 1);
  EXPECT_EQ(json["figures"][1]["verdict"], "worse");
  EXPECT_EQ(json["figures"][1]["before"], 100.0);
  EXPECT_EQ(json["figures"][2]["verdict"], "better");
}

TEST(Baseline, AnotherSubjectIsRefused) {
  const Subject same = baseline().subject;
  refuse_other_subject(baseline(), same);
  const auto line = [](const Subject& now) {
    return deck_error([&] { refuse_other_subject(baseline(), now); });
  };
  const std::string
      begin = "'old.json' is of 8 x 9 x 10 fp32 on 2 ranks (Some CPU), and this is ",
      end =
          " (figures of the two say nothing of each other); name a baseline of this grid, precision, "
          "number of ranks and device";
  Subject other = same;
  other.cells.z = 11;
  EXPECT_EQ(line(other), begin + "8 x 9 x 11 fp32 on 2 ranks (Some CPU)" + end);
  other = same;
  other.precision = Precision::fp64;
  EXPECT_EQ(line(other), begin + "8 x 9 x 10 fp64 on 2 ranks (Some CPU)" + end);
  other = same;
  other.devices = {"Some CPU"};
  EXPECT_EQ(line(other), begin + "8 x 9 x 10 fp32 on 1 rank (Some CPU)" + end);
  other.devices = {"A GPU", "Some CPU"};
  EXPECT_EQ(line(other), begin + "8 x 9 x 10 fp32 on 2 ranks (A GPU, Some CPU)" + end);
}

TEST(Baseline, WhatIsNoneIsRefused) {
  const auto why = [](const std::string& text) {
    return deck_error([&] { parse_baseline(text, "x.json"); });
  };
  const std::string end =
      "); name the run.json of a run that came to its end, or what isotherm compare --json has written";
  EXPECT_EQ(why("hello"), "'x.json' is no baseline (it is not JSON" + end);
  EXPECT_EQ(why("[]"), "'x.json' is no baseline (it lacks schema, figures_of_merit, grid or ranks" + end);
  auto json = nlohmann::json::parse(record);
  json["figures_of_merit"] = nlohmann::json::object();
  EXPECT_EQ(why(json.dump()), "'x.json' is no baseline (it has no figures of merit" + end);
  json["figures_of_merit"] = {{"a", {{"value", "fast"}}}};
  EXPECT_EQ(why(json.dump()),
            "'x.json' is no baseline (it lacks schema, figures_of_merit, grid or ranks" + end);
  json["schema"] = "isotherm-bench";
  EXPECT_EQ(why(json.dump()), "'x.json' is no baseline (its schema is \"isotherm-bench\"" + end);
  json["schema"] = "isotherm-run";
  json["schema_version"] = 3;
  EXPECT_EQ(
      why(json.dump()),
      "'x.json' has schema version 3, and this isotherm knows them to 2; use the one that wrote it, or a "
      "newer one");
}

}  // namespace
}  // namespace isotherm
