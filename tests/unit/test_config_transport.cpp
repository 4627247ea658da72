// Which transport a deck may name, and what one that moves nothing forbids.
#include <gtest/gtest.h>

#include "support/deck_text.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::expect_good;
using deck_text::expect_problem;
using deck_text::parse;
using deck_text::replaced;

const std::string mock = "parallel: {transport: mock}\n";
const std::string no_results = "output: {snapshots: false, history: false}\n";

TEST(ConfigTransport, IsAWordOfTheTable) {
  expect_good(base + "parallel: {transport: auto}\n");
  expect_good(base + "parallel: {transport: mpi_device}\n");
  expect_problem(
      base + "parallel: {transport: hots}\n",
      "deck.yaml:10:23: parallel.transport: unknown word 'hots'; did you mean 'host'? One of auto, host, "
      "mpi_device, mock");
  expect_problem(
      base + "parallel: {transport: pigeon}\n",
      "deck.yaml:10:23: parallel.transport: unknown word 'pigeon'; use one of auto, host, mpi_device, mock");
}

TEST(ConfigTransport, ThatMovesNothingLeavesNoResults) {
  const std::string start =
      "deck.yaml:10:23: parallel.transport: 'mock' moves nothing, so that every result is wrong; use "
      "another, or leave "
      "no results: ";
  expect_problem(base + mock, start + "output.snapshots false, output.history false");
  expect_problem(base + mock + "output: {snapshots: false}\n", start + "output.history false");
  expect_problem(base + mock + no_results + "verify: {solution: decaying_mode}\n", start + "no verify");
  const std::string wall = "boundaries: {x_min: {kind: temperature, value: 300}}\n";
  expect_problem(replaced(base, "  steps: 10\n", "  kind: steady\n") + mock + no_results + wall,
                 start + "problem.kind transient");
}

TEST(ConfigTransport, ThatMovesNothingIsAllowedWithAWarning) {
  const Config config = parse(base + mock + no_results);
  ASSERT_EQ(config.warnings.size(), 1u);
  EXPECT_EQ(config.warnings.front(),
            "deck.yaml:10:23: parallel.transport: 'mock' moves nothing: the field is meaningless, and only "
            "times are "
            "worth anything");
}

}  // namespace
}  // namespace isotherm
