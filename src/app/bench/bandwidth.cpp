// `isotherm bench bandwidth`: ways to move arrays that are as large as a field.
#include "kernels/bandwidth.hpp"
#include "app/bench/bench.hpp"

namespace isotherm {
namespace {

template <class T>
BenchEntry measure(const Bench& bench, const BandwidthEntry<T>& kernel, Int3 cells, std::size_t bytes,
                   BandwidthProbe& copy) {
  const auto probe = kernel.make(bench.device, bytes, kernel.step);
  BenchEntry entry = new_entry<T>(kernel.name, cells);
  entry.bytes = probe->bytes();
  probe->prepare();
  probe->enqueue(bench.stream);
  bench.device.synchronize(bench.stream);
  entry.verdict = probe->right() ? BenchVerdict::right : BenchVerdict::wrong;
  if (entry.verdict == BenchVerdict::wrong) {
    entry.note = "what arrived is not what was sent";
  } else {
    entry.samples = bench.sampler.measure(*probe, kernel.single, {&copy, nullptr});
  }
  return entry;
}

template <class T>
std::vector<BenchEntry> ladder(const Bench& bench, Int3 cells) {
  const std::size_t bytes = static_cast<std::size_t>(cells.product()) * sizeof(T);
  const auto copy = make_copy_probe(bench.device, bytes);
  std::vector<BenchEntry> entries;
  for (const BandwidthEntry<T>& kernel : bandwidth_registry<T>(bench.device.backend())) {
    if (is_wanted(kernel.name, bench.options)) entries.push_back(measure(bench, kernel, cells, bytes, *copy));
  }
  return entries;
}

BenchMemory memory(const Bench& bench, Int3 cells, Precision precision) {
  const double array = field_bytes(cells, 0, precision);
  constexpr double pairs = 2;  // the kernel's and the copy bandwidth's
  // On a GPU, the host's side of a transfer, and what came back of it.
  return bench.on_host() ? BenchMemory{0, 2 * pairs * array} : BenchMemory{2 * pairs * array, 3 * array};
}

}  // namespace

LadderBench bandwidth_bench() {
  return {[](Backend backend) { return names_of(bandwidth_registry<double>(backend), backend); }, memory,
          ladder<float>, ladder<double>};
}

}  // namespace isotherm
