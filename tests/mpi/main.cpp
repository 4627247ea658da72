// GoogleTest on every rank at once: rank 0 prints, the others print only their failures, and all end with the
// same exit code. Tests must communicate in the same order on every rank: EXPECT, not ASSERT, before a
// collective.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <string>

#include "core/communicator.hpp"

namespace isotherm {
namespace {

std::string current_test() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return test ? fmt::format("{}.{}", test->test_suite_name(), test->name()) : "outside of a test";
}

class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

 private:
  // Stored because GoogleTest holds its lock during OnTestPartResult: current_test() would deadlock there.
  void OnTestStart(const testing::TestInfo&) override { test_ = current_test(); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    fmt::print("rank {}: {}: {}:{}: {}\n", rank_, test_, result.file_name() ? result.file_name() : "",
               result.line_number(), result.message());
    std::fflush(stdout);
  }

  int rank_;
  std::string test_ = "outside of a test";
};

// Makes rank 0 print FAILED for a test that failed anywhere.
class Agreement : public testing::EmptyTestEventListener {
 public:
  explicit Agreement(Communicator world) : world_(std::move(world)) {}

 private:
  void OnTestEnd(const testing::TestInfo& test) override {
    const bool failed = test.result()->Failed();
    const std::int64_t failures = world_.all_reduce(std::int64_t{failed}, ReduceOp::sum);
    if (world_.is_root() && !failed && failures > 0) {
      ADD_FAILURE() << "failed on " << failures << " of " << world_.size() << " ranks; see their lines above";
    }
  }
  Communicator world_;
};

int run_all_tests(const Communicator& world) {
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (!world.is_root()) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(world.rank()));
  }
  listeners.Append(new Agreement(world));  // last: On...End runs in reverse order, so before the printer
  const std::int64_t failed = RUN_ALL_TESTS() != 0;
  return static_cast<int>(world.all_reduce(failed, ReduceOp::max));
}

}  // namespace
}  // namespace isotherm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // An exception on one rank would leave the others waiting, so it must end all ranks, not only its test.
  testing::GTEST_FLAG(catch_exceptions) = false;
  isotherm::MpiSession session(argc, argv);
  try {
    return isotherm::run_all_tests(isotherm::Communicator::world());
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: exception: {}\n", isotherm::current_test(), e.what());
    isotherm::abort_all_ranks(1);
  }
}
