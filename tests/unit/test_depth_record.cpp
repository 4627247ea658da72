// How the choice of solver.halo_width: auto is told.
#include "output/records/run_record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace isotherm {
namespace {

DepthRecord weighed() {
  DepthRecord record;
  record.automatic = true;
  record.weighed = {{1, 12e-6, 6, 4096}, {2, 9e-6, 13, 4400.4}, {3, 10e-6, 26.0 / 3, 4700}};
  record.exchange_seconds = 5e-6;
  record.message_seconds = 1e-6;
  record.bytes_a_second = 4.5e9;
  record.cell_seconds = 4e-10;
  record.transports = "host";
  record.seconds = 0.05;
  return record;
}

TEST(DepthRecord, StandsBesideDepthOne) {
  EXPECT_EQ(
      depth_line(weighed(), 2),
      "2 (auto): 9 us a sweep by estimate (13 messages, 4 400 cells), 12 us at depth 1 (6 messages, 4 096 "
      "cells); 5 us an exchange, 1 us a message, 4.5 GB/s, 0.4 ns a cell by host, measured in 50 ms");
}

TEST(DepthRecord, OneStandsBesideTheCheapestOther) {
  const std::string line = depth_line(weighed(), 1);
  EXPECT_EQ(
      line.substr(0, line.find(';')),
      "1 (auto): 12 us a sweep by estimate (6 messages, 4 096 cells), 9 us at depth 2 (13 messages, 4 400 "
      "cells)");
}

TEST(DepthRecord, SaysWhereThereWasNothingToWeigh) {
  DepthRecord alone;
  EXPECT_EQ(depth_line(alone, 4), "");
  alone.automatic = true;
  alone.why = "no other rank to exchange with";
  EXPECT_EQ(depth_line(alone, 1), "1 (auto): no other rank to exchange with");
}

TEST(DepthRecord, InJson) {
  const auto json = to_json_object(weighed());
  EXPECT_EQ(json["automatic"], true);
  EXPECT_EQ(json["why"], "");  // null in the file
  EXPECT_EQ(json["costs"]["exchange_s"], 5e-6);
  EXPECT_EQ(json["costs"]["transport"], "host");
  ASSERT_EQ(json["weighed"].size(), 3u);
  EXPECT_EQ(json["weighed"][1]["depth"], 2);
  EXPECT_EQ(json["weighed"][1]["sweep_s"], 9e-6);
  EXPECT_TRUE(to_json_object(DepthRecord{})["costs"].is_null());
}

}  // namespace
}  // namespace isotherm
