// Combinations one after another: what is right is ranked, and a row that is broken on purpose is found.
#include <gtest/gtest.h>

#include <cmath>

#include "app/comparison.hpp"
#include "app/plan.hpp"
#include "backend_fixture.hpp"
#include "solver/rows.hpp"
#include "support/decks.hpp"

namespace isotherm {
namespace {

// The row of all threads, which leaves one cell of each region a bit off.
template <class T>
void launch_with_a_flaw(const SweepArgs<T>& args, SweepPlan plan, Stream stream) {
  for (const StencilKernel<T>& row : stencil_kernels<T>())
    if (row.name == "openmp") row.launch(args, plan, stream);
  T& cell = args.out(args.region.lo);
  cell = std::nextafter(cell, T(1e6));
}

// And one whose norm alone is wrong.
template <class T>
void launch_twice_the_norm(const ReductionArgs<T>& args, Stream stream) {
  for (const ReductionKernel<T>& row : reduction_kernels<T>())
    if (row.name == "openmp" && row.backend == Backend::host) row.launch(args, stream);
  *args.result *= 2;
}

const CompareOptions quick{.sweeps = 1, .seconds = 0.001};

Session session_of(Config config, int ranks, const Device& device) {
  config.solver.halo_width = 1;
  Placement placement;
  placement.backend = device.backend();
  placement.device_index = device.info().index;
  placement.ranks.resize(static_cast<std::size_t>(ranks));
  return {{"", config}, {config}, {}, decompose(config, ranks, device.backend()), placement, {}, {}};
}

CompareRecord record_of(const Config& config) {
  CompareRecord record;
  record.run.cells = config.grid.cells;
  return record;
}

CompareEntry named(const std::string& name) {
  CompareEntry made;
  made.name = name;
  return made;
}

class ComparisonOnTheHost : public testing::Test {
 protected:
  const Communicator world_ = Communicator::world();
  const std::unique_ptr<Device> device_ = make_host_device();
};

TEST_F(ComparisonOnTheHost, FindsARowThatIsBroken) {
  const Config config = decks::every_wall({16, 18, 20});
  const Session session = session_of(config, world_.size(), *device_);
  CompareRecord record = record_of(config);
  Comparison<double> comparison(quick, session, *device_, world_, record);

  const SolverRows<double> right = choose_rows<double>(config, Backend::host);
  StencilKernel<double> flawed = *right.sweep.row;
  flawed.launch = launch_with_a_flaw<double>;
  SolverRows<double> wrong = right;
  wrong.sweep.row = &flawed;
  const std::pair<const char*, const SolverRows<double>*> ways[] = {
      {"first", &right}, {"flawed", &wrong}, {"again", &right}};
  for (const auto& [name, rows] : ways) {
    record.entries.push_back(named(name));
    comparison.measure_with(session, *rows, record.entries.back());
  }

  EXPECT_EQ(record.reference, "first");
  EXPECT_EQ(record.entries[0].verdict, CompareVerdict::same);
  EXPECT_EQ(record.entries[2].verdict, CompareVerdict::same);
  EXPECT_EQ(record.entries[0].fingerprint, record.entries[2].fingerprint);
  const CompareEntry& found = record.entries[1];
  EXPECT_EQ(found.verdict, CompareVerdict::differs);
  EXPECT_TRUE(found.samples.sweep_seconds.empty());
  const std::string begin = std::to_string(world_.size()) + " of 5 760 cells; the first, (0, 0, 0), is ";
  EXPECT_EQ(found.note.substr(0, begin.size()), begin);
  rank(record);
  EXPECT_EQ(record.entries.back().name, "flawed");
  EXPECT_FALSE(all_same(record));
}

TEST_F(ComparisonOnTheHost, FindsANormThatIsWrong) {
  Config config = decks::every_wall({16, 18, 20});
  config.solver.reduction = "openmp";
  const Session session = session_of(config, world_.size(), *device_);
  CompareRecord record = record_of(config);
  Comparison<float> comparison(quick, session, *device_, world_, record);
  const SolverRows<float> right = choose_rows<float>(config, Backend::host);
  ReductionKernel<float> flawed = *right.reduction;
  flawed.launch = launch_twice_the_norm<float>;
  SolverRows<float> wrong = right;
  wrong.reduction = &flawed;
  CompareEntry first = named("first"), second = named("second");
  comparison.measure_with(session, right, first);
  comparison.measure_with(session, wrong, second);
  EXPECT_EQ(second.verdict, CompareVerdict::differs);
  EXPECT_EQ(second.note.rfind("the norm is ", 0), 0u);
  EXPECT_EQ(second.fingerprint, first.fingerprint);
}

// Whatever takes how long today.
TEST_F(ComparisonOnTheHost, AllCombinationsHaveTheBitsOfTheFirst) {
  for (const auto& [norm, names] : {std::pair(Norm::max, "kernel,depth"), std::pair(Norm::l2, "reduction")}) {
    Config config = decks::steady({16, 18, 20});
    config.problem.norm = norm;
    config.problem.max_sweeps = 1;  // or each roof is measured for as long as a long run wants
    Session session = session_of(config, world_.size(), *device_);
    session.deck.config.solver.halo_width.reset();
    CompareSetting setting{Backend::host, world_.size(), world_.size() > 1 ? 2 : 1};
    setting.kernels = {"reference", "openmp"};
    const ComparePlan plan = plan_comparison(session.deck.config, setting, parse_axes(names), 200);
    CompareRecord record = record_of(config);
    Comparison<double> comparison(quick, session, *device_, world_, record);
    for (const Combination& combination : plan.combinations) comparison.measure(plan, combination);
    ASSERT_EQ(record.entries.size(), norm == Norm::max && world_.size() == 1 ? 2u : 4u);
    for (const CompareEntry& each : record.entries) {
      EXPECT_EQ(each.verdict, CompareVerdict::same) << each.name << ": " << each.note;
      EXPECT_EQ(each.fingerprint, record.entries.front().fingerprint);
      EXPECT_GE(each.samples.sweep_seconds.size(), 5u);
      EXPECT_EQ(each.samples.sweep_seconds.size(), each.samples.check_seconds.size());
      EXPECT_EQ(each.exposed.has_value(), world_.size() > 1);
      EXPECT_GT(each.copy_bandwidth.value_or(0), 0);
    }
    EXPECT_EQ(record.reference, record.entries.front().name);
    EXPECT_TRUE(all_same(record));
  }
}

// What a run would be refused for says something of the combination, and stops no comparison.
TEST_F(ComparisonOnTheHost, LeavesOutWhatCannotRun) {
  Config config = decks::base({16, 18, 20});
  const Session session = session_of(config, world_.size(), *device_);
  CompareRecord record = record_of(config);
  Comparison<double> comparison(quick, session, *device_, world_, record);
  config.solver.halo_width = 1;
  config.solver.cuda_graph = GraphChoice::on;
  comparison.measure({}, {{}, config});
  config.solver.cuda_graph = GraphChoice::off;
  comparison.measure({}, {{}, config});
  ASSERT_EQ(record.entries.size(), 2u);
  EXPECT_EQ(record.entries[0].verdict, CompareVerdict::left_out);
  EXPECT_NE(record.entries[0].note.find("only GPUs have graphs"), std::string::npos);
  EXPECT_EQ(record.entries[0].refused, ExitCode::deck);
  EXPECT_EQ(record.entries[1].verdict, CompareVerdict::same);
  EXPECT_EQ(record.reference, "the deck");
}

class ComparisonOf : public BackendTest {};

TEST_P(ComparisonOf, RowsOfABackendHaveTheSameBits) {
  Config config = decks::every_wall({16, 18, 20});
  const Session session = session_of(config, world().size(), device());
  CompareRecord record = record_of(config);
  Comparison<float> comparison(quick, session, device(), world(), record);
  const bool on_host = device().backend() == Backend::host;
  for (const char* kernel : {on_host ? "reference" : "naive", on_host ? "openmp" : "coarsened"}) {
    config.solver.kernel = kernel;
    record.entries.push_back(named(kernel));
    comparison.measure_with(session, choose_rows<float>(config, device().backend()), record.entries.back());
    EXPECT_EQ(record.entries.back().kernel, kernel);
    EXPECT_EQ(record.entries.back().verdict, CompareVerdict::same) << record.entries.back().note;
  }
  EXPECT_EQ(record.entries[0].fingerprint, record.entries[1].fingerprint);
  EXPECT_EQ(record.entries[0].norm, record.entries[1].norm);
}

ISOTHERM_ON_EACH_BACKEND(ComparisonOf);

}  // namespace
}  // namespace isotherm
