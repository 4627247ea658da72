// All-reduces that are started and not waited for.
#include <gtest/gtest.h>

#include <cmath>

#include "core/communicator.hpp"

namespace isotherm {
namespace {

TEST(PendingAllReduce, SeveralAreUnderWayAtOnce) {
  const Communicator world = Communicator::world();
  const auto rank = static_cast<double>(world.rank()), ranks = static_cast<double>(world.size());
  auto sum = world.start_all_reduce(std::vector<double>{rank, 1}, ReduceOp::sum);
  auto words = world.start_all_reduce(std::vector<std::int64_t>(70, world.rank() + 1), ReduceOp::sum);
  auto largest = world.start_all_reduce(std::vector<double>{rank, -rank}, ReduceOp::max);
  auto least = world.start_all_reduce(std::vector<double>{rank, -rank}, ReduceOp::min);
  EXPECT_EQ(world.all_reduce(std::int64_t{1}, ReduceOp::sum), world.size());  // one that waits, among them
  while (!least.done()) {
  }
  EXPECT_EQ(least.wait(), (std::vector<double>{0, 1 - ranks}));
  EXPECT_EQ(largest.wait(), (std::vector<double>{ranks - 1, 0}));
  EXPECT_EQ(words.wait(), std::vector<std::int64_t>(70, world.size() * (world.size() + 1) / 2));
  EXPECT_EQ(sum.wait(), (std::vector<double>{ranks * (ranks - 1) / 2, ranks}));
}

TEST(PendingAllReduce, OneThatNobodyWaitsForDoesNotTouchTheNext) {
  const Communicator world = Communicator::world();
  auto kept = world.start_all_reduce(std::vector<double>{1}, ReduceOp::sum);
  kept = world.start_all_reduce(std::vector<double>{2}, ReduceOp::sum);
  { const auto dropped = world.start_all_reduce(std::vector<double>{3}, ReduceOp::sum); }
  EXPECT_EQ(kept.wait(), std::vector<double>{2.0 * world.size()});
}

// A rank that leaves by its own error must come to the end of all ranks, although the others never start.
TEST(PendingAllReduce, AnExceptionDoesNotWaitForOtherRanks) {
  const Communicator world = Communicator::world(), reduced = Communicator::world();
  const auto start = [&] { return reduced.start_all_reduce(std::vector<double>{1}, ReduceOp::sum); };
  if (world.is_root()) {
    EXPECT_THROW(
        {
          const auto pending = start();
          throw 1;
        },
        int);
  }
  world.barrier();
  if (!world.is_root()) {
    EXPECT_EQ(start().wait(), std::vector<double>{static_cast<double>(world.size())});
  }
}

}  // namespace
}  // namespace isotherm
