#include "output/records/run_record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace isotherm {
namespace {

HaloLink link(int peer, std::vector<Direction> directions, std::string transport, double seconds) {
  return {peer,
          std::move(directions),
          2'000'000,
          transport,
          {{"peer", transport == "peer" ? "" : "not on one host", transport == "peer" ? seconds : 0, 0},
           {"host", "", transport == "host" ? seconds : 1, 5e-6}}};
}

TEST(HaloRecord, NamesThePathOfEveryPairWhereTheyAreFew) {
  const HaloRecord record{
      {{0, link(1, {{1, 0, 0}}, "host", 1e-3)}, {0, link(2, {{0, 1, 0}, {0, -1, 0}}, "peer", 1e-5)}}, {}};
  EXPECT_EQ(transports_in_use(record), "host, peer");
  const std::vector<std::string> lines = halo_lines(record);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "ranks 0-1 x+ by host: 1.91 MiB each way in 1000.0 us: 2.00 GB/s, latency 5.0 us");
  EXPECT_EQ(lines[1], "ranks 0-2 y+ y- by peer: 1.91 MiB each way in 10.0 us: 200.00 GB/s, latency 0.0 us");
}

TEST(HaloRecord, SaysTheMedianOfPairsOfOneKindWhereTheyAreMany) {
  HaloRecord record;
  for (int i = 0; i < 31; ++i) {
    record.pairs.push_back({i, link(i + 1, {{0, 0, 1}}, "host", i == 0 ? 1.0 : i < 16 ? 1e-3 : 2e-3)});
  }
  EXPECT_EQ(halo_lines(record),
            std::vector<std::string>{
                "z+ by host (31 pairs): 1.91 MiB each way in 2000.0 us: 1.00 GB/s, latency 5.0 us"});
}

TEST(HaloRecord, NothingToSayWithoutNeighbours) {
  EXPECT_EQ(transports_in_use({}), "none");
  EXPECT_TRUE(halo_lines({}).empty());
}

TEST(HaloRecord, JsonHasWhatWasTriedAndWhyItWasNotTaken) {
  const nlohmann::ordered_json json =
      to_json_object(HaloRecord{{{3, link(7, {{-1, 0, 1}}, "host", 1e-3)}}, {}});
  const auto& pair = json["links"][0];
  EXPECT_EQ(pair["rank"], 3);
  EXPECT_EQ(pair["peer"], 7);
  EXPECT_EQ(pair["directions"][0], "x-z+");
  EXPECT_EQ(pair["bandwidth_bytes_per_s"], 2e9);
  EXPECT_EQ(pair["trials"][0]["why_not"], "not on one host");
  EXPECT_TRUE(pair["trials"][0]["exchange_s"].is_null());
  EXPECT_EQ(pair["trials"][1]["exchange_s"], 1e-3);
}

TEST(HaloRecord, SaysWhatIsHiddenWhereItWasMeasured) {
  HaloRecord record{{{0, link(1, {{1, 0, 0}}, "host", 1e-3)}}, HaloCost{40e-6, 2e-6}};
  EXPECT_EQ(halo_lines(record).back(), "95.0 % hidden: of an exchange of 40.0 us, 2.0 us add to a step");
  nlohmann::ordered_json json = to_json_object(record);
  EXPECT_DOUBLE_EQ(json["hidden_percent"], 95);
  EXPECT_EQ(json["exchange_s"], 40e-6);
  EXPECT_EQ(json["exposed_s"], 2e-6);
  record.cost.reset();
  EXPECT_EQ(halo_lines(record).size(), 1u);
  json = to_json_object(record);
  for (const char* key : {"hidden_percent", "exchange_s", "exposed_s"})
    EXPECT_TRUE(json[key].is_null()) << key;
}

}  // namespace
}  // namespace isotherm
