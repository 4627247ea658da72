// What the checks across keys say of decks that are sound key by key, to the letter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/deck_text.hpp"

namespace isotherm {
namespace {

using deck_text::base;
using deck_text::expect_good;
using deck_text::expect_problem;
using deck_text::problems;
using deck_text::replaced;
using deck_text::with_wall;

std::string steady(const std::string& more) {
  return replaced(base, "  steps: 10\n", "  kind: steady\n") + more;
}

TEST(ConfigCrossChecks, Periodic) {
  expect_problem(with_wall("periodic"),
                 "deck.yaml:11:10: boundaries.x_min: is periodic but x_max is not (each is the "
                 "other's neighbour); make both periodic or none");
  expect_good(with_wall("periodic") + "  x_max: periodic\n");
}

TEST(ConfigCrossChecks, Material) {
  const auto with = [](const std::string& material) {
    return replaced(base, "  diffusivity: 1\n", material);
  };
  const std::string needs =
      "deck.yaml:4:1: material: a transient problem needs the diffusivity; add diffusivity, or "
      "conductivity, density and heat_capacity";
  expect_problem(with(""), needs);
  expect_problem(with("  conductivity: 1\n"), needs);
  expect_good(with("  conductivity: 1\n  density: 1\n  heat_capacity: 1\n"));
  expect_problem(
      with("  diffusivity: 1\n  density: 1\n"),
      "deck.yaml:6:12: material.density: says nothing without heat_capacity (only their product counts); add "
      "heat_capacity, or give diffusivity");
  expect_problem(with("  diffusivity: 1\n  density: 1\n  heat_capacity: 1\n"),
                 "deck.yaml:5:16: material.diffusivity: stands beside density and heat_capacity, which say "
                 "the same with "
                 "conductivity; keep diffusivity or the two");
  expect_problem(with_wall("{kind: flux, value: 3}"),
                 "deck.yaml:4:1: material.conductivity: is missing (x_min is a flux or convection wall); add "
                 "conductivity");
}

TEST(ConfigCrossChecks, TimeStep) {
  const auto with = [](const std::string& dt) {
    return replaced(base, "[8, 9, 10]", "10") + "  dt: " + dt + "\n";
  };
  const double limit = stable_dt(deck_text::parse(with("auto")));
  EXPECT_DOUBLE_EQ(limit, 0.01 / 6);
  expect_problem(
      with("0.01"),
      fmt::format("deck.yaml:10:7: problem.dt: 0.01 s is above the stability limit of {} s, 1/(2 alpha "
                  "(1/hx^2 + 1/hy^2 + 1/hz^2)); write at most that, or auto",
                  limit));
  expect_good(with(fmt::format("{}", limit)));
  expect_problem(
      with("-1"),
      "deck.yaml:10:7: problem.dt: -1 is out of range; write a number from 1e-18 to 1e18 s, or auto");
  expect_good(with("0.01") + "  allow_unstable: true\n");
}

TEST(ConfigCrossChecks, Steady) {
  expect_problem(
      steady(""),
      "deck.yaml:8:1: problem: a steady problem with no temperature or convection wall has no unique "
      "solution (any constant may be added); give a wall a temperature, or set problem.mean_temperature");
  expect_good(steady("  mean_temperature: 300\n"));
  const std::string wall = "boundaries: {z_max: {kind: temperature, value: 300}}\n";
  expect_good(steady(wall));
  expect_problem(
      steady("  mean_temperature: 300\n" + wall),
      "deck.yaml:10:21: problem.mean_temperature: the walls fix the temperature already; remove it");
  expect_problem(
      steady("boundaries: {z_max: {kind: temperature, value: 300 + t}}\n"),
      "deck.yaml:10:14: boundaries.z_max: the formula uses t, but a steady problem has no time; leave t out");
  expect_problem(steady("  weight: 1.01\n" + wall),
                 "deck.yaml:10:11: problem.weight: 1.01 is out of range; write a number above 0, at most 1");
  EXPECT_EQ(deck_text::parse(steady("  weight: 1\n" + wall)).warnings,
            std::vector<std::string>{"deck.yaml:10:11: problem.weight: with 1 a checkerboard error never "
                                     "decays; 0.99 costs 1 % more sweeps"});
  // A convection wall that exchanges nothing fixes nothing.
  EXPECT_EQ(
      problems(replaced(steady("boundaries: {z_max: {kind: convection, ambient: 300, coefficient: 0}}\n"),
                        "diffusivity", "conductivity"))
          .first,
      problems(steady("")).first);
}

TEST(ConfigCrossChecks, Verify) {
  expect_problem(
      replaced(base, "constant, value: 300", "exact"),
      "deck.yaml:7:13: initial.0.shape: exact needs a solution; add verify.solution, or paint another shape");
  const std::string no_initial = replaced(base, "initial:\n  - {shape: constant, value: 300}\n", "");
  const Config config = deck_text::parse(no_initial + "verify: {solution: decaying_mode}\n");
  ASSERT_EQ(config.initial.size(), 1u);
  EXPECT_EQ(config.initial[0].shape, Shape::exact);
  const std::string verify = base + "verify: {solution: decaying_mode, order: ";
  expect_good(verify + "[8, 16, 32]}\n");
  expect_problem(
      verify + "[8, 16]}\n",
      "deck.yaml:10:42: verify.order: has 2 entries (an order wants a trend); write at least three");
  expect_problem(verify + "[8, 8, 16]}\n",
                 "deck.yaml:10:42: verify.order: does not ascend; write each number of cells larger than the "
                 "one before");
  expect_problem(base + "verify: {order: [1, 2, 3]}\n",
                 "deck.yaml:10:10: verify.order: does not apply to solution none (only to decaying_mode, "
                 "steady_profile, manufactured, formula, slab_series); remove it");
}

TEST(ConfigCrossChecks, Paint) {
  expect_problem(
      replaced(base, "constant, value: 300", "box, value: 300, from: [0, 0, 0.5], to: [1, 1, 0.5]"),
      "deck.yaml:7:53: initial.0.to: 0.5 is not beyond 0.5 along z; write the larger corner last");
}

TEST(ConfigCrossChecks, Output) {
  expect_problem(
      steady("  mean_temperature: 300\noutput: {every_time: 1}\n"),
      "deck.yaml:11:22: output.every_time: a steady problem has no time; use every_steps, in sweeps");
  expect_problem(base + "output: {every_time: 1, every_steps: 1}\n",
                 "deck.yaml:10:22: output.every_time: stands beside every_steps; keep one");
  for (const char* interval : {"every_steps: 11", "every_time: 1"}) {
    const Config off =
        deck_text::parse(base + "output: {" + interval + ", snapshots: false}\n");  // whatever the deck says
    EXPECT_TRUE(off.warnings.empty());
    EXPECT_FALSE(off.output.snapshots || off.output.every_steps || off.output.every_time);
  }
  EXPECT_EQ(deck_text::parse(base + "output: {every_steps: 11}\n").warnings,
            std::vector<std::string>{"deck.yaml:10:23: output.every_steps: 11 is more than the 10 steps of "
                                     "the run; only the first and the last are written"});
}

TEST(ConfigCrossChecks, Diagnostics) {
  const auto with = [](const std::string& output) { return base + "output: {" + output + "}\n"; };
  expect_good(with("diagnostics: 10"));
  expect_good(with("diagnostics: 10, histogram: {bins: 64}"));
  expect_good(with("diagnostics: 10, histogram: {bins: 64, range: [290, 310]}"));
  expect_good(with("diagnostics: 10, histogram: {bins: 64, range: auto}"));
  expect_problem(
      with("diagnostics: 0"),
      "deck.yaml:10:23: output.diagnostics: 0 is out of range; write a whole number from 1 to 1e15");
  expect_problem(
      with("history: false, diagnostics: 1"),
      "deck.yaml:10:26: output.diagnostics: does not apply to history false (only to true); remove it");
  expect_problem(
      with("histogram: {bins: 3}"),
      "deck.yaml:10:28: output.histogram.bins: are a part of the diagnostics, of which there are none; "
      "add output.diagnostics");
  expect_problem(
      with("diagnostics: 1, histogram: {bins: 5000}"),
      "deck.yaml:10:44: output.histogram.bins: 5000 is out of range; write a whole number from 0 to 4096");
  expect_problem(
      with("diagnostics: 1, histogram: {range: [1, 2]}"),
      "deck.yaml:10:45: output.histogram.range: is that of no bins; add output.histogram.bins, or remove "
      "it");
  const auto range = [&](const std::string& value) {
    return with("diagnostics: 1, histogram: {bins: 8, range: " + value + "}");
  };
  const std::string wanted = "; write [low, high], numbers from -1e12 to 1e12 K, or auto";
  expect_problem(range("[310, 290]"),
                 "deck.yaml:10:54: output.histogram.range: 310 is not below 290; write the lower end first");
  expect_problem(range("[300, 300]"),
                 "deck.yaml:10:54: output.histogram.range: 300 is not below 300; write the lower end first");
  expect_problem(
      range("[300, 300.0000000001]"),
      "deck.yaml:10:54: output.histogram.range: 8 bins from 300 to 300.0000000001 are narrower than the "
      "last digits of a temperature; use fewer, or a wider range");
  expect_problem(range("300"),
                 "deck.yaml:10:54: output.histogram.range: one value stands where two are wanted" + wanted);
  expect_problem(range("[1, 2, 3]"),
                 "deck.yaml:10:54: output.histogram.range: has 3 entries, not two" + wanted);
  expect_problem(
      range("[1, hot]"),
      "deck.yaml:10:58: output.histogram.range.1: 'hot' is not a number; write a number from -1e12 to "
      "1e12 K");
}

TEST(ConfigCrossChecks, HistogramRows) {
  const auto with = [](const std::string& solver) { return base + "solver: {" + solver + "}\n"; };
  expect_good(with("histogram: openmp, kernel: openmp"));
  expect_problem(
      with("histogram: opnmp"),
      "deck.yaml:10:21: solver.histogram: unknown word 'opnmp'; did you mean 'openmp'? One of auto, "
      "openmp, global_atomic");
  expect_problem(with("histogram: global_atomic, kernel: openmp"),
                 "deck.yaml:10:21: solver.histogram: 'global_atomic' runs on another device than the kernel "
                 "'openmp'; use auto");
  expect_problem(with("histogram: openmp, reduction: warp_shuffle"),
                 "deck.yaml:10:21: solver.histogram: 'openmp' runs on another device than the reduction "
                 "'warp_shuffle'; use auto");
  expect_problem(
      with("histogram: global_atomic") + "parallel: {device: cpu}\n",
      "deck.yaml:10:21: solver.histogram: 'global_atomic' does not run on parallel.device cpu; use auto "
      "or one of openmp");
}

TEST(ConfigCrossChecks, Rows) {
  const auto with = [](const std::string& solver) { return base + "solver: {" + solver + "}\n"; };
  expect_problem(with("kernel: naiv"),
                 "deck.yaml:10:18: solver.kernel: unknown word 'naiv'; did you mean 'naive'? One of auto, "
                 "reference, openmp, naive");
  expect_problem(with("kernel: shared"),
                 "deck.yaml:10:18: solver.kernel: 'shared' is not in this build (it has no CUDA); use one of "
                 "auto, reference, openmp, naive",
                 ExitCode::unavailable);
  expect_problem(
      with("kernel: shared, halo_width: 0").c_str(),
      "deck.yaml:10:18: solver.kernel: 'shared' is not in this build (it has no CUDA); use one of "
      "auto, reference, openmp, naive\n"
      "deck.yaml:10:38: solver.halo_width: 0 is out of range; write a whole number from 1 to 64, or "
      "auto");
  expect_good(with("kernel: reference, halo_width: 64"));
  expect_good(with("halo_width: auto"));
  expect_problem(with("kernel: openmp, reduction: warp_shuffle"),
                 "deck.yaml:10:37: solver.reduction: 'warp_shuffle' runs on another device than the kernel "
                 "'openmp'; use auto");
  expect_problem(with("kernel: naive") + "parallel: {device: cpu}\n",
                 "deck.yaml:10:18: solver.kernel: 'naive' does not run on parallel.device cpu; use auto or "
                 "one of reference, openmp");
}

}  // namespace
}  // namespace isotherm
