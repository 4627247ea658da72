// The tables themselves, the instruction sets, the split among threads, the measured roof.
#include <set>

#include "core/error.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/histogram.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

template <class Rows>
void check_table(const Rows& rows) {
  std::set<std::pair<std::string_view, Backend>> names;  // a word may name a row of each backend
  for (const auto& row : rows) {
    EXPECT_TRUE(names.emplace(row.name, row.backend).second) << row.name << " stands twice";
    EXPECT_FALSE(row.remark.empty()) << row.name;
    EXPECT_EQ(row.available(), row.backend == Backend::host || cuda_compiled()) << row.name;
  }
}

TEST(Registry, RowsHaveUniqueNamesAndLaunchWhereCompiled) {
  check_table(stencil_kernels<float>());
  check_table(stencil_kernels<double>());
  check_table(reduction_kernels<float>());
  check_table(reduction_kernels<double>());
  check_table(histogram_kernels<float>());
  check_table(histogram_kernels<double>());
}

TEST(Registry, BothPrecisionsHaveTheSameRows) {
  const auto single = stencil_kernels<float>();
  const auto twice = stencil_kernels<double>();
  ASSERT_EQ(single.size(), twice.size());
  for (std::size_t i = 0; i < single.size(); ++i) {
    EXPECT_EQ(single[i].name, twice[i].name);
    EXPECT_EQ(single[i].max_depth, twice[i].max_depth);
  }
}

// No row runs as another one, nor with another instruction set's code.
template <class Table>
void check_functions(const Table& table) {
  std::set<decltype(table(instruction_set()).front().launch)> functions;
  for (const std::string_view set : instruction_sets()) {
    for (const auto& row : table(choose_instruction_set(std::string(set).c_str()))) {
      if (row.backend != Backend::host || !row.launch) continue;
      EXPECT_TRUE(functions.insert(row.launch).second) << row.name << ", " << set;
    }
  }
}

TEST(Registry, HostRowsHaveFunctionsOfTheirOwnForEachInstructionSet) {
  check_functions(stencil_kernels<float>);
  check_functions(stencil_kernels<double>);
  check_functions(reduction_kernels<double>);
  check_functions(histogram_kernels<double>);
}

TEST(LastLevelCache, IsSharedByWhatRunsOnItsProcessors) {
  const auto first = [](int count) {
    std::vector<int> cores;
    for (int core = 0; core < count; ++core) cores.push_back(core);
    return cores;
  };
  EXPECT_EQ(sharers_of_cache("0-7,64-71", first(128), 128), 16);
  EXPECT_EQ(sharers_of_cache("0-7,64-71", first(128), 64), 8);  // a thread a core, of two processors each
  EXPECT_EQ(sharers_of_cache("0-7,64-71", first(128), 4), 1);   // spread over the machine
  EXPECT_EQ(sharers_of_cache("0-31", first(8), 8), 32);         // three more ranks are bound beside this one
  EXPECT_EQ(sharers_of_cache("0-31", first(8), 64), 32);        // threads that take turns
  EXPECT_EQ(sharers_of_cache("5", first(1), 1), 1);
  EXPECT_EQ(sharers_of_cache("", first(8), 8), 1);  // not known
  EXPECT_GE(sharers_of_last_level_cache(1), 1);
}

TEST(InstructionSet, IsTheBestOrTheOneWishedFor) {
  EXPECT_EQ(choose_instruction_set(nullptr), choose_instruction_set(""));
  EXPECT_EQ(name(choose_instruction_set(nullptr)), instruction_sets().back());
  EXPECT_EQ(choose_instruction_set("baseline"), InstructionSet::baseline);
  for (InstructionSet set : {InstructionSet::v3, InstructionSet::v4}) {
    const std::string wish(name(set));
    if (cpu_has(set)) {
      EXPECT_EQ(choose_instruction_set(wish.c_str()), set);
    } else {
      EXPECT_THROW(choose_instruction_set(wish.c_str()), Error);
    }
  }
}

TEST(InstructionSet, RefusesAnUnknownOne) {
  try {
    choose_instruction_set("avx9");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::unavailable);
    EXPECT_STREQ(
        error.what(),
        "ISOTHERM_ISA=avx9 is not known (it names no instruction set of the host rows); use baseline, v3 "
        "or v4, or unset it");
  }
}

TEST(Partition, GivesEveryRowToOneThreadAndLoadsThemEvenly) {
  for (Int3 n :
       {Int3{5, 1, 1}, Int3{5, 7, 3}, Int3{5, 1, 100}, Int3{5, 100, 1}, Int3{5, 100, 100}, Int3{5, 65, 65}}) {
    const Box whole{{-1, 2, 3}, {4, 2 + n.y, 3 + n.z}};
    for (int threads : {1, 2, 3, 4, 7, 16, 64}) {
      std::vector<int> owners(static_cast<std::size_t>(n.y * n.z), 0);
      Index largest = 0;
      for (int t = 0; t < threads; ++t) {
        const Box mine = host::share(whole, t, threads);
        largest = std::max(largest, mine.cells() / n.x);
        for (Index z = mine.lo.z; z < mine.hi.z; ++z) {
          for (Index y = mine.lo.y; y < mine.hi.y; ++y)
            ++owners[static_cast<std::size_t>((z - 3) * n.y + y - 2)];
        }
        if (!mine.empty()) {
          EXPECT_EQ(mine.lo.x, -1);
          EXPECT_EQ(mine.hi.x, 4);
        }
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

void expect_a_plausible_roof(Device& device) {
  const double bandwidth = measure_copy_bandwidth(device, std::size_t{64} << 20);
  EXPECT_GT(bandwidth, 1e8);   // slower than any memory of this century
  EXPECT_LT(bandwidth, 1e14);  // faster than any
}

TEST(Bandwidth, IsMeasuredOnTheHost) {
  expect_a_plausible_roof(*make_host_device());
}
TEST(Bandwidth, IsMeasuredOnCuda) {
  const auto device = device_of(Backend::cuda);
  if (!device) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
  expect_a_plausible_roof(*device);
}

TEST(Bandwidth, CopiesEveryElement) {
  const auto host = make_host_device();
  for (std::size_t count : {1u, 7u, 8u, 1000u, 100003u}) {
    const Buffer from(*host, (count + 1) * sizeof(double)), to(*host, (count + 1) * sizeof(double));
    for (std::size_t i = 0; i <= count; ++i) {
      from.as<double>()[i] = static_cast<double>(i);
      to.as<double>()[i] = -1;
    }
    for (std::string_view set : instruction_sets()) {
      for_instruction_set(set, [&](auto isa) {
        using Way = host::Transfer<decltype(isa), double>;
        for (host::Store store : {host::Store::streaming, host::Store::cached}) {
          Way::copy(to.as<double>(), from.as<double>(), static_cast<Index>(count), store);
          EXPECT_TRUE(std::equal(to.as<double>(), to.as<double>() + count, from.as<double>()));
          EXPECT_EQ(to.as<double>()[count], -1);
          Way::fill(to.as<double>(), static_cast<Index>(count), [](Index) { return -1.0; });
        }
      });
    }
  }
}

// Every row of the bandwidth table does what it says, at the sizes where vectors and threads end, the
// smallest included: a stride or an offset that is longer than the array would move nothing, or less.
template <class T>
void expect_right_transfers(Device& device) {
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  for (const BandwidthRow<T>& row : bandwidth_rows<T>(device.backend())) {
    for (std::size_t bytes : {std::size_t{1}, std::size_t{8}, 64 * sizeof(T), 1000 * sizeof(T),
                              4099 * sizeof(T), 300007 * sizeof(T)}) {
      SCOPED_TRACE(fmt::format("{}, {} bytes of {}", row.name, bytes, sizeof(T)));
      const auto probe = row.make(device, bytes, row.step);
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

TEST(Bandwidth, RowsMoveWhatTheySay) {
  expect_right_transfers<float>(*make_host_device());
  expect_right_transfers<double>(*make_host_device());
}
TEST(Bandwidth, RowsMoveWhatTheySayOnCuda) {
  const auto device = device_of(Backend::cuda);
  if (!device) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
  expect_right_transfers<float>(*device);
  expect_right_transfers<double>(*device);
}

}  // namespace
}  // namespace isotherm::test
