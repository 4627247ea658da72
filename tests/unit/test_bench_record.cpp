#include "output/records/bench_record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "support/bench_entry.hpp"

namespace isotherm {
namespace {

using nlohmann::json;

TEST(BenchQuantiles, AreThoseOfTheSortedValues) {
  const Quantiles q = quantiles({5, 1, 4, 2, 3, 0, 6, 8, 7, 10, 9});  // 0 ... 10
  EXPECT_DOUBLE_EQ(q.p10, 1);
  EXPECT_DOUBLE_EQ(q.median, 5);
  EXPECT_DOUBLE_EQ(q.p90, 9);
  EXPECT_DOUBLE_EQ(q.spread(), 1.6);
}

TEST(BenchQuantiles, LieBetweenNeighbours) {
  const Quantiles q = quantiles({4, 2});
  EXPECT_DOUBLE_EQ(q.p10, 2.2);
  EXPECT_DOUBLE_EQ(q.median, 3);
  EXPECT_DOUBLE_EQ(q.p90, 3.8);
  EXPECT_DOUBLE_EQ(quantiles({7}).spread(), 0);
  EXPECT_THROW(quantiles({}), Error);
}

TEST(BenchQuantiles, OneOutlierMovesNoMedian) {
  EXPECT_DOUBLE_EQ(quantiles({1, 1, 1, 1, 1, 1, 1000}).median, 1);
}

BenchEntry entry(const char* row, Precision precision, double seconds) {
  BenchEntry e = test::bench_entry(row, seconds);
  e.precision = precision;
  return e;
}

BenchRecord record() {
  BenchRecord r;
  r.subject = BenchSubject::stencil;
  r.device.name = "Some CPU";
  r.seed = 3;
  r.entries = {entry("slow", Precision::fp64, 4e-3), entry("fast", Precision::fp64, 1e-3),
               entry("slow", Precision::fp32, 2e-3), entry("fast", Precision::fp32, 1e-3)};
  return r;
}

TEST(BenchFigures, FollowFromTheSamples) {
  const auto all = figures(record());
  ASSERT_EQ(all.size(), 4u);
  EXPECT_DOUBLE_EQ(*all[1]->points_a_second, 1e6);
  EXPECT_DOUBLE_EQ(*all[1]->bandwidth, 16e6);
  EXPECT_DOUBLE_EQ(*all[1]->copy_share, 0.8);
  EXPECT_DOUBLE_EQ(*all[1]->copy_bandwidth, 20e6);
  EXPECT_FALSE(all[1]->read_share);
}

TEST(BenchFigures, SpeedUpIsOverTheLowestRungOfItsOwnLadder) {
  const auto all = figures(record());
  EXPECT_DOUBLE_EQ(*all[0]->speedup, 1);
  EXPECT_DOUBLE_EQ(*all[1]->speedup, 4);
  EXPECT_DOUBLE_EQ(*all[2]->speedup, 1);
  EXPECT_DOUBLE_EQ(*all[3]->speedup, 2);
}

BenchEntry difference(std::vector<double> added) {
  BenchEntry e = entry("fused", Precision::fp64, 0);
  e.samples.seconds = std::move(added);
  e.samples.base_seconds = {5e-3, 6e-3, 7e-3};
  e.samples.copy_bytes_per_s = {10e6, 20e6, 60e6};
  return e;
}

TEST(BenchFigures, OfADifferenceAreThoseOfItsMedian) {
  BenchRecord r = record();
  r.entries[1] = difference({1.5e-3, 2e-3, 2.5e-3});
  const auto all = figures(r);
  EXPECT_DOUBLE_EQ(*all[1]->points_a_second, 0.5e6);
  EXPECT_DOUBLE_EQ(*all[1]->copy_share, 0.4);
  EXPECT_DOUBLE_EQ(*all[1]->speedup, 2);
  EXPECT_EQ(json::parse(to_json(r))["entries"][1]["base_s"]["median"], 6e-3);
}

TEST(BenchFigures, ADifferenceBelowItsNoiseHasASpreadAndNoRate) {
  BenchRecord r = record();
  r.subject = BenchSubject::reduction;
  r.entries = {difference({-3e-3, -1e-3, 1e-3}), entry("tree", Precision::fp64, 4e-3)};
  const auto all = figures(r);
  EXPECT_FALSE(all[0]->points_a_second);
  EXPECT_FALSE(all[0]->copy_share || all[0]->speedup);
  EXPECT_DOUBLE_EQ(all[0]->seconds.spread(), 3.2);
  EXPECT_DOUBLE_EQ(*all[1]->speedup, 1);  // the lowest rung that has a rate
  const json j = json::parse(to_json(r));
  EXPECT_EQ(j["entries"][0]["launch_s"]["median"], -1e-3);
  EXPECT_EQ(j["entries"][0]["points_per_s"], nullptr);
  EXPECT_EQ(j["entries"][0]["bandwidth_bytes_per_s"], nullptr);
  EXPECT_EQ(j["not_finite"], json::object());
  r.entries[0] = difference({-1e-3, 2e-3, 4e-3});  // not above p90 - p10 = 4 ms
  EXPECT_FALSE(figures(r)[0]->points_a_second);
  r.entries[0] = difference({-3e-3, -1e-3, 1e-3});
  const std::string table = bench_table(r);
  EXPECT_NE(table.find("  fused  -1 ms         -        -        -        -     0.0200  *320.0 %         -"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("\n  * spread above 30 %: "), std::string::npos) << table;
}

TEST(BenchFigures, AWrongRowIsNoRungAndHasNoFigures) {
  BenchRecord r = record();
  r.entries[0].verdict = BenchVerdict::wrong;
  r.entries[0].samples = {};
  const auto all = figures(r);
  EXPECT_FALSE(all[0]);
  EXPECT_DOUBLE_EQ(*all[1]->speedup, 1);
  EXPECT_FALSE(all_right(r));
  EXPECT_TRUE(all_right(record()));
  r.entries[0].verdict = BenchVerdict::skipped;
  EXPECT_TRUE(all_right(r));
}

// The memory halves its speed between two samples: the share is that of each moment.
TEST(BenchFigures, TheShareIsTakenSampleBySample) {
  BenchRecord r = record();
  r.entries[1].samples.seconds = {1e-3, 2e-3, 2e-3};
  r.entries[1].samples.copy_bytes_per_s = {20e6, 10e6, 10e6};
  EXPECT_DOUBLE_EQ(*figures(r)[1]->copy_share, 0.8);
  r.entries[1].samples.copy_bytes_per_s = {20e6, 20e6, 10e6};
  EXPECT_DOUBLE_EQ(*figures(r)[1]->copy_share, 0.8);
  EXPECT_DOUBLE_EQ(*figures(r)[1]->copy_bandwidth, 20e6);
}

TEST(BenchJson, HoldsWhatTheRecordHolds) {
  BenchRecord r = record();
  r.norm = "l2";
  r.entries[1].error = 1e-12;
  r.entries[1].same_bits = false;
  const json j = json::parse(to_json(r));
  EXPECT_EQ(j["schema"], "isotherm-bench");
  EXPECT_EQ(j["schema_version"], 2);
  EXPECT_EQ(j["result"], "PASS");
  EXPECT_EQ(j["options"]["seed"], 3);
  EXPECT_EQ(j["options"]["norm"], "l2");
  EXPECT_EQ(j["options"]["op"], nullptr);
  EXPECT_EQ(j["device"]["name"], "Some CPU");
  ASSERT_EQ(j["entries"].size(), 4u);
  const json& e = j["entries"][1];
  EXPECT_EQ(e["row"], "fast");
  EXPECT_EQ(e["precision"], "fp64");
  EXPECT_EQ(e["cells"], json::array({10, 10, 10}));
  EXPECT_EQ(e["verdict"], "right");
  EXPECT_DOUBLE_EQ(e["points_per_s"], 1e6);
  EXPECT_DOUBLE_EQ(e["launch_s"]["median"], 1e-3);
  EXPECT_DOUBLE_EQ(e["copy_bandwidth_share_percent"], 80);
  EXPECT_EQ(e["read_bandwidth_share_percent"], nullptr);
  EXPECT_EQ(e["same_bits"], false);
  EXPECT_EQ(e["samples"]["launch_s"].size(), 3u);
}

TEST(BenchJson, WhatWasNotMeasuredIsNullAndWhatIsNotFiniteIsListed) {
  BenchRecord r = record();
  r.entries[0].samples = {};
  r.entries[0].verdict = BenchVerdict::wrong;
  r.entries[0].note = "cell (1, 2, 3) is nan and should be 300";
  r.entries[0].error = std::numeric_limits<double>::quiet_NaN();
  const json j = json::parse(to_json(r));
  EXPECT_EQ(j["result"], "FAIL");
  EXPECT_EQ(j["entries"][0]["verdict"], "wrong");
  for (const char* key : {"launch_s", "points_per_s", "bandwidth_bytes_per_s", "spread_percent", "speedup",
                          "copy_bandwidth_share_percent", "error"})
    EXPECT_EQ(j["entries"][0][key], nullptr) << key;
  EXPECT_EQ(j["not_finite"]["/entries/0/error"], "nan");
}

TEST(BenchTable, HasALadderForEachGridAndPrecision) {
  BenchRecord r = record();
  EXPECT_EQ(bench_table(r),
            "\n10 x 10 x 10, fp64\n"
            "  row     GPts/s     GB/s  of copy  copy GB/s  spread  speed-up  check\n"
            "  slow  0.000250  0.00400   20.0 %     0.0200   0.0 %     1.00x  right\n"
            "  fast   0.00100   0.0160   80.0 %     0.0200   0.0 %     4.00x  right\n"
            "\n10 x 10 x 10, fp32\n"
            "  row     GPts/s     GB/s  of copy  copy GB/s  spread  speed-up  check\n"
            "  slow  0.000500  0.00800   40.0 %     0.0200   0.0 %     1.00x  right\n"
            "  fast   0.00100   0.0160   80.0 %     0.0200   0.0 %     2.00x  right\n");
}

TEST(BenchTable, ShowsFusedSweepsAgainstTheRoofOfOne) {
  BenchRecord r = record();
  r.entries.resize(2);
  r.entries[1].depth = 4;
  r.entries[1].points = 4000;
  const std::string text = bench_table(r);
  EXPECT_NE(text.find("of roof"), std::string::npos);
  EXPECT_NE(text.find("320.0 %"), std::string::npos) << text;
}

TEST(BenchTable, SaysWhatIsWrongOrWasSkipped) {
  BenchRecord r = record();
  r.entries[0] = {};
  r.entries[0].verdict = BenchVerdict::wrong;
  r.entries[0].note = "cell (0, 0, 0) is 1 and should be 2";
  r.entries[1] = {};
  r.entries[1].note = "not in this build";
  const std::string text = bench_table(r);
  EXPECT_NE(text.find("WRONG: cell (0, 0, 0) is 1 and should be 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("skipped: not in this build\n"), std::string::npos) << text;
}

TEST(BenchTable, ReductionsShowErrorAndBits) {
  BenchRecord r = record();
  r.subject = BenchSubject::reduction;
  r.entries.resize(2);
  r.entries[0].error = 2.5e-13;
  r.entries[0].same_bits = true;
  r.entries[1].same_bits = false;
  r.entries[1].samples.read_bytes_per_s = {32e6, 32e6, 32e6};
  const std::string text = bench_table(r);
  for (const char* word : {"of read", "50.0 %", "2.5e-13", "  same  ", "  differ  "})
    EXPECT_NE(text.find(word), std::string::npos) << word << text;
}

}  // namespace
}  // namespace isotherm
