#include "output/records/run_record.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/records/run_record.hpp"

namespace isotherm {
namespace {

// Rank 0 waits for rank 1, which sweeps longer; powers of two, that sums are exact.
std::vector<PhaseTimes> two() {
  std::vector<PhaseTimes> profiles(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    PhaseTimes& p = profiles[rank];
    p[Phase::setup] = 0.5;
    p[Phase::interior] = rank ? 2 : 1;
    p[Phase::shells] = 0.5;
    p[Phase::pack] = p[Phase::unpack] = 0.125;
    p[Phase::wire] = rank ? 0.25 : 1.25;
    p[Phase::output] = 0.75;
    p[Phase::other] = 0.25;
    p[Phase::loop] = 4;
    p[Phase::total] = 5;
  }
  return profiles;
}

RankRow row_of(int rank, int device) {
  RankRow row;
  row.rank = rank;
  row.host = fmt::format("node{}", rank / 8);
  row.backend = device < 0 ? Backend::host : Backend::cuda;
  row.device_index = device;
  row.device = device < 0 ? "Some CPU" : "A GPU";
  return row;
}

TEST(Profile, HasALineARankTheMeanAndItsShareOfTheLoop) {
  const std::string end = "  pack    wire  unpack  output   other     loop   total\n",
                    first = "  125 ms  1.25 s  125 ms  750 ms  250 ms   4.00 s  5.00 s\n",
                    second = "  125 ms  250 ms  125 ms  750 ms  250 ms   4.00 s  5.00 s\n",
                    mean = "  125 ms  750 ms  125 ms  750 ms  250 ms   4.00 s  5.00 s\n",
                    share = "   3.1 %  18.8 %   3.1 %  18.8 %   6.2 %  100.0 %\n";
  EXPECT_EQ(profile_table(two(), {row_of(0, -1), row_of(1, -1)}),
            "\n  rank  host               device     setup  interior  shells  " + end +
                "     0  node0              Some CPU  500 ms    1.00 s  500 ms" + first +
                "     1  node0              Some CPU  500 ms    2.00 s  500 ms" + second +
                "        mean                         500 ms    1.50 s  500 ms" + mean +
                "        share of the loop                      37.5 %  12.5 %" + share);
}

TEST(Profile, NamesTheGpuOfARank) {
  const std::string text = profile_table(two(), {row_of(0, 0), row_of(1, 3)});
  EXPECT_NE(text.find("  3 A GPU  "), std::string::npos) << text;
}

// 40 ranks, of which rank r has swept for r seconds.
TEST(Profile, OfManyRanksItShowsTheSlowestAndTheFastest) {
  std::vector<PhaseTimes> profiles(40);
  std::vector<RankRow> rows;
  for (int rank = 0; rank < 40; ++rank) {
    profiles[static_cast<std::size_t>(rank)][Phase::sweep] = rank;
    profiles[static_cast<std::size_t>(rank)][Phase::loop] = 40;
    rows.push_back(row_of(rank, rank % 8));
  }
  const std::string text = profile_table(profiles, rows);
  std::vector<int> shown;
  for (std::size_t at = text.find('\n', 1); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    const std::string rank = text.substr(at + 1, 6);
    if (rank.find_first_of("0123456789") != rank.npos && text.compare(at + 7, 6, "  node") == 0)
      shown.push_back(std::stoi(rank));
  }
  EXPECT_EQ(shown, (std::vector{39, 38, 37, 36, 35, 34, 33, 32, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_NE(text.find("\n  8 ranks that swept longest and 8 that swept shortest; 24 more in run.json\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("19.5 s"), std::string::npos) << "the mean is of all: " << text;
  RunRecord record;
  record.profile = profiles;
  EXPECT_EQ(nlohmann::json::parse(to_json(record))["profile"].size(), 40u);
  profiles.resize(32);
  rows.resize(32);
  EXPECT_EQ(profile_table(profiles, rows).find("more in run.json"), std::string::npos);
}

TEST(Profile, IsInTheRecordWhereItWasAskedFor) {
  RunRecord record;
  EXPECT_EQ(nlohmann::json::parse(to_json(record))["profile"], nullptr);
  EXPECT_EQ(profile_table(record.profile, record.ranks), "");
  record.profile = two();
  const auto json = nlohmann::json::parse(to_json(record))["profile"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0].size(), 15u);
  EXPECT_EQ(json[1]["rank"], 1);
  EXPECT_EQ(json[1]["interior_s"], 2.0);
  EXPECT_EQ(json[0]["wire_s"], 1.25);
  EXPECT_EQ(json[0]["walls_s"], 0.0);
}

}  // namespace
}  // namespace isotherm
