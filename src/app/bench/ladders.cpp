// `isotherm bench stencil`, `reduction`, `bandwidth` and `formula`: all kernels of one device on fields of
// random numbers. The result of a kernel is compared with the reference before the kernel is timed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "app/bench/bench.hpp"
#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "halo/messages.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/reduction.hpp"
#include "physics/formula_values.hpp"
#include "solver/kernel_choice.hpp"

namespace isotherm {
namespace {

// In host memory, ghosts included.
template <class T>
Field<T> random_field(const Bench& bench, Int3 cells, int ghosts, std::uint64_t seed, T low, T high) {
  Field<T> field(bench.host, cells, ghosts);
  FaceCopy<T>::on(Backend::host).fill(field.view(), T(0), {});
  fill_random(field.view(), seed, low, high);
  return field;
}

template <class T>
Field<T> moved_to_device(const Bench& bench, Field<T> field) {
  if (bench.on_host()) return field;
  const FieldView<const T> view = std::as_const(field).view();
  Field<T> there(bench.device, view.extent, view.ghosts);
  bench.device.copy(there.data(), field.data(), field.bytes(), bench.stream);
  bench.device.synchronize(bench.stream);
  return there;
}

template <class T>
std::size_t allocated_bytes(const Bench& bench, Int3 cells) {
  const FieldLayout layout = FieldLayout::make(cells, 1, sizeof(T), bench.device.row_alignment());
  return static_cast<std::size_t>(layout.elements) * sizeof(T);
}

bool judge(BenchEntry& entry, std::string wrong) {
  entry.verdict = wrong.empty() ? BenchVerdict::right : BenchVerdict::wrong;
  entry.note = std::move(wrong);
  return entry.note.empty();
}

// They sum to 1, so that temperatures keep their range, however often the field is swept; no two are equal.
template <class T>
constexpr Coefficients<T> coefficients{T(0.24), T(0.11), T(0.13), T(0.14), T(1)};

// Held temperatures in x, a flux in y, convection in z.
template <class T>
Boundaries<T> six_boundaries() {
  const Boundary<T> held{true, T(-1), T(600)}, flux{true, T(1), T(0.25)}, convection{true, T(0.6), T(120)};
  return {{held, held, flux, flux, convection, convection}};
}

// The interior, swept during the exchange, of a subdomain with neighbours on all sides.
template <class T>
Box interior_between_ranks(const StencilKernel<T>& kernel, Box subdomain, int time_block, int tile) {
  std::array<bool, face_count> remote;
  remote.fill(true);
  return interior_of(kernel, subdomain, interior_box(subdomain.hi, subdomain, remote, time_block),
                     {time_block, tile});
}

// The fields of one grid and one time block, and the expected result.
template <class T>
class SweepBench {
 public:
  // `norm`: of the update, which the kernels return.
  SweepBench(const Bench& bench, Int3 cells, int time_block, std::optional<ReductionOp> norm)
      : bench_(bench),
        cells_(cells),
        time_block_(time_block),
        norm_(norm),
        boundaries_(bench.options.boundaries ? six_boundaries<T>() : Boundaries<T>{}),
        in_(bench.device, cells, time_block),
        out_(bench.device, cells, time_block),
        expected_(bench.host, cells, time_block) {
    const FaceCopy<T>& on_device = FaceCopy<T>::on(bench.device.backend());
    const FaceCopy<T>& on_host = FaceCopy<T>::on(Backend::host);
    for (Field<T>* field : {&in_, &out_}) on_device.fill(field->view(), T(0), bench.stream);
    on_host.fill(expected_.view(), T(0), {});
    if (!bench.on_host()) on_host.fill(mirror_.emplace(bench.host, cells, time_block).view(), T(0), {});

    if (bench.options.source)
      source_ = random_field(bench, cells, time_block, bench.options.seed + 1, T(-0.01), T(0.01));
    Field<T>& start = mirror_ ? *mirror_ : in_;
    start_anew(in_);
    sweep_reference(start, expected_, source(), coefficients<T>, boundaries_, time_block);
    if (norm)
      expected_norm_ = reduce_exactly<T>(expected_.view(), start.view(), start.view().interior(), *norm);
    if (source_) source_ = moved_to_device(bench, std::move(*source_));
  }

  BenchEntry measure(const StencilKernel<T>& kernel, int tile, CopyProbes probes) {
    const double cells = static_cast<double>(cells_.product());
    BenchEntry entry = new_entry<T>(kernel.name, cells_);
    entry.tile = kernel.tiles[tile];
    entry.time_block = time_block_;
    entry.points = cells * time_block_;
    entry.bytes = cells * least_bytes_per_cell<T>(bench_.options.source);

    const NormMemory memory = norm_memory(kernel, tile);
    if (!judge(entry, first_sweep(kernel, tile, memory.norm).wrong)) return entry;

    start_anew(in_);  // both: the sweeps alternate, and must not read poison
    start_anew(out_);
    entry.samples = bench_.sampler.measure({[&] { queue_next(kernel, tile, memory.norm); }}, probes);
    return entry;
  }

  // An entry of the reductions: the time that the norm adds to a sweep.
  BenchEntry measure_norm(const StencilKernel<T>& kernel, int tile, CopyProbes probes) {
    BenchEntry entry = new_entry<T>("fused", cells_);
    entry.points = static_cast<double>(cells_.product());
    entry.bytes = 2.0 * entry.points * sizeof(T);  // of the pass that it saves

    const NormMemory memory = norm_memory(kernel, tile);
    const First first = first_sweep(kernel, tile, memory.norm);
    entry.error = reduction_error(expected_norm_, first.norm);
    entry.same_bits = repeats(first.norm, [&] { return first_sweep(kernel, tile, memory.norm).norm; });
    if (!judge(entry, first.wrong)) return entry;

    start_anew(in_);
    start_anew(out_);
    entry.samples = bench_.sampler.measure({.launch = [&] { queue_next(kernel, tile, memory.norm); },
                                            .base = [&] { queue_next(kernel, tile, {}); }},
                                           probes);
    const Quantiles added = quantiles(entry.samples.seconds), without = quantiles(entry.samples.base_seconds);
    const std::string_view way = kernel.tiles[tile];
    entry.note =
        fmt::format("what it adds to a sweep of {}{}, {} without: {} to {} in p10 to p90", kernel.name,
                    way == "-" ? "" : fmt::format(" {}", way), signed_duration(without.median),
                    signed_duration(added.p10), signed_duration(added.p90));
    return entry;
  }

 private:
  struct First {
    std::string wrong;  // the error; empty: none
    double norm;
  };
  struct NormMemory {
    Buffer result, scratch;
    UpdateNorm norm;
  };

  void start_anew(Field<T>& field) {
    fill_random((mirror_ ? *mirror_ : field).view(), bench_.options.seed, T(250), T(350));
    if (!mirror_) return;
    bench_.device.copy(field.data(), mirror_->data(), field.bytes(), bench_.stream);
    bench_.device.synchronize(bench_.stream);
  }

  NormMemory norm_memory(const StencilKernel<T>& kernel, int tile) {
    NormMemory memory;
    if (!norm_) return memory;
    memory.result = Buffer(bench_.device, sizeof(double));
    const Box subdomain = in_.view().interior();
    const Box interior = interior_between_ranks(kernel, subdomain, time_block_, tile);
    memory.scratch = Buffer(bench_.device,
                            std::max(kernel.norm_scratch_bytes(subdomain, tile),
                                     split_scratch_bytes(kernel, subdomain, interior, {time_block_, tile})));
    memory.norm = {*norm_, memory.result.template as<double>(), memory.scratch.data(), false};
    return memory;
  }

  First first_sweep(const StencilKernel<T>& kernel, int tile, const UpdateNorm& norm) {
    start_anew(in_);
    FaceCopy<T>::on(kernel.backend).fill(out_.view(), poison<T>, bench_.stream);
    First found{"", poison<double>};
    if (norm.result) bench_.device.copy(norm.result, &found.norm, sizeof(double), bench_.stream);
    queue(kernel, tile, in_, out_, norm);
    if (mirror_) bench_.device.copy(mirror_->data(), out_.data(), out_.bytes(), bench_.stream);
    if (norm.result) bench_.device.copy(&found.norm, norm.result, sizeof(double), bench_.stream);
    bench_.device.synchronize(bench_.stream);

    found.wrong = difference<T>(expected_.view(), (mirror_ ? *mirror_ : out_).view());
    if (!found.wrong.empty() || !norm.result) return found;
    if (!(reduction_error(expected_norm_, found.norm) <= error_bound(cells_.product(), norm.op)))
      found.wrong = fmt::format("the norm is {} and should be {}", found.norm, expected_norm_.value);
    return found;
  }

  FieldView<const T> source() const { return source_ ? source_->view() : FieldView<const T>{}; }

  // Filling the boundary ghosts that the kernel reads is part of its cost.
  void queue(const StencilKernel<T>& kernel, int tile, Field<T>& in, Field<T>& out, const UpdateNorm& norm) {
    const SweepPlan plan{time_block_, tile};
    const Box whole = in.view().interior();
    SweepArgs<T> args{in.view(), out.view(), whole, coefficients<T>, boundaries_, source(), norm};
    if (bench_.options.boundaries)
      FaceCopy<T>::on(kernel.backend)
          .fill_boundaries(in.view(), boundaries_in_ghosts(kernel.own_boundaries, boundaries_), whole,
                           bench_.stream);
    if (!bench_.options.overlap) return kernel.launch(args, plan, bench_.stream);
    const Box interior = interior_between_ranks(kernel, whole, time_block_, tile);
    if (!interior.empty()) {
      args.region = interior;
      kernel.launch(args, plan, bench_.stream);
      args.region = whole;
      args.norm.accumulate = true;
    }
    launch_exterior(kernel, args, interior, plan, bench_.stream);
  }

  void queue_next(const StencilKernel<T>& kernel, int tile, const UpdateNorm& norm) {
    const bool forth = std::exchange(forth_, !forth_);
    queue(kernel, tile, forth ? in_ : out_, forth ? out_ : in_, norm);
  }

  const Bench& bench_;
  const Int3 cells_;
  const int time_block_;
  const std::optional<ReductionOp> norm_;
  Boundaries<T> boundaries_;
  Field<T> in_, out_;
  std::optional<Field<T>> source_;
  std::optional<Field<T>> mirror_;  // a GPU's field in host memory
  Field<T> expected_;               // in host memory
  ExactReduction expected_norm_;
  bool forth_ = true;  // the next sweep reads in_ and writes out_
};

// Why a kernel is not measured; empty where it is.
template <class T>
std::string why_skipped(const StencilKernel<T>& kernel, int tile, Int3 subdomain,
                        const BenchOptions& options) {
  if (!kernel.launch) return "not in this build";
  if (std::string why = kernel.why_unsupported(tile); !why.empty()) return why;
  if (std::string why = why_no_room(kernel, subdomain); !why.empty()) return why;
  if (options.norm && !kernel.fuses_norm()) return "returns no norm of its update";
  return {};
}

// The norm of a launch is that of its last sweep.
template <class T>
bool has_time_block(const StencilKernel<T>& kernel, int time_block, const BenchOptions& options) {
  if (time_block > kernel.max_time_block || (options.norm && time_block > 1 && !kernel.fuses_norm()))
    return false;
  return options.time_blocks.empty() || std::ranges::count(options.time_blocks, time_block) > 0;
}

template <class T>
int longest(const Bench& bench) {
  int longest = 1;
  for (const StencilKernel<T>* kernel : chosen_kernels(stencil_kernels<T>(), bench)) {
    for (int time_block = 1; time_block <= kernel->max_time_block; ++time_block)
      if (has_time_block(*kernel, time_block, bench.options)) longest = std::max(longest, time_block);
  }
  return longest;
}

template <class T>
std::vector<BenchEntry> stencil_ladder(const Bench& bench, Int3 cells) {
  const auto kernels = chosen_kernels(stencil_kernels<T>(), bench);
  const auto copy = make_copy_probe(bench.device, allocated_bytes<T>(bench, cells));
  std::vector<BenchEntry> entries;
  for (int time_block = 1; time_block <= longest<T>(bench); ++time_block) {
    std::optional<SweepBench<T>> fields;
    for (const StencilKernel<T>* kernel : kernels) {
      if (!has_time_block(*kernel, time_block, bench.options)) continue;
      const int tiles = bench.options.all_tiles ? static_cast<int>(kernel->tiles.size()) : 1;
      for (int tile = 0; tile < tiles; ++tile) {
        if (const std::string why = why_skipped(*kernel, tile, cells, bench.options); !why.empty()) {
          BenchEntry& entry = entries.emplace_back(new_entry<T>(kernel->name, cells, why));
          entry.tile = kernel->tiles[tile];
          entry.time_block = time_block;
          continue;
        }
        if (!fields) fields.emplace(bench, cells, time_block, bench.options.norm);
        entries.push_back(fields->measure(*kernel, tile, {copy.get(), nullptr}));
      }
    }
  }
  return entries;
}

// Rejects a time block that no kernel has: it would be omitted silently.
void validate_time_blocks(const Bench& bench, const std::vector<Int3>&) {
  for (const int time_block : bench.options.time_blocks) {
    bool found = false;
    int most = 1;
    for (const StencilKernel<double>* kernel : chosen_kernels(stencil_kernels<double>(), bench)) {
      found = found || has_time_block(*kernel, time_block, bench.options);
      if (!bench.options.norm || kernel->fuses_norm()) most = std::max(most, kernel->max_time_block);
    }
    if (found) continue;
    throw error_of(ExitCode::command_line,
                   "bench: --time-blocks: none of these kernels {} {} sweeps; use time blocks up to {}",
                   bench.options.norm ? "returns the norm of" : "takes", time_block, most);
  }
}

BenchMemory stencil_memory(const Bench& bench, Int3 cells, Precision precision) {
  const int ghosts = with_number(precision, [&](auto zero) { return longest<decltype(zero)>(bench); });
  const double field = field_bytes(cells, ghosts, precision);
  const double source = bench.options.source ? 1 : 0;
  if (bench.on_host()) return {0, field * (2 + 1 + 2 + source)};  // in, out; expected; two of the copy
  return {field * (2 + 2 + source), field * (2 + source)};
}

// Reductions of the difference of two fields, compared with an exact sum and with the copy and read
// bandwidths. The fused one reduces the update of a sweep.

template <class T>
class ReductionBench {
 public:
  ReductionBench(const Bench& bench, Int3 cells)
      : bench_(bench),
        cells_(cells),
        a_(random_field(bench, cells, 1, bench.options.seed, T(250), T(350))),
        b_(random_field(bench, cells, 1, bench.options.seed + 1, T(250), T(350))),
        exact_(reduce_exactly<T>(a_.view(), b_.view(), a_.view().interior(), bench.options.op)) {
    for (Field<T>* field : {&a_, &b_}) *field = moved_to_device(bench, std::move(*field));
  }

  BenchEntry measure(const ReductionKernel<T>& kernel, CopyProbes probes) {
    const Box region = a_.view().interior();
    const Buffer result(bench_.device, sizeof(double));
    const Buffer scratch(bench_.device, kernel.scratch_bytes(region));
    const ReductionArgs<T> args{a_.view(),         b_.view(),           region,
                                bench_.options.op, result.as<double>(), scratch.data()};
    BenchEntry entry = new_entry<T>(kernel.name, cells_);
    entry.points = static_cast<double>(cells_.product());
    entry.bytes = 2.0 * entry.points * sizeof(T);

    const double found = reduce(kernel, args);
    entry.same_bits = repeats(found, [&] { return reduce(kernel, args); });
    entry.error = reduction_error(exact_, found);
    const bool right = *entry.error <= error_bound(cells_.product(), bench_.options.op);
    if (!judge(entry, right ? "" : fmt::format("it is {} and should be {}", found, exact_.value)))
      return entry;
    entry.samples = bench_.sampler.measure({[&] { kernel.launch(args, bench_.stream); }}, probes);
    return entry;
  }

 private:
  // Returns poison if the kernel writes nothing.
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
  Field<T> a_, b_;
  const ExactReduction exact_;
};

// The fused reduction, in the stencil kernel that a run combines with it by default.
template <class T>
BenchEntry fused_norm_entry(const Bench& bench, Int3 cells, CopyProbes probes) {
  if (bench.options.op == ReductionOp::sum)
    return new_entry<T>("fused", cells, "no sweep returns a plain sum");
  Config config;
  config.grid.cells = cells;
  config.grid.spacing = Vector3{1, 1, 1};
  config.problem.steps = 1;
  config.solver.reduction = "fused";
  const SweepChoice<T> sweep = choose_kernels<T>(config, bench.device.backend()).sweep;
  return SweepBench<T>(bench, cells, 1, bench.options.op).measure_norm(*sweep.kernel, sweep.tile, probes);
}

template <class T>
std::vector<BenchEntry> reduction_ladder(const Bench& bench, Int3 cells) {
  const std::size_t bytes = allocated_bytes<T>(bench, cells);
  const auto copy = make_copy_probe(bench.device, bytes);
  const auto probes_of_device = bandwidth_registry<T>(bench.device.backend());
  const auto read =
      std::ranges::find(probes_of_device, "read", &BandwidthEntry<T>::name)->make(bench.device, bytes, 0);
  const CopyProbes probes{copy.get(), read.get()};
  std::vector<BenchEntry> entries;
  std::optional<ReductionBench<T>> fields;
  for (const ReductionKernel<T>* kernel : chosen_kernels(reduction_kernels<T>(), bench)) {
    if (!kernel->available()) {
      entries.push_back(new_entry<T>(kernel->name, cells, "not in this build"));
    } else if (kernel->fused) {
      fields.reset();  // the fused one allocates its own fields
      entries.push_back(fused_norm_entry<T>(bench, cells, probes));
    } else {
      if (!fields) fields.emplace(bench, cells);
      entries.push_back(fields->measure(*kernel, probes));
    }
  }
  return entries;
}

BenchMemory reduction_memory(const Bench& bench, Int3 cells, Precision precision) {
  const double field = field_bytes(cells, 1, precision);
  constexpr double arrays = 2 + 2 + 2;  // a, b or in, out; two of the copy; two of the read, which reads one
  // On the host the fused kernel also needs the expected result.
  return bench.on_host() ? BenchMemory{0, (arrays + 1) * field} : BenchMemory{arrays * field, 2 * field};
}

template <class T>
std::vector<BenchEntry> bandwidth_ladder(const Bench& bench, Int3 cells) {
  const std::size_t bytes = static_cast<std::size_t>(cells.product()) * sizeof(T);
  const auto copy = make_copy_probe(bench.device, bytes);
  std::vector<BenchEntry> entries;
  for (const BandwidthEntry<T>& kernel : bandwidth_registry<T>(bench.device.backend())) {
    if (!is_wanted(kernel.name, bench.options)) continue;
    const auto probe = kernel.make(bench.device, bytes, kernel.step);
    BenchEntry& entry = entries.emplace_back(new_entry<T>(kernel.name, cells));
    entry.bytes = probe->bytes();
    const auto prepare = [&] { probe->prepare(); };
    const auto launch = [&] { probe->enqueue(bench.stream); };
    prepare();
    launch();
    bench.device.synchronize(bench.stream);
    if (judge(entry, probe->right() ? "" : "the data received differs from the data sent"))
      entry.samples = bench.sampler.measure({.launch = launch, .single = kernel.single, .prepare = prepare},
                                            {copy.get(), nullptr});
  }
  return entries;
}

BenchMemory bandwidth_memory(const Bench& bench, Int3 cells, Precision precision) {
  const double array = field_bytes(cells, 0, precision);
  constexpr double pairs = 2;  // the kernel's and the copy bandwidth's
  // On a GPU, the host arrays of a transfer, and the data that it returned.
  return bench.on_host() ? BenchMemory{0, 2 * pairs * array} : BenchMemory{2 * pairs * array, 3 * array};
}

// Evaluates a formula as for boundary values and sources, on a unit cube: at the points of a grid, or of a
// face if the grid has one plane, at the times of four sweeps.
constexpr std::array formula_times{0.0, 0.5, 1.0, 1.5};  // s

template <class T>
std::vector<BenchEntry> formula_ladder(const Bench& bench, Int3 n) {
  const Expression formula(bench.options.formula, "xyzt");
  std::array<FormulaAxis, 3> axes;
  for (int a = 0; a < 3; ++a) {
    axes[a].variable = a;
    for (Index i = 0; i < n[a]; ++i) axes[a].at.push_back((i + 0.5) / n[a]);
  }
  FormulaValues<T> at_points(bench.device, formula, axes, 1, -std::numeric_limits<double>::infinity(),
                             n.z == 1);
  const Index cells = n.product(), points = std::ssize(formula_times) * cells;
  const std::size_t bytes = static_cast<std::size_t>(points) * sizeof(T);
  const Buffer values(bench.device, bytes), found(bench.host, bytes);
  const auto launch = [&] {
    at_points.evaluate({{0, 0, 0}, n}, formula_times, {values.as<T>(), n.x, n.x * n.y, cells}, bench.stream);
  };
  launch();
  bench.device.copy(found.data(), values.data(), bytes, bench.stream);
  bench.device.synchronize(bench.stream);
  BenchEntry entry = new_entry<T>("evaluate", n);
  entry.points = static_cast<double>(points);
  entry.bytes = static_cast<double>(bytes);
  std::string wrong;
  for (Index i = 0; i < points && wrong.empty(); i += ceil_div(points, 10000)) {
    const Index cell = i % cells, x = cell % n.x, y = cell / n.x % n.y, z = cell / n.x / n.y;
    const T value =
        static_cast<T>(formula(axes[0].at[x], axes[1].at[y], axes[2].at[z], formula_times[i / cells]));
    const T there = found.as<T>()[i];
    if (!std::isfinite(value))
      wrong = fmt::format("it is {} at ({}, {}, {})", value, x, y, z);
    else if (there != value)
      wrong = fmt::format("{} at ({}, {}, {}), not {}", there, x, y, z, value);
  }
  if (judge(entry, wrong)) {
    const auto copy = make_copy_probe(bench.device, bytes);
    entry.samples = bench.sampler.measure({launch}, {copy.get(), nullptr});
  }
  return {entry};
}

void validate_formula(const Bench& bench, const std::vector<Int3>&) {
  try {
    Expression(bench.options.formula, "xyzt");
  } catch (const FormulaError& e) {
    throw error_of(ExitCode::command_line, "bench: --formula: {} at character {} of {}", e.problem,
                   e.position + 1, in_quotes(bench.options.formula));
  }
}

BenchMemory formula_memory(const Bench& bench, Int3 cells, Precision precision) {
  const double values = static_cast<double>(formula_times.size()) * field_bytes(cells, 0, precision),
               parts = most_parts * field_bytes(cells, 0, Precision::fp64), arrays = 3;  // and a copy's pair
  return bench.on_host() ? BenchMemory{0, (arrays + 1) * values + parts}
                         : BenchMemory{arrays * values + parts, values};
}

template <auto fp32_ladder, auto fp64_ladder>
std::vector<Json> measure(const Bench& bench, Int3 cells, Precision precision) {
  return all_or_throw(bench.world, [&] {
    return ladder_json((precision == Precision::fp32 ? fp32_ladder : fp64_ladder)(bench, cells));
  });
}

}  // namespace

const Subject stencil_subject{[](Backend backend) { return names_of(stencil_kernels<double>(), backend); },
                              stencil_memory, measure<stencil_ladder<float>, stencil_ladder<double>>,
                              validate_time_blocks};

const Subject reduction_subject{
    [](Backend backend) { return names_of(reduction_kernels<double>(), backend); }, reduction_memory,
    measure<reduction_ladder<float>, reduction_ladder<double>>};

const Subject bandwidth_subject{
    [](Backend backend) { return names_of(bandwidth_registry<double>(backend), backend); }, bandwidth_memory,
    measure<bandwidth_ladder<float>, bandwidth_ladder<double>>};

const Subject formula_subject{[](Backend) { return std::vector<std::string_view>{"evaluate"}; },
                              formula_memory, measure<formula_ladder<float>, formula_ladder<double>>,
                              validate_formula};

}  // namespace isotherm
