#include "app/compare_axes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

using Names = std::vector<std::string>;

CompareSetting setting_of(int ranks) {
  CompareSetting setting;
  setting.ranks = ranks;
  setting.deepest = ranks > 1 ? 3 : 1;
  setting.kernels = {"reference", "openmp"};
  setting.transports = {"host"};
  return setting;
}

Names names_of(const ComparePlan& plan) {
  Names names;
  for (const Combination& each : plan.combinations) names.push_back(combination_name(plan.axes, each.words));
  return names;
}

Names names_of(const std::vector<const CompareAxis*>& axes) {
  Names names;
  for (const CompareAxis* axis : axes) names.emplace_back(axis->name);
  return names;
}

ComparePlan plan(const Config& config, int ranks, const std::string& axes = "", int limit = 200) {
  const std::vector<const CompareAxis*> asked = parse_axes(axes);
  return plan_comparison(with_open(config, asked), setting_of(ranks), asked, limit);
}

template <class Work>
std::string refused(const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::command_line);
    return e.what();
  }
  return "no error";
}

TEST(CompareAxes, OneRankHasKernelsAndTheReductionsThatAutoTakes) {
  EXPECT_EQ(names_of(plan(decks::base({16, 16, 16}), 1)),
            (Names{"kernel=reference reduction=openmp", "kernel=reference reduction=fused",
                   "kernel=openmp reduction=openmp", "kernel=openmp reduction=fused"}));
}

TEST(CompareAxes, WhatIsNamedVariesAloneAndWhole) {
  EXPECT_EQ(names_of(plan(decks::base({16, 16, 16}), 1, "reduction")),
            (Names{"reduction=reference", "reduction=openmp", "reduction=reproducible", "reduction=fused"}));
}

TEST(CompareAxes, TheFirstIsTheLowestRungAndWhatARunWouldTake) {
  const ComparePlan two = plan(decks::base({16, 16, 64}), 2);
  EXPECT_EQ(names_of(two.axes), (Names{"kernel", "overlap", "depth", "process_grid", "reduction"}));
  EXPECT_EQ(names_of(two).front(),
            "kernel=reference overlap=false depth=1 process_grid=[1,1,2] reduction=openmp");
  EXPECT_EQ(two.combinations.size(), 2u * 2 * 3 * 3 * 2);
  for (const Combination& each : two.combinations) {
    EXPECT_EQ(each.config.solver.kernel, each.words[0]);
    EXPECT_EQ(each.config.parallel.overlap == Overlap::on, each.words[1] == "true");
    EXPECT_EQ(std::to_string(each.config.solver.halo_width.value_or(0)), each.words[2]);
    EXPECT_EQ(each.config.parallel.process_grid.value_or(Int3{}).product(), 2);
    EXPECT_EQ(each.config.solver.reduction, each.words[4]);
    EXPECT_EQ(each.config.parallel.transport, "auto");  // there is but one
  }
}

TEST(CompareAxes, WhatTheDeckNamesIsPinnedUnlessItIsAskedFor) {
  Config config = decks::base({16, 16, 64});
  config.solver.kernel = "openmp";
  config.solver.halo_width = 2;
  config.parallel.process_grid = Int3{1, 1, 2};
  const ComparePlan pinned = plan(config, 2);
  EXPECT_EQ(names_of(pinned.axes), (Names{"overlap", "reduction"}));
  for (const Combination& each : pinned.combinations) {
    EXPECT_EQ(each.config.solver.kernel, "openmp");
    EXPECT_EQ(each.config.solver.halo_width, 2);
  }
  const ComparePlan asked = plan(config, 2, "depth,kernel");
  EXPECT_EQ(names_of(asked.axes), (Names{"kernel", "depth"}));
  EXPECT_EQ(asked.combinations.size(), 2u * 3);
  EXPECT_EQ(asked.combinations.back().config.parallel.process_grid, (Int3{1, 1, 2}));
}

TEST(CompareAxes, OnlyWhatFitsTheBlocksIsLegal) {
  const ComparePlan four = plan(decks::base({16, 16, 2}), 4, "depth,process_grid");
  EXPECT_FALSE(four.combinations.empty());
  for (const Combination& each : four.combinations) {
    const Int3 grid = each.config.parallel.process_grid.value_or(Int3{});
    EXPECT_LE(grid.z, 2);
    const int depth = each.config.solver.halo_width.value_or(0);
    if (grid.z > 1) {
      EXPECT_EQ(depth, 1);
    }
  }
  const auto is_deep = [](const Combination& each) { return each.config.solver.halo_width == 3; };
  EXPECT_TRUE(std::ranges::any_of(four.combinations, is_deep));
}

TEST(CompareAxes, APolicyIsOneOfItsKernel) {
  const Names names = names_of(plan(decks::base({16, 16, 16}), 1, "kernel,policy"));
  EXPECT_EQ(names.front(), "kernel=reference policy=-");
  EXPECT_EQ(std::ranges::count_if(names, [](const std::string& name) { return name.ends_with("=-"); }), 1);
  EXPECT_NE(std::ranges::find(names, "kernel=openmp policy=1plane"), names.end());
  EXPECT_EQ(std::ranges::find(names, "kernel=reference policy=1plane"), names.end());
}

TEST(CompareAxes, SweepsThatStoreTheirFacesNeedWhatTheyNeed) {
  Config config = decks::base({64, 64, 64});
  config.parallel.overlap = Overlap::in_kernel;
  config.solver.halo_width = 2;
  EXPECT_EQ(why_not_combined(config, setting_of(2)), "in_kernel has depth 1");
  config.solver.halo_width = 1;
  config.parallel.transport = "host";
  EXPECT_EQ(why_not_combined(config, setting_of(2)), "in_kernel needs transport peer");
  config.parallel.transport = "peer";
  config.solver.kernel = "openmp";
  EXPECT_EQ(why_not_combined(config, setting_of(2)), "the kernel stores no faces");
}

TEST(CompareAxes, UnaskedAxesMakeWayForTheLimit) {
  const Config config = decks::base({16, 16, 64});
  const ComparePlan narrow = plan(config, 2, "", 8);
  EXPECT_EQ(names_of(narrow.axes), (Names{"kernel", "overlap", "reduction"}));
  EXPECT_EQ(names_of(narrow.left), (Names{"depth", "process_grid"}));
  EXPECT_EQ(narrow.combinations.size(), 8u);
  const ComparePlan none = plan(config, 2, "", 1);
  EXPECT_EQ(names_of(none), Names{"the deck"});
  EXPECT_EQ(plan(config, 2, "", 72).left.size(), 0u);
  EXPECT_EQ(names_of(plan(config, 2, "", 71).left), Names{"reduction"});
}

TEST(CompareAxes, NamedAxesBeyondTheLimitAreRefusedWithAWayOut) {
  const Config config = decks::base({16, 16, 64});
  EXPECT_EQ(plan(config, 2, "kernel,depth", 6).combinations.size(), 6u);
  EXPECT_EQ(
      refused([&] { plan(config, 2, "kernel,depth", 5); }),
      "compare: kernel (2) x depth (3) have more than 5 legal combinations; name fewer with --axes, give "
      "one a value such as solver.halo_width=1, or raise --limit");
}

TEST(CompareAxes, WordsOfTheCommandLine) {
  EXPECT_TRUE(parse_axes("").empty());
  EXPECT_EQ(names_of(parse_axes("depth,kernel,depth")), (Names{"depth", "kernel"}));
  EXPECT_EQ(
      refused([] { parse_axes("kernel,size"); }),
      "compare: --axes: there is no axis 'size'; use some of kernel, policy, transport, overlap, depth, "
      "process_grid, graph, reduction");
}

}  // namespace
}  // namespace isotherm
