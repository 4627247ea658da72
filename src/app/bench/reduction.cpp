// `isotherm bench reduction`: every kernel on the difference of two blocks of random numbers, the fused one
// on the update of a sweep, against a compensated sum, the copy and the read bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "app/bench/bench.hpp"
#include "app/bench/reference.hpp"
#include "app/bench/stencil.hpp"
#include "grid/field.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/reduction.hpp"
#include "solver/kernel_choice.hpp"

namespace isotherm {
namespace {

constexpr int ghosts = 1;

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
  BenchEntry measure(const ReductionKernel<T>& kernel, CopyProbes probes);

 private:
  ReductionBench(const Bench& bench, Int3 cells, Field<T> a, Field<T> b)
      : bench_(bench),
        cells_(cells),
        exact_(reduce_exactly<T>(std::as_const(a).view(), std::as_const(b).view(), a.view().interior(),
                                 bench.options.op)),
        a_(moved_to_device(bench, std::move(a))),
        b_(moved_to_device(bench, std::move(b))) {}

  // Where nothing is written, poison comes back.
  double reduce(const ReductionKernel<T>& kernel, const ReductionArgs<T>& args) {
    double result = poison<double>;
    bench_.device.copy(args.result, &result, sizeof(double), bench_.stream);
    kernel.launch(args, bench_.stream);
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
BenchEntry ReductionBench<T>::measure(const ReductionKernel<T>& kernel, CopyProbes probes) {
  const Box region = a_.view().interior();
  const Buffer result(bench_.device, sizeof(double));
  const Buffer scratch(bench_.device, kernel.scratch_bytes(region));
  const ReductionArgs<T> args{std::as_const(a_).view(), std::as_const(b_).view(), region,
                              bench_.options.op,        result.as<double>(),      scratch.data()};
  BenchEntry entry = new_entry<T>(kernel.name, cells_);
  entry.points = static_cast<double>(cells_.product());
  entry.bytes = 2.0 * entry.points * sizeof(T);

  const double found = reduce(kernel, args);
  entry.same_bits = repeats(found, [&] { return reduce(kernel, args); });
  entry.error = reduction_error(exact_, found);
  const bool right = *entry.error <= error_bound(cells_.product(), bench_.options.op);
  entry.verdict = right ? BenchVerdict::right : BenchVerdict::wrong;
  if (!right) {
    entry.note = fmt::format("it is {} and should be {}", found, exact_.value);
    return entry;
  }
  entry.samples = bench_.sampler.measure([&] { kernel.launch(args, bench_.stream); }, probes);
  return entry;
}

template <class T>
std::unique_ptr<BandwidthProbe> make_read_probe(Device& device, std::size_t bytes) {
  const auto registry = bandwidth_registry<T>(device.backend());
  return std::find_if(registry.begin(), registry.end(),
                      [](const auto& kernel) { return kernel.name == "read"; })
      ->make(device, bytes, 0);
}

template <class T>
BenchEntry skipped(std::string_view kernel, Int3 cells, const char* why) {
  BenchEntry entry = new_entry<T>(kernel, cells);
  entry.note = why;
  return entry;
}

// The kernel without a pass of its own, in the stencil kernel that a run takes with it unasked.
template <class T>
BenchEntry fused_norm_entry(const Bench& bench, Int3 cells, CopyProbes probes) {
  if (bench.options.op == ReductionOp::sum) return skipped<T>("fused", cells, "no sweep returns a plain sum");
  Config config;
  config.solver.reduction = "fused";
  const SweepChoice<T> sweep = choose_kernels<T>(config, bench.device.backend()).sweep;
  return SweepBench<T>(bench, cells, 1, bench.options.op).measure_norm(*sweep.kernel, sweep.tile, probes);
}

template <class T>
std::vector<BenchEntry> ladder(const Bench& bench, Int3 cells) {
  const auto bytes = static_cast<std::size_t>(
                         FieldLayout::make(cells, ghosts, sizeof(T), bench.device.row_alignment()).elements) *
                     sizeof(T);
  const auto copy = make_copy_probe(bench.device, bytes);
  const auto read = make_read_probe<T>(bench.device, bytes);
  const CopyProbes probes{copy.get(), read.get()};
  std::vector<BenchEntry> entries;
  std::optional<ReductionBench<T>> fields;
  for (const ReductionKernel<T>* kernel : chosen_kernels(reduction_kernels<T>(), bench)) {
    if (!kernel->available()) {
      entries.push_back(skipped<T>(kernel->name, cells, "not in this build"));
    } else if (kernel->fused) {
      fields.reset();  // it has fields of its own
      entries.push_back(fused_norm_entry<T>(bench, cells, probes));
    } else {
      if (!fields) fields.emplace(bench, cells);
      entries.push_back(fields->measure(*kernel, probes));
    }
  }
  return entries;
}

BenchMemory memory(const Bench& bench, Int3 cells, Precision precision) {
  const double field = field_bytes(cells, ghosts, precision);
  constexpr double arrays = 2 + 2 + 2;  // a, b, or in, out; of the copy; of the read, which is one of a pair
  // On the host the fused kernel holds what must come out as well.
  return bench.on_host() ? BenchMemory{0, (arrays + 1) * field} : BenchMemory{arrays * field, 2 * field};
}

}  // namespace

LadderBench reduction_bench() {
  return {[](Backend backend) { return names_of(reduction_kernels<double>(), backend); }, memory,
          ladder<float>, ladder<double>};
}

}  // namespace isotherm
