#include "output/records/bench_baseline.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "support/bench_entry.hpp"
#include "support/error_text.hpp"

namespace isotherm {
namespace {

using nlohmann::json;

BenchEntry entry(const char* row, double seconds, int depth = 1) {
  BenchEntry e = test::bench_entry(row, seconds);
  if (depth > 1) e.policy = "4planes";
  e.depth = depth;
  e.cells = {10, 11, 12};
  return e;
}

BenchRecord stencils() {
  BenchRecord r;
  r.device.name = "Some CPU";
  r.entries = {entry("naive", 1e-3), entry("openmp", 5e-4, 2), entry("broken", 1e-3)};
  r.entries[2].verdict = BenchVerdict::wrong;
  return r;
}

BenchRecord exchanges() {
  BenchRecord r;
  r.subject = BenchSubject::halo;
  r.device.name = "A GPU";
  r.ranks = 2;
  HaloBenchEntry e;
  e.transport = "host";
  e.face = "x-";
  e.cells = {64, 64, 64};
  e.bytes = 32768;
  e.verdict = BenchVerdict::right;
  e.latency = 2e-6;
  e.exchanges = {1e-5, 2e-5, 3e-5};
  e.alone = {1e-5};
  r.halos = {e};
  return r;
}

BenchRecord files() {
  BenchRecord r;
  r.subject = BenchSubject::io;
  r.device.name = "Some CPU";
  IoBenchEntry e;
  e.way = "snapshot";
  e.cells = {8, 8, 8};
  e.bytes = 4e9;
  e.add(2, 1);
  r.files = {e};
  return r;
}

struct Expected {
  const char* name;
  double value;
  const char* unit;
  Better better;
};

void expect_merits(const BenchRecord& record, const std::vector<Expected>& expected) {
  const std::vector<Merit> merits = bench_merits(to_json(record));
  ASSERT_EQ(merits.size(), expected.size());
  for (std::size_t i = 0; i < merits.size(); ++i) {
    EXPECT_EQ(merits[i].name, expected[i].name);
    EXPECT_DOUBLE_EQ(merits[i].value, expected[i].value);
    EXPECT_EQ(merits[i].unit, expected[i].unit);
    EXPECT_EQ(merits[i].better, expected[i].better);
  }
}

TEST(BenchBaseline, RowsThatAreRightHaveARateAndAShare) {
  expect_merits(stencils(),
                {{"naive fp64 10 x 11 x 12", 1e-3, "GPts/s", Better::higher},
                 {"naive fp64 10 x 11 x 12, of a copy", 80, "%", Better::higher},
                 {"openmp 4planes depth 2 fp64 10 x 11 x 12", 2e-3, "GPts/s", Better::higher},
                 {"openmp 4planes depth 2 fp64 10 x 11 x 12, of a copy", 160, "%", Better::higher}});
  BenchRecord copies = stencils();
  copies.entries.resize(1);
  copies.entries[0].points = 0;  // nothing is updated
  expect_merits(copies, {{"naive fp64 10 x 11 x 12", 0.016, "GB/s", Better::higher},
                         {"naive fp64 10 x 11 x 12, of a copy", 80, "%", Better::higher}});
}

TEST(BenchBaseline, ExchangesHaveTimesAndFilesRates) {
  expect_merits(exchanges(), {{"host x- 1 layer fp64 64 x 64 x 64", 20, "us", Better::lower},
                              {"host x- 1 layer fp64 64 x 64 x 64, latency", 2, "us", Better::lower}});
  expect_merits(files(), {{"snapshot fp64 8 x 8 x 8", 2, "GB/s", Better::higher},
                          {"snapshot fp64 8 x 8 x 8, of raw", 50, "%", Better::higher}});
}

TEST(BenchBaseline, IsJudgedAsAnyOther) {
  const Baseline before = parse_bench_baseline(to_json(stencils()), "old.json", stencils());
  BenchRecord now = stencils();
  now.entries[1].samples.seconds = {1e-3, 1e-3, 1e-3};  // half as fast
  now.entries.push_back(entry("new", 1));
  const BaselineVerdict verdict = judge(before, bench_merits(to_json(now)), 5);
  EXPECT_EQ(verdict.worse(), 2);
  EXPECT_EQ(verdict.changes.size(), 4u);
  EXPECT_DOUBLE_EQ(verdict.changes[2].worse, 50);
  now.baseline = verdict;
  now.entries[2].verdict = BenchVerdict::right;
  const json j = json::parse(to_json(now));
  EXPECT_EQ(j["result"], "FAIL");
  EXPECT_EQ(j["baseline"]["worse"], 2);
  EXPECT_EQ(json::parse(to_json(stencils()))["baseline"], nullptr);
}

TEST(BenchBaseline, WhatIsOfSomethingElseIsRefused) {
  const auto line = [](const BenchRecord& before, const BenchRecord& now) {
    return deck_error([&] { parse_bench_baseline(to_json(before), "old.json", now); });
  };
  const std::string end =
      " (figures of the two say nothing of each other); name a baseline of this subject, its options, number "
      "of ranks and device";
  EXPECT_EQ(
      line(stencils(), exchanges()),
      "'old.json' is of bench stencil on 1 rank (Some CPU), and this is bench halo on 2 ranks (A GPU)" + end);
  BenchRecord walls = stencils();
  walls.walls = true;
  walls.norm = "l2";
  EXPECT_EQ(
      line(stencils(), walls),
      "'old.json' is of bench stencil on 1 rank (Some CPU), and this is bench stencil with walls, norm l2 "
      "on 1 rank (Some CPU)" +
          end);
}

TEST(BenchBaseline, WhatIsNoneIsRefused) {
  const auto why = [](const std::string& text) {
    return deck_error([&] { parse_bench_baseline(text, "x.json", stencils()); });
  };
  const std::string end = "); name what isotherm bench --json has written";
  EXPECT_EQ(why("{"), "'x.json' is no baseline (it is not JSON" + end);
  EXPECT_EQ(why("[]"), "'x.json' is no baseline (it lacks schema, options, device, ranks or entries" + end);
  json j = json::parse(to_json(stencils()));
  j["entries"] = json::array();
  EXPECT_EQ(why(j.dump()), "'x.json' is no baseline (it has no figures" + end);
  j["schema_version"] = 7;
  EXPECT_EQ(why(j.dump()).rfind("'x.json' has schema version 7, and this isotherm knows them to 1; ", 0), 0u);
  j["schema"] = "isotherm-run";
  EXPECT_EQ(why(j.dump()), "'x.json' is no baseline (its schema is \"isotherm-run\"" + end);
}

}  // namespace
}  // namespace isotherm
