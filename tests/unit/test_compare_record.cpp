#include "output/records/compare_record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/comparison.hpp"

namespace isotherm {
namespace {

CompareEntry entry(const std::string& kernel, std::vector<double> seconds) {
  CompareEntry e;
  e.words = {kernel};
  e.name = "kernel=" + kernel;
  e.verdict = CompareVerdict::same;
  e.kernel = kernel;
  e.policy = "-";
  e.reduction = "fused";
  e.transport = "none";
  e.samples.check_seconds.assign(seconds.size(), 0.1);
  e.samples.sweep_seconds = std::move(seconds);
  e.bytes_per_point = 16;
  e.copy_bandwidth = 64e3;
  e.fingerprint = 0x1234;
  e.norm = 0.5;
  return e;
}

// Of 1000 cells, with a check of 0.1 s every 10 sweeps.
CompareRecord record() {
  CompareRecord r;
  r.run.cells = {10, 10, 10};
  r.run.ranks = {{0, "node1", Backend::host, -1, "Some CPU", "", 4, 1000, 0}};
  r.axes = {{"kernel", "solver.kernel"}};
  r.reference = "kernel=slow";
  r.sweeps = 20;
  r.check_interval = 10;
  CompareEntry wrong = entry("wrong", {});
  wrong.verdict = CompareVerdict::differs;
  wrong.note = "1 of 1 000 cells";
  CompareEntry absent;
  absent.words = {"absent"};
  absent.name = "kernel=absent";
  absent.note = "there is none";
  r.entries = {absent, wrong, entry("slow", {0.99, 0.49, 0.50}), entry("fast", {0.24, 0.25, 0.19})};
  return r;
}

TEST(CompareRecord, FiguresFollowFromTheSamples) {
  const CompareRecord r = record();
  const auto f = figures(r, r.entries[3]);
  ASSERT_TRUE(f);
  EXPECT_DOUBLE_EQ(f->seconds.median, 0.25);  // with a tenth of a check
  EXPECT_DOUBLE_EQ(f->least, 0.20);
  EXPECT_DOUBLE_EQ(f->most, 0.26);
  EXPECT_DOUBLE_EQ(f->points_a_second, 4000);
  EXPECT_DOUBLE_EQ(f->effective_bandwidth, 64e3);
  EXPECT_DOUBLE_EQ(*f->copy_share, 1);
  EXPECT_FALSE(figures(r, r.entries[0]));
}

TEST(CompareRecord, TheFastestWithTheSameBitsIsFirst) {
  CompareRecord r = record();
  rank(r);
  std::vector<std::string> order;
  for (const CompareEntry& e : r.entries) order.push_back(e.words[0]);
  EXPECT_EQ(order, (std::vector<std::string>{"fast", "slow", "wrong", "absent"}));
  ASSERT_NE(winner(r), nullptr);
  EXPECT_EQ(winner(r)->kernel, "fast");
  EXPECT_FALSE(all_same(r));
  std::erase_if(r.entries, [](const CompareEntry& e) { return e.verdict == CompareVerdict::differs; });
  EXPECT_TRUE(all_same(r));  // what could not be run says nothing
  r.entries.erase(r.entries.begin(), r.entries.begin() + 2);
  EXPECT_EQ(winner(r), nullptr);
  EXPECT_FALSE(all_same(r));
}

TEST(CompareRecord, TheTableSaysWhatDiffers) {
  CompareRecord r = record();
  rank(r);
  EXPECT_EQ(compare_table(r),
            "  rank  kernel    time     min     max      GPts/s  of roof  bits\n"
            "     1  fast    250 ms  200 ms  260 ms  0.00000400  100.0 %  same\n"
            "     2  slow    510 ms  500 ms  1.00 s  0.00000196   49.0 %  same (the others' reference)\n"
            "     -  wrong        -       -       -           -        -  DIFFER: 1 of 1 000 cells\n"
            "     -  absent       -       -       -           -        -  left out: there is none\n");
}

TEST(CompareRecord, JsonHoldsWhatTheRecordHolds) {
  CompareRecord r = record();
  rank(r);
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(j["schema"], "isotherm-compare");
  EXPECT_EQ(j["result"], "FAIL");
  EXPECT_EQ(j["grid"]["cells"], (nlohmann::json{10, 10, 10}));
  EXPECT_EQ(j["ranks"][0]["device"], "Some CPU");
  EXPECT_EQ(j["axes"][0]["key"], "solver.kernel");
  EXPECT_EQ(j["reference"], "kernel=slow");
  EXPECT_EQ(j["sweeps_per_sample"], 20);
  const auto& fast = j["entries"][0];
  EXPECT_EQ(fast["settings"]["solver.kernel"], "fast");
  EXPECT_DOUBLE_EQ(fast["sweep_s"]["median"], 0.25);
  EXPECT_DOUBLE_EQ(fast["check_s"], 0.1);
  EXPECT_EQ(fast["fingerprint"], "0000000000001234");
  EXPECT_EQ(fast["samples"]["sweep_s"].size(), 3u);
  EXPECT_EQ(j["entries"][2]["verdict"], "differs");
  EXPECT_EQ(j["entries"][2]["sweep_s"], nullptr);
  EXPECT_EQ(j["entries"][3]["method"], nullptr);
  EXPECT_EQ(j["figures_of_merit"]["kernel=fast: time_per_sweep"]["value"], 250.0);
  EXPECT_EQ(j["figures_of_merit"].size(), 6u);  // a wrong answer has no speed
  EXPECT_EQ(j["baseline"], nullptr);
}

TEST(CompareRecord, NormsAreAsFarApartAsRoundingBringsThem) {
  EXPECT_TRUE(norms_agree(1, 1, true, 1000));
  EXPECT_FALSE(norms_agree(1, std::nextafter(1, 2), true, 1000));
  EXPECT_TRUE(norms_agree(1, std::nextafter(1, 2), false, 1000));
  EXPECT_TRUE(norms_agree(1, 1 + 1e-13, false, 1000));
  EXPECT_FALSE(norms_agree(1, 1 + 1e-12, false, 1000));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(norms_agree(nan, nan, true, 1000));
  EXPECT_FALSE(norms_agree(nan, 1, false, 1000));
}

TEST(CompareRecord, ASampleHasFewSweepsAndWholeIntervals) {
  EXPECT_EQ(sweeps_of_a_sample(0.3, 100), 4);
  EXPECT_EQ(sweeps_of_a_sample(17, 100), 17);
  EXPECT_EQ(sweeps_of_a_sample(99, 100), 96);
  EXPECT_EQ(sweeps_of_a_sample(119, 100), 100);
  EXPECT_EQ(sweeps_of_a_sample(1e9, 100), 100);
  EXPECT_EQ(sweeps_of_a_sample(1e9, 1000), 120);
  EXPECT_EQ(sweeps_of_a_sample(59, 7), 56);
}

}  // namespace
}  // namespace isotherm
