#include "app/bench/stencil.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "halo/messages.hpp"
#include "kernels/face_copy.hpp"
#include "solver/kernel_choice.hpp"

namespace isotherm {
namespace {

// They sum to 1, so that temperatures stay where they are however often the block is swept; no two are alike.
template <class T>
constexpr Coefficients<T> coefficients{T(0.24), T(0.11), T(0.13), T(0.14), T(1)};

// Held temperatures in x, a flux in y, convection in z.
template <class T>
Boundaries<T> six_boundaries() {
  const Boundary<T> held{true, T(-1), T(600)}, flux{true, T(1), T(0.25)}, convection{true, T(0.6), T(120)};
  return {{held, held, flux, flux, convection, convection}};
}

// Of a block between other ranks' on all sides, what is swept beside the exchange.
template <class T>
Box interior_between_ranks(const StencilKernel<T>& kernel, Box subdomain, int time_block, int tile) {
  std::array<bool, face_count> remote;
  remote.fill(true);
  return interior_of(kernel, subdomain, interior_box(subdomain.hi, subdomain, remote, time_block),
                     {time_block, tile});
}

}  // namespace

template <class T>
SweepBench<T>::SweepBench(const Bench& bench, Int3 cells, int time_block, std::optional<ReductionOp> norm)
    : bench_(bench),
      cells_(cells),
      time_block_(time_block),
      norm_(norm),
      boundaries_(bench.options.boundaries ? six_boundaries<T>() : Boundaries<T>{}),
      in_(bench.device, cells, time_block),
      out_(bench.device, cells, time_block),
      expected_(bench.host, cells, time_block) {
  const FaceCopy<T>& on_device = face_copy<T>(bench.device.backend());
  const FaceCopy<T>& on_host = face_copy<T>(Backend::host);
  for (Field<T>* field : {&in_, &out_}) on_device.fill(field->view(), T(0), bench.stream);
  on_host.fill(expected_.view(), T(0), {});
  if (!bench.on_host()) on_host.fill(mirror_.emplace(bench.host, cells, time_block).view(), T(0), {});

  std::optional<Field<T>> source;  // in host memory
  if (bench.options.source) {
    on_host.fill(source.emplace(bench.host, cells, time_block).view(), T(0), {});
    fill_random(source->view(), bench.options.seed + 1, T(-0.01), T(0.01));
  }
  Field<T>& start = mirror_ ? *mirror_ : in_;
  start_anew(in_);
  const FieldView<const T> none;
  sweep_reference(start, expected_, source ? std::as_const(*source).view() : none, coefficients<T>,
                  boundaries_, time_block);
  if (norm) {
    expected_norm_ = reduce_exactly<T>(std::as_const(expected_).view(), std::as_const(start).view(),
                                       start.view().interior(), *norm);
  }
  if (source && bench.on_host()) {
    source_ = std::move(source);
  } else if (source) {
    source_.emplace(bench.device, cells, time_block);
    bench.device.copy(source_->data(), source->data(), source->bytes(), bench.stream);
    bench.device.synchronize(bench.stream);
  }
}

template <class T>
void SweepBench<T>::start_anew(Field<T>& field) {
  fill_random((mirror_ ? *mirror_ : field).view(), bench_.options.seed, T(250), T(350));
  if (!mirror_) return;
  bench_.device.copy(field.data(), mirror_->data(), field.bytes(), bench_.stream);
  bench_.device.synchronize(bench_.stream);
}

template <class T>
SweepArgs<T> SweepBench<T>::args(Field<T>& in, Field<T>& out, const UpdateNorm& norm) {
  const FieldView<const T> none;
  return {std::as_const(in).view(),
          out.view(),
          in.view().interior(),
          coefficients<T>,
          boundaries_,
          source_ ? std::as_const(*source_).view() : none,
          norm};
}

// What a subdomain with boundaries needs for the kernel is part of its cost.
template <class T>
void SweepBench<T>::queue(const StencilKernel<T>& kernel, int tile, SweepArgs<T> args) {
  if (bench_.options.boundaries) {
    const FieldView<T> ghosts{const_cast<T*>(args.in.origin), args.in.pitch_y, args.in.pitch_z,
                              args.in.extent, args.in.ghosts};
    face_copy<T>(kernel.backend)
        .fill_boundaries(ghosts, boundaries_in_ghosts(kernel, boundaries_), ghosts.interior(), bench_.stream);
  }
  if (!bench_.options.overlap) return kernel.launch(args, {time_block_, tile}, bench_.stream);
  const Box interior = interior_between_ranks(kernel, args.region, time_block_, tile);
  if (!interior.empty()) {
    SweepArgs<T> first = args;
    first.region = interior;
    kernel.launch(first, {time_block_, tile}, bench_.stream);
    args.norm.accumulate = true;
  }
  launch_exterior(kernel, args, interior, {time_block_, tile}, bench_.stream);
}

template <class T>
void SweepBench<T>::queue_next(const StencilKernel<T>& kernel, int tile, const UpdateNorm& norm) {
  const bool forth = std::exchange(forth_, !forth_);
  queue(kernel, tile, forth ? args(in_, out_, norm) : args(out_, in_, norm));
}

template <class T>
typename SweepBench<T>::First SweepBench<T>::first_sweep(const StencilKernel<T>& kernel, int tile,
                                                         const UpdateNorm& norm) {
  start_anew(in_);
  face_copy<T>(kernel.backend).fill(out_.view(), poison<T>, bench_.stream);
  First found{"", poison<double>};
  if (norm.result) bench_.device.copy(norm.result, &found.norm, sizeof(double), bench_.stream);
  queue(kernel, tile, args(in_, out_, norm));
  if (mirror_) bench_.device.copy(mirror_->data(), out_.data(), out_.bytes(), bench_.stream);
  if (norm.result) bench_.device.copy(&found.norm, norm.result, sizeof(double), bench_.stream);
  bench_.device.synchronize(bench_.stream);

  found.wrong = difference(std::as_const(expected_).view(), std::as_const(mirror_ ? *mirror_ : out_).view());
  if (!found.wrong.empty() || !norm.result) return found;
  if (!(reduction_error(expected_norm_, found.norm) <= error_bound(cells_.product(), norm.op)))
    found.wrong = fmt::format("the norm is {} and should be {}", found.norm, expected_norm_.value);
  return found;
}

template <class T>
typename SweepBench<T>::NormMemory SweepBench<T>::norm_memory(const StencilKernel<T>& kernel, int tile) {
  NormMemory memory;
  if (!norm_) return memory;
  memory.result = Buffer(bench_.device, sizeof(double));
  const Box subdomain = in_.view().interior();
  const Box interior = interior_between_ranks(kernel, subdomain, time_block_, tile);
  memory.scratch =
      Buffer(bench_.device, std::max(kernel.norm_scratch_bytes(subdomain, tile),
                                     split_scratch_bytes(kernel, subdomain, interior, {time_block_, tile})));
  memory.norm = {*norm_, memory.result.template as<double>(), memory.scratch.data(), false};
  return memory;
}

template <class T>
BenchEntry SweepBench<T>::measure(const StencilKernel<T>& kernel, int tile, CopyProbes probes) {
  const double cells = static_cast<double>(cells_.product());
  BenchEntry entry = new_entry<T>(kernel.name, cells_);
  entry.tile = kernel.tiles[tile];
  entry.time_block = time_block_;
  entry.points = cells * time_block_;
  entry.bytes = cells * least_bytes_per_cell<T>(bench_.options.source);

  const NormMemory memory = norm_memory(kernel, tile);
  entry.note = first_sweep(kernel, tile, memory.norm).wrong;
  entry.verdict = entry.note.empty() ? BenchVerdict::right : BenchVerdict::wrong;
  if (entry.verdict == BenchVerdict::wrong) return entry;

  start_anew(in_);  // both: what is swept next must not be poison
  start_anew(out_);
  entry.samples = bench_.sampler.measure([&] { queue_next(kernel, tile, memory.norm); }, probes);
  return entry;
}

template <class T>
BenchEntry SweepBench<T>::measure_norm(const StencilKernel<T>& kernel, int tile, CopyProbes probes) {
  BenchEntry entry = new_entry<T>("fused", cells_);
  entry.points = static_cast<double>(cells_.product());
  entry.bytes = 2.0 * entry.points * sizeof(T);  // of the pass that it saves

  const NormMemory memory = norm_memory(kernel, tile);
  const First first = first_sweep(kernel, tile, memory.norm);
  entry.error = reduction_error(expected_norm_, first.norm);
  entry.same_bits = repeats(first.norm, [&] { return first_sweep(kernel, tile, memory.norm).norm; });
  entry.note = first.wrong;
  entry.verdict = first.wrong.empty() ? BenchVerdict::right : BenchVerdict::wrong;
  if (entry.verdict == BenchVerdict::wrong) return entry;

  start_anew(in_);
  start_anew(out_);
  entry.samples = bench_.sampler.measure_difference([&] { queue_next(kernel, tile, memory.norm); },
                                                    [&] { queue_next(kernel, tile, {}); }, probes);
  const Quantiles added = quantiles(entry.samples.seconds), without = quantiles(entry.samples.base_seconds);
  const std::string_view way = kernel.tiles[tile];
  entry.note = fmt::format("what it adds to a sweep of {}{}, {} without: {} to {} in p10 to p90", kernel.name,
                           way == "-" ? "" : fmt::format(" {}", way), signed_duration(without.median),
                           signed_duration(added.p10), signed_duration(added.p90));
  return entry;
}

template class SweepBench<float>;
template class SweepBench<double>;

namespace {

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
  return options.time_blocks.empty() || std::find(options.time_blocks.begin(), options.time_blocks.end(),
                                                  time_block) != options.time_blocks.end();
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
std::vector<BenchEntry> ladder(const Bench& bench, Int3 cells) {
  const auto kernels = chosen_kernels(stencil_kernels<T>(), bench);
  const auto copy = make_copy_probe(
      bench.device, static_cast<std::size_t>(
                        FieldLayout::make(cells, 1, sizeof(T), bench.device.row_alignment()).elements) *
                        sizeof(T));
  std::vector<BenchEntry> entries;
  for (int time_block = 1; time_block <= longest<T>(bench); ++time_block) {
    std::optional<SweepBench<T>> fields;
    for (const StencilKernel<T>* kernel : kernels) {
      if (!has_time_block(*kernel, time_block, bench.options)) continue;
      const int tiles = bench.options.all_tiles ? static_cast<int>(kernel->tiles.size()) : 1;
      for (int tile = 0; tile < tiles; ++tile) {
        if (const std::string why = why_skipped(*kernel, tile, cells, bench.options); !why.empty()) {
          BenchEntry& entry = entries.emplace_back(new_entry<T>(kernel->name, cells));
          entry.tile = kernel->tiles[tile];
          entry.time_block = time_block;
          entry.note = why;
          continue;
        }
        if (!fields) fields.emplace(bench, cells, time_block, bench.options.norm);
        entries.push_back(fields->measure(*kernel, tile, {copy.get(), nullptr}));
      }
    }
  }
  return entries;
}

// Rejects a time block that no kernel has: it would be left out without a word.
void validate_time_blocks(const Bench& bench) {
  for (const int time_block : bench.options.time_blocks) {
    bool found = false;
    int most = 1;
    for (const StencilKernel<double>* kernel : chosen_kernels(stencil_kernels<double>(), bench)) {
      found = found || has_time_block(*kernel, time_block, bench.options);
      if (!bench.options.norm || kernel->fuses_norm()) most = std::max(most, kernel->max_time_block);
    }
    if (found) continue;
    throw Error(
        ExitCode::command_line,
        fmt::format("bench: --time-blocks: none of these kernels {} {} sweeps; use time blocks up to {}",
                    bench.options.norm ? "returns the norm of" : "takes", time_block, most));
  }
}

BenchMemory memory(const Bench& bench, Int3 cells, Precision precision) {
  const int ghosts = with_number(precision, [&](auto zero) { return longest<decltype(zero)>(bench); });
  const double field = field_bytes(cells, ghosts, precision);
  const double source = bench.options.source ? 1 : 0;
  if (bench.on_host()) return {0, field * (2 + 1 + 2 + source)};  // in, out; expected; two of the copy
  return {field * (2 + 2 + source), field * (2 + source)};
}

}  // namespace

LadderBench stencil_bench() {
  return {[](Backend backend) { return names_of(stencil_kernels<double>(), backend); }, memory, ladder<float>,
          ladder<double>, validate_time_blocks};
}

}  // namespace isotherm
