#include <gtest/gtest.h>

#include "app/command_line.hpp"

namespace isotherm {
namespace {

CommandLineResult parsed(std::vector<const char*> words) {
  words.insert(words.begin(), {"isotherm", "bench"});
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

BenchOptions options(const std::vector<const char*>& words) {
  const CommandLineResult result = parsed(words);
  EXPECT_TRUE(result.command) << result.text;
  return result.command ? result.command->bench : BenchOptions{};
}

TEST(BenchOptions, SizesAreCubesOrBoxes) {
  EXPECT_EQ(options({"stencil", "--sizes", "256,20x7x9,1"}).sizes,
            (std::vector<Int3>{{256, 256, 256}, {20, 7, 9}, {1, 1, 1}}));
  for (const char* text : {"", "0", "-4", "16x16", "16x16x16x16", "16x0x16", "16x16x16x", "x", "1e3", "16 ",
                           "99999999999999999999", "1048577", "12x12x12,a"})
    EXPECT_EQ(parsed({"stencil", "--sizes", text}).exit_code, 2) << text;
}

TEST(BenchOptions, DefaultsMeasureAllThatThereIs) {
  const BenchOptions o = options({"stencil"});
  EXPECT_TRUE(o.sizes.empty() && o.rows.empty() && o.depths.empty() && o.json.empty());
  EXPECT_EQ(o.precisions, (std::vector{Precision::fp32, Precision::fp64}));
  EXPECT_FALSE(o.all_policies || o.walls || o.source || o.overlap || o.norm);
  EXPECT_EQ(options({"reduction"}).op, ReductionOp::sum_squares);
  EXPECT_EQ(o.seconds, 1);
  EXPECT_EQ(options({"halo"}).seconds, 0.05);
  EXPECT_EQ(options({"halo"}).subject, BenchSubject::halo);
}

TEST(BenchOptions, WordsBecomeValues) {
  const BenchOptions o = options({"stencil",
                                  "--precision",
                                  "fp64",
                                  "--rows",
                                  "openmp,reference",
                                  "--policies",
                                  "all",
                                  "--depths",
                                  "1,4",
                                  "--device",
                                  "gpu",
                                  "--norm",
                                  "l1",
                                  "--seconds",
                                  "0.25",
                                  "--seed",
                                  "18446744073709551615",
                                  "--walls",
                                  "--source",
                                  "--overlap"});
  EXPECT_EQ(o.precisions, std::vector{Precision::fp64});
  EXPECT_EQ(o.rows, (std::vector<std::string>{"openmp", "reference"}));
  EXPECT_TRUE(o.all_policies && o.walls && o.source && o.overlap);
  EXPECT_EQ(o.depths, (std::vector{1, 4}));
  EXPECT_EQ(o.device, DeviceChoice::cuda);
  EXPECT_EQ(o.norm, ReductionOp::sum_abs);
  EXPECT_EQ(o.seconds, 0.25);
  EXPECT_EQ(o.seed, 18446744073709551615u);
  EXPECT_TRUE(options({"stencil", "--depths", "all"}).depths.empty());
  EXPECT_EQ(options({"halo", "--ghosts", "1,3", "--seconds", "2"}).ghosts, (std::vector{1, 3}));
  EXPECT_EQ(options({"reduction", "--op", "sum"}).op, ReductionOp::sum);
  EXPECT_EQ(options({"reduction", "--op", "max"}).op, ReductionOp::max_abs);
  EXPECT_EQ(options({"reduction", "--op", "l1"}).op, ReductionOp::sum_abs);
}

TEST(BenchOptions, NumbersHaveBounds) {
  for (const char* seconds : {"0", "-1", "nan", "inf", "3601", "1s"})
    EXPECT_EQ(parsed({"stencil", "--seconds", seconds}).exit_code, 2) << seconds;
  for (const char* layers : {"0", "1,65", "frob", "all"})
    EXPECT_EQ(parsed({"halo", "--ghosts", layers}).exit_code, 2) << layers;
  for (const char* seed : {"-1", "frob", "18446744073709551616"})
    EXPECT_EQ(parsed({"io", "--seed", seed}).exit_code, 2) << seed;
}

TEST(BenchOptions, HelpOfASubjectHasItsOptionsAlone) {
  const std::string help = parsed({"halo", "--help"}).text;
  for (const char* own : {"--ghosts", "--rows", "--sizes", "64,256"})
    EXPECT_NE(help.find(own), std::string::npos) << own;
  for (const char* of_others : {"--depths", "--walls", "--op ", "--folder", "--repeats"})
    EXPECT_EQ(help.find(of_others), std::string::npos) << of_others;
}

}  // namespace
}  // namespace isotherm
