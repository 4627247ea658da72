#include "app/bench/options.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace isotherm {
namespace {

BenchWords words(const char* subject) {
  BenchWords w;
  w.subject = subject;
  return w;
}

// The message of a refusal, which is one line for the command line's exit code.
std::string refusal(const BenchWords& w) {
  try {
    parse_bench(w);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::command_line);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

TEST(BenchOptions, SizesAreCubesOrBoxes) {
  const std::vector<Int3> sizes = parse_sizes("256,20x7x9,1");
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes[0], (Int3{256, 256, 256}));
  EXPECT_EQ(sizes[1], (Int3{20, 7, 9}));
  EXPECT_EQ(sizes[2], (Int3{1, 1, 1}));
}

TEST(BenchOptions, WrongSizesAreRefused) {
  for (const char* text : {"", ",", "0", "-4", "16,", "16x16", "16x16x16x16", "16x0x16", "x", "1e3", "16 ",
                           "99999999999999999999", "1048577", "12x12x12,a"}) {
    BenchWords w = words("stencil");
    w.sizes = text;
    if (*text) {
      EXPECT_NE(refusal(w).find("--sizes: "), std::string::npos) << text;
    }
    EXPECT_THROW(parse_sizes(text), Error) << text;
  }
}

TEST(BenchOptions, DefaultsMeasureAllThatThereIs) {
  const BenchOptions o = parse_bench(words("stencil"));
  EXPECT_TRUE(o.sizes.empty() && o.rows.empty() && o.depths.empty() && o.json.empty());
  EXPECT_EQ(o.precisions, (std::vector{Precision::fp32, Precision::fp64}));
  EXPECT_FALSE(o.all_policies || o.walls || o.source || o.overlap || o.norm);
  EXPECT_EQ(o.op, ReductionOp::sum_squares);
  EXPECT_EQ(o.seconds, 1);
}

TEST(BenchOptions, WordsBecomeValues) {
  BenchWords w = words("stencil");
  w.precision = "fp64";
  w.rows = "openmp,reference";
  w.policies = "all";
  w.depths = "1,4";
  w.device = "cpu";
  w.norm = "l1";
  w.seconds = "0.25";
  w.seed = "18446744073709551615";
  w.walls = w.source = w.overlap = true;
  const BenchOptions o = parse_bench(w);
  EXPECT_EQ(o.precisions, std::vector{Precision::fp64});
  EXPECT_EQ(o.rows, (std::vector<std::string>{"openmp", "reference"}));
  EXPECT_TRUE(o.all_policies && o.walls && o.source && o.overlap);
  EXPECT_EQ(o.depths, (std::vector{1, 4}));
  EXPECT_EQ(o.device, DeviceChoice::cpu);
  EXPECT_EQ(o.norm, ReductionOp::sum_abs);
  EXPECT_EQ(o.seconds, 0.25);
  EXPECT_EQ(o.seed, 18446744073709551615u);
  w = words("reduction");
  for (const auto& [word, op] :
       std::vector<std::pair<const char*, ReductionOp>>{{"sum", ReductionOp::sum},
                                                        {"max", ReductionOp::max_abs},
                                                        {"l1", ReductionOp::sum_abs},
                                                        {"l2", ReductionOp::sum_squares}}) {
    w.op = word;
    EXPECT_EQ(parse_bench(w).op, op);
    EXPECT_STREQ(norm_word(op), word);
  }
}

TEST(BenchOptions, WrongWordsNameTheValidOnes) {
  EXPECT_EQ(refusal(words("")),
            "bench: no subject is given; use one of stencil, reduction, bandwidth, halo, io");
  EXPECT_EQ(refusal(words("halos")),
            "bench: unknown subject 'halos'; use one of stencil, reduction, bandwidth, halo, io");
  const std::pair<std::string BenchWords::*, const char*> wrong[] = {
      {&BenchWords::precision, "bench: unknown --precision 'frob'; use one of fp32, fp64"},
      {&BenchWords::policies, "bench: unknown --policies 'frob'; use one of first, all"},
      {&BenchWords::device, "bench: unknown --device 'frob'; use one of auto, cpu, cuda, gpu"},
      {&BenchWords::norm, "bench: unknown --norm 'frob'; use one of max, l1, l2"},
      {&BenchWords::depths,
       "bench: --depths: 'frob' is no depth; use all, or numbers from 1 to 64 such as 1,2,4"},
      {&BenchWords::ghosts, "bench: --ghosts belongs to bench halo; leave it out of bench stencil"},
      {&BenchWords::seconds, "bench: --seconds: 'frob' is no time; use a number up to 3600"},
      {&BenchWords::seed, "bench: --seed: 'frob' is no whole number"}};
  for (const auto& [word, message] : wrong) {
    BenchWords w = words("stencil");
    w.*word = "frob";
    EXPECT_EQ(refusal(w), message);
  }
  BenchWords layers = words("halo");
  layers.ghosts = "1,0";
  EXPECT_EQ(refusal(layers),
            "bench: --ghosts: '0' is no number of layers; use numbers from 1 to 64 such as 1,2,4");
  for (const char* seconds : {"0", "-1", "nan", "inf", "3601", "1s"}) {
    BenchWords w = words("stencil");
    w.seconds = seconds;
    EXPECT_NE(refusal(w), "accepted") << seconds;
  }
}

TEST(BenchOptions, WhatBelongsToAnotherSubjectIsRefused) {
  BenchWords w = words("stencil");
  w.op = "sum";
  EXPECT_EQ(refusal(w), "bench: --op belongs to bench reduction; leave it out of bench stencil");
  w = words("bandwidth");
  w.walls = true;
  EXPECT_EQ(refusal(w), "bench: --walls belongs to bench stencil; leave it out of bench bandwidth");
  for (std::string BenchWords::*word : {&BenchWords::policies, &BenchWords::depths, &BenchWords::norm}) {
    w = words("reduction");
    w.*word = "all";
    EXPECT_NE(refusal(w).find("belongs to bench stencil"), std::string::npos);
  }
}

}  // namespace
}  // namespace isotherm
