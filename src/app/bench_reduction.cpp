// `isotherm bench reduction`: every row on the difference of two blocks of random numbers, against a
// compensated sum, the copy and the read bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "app/bench_reference.hpp"
#include "app/bench_subjects.hpp"
#include "grid/field.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/reduction.hpp"

namespace isotherm {
namespace {

constexpr int ghosts = 1;
constexpr int runs = 3;  // whose bits are compared

template <class T>
Field<T> random_field(const Bench& bench, Int3 cells, std::uint64_t seed) {
  Field<T> field(bench.host, cells, ghosts);
  face_copy<T>(Backend::host).fill(field.view(), T(0), {});
  fill_random(field.view(), seed, T(250), T(350));
  return field;
}

template <class T>
Field<T> moved_to_device(const Bench& bench, Field<T> field) {
  if (bench.on_host()) return field;
  Field<T> there(bench.device, std::as_const(field).view().extent, ghosts);
  bench.device.copy(there.data(), field.data(), field.bytes(), bench.stream);
  bench.device.synchronize(bench.stream);
  return there;
}

// The fields of one grid, and what must come out.
template <class T>
class ReductionBench {
 public:
  ReductionBench(const Bench& bench, Int3 cells)
      : ReductionBench(bench, cells, random_field<T>(bench, cells, bench.options.seed),
                       random_field<T>(bench, cells, bench.options.seed + 1)) {}
  BenchEntry measure(const ReductionKernel<T>& row, Roofs roofs);

 private:
  ReductionBench(const Bench& bench, Int3 cells, Field<T> a, Field<T> b)
      : bench_(bench),
        cells_(cells),
        exact_(reduce_exactly<T>(std::as_const(a).view(), std::as_const(b).view(), a.view().interior(),
                                 bench.options.op)),
        a_(moved_to_device(bench, std::move(a))),
        b_(moved_to_device(bench, std::move(b))) {}

  // Where nothing is written, poison comes back.
  double reduce(const ReductionKernel<T>& row, const ReductionArgs<T>& args) {
    double result = poison<double>;
    bench_.device.copy(args.result, &result, sizeof(double), bench_.stream);
    row.launch(args, bench_.stream);
    bench_.device.copy(&result, args.result, sizeof(double), bench_.stream);
    bench_.device.synchronize(bench_.stream);
    return result;
  }

  const Bench& bench_;
  const Int3 cells_;
  const ExactReduction exact_;
  Field<T> a_, b_;
};

template <class T>
BenchEntry ReductionBench<T>::measure(const ReductionKernel<T>& row, Roofs roofs) {
  const Box region = a_.view().interior();
  const Buffer result(bench_.device, sizeof(double));
  const Buffer scratch(bench_.device, row.scratch_bytes(region));
  const ReductionArgs<T> args{std::as_const(a_).view(), std::as_const(b_).view(), region,
                              bench_.options.op,        result.as<double>(),      scratch.data()};
  BenchEntry entry = new_entry<T>(row.name, cells_);
  entry.points = static_cast<double>(cells_.product());
  entry.bytes = 2.0 * entry.points * sizeof(T);

  const double found = reduce(row, args);
  entry.same_bits = true;
  for (int run = 1; run < runs; ++run) {
    const double again = reduce(row, args);
    if (std::memcmp(&again, &found, sizeof(double)) != 0) entry.same_bits = false;
  }
  entry.error = reduction_error(exact_, found);
  const bool right = *entry.error <= error_bound(cells_.product(), bench_.options.op);
  entry.verdict = right ? BenchVerdict::right : BenchVerdict::wrong;
  if (!right) {
    entry.note = fmt::format("it is {} and should be {}", found, exact_.value);
    return entry;
  }
  entry.samples = bench_.sampler.measure([&] { row.launch(args, bench_.stream); }, roofs);
  return entry;
}

template <class T>
std::unique_ptr<BandwidthProbe> make_read_probe(Device& device, std::size_t bytes) {
  const auto rows = bandwidth_rows<T>(device.backend());
  return std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.name == "read"; })
      ->make(device, bytes, 0);
}

template <class T>
std::vector<BenchEntry> ladder(const Bench& bench, Int3 cells) {
  const auto bytes =
      static_cast<std::size_t>(FieldLayout::make(cells, ghosts, sizeof(T)).elements) * sizeof(T);
  const auto copy = make_copy_probe(bench.device, bytes);
  const auto read = make_read_probe<T>(bench.device, bytes);
  ReductionBench<T> fields(bench, cells);
  std::vector<BenchEntry> entries;
  for (const ReductionKernel<T>* row : chosen_rows(reduction_kernels<T>(), bench)) {
    if (row->fused) continue;  // no pass of its own to time: bench stencil --norm
    if (row->launch) {
      entries.push_back(fields.measure(*row, {copy.get(), read.get()}));
    } else {
      entries.push_back(new_entry<T>(row->name, cells));
      entries.back().note = "not in this build";
    }
  }
  return entries;
}

}  // namespace

BenchMemory reduction_memory(const Bench& bench, Int3 cells, Precision precision) {
  const double field = field_bytes(cells, ghosts, precision);
  constexpr double arrays = 2 + 2 + 2;  // a, b; of the copy; of the read, which is one of a pair
  return bench.on_host() ? BenchMemory{0, arrays * field} : BenchMemory{arrays * field, 2 * field};
}

std::vector<BenchEntry> reduction_ladder(const Bench& bench, Int3 cells, Precision precision) {
  return with_number(precision, [&](auto zero) { return ladder<decltype(zero)>(bench, cells); });
}

std::vector<std::string_view> reduction_names(Backend backend) {
  std::vector<std::string_view> names;
  for (const auto& row : reduction_kernels<double>())
    if (row.backend == backend && !row.fused) names.push_back(row.name);
  return names;
}

}  // namespace isotherm
