// Benchmarks: checks and samples, each of which can fail; records with failures; limits of options.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "app/bench/bench.hpp"
#include "app/command_line.hpp"
#include "core/device.hpp"
#include "output/records/bench_record.hpp"
#include "support/devices.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {
namespace {

using nlohmann::json;

constexpr Int3 block{13, 6, 5};

Field<double> random_field(std::uint64_t seed) {
  static const std::unique_ptr<Device> host = make_host_device();
  Field<double> field(*host, block, 1);
  fill_random(field.view(), seed, 250.0, 350.0);
  return field;
}
std::string differing(const Field<double>& expected, const Field<double>& found) {
  return difference(expected.view(), found.view());
}

TEST(BenchRandom, IsDeterminedByTheSeedAndFillsTheRange) {
  const Field<double> a = random_field(1), same = random_field(1), other = random_field(2);
  EXPECT_EQ(differing(a, same), "");
  EXPECT_NE(differing(a, other), "");
  std::set<double> values;
  for_each_cell(a.view().padded(), [&](Int3 c) { values.insert(a.view()(c)); });
  EXPECT_EQ(std::ssize(values), a.view().padded().cells());
  EXPECT_GE(*values.begin(), 250);
  EXPECT_LT(*values.rbegin(), 350);
  EXPECT_LT(*values.begin(), 252);
  EXPECT_GT(*values.rbegin(), 348);
}

// Errors of a wrong kernel: a cell still poisoned, one bit, a write into a ghost, a zero of the other sign.
TEST(BenchDifference, FindsOneCellAndTheFirstOfSeveral) {
  const auto said = [](Int3 cell, auto change) {
    Field<double> expected = random_field(1), found = random_field(1);
    change(expected.view()(cell), found.view()(cell));
    return differing(expected, found);
  };
  const std::string text = said({7, 3, 2}, [](double&, double& found) { found = poison<double>; });
  expect_says(text, "cell (7, 3, 2) is nan");
  expect_says(text, "1 of 56 rows");
  expect_says(said({12, 5, 4}, [](double&, double& found) { found = std::nextafter(found, 1000.0); }),
              "cell (12, 5, 4)");
  expect_says(said({-1, 2, 5}, [](double&, double& found) { found = 300; }), "cell (-1, 2, 5)");
  expect_says(said({1, 1, 1}, [](double& expected, double& found) { expected = 0.0, found = -0.0; }),
              "cell (1, 1, 1)");
  Field<double> several = random_field(1);
  several.view()(12, 5, 4) += 1;
  several.view()(0, 0, 1) += 1;
  expect_says(differing(random_field(1), several), "cell (0, 0, 1)");
}

// faults/test_bench.py tests the reference sweeps and reductions themselves: every kernel agrees with them.

// 1, then 2^-60 a thousand times, then -1: plain fp64 sums lose the small terms.
TEST(BenchExactReduction, KeepsWhatPlainSumsLose) {
  const auto host = make_host_device();
  const Int3 n{1002, 1, 1};
  Field<double> a(*host, n, 1);
  for (Index x = 0; x < n.x; ++x) a.view()(x, 0, 0) = x == 0 ? 1 : x == n.x - 1 ? -1 : 0x1p-60;
  const ExactReduction sum = reduce_exactly<double>(a.view(), {}, {{0, 0, 0}, n}, ReductionOp::sum);
  EXPECT_EQ(sum.value, 1000 * 0x1p-60);
  EXPECT_DOUBLE_EQ(sum.magnitudes, 2);
}

TEST(BenchExactReduction, BoundTellsRoundingFromMistakes) {
  const ExactReduction exact{1000, 1000};
  const Index cells = 1000000;
  const double bound = error_bound(cells, ReductionOp::sum_squares);
  EXPECT_LE(reduction_error(exact, 1000 * (1 + 1e-13)), bound);
  EXPECT_GT(reduction_error(exact, 1000 * (1 + 1e-6)), bound);     // one cell in a million is missing
  EXPECT_GT(reduction_error(exact, 1000 * (1 + 0x1p-24)), bound);  // a sum in fp32
  EXPECT_FALSE(reduction_error(exact, poison<double>) <= bound);
  EXPECT_EQ(error_bound(cells, ReductionOp::max_abs), 0);
  EXPECT_EQ(reduction_error({0, 0}, 0), 0);
  EXPECT_FALSE(reduction_error({0, 0}, 1) <= bound);
}

struct NoProbe final : BandwidthProbe {
  void enqueue(Stream) override {}
  double bytes() const override { return 100; }
  bool right() override { return true; }
  void prepare() override {}
};

TEST(BenchSampler, MeasuresTheCopyBandwidthWithEverySample) {
  const auto device = make_host_device();
  Sampler sampler(*device, {}, 0);
  NoProbe copy, read;
  std::int64_t launches = 0;
  const BenchSamples samples = sampler.measure({[&] { ++launches; }}, {&copy, &read});
  EXPECT_EQ(samples.seconds.size(), static_cast<std::size_t>(Sampler::least_samples));
  EXPECT_EQ(samples.copy_bytes_per_s.size(), samples.seconds.size());
  EXPECT_EQ(samples.read_bytes_per_s.size(), samples.seconds.size());
  EXPECT_GT(launches, samples.launches * Sampler::least_samples);  // includes a warm-up
}

TEST(BenchSampler, PreparesEverySampleOfASingleLaunch) {
  const auto device = make_host_device();
  Sampler sampler(*device, {}, 0);
  int launched = 0, prepared = 0;
  const auto samples =
      sampler.measure({.launch = [&] { ++launched; }, .single = true, .prepare = [&] { ++prepared; }}, {});
  EXPECT_EQ(samples.launches, 1);
  EXPECT_EQ(prepared, Sampler::least_samples);
  EXPECT_EQ(launched, Sampler::least_samples);
  EXPECT_TRUE(samples.copy_bytes_per_s.empty());
}

// The base takes longer: a difference may be negative.
TEST(Sampler, ADifferenceComparesAdjacentBatchesOnADriftingClock) {
  const auto host = make_host_device();
  ClockedDevice device(*host, Backend::host);
  Sampler sampler(device, {}, 1e-3);
  double drift = 1;
  const auto base = [&] {
    device.now += drift * 6e-3;
    drift *= 1.001;
  };
  const BenchSamples samples = sampler.measure({[&] { device.now += drift * 4e-3; }, base}, {});
  ASSERT_GE(samples.seconds.size(), 7u);
  ASSERT_EQ(samples.base_seconds.size(), samples.seconds.size());
  for (std::size_t i = 0; i < samples.seconds.size(); ++i) {
    EXPECT_NEAR(samples.seconds[i] / samples.base_seconds[i], -1.0 / 3, 0.01) << "sample " << i;
  }
  EXPECT_GT(samples.base_seconds.back(), samples.base_seconds.front());
}

TEST(BenchQuantiles, AreThoseOfTheSortedValuesAndBetweenThem) {
  const Quantiles ten = quantiles({5, 1, 4, 2, 3, 0, 6, 8, 7, 10, 9}), two = quantiles({4, 2});
  EXPECT_DOUBLE_EQ(ten.p10, 1);
  EXPECT_DOUBLE_EQ(ten.median, 5);
  EXPECT_DOUBLE_EQ(ten.p90, 9);
  EXPECT_DOUBLE_EQ(ten.spread(), 1.6);
  EXPECT_DOUBLE_EQ(two.p10, 2.2);
  EXPECT_DOUBLE_EQ(two.p90, 3.8);
  EXPECT_DOUBLE_EQ(quantiles({7}).spread(), 0);
  EXPECT_DOUBLE_EQ(quantiles({1, 1, 1, 1, 1, 1, 1000}).median, 1);
  EXPECT_THROW(quantiles({}), Error);
}

// Three samples of `seconds`, for a thousand points of 16 bytes each, with copies at 20 MB/s.
BenchEntry entry(const char* kernel, double seconds) {
  return {.kernel = kernel,
          .tile = "-",
          .precision = Precision::fp64,
          .cells = {10, 10, 10},
          .verdict = BenchVerdict::right,
          .samples = {.seconds = {seconds, seconds, seconds}, .copy_bytes_per_s = {20e6, 20e6, 20e6}},
          .points = 1000,
          .bytes = 16000};
}

std::vector<BenchEntry> two_kernels() { return {entry("slow", 4e-3), entry("fast", 1e-3)}; }

BenchRecord record(const std::vector<BenchEntry>& ladder) {
  BenchRecord r;
  r.options.subject = BenchSubject::stencil;
  r.device.name = "Some CPU";
  r.options.seed = 3;
  r.entries = ladder_json(ladder);
  return r;
}

BenchEntry difference(std::vector<double> added) {
  BenchEntry e = entry("fused", 0);
  e.samples.seconds = std::move(added);
  e.samples.base_seconds = {5e-3, 6e-3, 7e-3};
  e.samples.copy_bytes_per_s = {10e6, 20e6, 60e6};
  return e;
}

// The speed-up is relative to the lowest kernel of the same ladder; a difference uses its median.
TEST(BenchFigures, FollowFromTheSamples) {
  std::vector<BenchEntry> ladder = two_kernels();
  const auto figure = [&](std::size_t i, const char* key) {
    return ladder_json(ladder)[i].at(key).get<double>();
  };
  EXPECT_DOUBLE_EQ(figure(0, "speedup"), 1);
  EXPECT_DOUBLE_EQ(figure(1, "speedup"), 4);
  EXPECT_DOUBLE_EQ(figure(1, "points_per_s"), 1e6);
  EXPECT_DOUBLE_EQ(figure(1, "bandwidth_bytes_per_s"), 16e6);
  EXPECT_DOUBLE_EQ(figure(1, "copy_bandwidth_share_percent"), 80);
  EXPECT_EQ(ladder_json(ladder)[1].at("read_bandwidth_share_percent"), nullptr);
  // The memory bandwidth halves between two samples: each sample uses the bandwidth at its own time.
  ladder[1].samples.seconds = {1e-3, 2e-3, 2e-3};
  ladder[1].samples.copy_bytes_per_s = {20e6, 10e6, 10e6};
  ladder[1].samples.read_bytes_per_s = {40e6, 20e6, 20e6};
  EXPECT_DOUBLE_EQ(figure(1, "copy_bandwidth_share_percent"), 80);
  EXPECT_DOUBLE_EQ(figure(1, "read_bandwidth_share_percent"), 40);
  ladder[1] = difference({1.5e-3, 2e-3, 2.5e-3});
  EXPECT_DOUBLE_EQ(figure(1, "points_per_s"), 0.5e6);
  EXPECT_DOUBLE_EQ(figure(1, "copy_bandwidth_share_percent"), 40);
  EXPECT_DOUBLE_EQ(figure(1, "speedup"), 2);
  EXPECT_EQ(json::parse(to_json(record(ladder)))["entries"][1]["base_s"]["median"], 6e-3);
}

TEST(BenchFigures, ADifferenceBelowItsNoiseHasASpreadAndNoRate) {
  const BenchRecord r = record({difference({-3e-3, -1e-3, 1e-3}), entry("tree", 4e-3)});
  EXPECT_DOUBLE_EQ(r.entries[1].at("speedup").get<double>(), 1);  // the lowest kernel that has a rate
  const json j = json::parse(to_json(r));
  EXPECT_DOUBLE_EQ(j["entries"][0]["spread_percent"].get<double>(), 320);
  EXPECT_EQ(j["entries"][0]["launch_s"]["median"], -1e-3);
  for (const char* key : {"points_per_s", "bandwidth_bytes_per_s", "copy_bandwidth_share_percent", "speedup"})
    EXPECT_EQ(j["entries"][0][key], nullptr) << key;
  EXPECT_EQ(j["not_finite"], json::object());
  const auto noise = ladder_json({difference({-1e-3, 2e-3, 4e-3})});  // not above p90 - p10 = 4 ms
  EXPECT_EQ(noise[0].at("points_per_s"), nullptr);
  BenchOptions options;
  options.subject = BenchSubject::reduction;
  const std::string table = bench_table(options, r.entries);
  expect_says(table, "  fused   -1 ms         -        -        -        -     0.0200  *320.0 %         -");
  expect_says(table, "\n  * spread above 30 %: ");
}

TEST(BenchFigures, AWrongKernelHasNoFigures) {
  std::vector<BenchEntry> ladder = two_kernels();
  EXPECT_TRUE(all_right(record(ladder)));
  ladder[0].verdict = BenchVerdict::wrong;
  ladder[0].samples = {};
  for (const char* key : {"launch_s", "points_per_s", "spread_percent", "speedup"})
    EXPECT_EQ(ladder_json(ladder)[0].at(key), nullptr) << key;
  EXPECT_EQ(ladder_json(ladder)[1].at("speedup"), 1);
  EXPECT_FALSE(all_right(record(ladder)));
  EXPECT_EQ(json::parse(to_json(record(ladder)))["result"], "FAIL");
  ladder[0].verdict = BenchVerdict::skipped;
  EXPECT_TRUE(all_right(record(ladder)));
}

TEST(BenchTable, HasTheColumnsThatItsEntriesNeed) {
  std::vector<BenchEntry> ladder(2);
  ladder[0].verdict = BenchVerdict::wrong;
  ladder[0].note = "cell (0, 0, 0) is 1 and should be 2";
  ladder[1].note = "not in this build";
  ladder.push_back(entry("slow", 2e-3));
  ladder[2].time_block = 4;
  ladder[2].points = 4000;
  for (const char* part : {"WRONG: cell (0, 0, 0) is 1 and should be 2\n", "skipped: not in this build\n",
                           "of limit", "160.0 %"})
    expect_says(bench_table({}, ladder_json(ladder)), part);
  BenchOptions options;
  options.subject = BenchSubject::reduction;
  ladder = two_kernels();
  ladder[0].error = 2.5e-13;
  ladder[0].same_bits = true;
  ladder[1].same_bits = false;
  ladder[1].samples.read_bytes_per_s = {32e6, 32e6, 32e6};
  for (const char* part : {"of read", "50.0 %", "2.5e-13", "  same  ", "  differ  "})
    expect_says(bench_table(options, ladder_json(ladder)), part);
}

// Options that faults/test_bench.py does not test.

TEST(BenchOptions, SizesAndNumbersHaveBounds) {
  const auto parsed = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"isotherm", "bench"});
    return parse_command_line(static_cast<int>(words.size()), words.data());
  };
  const auto expect_rejected = [&](const std::vector<const char*>& words) {
    SCOPED_TRACE(words.back());
    refusal([&] { parsed(words); }, ExitCode::command_line);
  };
  EXPECT_EQ(parsed({"stencil", "--sizes", "256,20x7x9,1"}).command->bench.sizes,
            (std::vector<Int3>{{256, 256, 256}, {20, 7, 9}, {1, 1, 1}}));
  EXPECT_EQ(parsed({"io", "--seed", "18446744073709551615"}).command->bench.seed, 18446744073709551615u);
  for (const char* text : {"", "0", "-4", "16x16", "16x16x16x16", "16x0x16", "16x16x16x", "x", "1e3", "16 ",
                           "99999999999999999999", "1048577", "12x12x12,a"})
    expect_rejected({"stencil", "--sizes", text});
  for (const char* seconds : {"0", "-1", "nan", "inf", "3601", "1s"})
    expect_rejected({"stencil", "--seconds", seconds});
  for (const char* layers : {"0", "1,65", "frob", "all"}) expect_rejected({"halo", "--ghosts", layers});
  for (const char* seed : {"-1", "frob", "18446744073709551616"}) expect_rejected({"io", "--seed", seed});
}

}  // namespace
}  // namespace isotherm
