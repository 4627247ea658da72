#include "core/host_threads.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace isotherm {
namespace {

using Masks = std::vector<std::vector<int>>;

std::vector<int> cores(int first, int count) {
  std::vector<int> mask(static_cast<std::size_t>(count));
  std::iota(mask.begin(), mask.end(), first);
  return mask;
}
HostCores host(int online) {
  return {online, cores(0, online), std::nullopt};
}
Masks same(int ranks, const std::vector<int>& mask) {
  return Masks(static_cast<std::size_t>(ranks), mask);
}

TEST(HostThreads, OneRankTakesTheHost) {
  const ThreadPlan plan = plan_threads(host(8), same(1, cores(0, 8)), 0, nullptr);
  EXPECT_EQ(plan.threads, 8);
  EXPECT_EQ(plan.note, "8 threads (8 cores)");
  EXPECT_EQ(plan.warning, "");
}

TEST(HostThreads, RanksShareTheCores) {
  EXPECT_EQ(plan_threads(host(8), same(4, cores(0, 8)), 3, nullptr).note,
            "2 threads (8 cores shared by 4 ranks)");
  EXPECT_EQ(plan_threads(host(6), same(3, cores(0, 6)), 0, nullptr).threads,
            2);  // 6 times a third is 2, not 1.99
  EXPECT_EQ(plan_threads(host(7), same(2, cores(0, 7)), 0, nullptr).threads, 3);
  EXPECT_EQ(plan_threads(host(2), same(8, cores(0, 2)), 7, nullptr).note,
            "1 thread (2 cores shared by 8 ranks)");
}

TEST(HostThreads, DisjointMasksOfTheLauncherAreKept) {
  const Masks masks{cores(0, 4), cores(4, 4)};
  EXPECT_EQ(plan_threads(host(8), masks, 1, nullptr).note, "4 threads (bound to 4 cores of the host's 8)");
}

TEST(HostThreads, OneMaskForAllRanksOfAContainerIsDivided) {
  EXPECT_EQ(plan_threads(host(64), same(4, cores(10, 8)), 0, nullptr).note,
            "2 threads (8 cores shared by 4 ranks)");
}

TEST(HostThreads, OverlappingMasksCountACoreOnce) {
  const Masks masks{cores(0, 4), cores(2, 4)};  // 2 and 3 belong to both
  EXPECT_EQ(plan_threads(host(8), masks, 0, nullptr).threads, 3);
}

TEST(HostThreads, QuotaOfTheContainerIsDividedToo) {
  HostCores limited = host(64);
  limited.quota = 6;
  EXPECT_EQ(plan_threads(limited, same(2, cores(0, 64)), 0, nullptr).note,
            "3 threads (a quota of 6 cores on 64 cores shared by 2 ranks)");
  limited.quota = 0.5;
  EXPECT_EQ(plan_threads(limited, same(1, cores(0, 64)), 0, nullptr).threads, 1);
}

TEST(HostThreads, MoreRanksThanCoresAreTold) {
  const auto warning = [](const HostCores& cores, const Masks& masks, int rank) {
    return plan_threads(cores, masks, rank, nullptr).warning;
  };
  const std::string end = " of this host and take turns; start no more ranks than cores";
  EXPECT_EQ(warning(host(2), same(9, cores(0, 2)), 0), "9 ranks share 2 cores" + end);
  EXPECT_EQ(warning(host(2), same(2, cores(0, 2)), 1), "");
  EXPECT_EQ(warning(host(6), same(3, cores(0, 6)), 0), "");
  EXPECT_EQ(warning(host(8), {{0}, {0}, {1}}, 1), "3 ranks share 2 cores" + end);
  EXPECT_EQ(warning(host(8), {{0}, {0}, {1}}, 2), "");
  HostCores limited = host(64);
  limited.quota = 1.5;
  EXPECT_EQ(warning(limited, same(2, cores(0, 64)), 0), "2 ranks share a quota of 1.5 cores" + end);
  EXPECT_EQ(warning(limited, same(1, cores(0, 64)), 0), "");
  EXPECT_EQ(plan_threads(host(2), same(9, cores(0, 2)), 0, "1").warning, "");  // dealt out by the user
}

TEST(HostThreads, OmpNumThreadsDecides) {
  EXPECT_EQ(plan_threads(host(8), same(4, cores(0, 8)), 0, "5").note, "5 threads (OMP_NUM_THREADS)");
  EXPECT_EQ(plan_threads(host(8), same(1, cores(0, 8)), 0, " 1 ").note, "1 thread (OMP_NUM_THREADS)");
  EXPECT_EQ(plan_threads(host(8), same(1, cores(0, 8)), 0, "4,2").threads, 4);
  EXPECT_EQ(plan_threads(host(2), same(1, cores(0, 2)), 0, "16").threads, 16);  // oversubscribed on purpose
}

TEST(HostThreads, UnusableOmpNumThreadsIsIgnoredWithAWarning) {
  const auto warning = [](const char* value) {
    const ThreadPlan plan = plan_threads(host(4), same(2, cores(0, 4)), 0, value);
    EXPECT_EQ(plan.threads, 2) << value;
    EXPECT_EQ(plan.note, "2 threads (4 cores shared by 2 ranks)") << value;
    return plan.warning;
  };
  const std::string use = "); using 2 threads (4 cores shared by 2 ranks)";
  EXPECT_EQ(warning("0"), "OMP_NUM_THREADS='0' is ignored (at least 1 thread is needed" + use);
  EXPECT_EQ(warning("-3"), "OMP_NUM_THREADS='-3' is ignored (at least 1 thread is needed" + use);
  EXPECT_EQ(warning("many"), "OMP_NUM_THREADS='many' is ignored (it is not a whole number" + use);
  EXPECT_EQ(warning("2.5"), "OMP_NUM_THREADS='2.5' is ignored (it is not a whole number" + use);
  EXPECT_EQ(warning(""), "OMP_NUM_THREADS='' is ignored (it is empty" + use);
  EXPECT_EQ(warning("33"), "OMP_NUM_THREADS='33' is ignored (more than 32 threads on 4 cores" + use);
  EXPECT_EQ(warning("99999999999999999999"),
            "OMP_NUM_THREADS='99999999999999999999' is ignored (more than 32 threads on 4 cores" + use);
  EXPECT_EQ(warning("\x1b[2J"), "OMP_NUM_THREADS='\\x1b[2J' is ignored (it is not a whole number" + use);
}

TEST(HostThreads, UnknownMaskGivesOneThread) {
  EXPECT_EQ(plan_threads(host(4), {{}}, 0, nullptr).threads, 1);
}

TEST(HostThreads, ThisHostHasCores) {
  const HostCores found = find_host_cores();
  EXPECT_GE(found.online, 1);
  EXPECT_FALSE(found.mask.empty());
  EXPECT_TRUE(!found.quota || *found.quota > 0);
}

}  // namespace
}  // namespace isotherm
