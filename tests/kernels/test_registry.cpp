// Kernel registries, instruction sets, copy bandwidth; how work is divided among threads and blocks.
#include <numeric>

#include "core/error.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/cuda/grids.hpp"
#include "kernels/histogram.hpp"
#include "support.hpp"
#include "support/error_text.hpp"

namespace isotherm::test {
namespace {

// Kernels have unique names, and launch where they are compiled; both precisions have the same kernels.
template <class Registry, class Other>
void check_tables(const Registry& registry, const Other& of_other_precision) {
  const bool has_cuda = find_cuda_devices().why_none != "this build has no CUDA";
  std::set<std::pair<std::string_view, Backend>> names;  // each backend may have a kernel of the same name
  ASSERT_EQ(registry.size(), of_other_precision.size());
  for (std::size_t i = 0; i < registry.size(); ++i) {
    const auto& kernel = registry[i];
    EXPECT_TRUE(names.emplace(kernel.name, kernel.backend).second) << kernel.name << " appears twice";
    EXPECT_FALSE(kernel.description.empty()) << kernel.name;
    for (const bool available : {kernel.available(), of_other_precision[i].available()})
      EXPECT_EQ(available, kernel.backend == Backend::host || has_cuda) << kernel.name;
    EXPECT_EQ(kernel.name, of_other_precision[i].name);
    EXPECT_EQ(kernel.backend, of_other_precision[i].backend);
    if constexpr (requires { kernel.max_time_block; }) {
      EXPECT_EQ(kernel.max_time_block, of_other_precision[i].max_time_block);
    }
  }
}

TEST(Registry, KernelsHaveUniqueNamesAndLaunchWhereCompiled) {
  check_tables(stencil_kernels<float>(), stencil_kernels<double>());
  check_tables(reduction_kernels<float>(), reduction_kernels<double>());
  check_tables(histogram_kernels<float>(), histogram_kernels<double>());
}

// Each kernel and instruction set has its own function.
template <class Table>
void check_functions(const Table& table) {
  std::set<decltype(table(instruction_set()).front().launch)> functions;
  for (const InstructionSet set : instruction_sets()) {
    for (const auto& kernel : table(set)) {
      if (kernel.backend != Backend::host || !kernel.launch) continue;
      EXPECT_TRUE(functions.insert(kernel.launch).second) << kernel.name << ", " << word(set);
    }
  }
}

TEST(Registry, HostKernelsHaveOneFunctionPerInstructionSet) {
  check_functions(stencil_kernels<float>);
  check_functions(stencil_kernels<double>);
  check_functions(reduction_kernels<double>);
  check_functions(histogram_kernels<double>);
}

TEST(LastLevelCache, IsSharedByTheThreadsOnItsProcessors) {
  const auto first = [](int count) {
    std::vector<int> cores(static_cast<std::size_t>(count));
    std::iota(cores.begin(), cores.end(), 0);
    return cores;
  };
  EXPECT_EQ(sharers_of_cache("0-7,64-71", first(128), 128), 16);
  EXPECT_EQ(sharers_of_cache("0-7,64-71", first(128), 64), 8);  // one thread per core of two processors each
  EXPECT_EQ(sharers_of_cache("0-7,64-71", first(128), 4), 1);   // spread over the machine
  EXPECT_EQ(sharers_of_cache("0-31", first(8), 8), 32);         // three more ranks share this cache
  EXPECT_EQ(sharers_of_cache("0-31", first(8), 64), 32);        // more threads than processors
  EXPECT_EQ(sharers_of_cache("5", first(1), 1), 1);
  EXPECT_EQ(sharers_of_cache("", first(8), 8), 1);  // unknown cache
  EXPECT_GE(sharers_of_last_level_cache(1), 1);
}

TEST(InstructionSet, IsTheBestOrTheRequestedOne) {
  EXPECT_EQ(choose_instruction_set(nullptr), choose_instruction_set(""));
  EXPECT_EQ(choose_instruction_set(nullptr), instruction_sets().back());
  for (InstructionSet set : {InstructionSet::baseline, InstructionSet::v3, InstructionSet::v4}) {
    const std::string wish(word(set));
    if (can_use(set)) {
      EXPECT_EQ(choose_instruction_set(wish.c_str()), set);
    } else {
      EXPECT_THROW(choose_instruction_set(wish.c_str()), Error);
    }
  }
  const std::string text = refusal([] { choose_instruction_set("avx9"); }, ExitCode::unavailable);
  expect_start(text, "ISOTHERM_ISA=avx9 is not known");
  expect_says(text, "use baseline, v3 or v4");
}

TEST(Partition, GivesEveryRowToOneThreadAndLoadsThemEvenly) {
  for (Int3 n :
       {Int3{5, 1, 1}, Int3{5, 7, 3}, Int3{5, 1, 100}, Int3{5, 100, 1}, Int3{5, 100, 100}, Int3{5, 65, 65}}) {
    const Box whole{{-1, 2, 3}, {4, 2 + n.y, 3 + n.z}};
    for (int threads : {1, 2, 3, 4, 7, 16, 64}) {
      std::vector<int> owners(static_cast<std::size_t>(whole.cells()), 0);
      Index largest = 0;
      for (int t = 0; t < threads; ++t) {
        const Box mine = host::share(whole, t, threads);
        largest = std::max(largest, mine.cells() / n.x);
        for_each_cell(mine, [&](Int3 c) { ++owners[index_of(c - whole.lo, whole.extent())]; });
      }
      EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), static_cast<std::ptrdiff_t>(owners.size()))
          << text(n) << " on " << threads;
      const double even = static_cast<double>(n.y * n.z) / threads;
      if (even >= 100) {
        EXPECT_LE(static_cast<double>(largest), 1.25 * even) << text(n) << " on " << threads;
      }
    }
  }
}

TEST(Bandwidth, CopiesEveryElement) {
  const auto host = make_host_device();
  for (std::size_t count : {1u, 7u, 8u, 1000u, 100003u}) {
    std::vector<double> expected(count + 1);
    std::iota(expected.begin(), expected.end(), 0);
    const Buffer from = copied_to(*host, expected);
    expected.back() = -1;
    for (InstructionSet set : instruction_sets()) {
      for (const host::Store store : {host::Store::streaming, host::Store::cached}) {
        const Buffer to = copied_to(*host, std::vector<double>(count + 1, -1));
        host::for_instruction_set(set, [&]<class Isa>(Isa) {
          host::Transfer<Isa, double>::copy(to.as<double>(), from.as<double>(), static_cast<Index>(count),
                                            store);
        });
        EXPECT_EQ(fetched<double>(*host, to), expected);
      }
    }
  }
}

// Every kernel of the bandwidth registry moves all elements, at sizes around the ends of vectors and thread
// shares. The smallest are included: an offset or stride longer than the array would move too little.
template <class T>
void expect_right_transfers(Device& device) {
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  for (const BandwidthEntry<T>& entry : bandwidth_registry<T>(device.backend())) {
    for (std::size_t bytes : {std::size_t{1}, std::size_t{8}, 64 * sizeof(T), 1000 * sizeof(T),
                              4099 * sizeof(T), 300007 * sizeof(T)}) {
      SCOPED_TRACE(fmt::format("{}, {} bytes of {}", entry.name, bytes, sizeof(T)));
      const auto probe = entry.make(device, bytes, entry.step);
      EXPECT_FALSE(probe->right()) << "before its first pass";
      for (int pass = 0; pass < 2; ++pass) {
        probe->prepare();
        probe->enqueue(stream);
        device.synchronize(stream);
        EXPECT_TRUE(probe->right()) << "pass " << pass;
      }
      EXPECT_GT(probe->bytes(), 0);
    }
  }
}

void expect_right_bandwidths(Device& device) {
  expect_right_transfers<float>(device);
  expect_right_transfers<double>(device);
  const double bandwidth = measure_copy_bandwidth(device, std::size_t{64} << 20);
  EXPECT_GT(bandwidth, 1e8);   // any memory of this century is faster
  EXPECT_LT(bandwidth, 1e14);  // no memory is faster
}

TEST(Bandwidth, KernelsMoveAllElements) { expect_right_bandwidths(*make_host_device()); }
TEST_F(CudaTest, BandwidthKernelsMoveAllElements) { expect_right_bandwidths(*device); }

}  // namespace
}  // namespace isotherm::test

// How launches are divided: into grids of blocks, into columns that blocks share; division by multiplication.
namespace isotherm::cuda {
namespace {

// Returns the number of grids.
Index expect_every_block_once(Index blocks, Index most = most_blocks_per_grid) {
  Index next = 0, launches = 0;
  const auto launch = [&](unsigned count, Index first) {
    EXPECT_EQ(first, next);
    EXPECT_GT(count, 0u);
    EXPECT_LE(count, most);
    next += count;
    ++launches;
  };
  for_grids(blocks, launch, most);
  EXPECT_EQ(next, blocks) << most << " a grid";
  return launches;
}

TEST(Grids, HoldEveryBlockOnce) {
  for (const Index most : {1, 2, 7, 100})
    for (Index blocks = 0; blocks <= 210; ++blocks) expect_every_block_once(blocks, most);
  EXPECT_EQ(expect_every_block_once(3 * most_blocks_per_grid + 5), 4);  // more than fit in 32 bits
}

// Columns shared among blocks: every plane of every column occurs once, and the shares are nearly equal.

// The number of planes of each block; checks that every plane has one block.
std::vector<Index> planes_of_blocks(const ColumnShares& shares) {
  std::vector<std::vector<int>> taken(static_cast<std::size_t>(shares.columns),
                                      std::vector<int>(static_cast<std::size_t>(shares.planes)));
  std::vector<Index> planes;
  for (Index block = 0; block < shares.blocks; ++block) {
    Index walked = 0;
    ColumnPart part{};
    for (ColumnWalk parts(shares, block); parts.next(part);) {
      EXPECT_LT(part.from, part.to);
      walked += part.to - part.from;
      for (Index z = part.from; z < part.to; ++z)
        ++taken.at(static_cast<std::size_t>(part.column)).at(static_cast<std::size_t>(z));
    }
    planes.push_back(walked);
  }
  for (const auto& column : taken) {
    for (const int times : column) EXPECT_EQ(times, 1);
  }
  return planes;
}

TEST(ColumnShares, HoldEveryPlaneOnce) {
  Random random;
  const auto up_to = [&](Index most) { return random.between<Index>(1, most); };
  for (int n = 0; n < 200; ++n) {
    const Index columns = up_to(300), planes = up_to(70), slots = up_to(140), overhead = up_to(18);
    SCOPED_TRACE(std::to_string(columns) + " columns of " + std::to_string(planes) + " planes for " +
                 std::to_string(slots) + " blocks, overhead " + std::to_string(overhead));
    const ColumnShares shares = ColumnShares::of(columns, planes, slots, 4, overhead);
    EXPECT_LE(shares.blocks, slots);
    const std::vector<Index> walked = planes_of_blocks(shares);
    // Compares with one team of all blocks: the chosen teams may cost little more.
    ColumnShares one = shares;
    one.teams = 1;
    one.team_blocks = shares.blocks;
    one.team_columns = columns - shares.whole;
    const Index most = *std::max_element(walked.begin(), walked.end()),
                limit = columns / shares.blocks * planes + one.cost_of_teams(overhead) * 17 / 16;
    EXPECT_LE(most, limit);
  }
}

TEST(ColumnShares, LetAdjacentBlocksWalkAdjacentColumns) {
  const ColumnShares shares = ColumnShares::of(100, 512, 132, 4, 10);  // five blocks share four columns
  EXPECT_EQ(shares.team_blocks, 5);
  EXPECT_EQ(shares.team_columns, 4);
  ColumnPart first{}, second{};
  ASSERT_TRUE(ColumnWalk(shares, 27).next(first));
  ASSERT_TRUE(ColumnWalk(shares, 28).next(second));
  EXPECT_EQ(second.column, first.column + 1);
  EXPECT_EQ(second.from, first.from);
}

// Division by multiplication, compared with the built-in division.

constexpr Index largest = std::numeric_limits<Index>::max();

// At n and its neighbours: the quotient changes next to every multiple.
void check_near(Index n, Index d) {
  const FastDivide divide(d);
  for (const Index near : {std::max<Index>(n, 1) - 1, n, std::min(n, largest - 1) + 1}) {
    ASSERT_EQ(divide(near), near / d) << near << " / " << d;
  }
}

TEST(FastDivide, EndsOfTheRange) {
  for (int log2 = 0; log2 < 63; ++log2) {
    const Index power = Index{1} << log2;
    for (const Index d : {power - 1, power, power + 1}) {
      if (d < 1) continue;
      check_near(largest, d);
      check_near(largest / d * d, d);
      check_near(d, d);
    }
  }
  check_near(largest, largest);
}

TEST(FastDivide, RandomNumbers) {
  Random random;
  for (int i = 0; i < 200000; ++i) {
    const Index d = static_cast<Index>(random() >> (1 + random() % 62)) | 1;
    const Index n = static_cast<Index>(random() >> (1 + random() % 62));
    check_near(n, d);
    check_near(n / d * d, d);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace isotherm::cuda
