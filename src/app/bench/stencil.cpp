#include "app/bench/stencil.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "halo/messages.hpp"
#include "kernels/face_copy.hpp"
#include "solver/rows.hpp"

namespace isotherm {
namespace {

// They sum to 1, so that temperatures stay where they are however often the block is swept; no two are alike.
template <class T>
constexpr Coefficients<T> coefficients{T(0.24), T(0.11), T(0.13), T(0.14)};

// Held temperatures in x, a flux in y, convection in z.
template <class T>
Boundaries<T> six_boundaries() {
  const Boundary<T> held{true, T(-1), T(600)}, flux{true, T(1), T(0.25)}, convection{true, T(0.6), T(120)};
  return {{held, held, flux, flux, convection, convection}};
}

// Of a block between other ranks' on all sides, what is swept beside the exchange.
template <class T>
Box interior_between_ranks(const StencilKernel<T>& row, Box block, int depth, int policy) {
  std::array<bool, face_count> remote;
  remote.fill(true);
  return interior_of(row, block, interior_box(block.hi, block, remote, depth), {depth, policy});
}

}  // namespace

template <class T>
SweepBench<T>::SweepBench(const Bench& bench, Int3 cells, int depth, std::optional<ReductionOp> norm)
    : bench_(bench),
      cells_(cells),
      depth_(depth),
      norm_(norm),
      boundaries_(bench.options.walls ? six_boundaries<T>() : Boundaries<T>{}),
      in_(bench.device, cells, depth),
      out_(bench.device, cells, depth),
      expected_(bench.host, cells, depth) {
  const FaceCopy<T>& on_device = face_copy<T>(bench.device.backend());
  const FaceCopy<T>& on_host = face_copy<T>(Backend::host);
  for (Field<T>* field : {&in_, &out_}) on_device.fill(field->view(), T(0), bench.stream);
  on_host.fill(expected_.view(), T(0), {});
  if (!bench.on_host()) on_host.fill(mirror_.emplace(bench.host, cells, depth).view(), T(0), {});

  std::optional<Field<T>> source;  // in host memory
  if (bench.options.source) {
    on_host.fill(source.emplace(bench.host, cells, depth).view(), T(0), {});
    fill_random(source->view(), bench.options.seed + 1, T(-0.01), T(0.01));
  }
  Field<T>& start = mirror_ ? *mirror_ : in_;
  start_anew(in_);
  const FieldView<const T> none;
  sweep_reference(start, expected_, source ? std::as_const(*source).view() : none, coefficients<T>,
                  boundaries_, depth);
  if (norm) {
    expected_norm_ = reduce_exactly<T>(std::as_const(expected_).view(), std::as_const(start).view(),
                                       start.view().interior(), *norm);
  }
  if (source && bench.on_host()) {
    source_ = std::move(source);
  } else if (source) {
    source_.emplace(bench.device, cells, depth);
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

// What a walled block needs for the row is part of its cost.
template <class T>
void SweepBench<T>::queue(const StencilKernel<T>& row, int policy, SweepArgs<T> args) {
  if (bench_.options.walls) {
    const FieldView<T> ghosts{const_cast<T*>(args.in.origin), args.in.pitch_y, args.in.pitch_z,
                              args.in.extent, args.in.ghosts};
    face_copy<T>(row.backend)
        .fill_boundaries(ghosts, boundaries_in_ghosts(row, boundaries_), ghosts.interior(), bench_.stream);
  }
  if (!bench_.options.overlap) return row.launch(args, {depth_, policy}, bench_.stream);
  const Box interior = interior_between_ranks(row, args.region, depth_, policy);
  if (!interior.empty()) {
    SweepArgs<T> first = args;
    first.region = interior;
    row.launch(first, {depth_, policy}, bench_.stream);
    args.norm.accumulate = true;
  }
  sweep_rest(row, args, interior, {depth_, policy}, bench_.stream);
}

template <class T>
void SweepBench<T>::queue_next(const StencilKernel<T>& row, int policy, const UpdateNorm& norm) {
  const bool forth = std::exchange(forth_, !forth_);
  queue(row, policy, forth ? args(in_, out_, norm) : args(out_, in_, norm));
}

template <class T>
typename SweepBench<T>::First SweepBench<T>::first_sweep(const StencilKernel<T>& row, int policy,
                                                         const UpdateNorm& norm) {
  start_anew(in_);
  face_copy<T>(row.backend).fill(out_.view(), poison<T>, bench_.stream);
  First found{"", poison<double>};
  if (norm.result) bench_.device.copy(norm.result, &found.norm, sizeof(double), bench_.stream);
  queue(row, policy, args(in_, out_, norm));
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
typename SweepBench<T>::NormMemory SweepBench<T>::norm_memory(const StencilKernel<T>& row, int policy) {
  NormMemory memory;
  if (!norm_) return memory;
  memory.result = Buffer(bench_.device, sizeof(double));
  const Box block = in_.view().interior();
  const Box interior = interior_between_ranks(row, block, depth_, policy);
  memory.scratch =
      Buffer(bench_.device, std::max(row.norm_scratch_bytes(block, policy),
                                     parts_scratch_bytes(row, block, interior, {depth_, policy})));
  memory.norm = {*norm_, memory.result.template as<double>(), memory.scratch.data(), false};
  return memory;
}

template <class T>
BenchEntry SweepBench<T>::measure(const StencilKernel<T>& row, int policy, Roofs roofs) {
  const double cells = static_cast<double>(cells_.product());
  BenchEntry entry = new_entry<T>(row.name, cells_);
  entry.policy = row.policies[policy];
  entry.depth = depth_;
  entry.points = cells * depth_;
  entry.bytes = cells * least_bytes_per_cell<T>(bench_.options.source);

  const NormMemory memory = norm_memory(row, policy);
  entry.note = first_sweep(row, policy, memory.norm).wrong;
  entry.verdict = entry.note.empty() ? BenchVerdict::right : BenchVerdict::wrong;
  if (entry.verdict == BenchVerdict::wrong) return entry;

  start_anew(in_);  // both: what is swept next must not be poison
  start_anew(out_);
  entry.samples = bench_.sampler.measure([&] { queue_next(row, policy, memory.norm); }, roofs);
  return entry;
}

template <class T>
BenchEntry SweepBench<T>::measure_norm(const StencilKernel<T>& row, int policy, Roofs roofs) {
  BenchEntry entry = new_entry<T>("fused", cells_);
  entry.points = static_cast<double>(cells_.product());
  entry.bytes = 2.0 * entry.points * sizeof(T);  // of the pass that it saves

  const NormMemory memory = norm_memory(row, policy);
  const First first = first_sweep(row, policy, memory.norm);
  entry.error = reduction_error(expected_norm_, first.norm);
  entry.same_bits = repeats(first.norm, [&] { return first_sweep(row, policy, memory.norm).norm; });
  entry.note = first.wrong;
  entry.verdict = first.wrong.empty() ? BenchVerdict::right : BenchVerdict::wrong;
  if (entry.verdict == BenchVerdict::wrong) return entry;

  start_anew(in_);
  start_anew(out_);
  entry.samples = bench_.sampler.measure_difference([&] { queue_next(row, policy, memory.norm); },
                                                    [&] { queue_next(row, policy, {}); }, roofs);
  const Quantiles added = quantiles(entry.samples.seconds), without = quantiles(entry.samples.base_seconds);
  const std::string_view way = row.policies[policy];
  entry.note = fmt::format("what it adds to a sweep of {}{}, {} without: {} to {} in p10 to p90", row.name,
                           way == "-" ? "" : fmt::format(" {}", way), signed_duration(without.median),
                           signed_duration(added.p10), signed_duration(added.p90));
  return entry;
}

template class SweepBench<float>;
template class SweepBench<double>;

namespace {

// Why a row is not measured; empty where it is.
template <class T>
std::string why_skipped(const StencilKernel<T>& row, int policy, Int3 block, const BenchOptions& options) {
  if (!row.launch) return "not in this build";
  if (std::string why = row.why_unsupported(policy); !why.empty()) return why;
  if (std::string why = why_no_room(row, block); !why.empty()) return why;
  if (options.norm && !row.fuses_norm()) return "returns no norm of its update";
  return {};
}

// The norm of a launch is that of its last sweep.
template <class T>
bool has_depth(const StencilKernel<T>& row, int depth, const BenchOptions& options) {
  if (depth > row.max_depth || (options.norm && depth > 1 && !row.fuses_norm())) return false;
  return options.depths.empty() ||
         std::find(options.depths.begin(), options.depths.end(), depth) != options.depths.end();
}

template <class T>
int deepest(const Bench& bench) {
  int deepest = 1;
  for (const StencilKernel<T>* row : chosen_rows(stencil_kernels<T>(), bench)) {
    for (int depth = 1; depth <= row->max_depth; ++depth)
      if (has_depth(*row, depth, bench.options)) deepest = std::max(deepest, depth);
  }
  return deepest;
}

template <class T>
std::vector<BenchEntry> ladder(const Bench& bench, Int3 cells) {
  const auto rows = chosen_rows(stencil_kernels<T>(), bench);
  const auto copy = make_copy_probe(
      bench.device, static_cast<std::size_t>(
                        FieldLayout::make(cells, 1, sizeof(T), bench.device.row_alignment()).elements) *
                        sizeof(T));
  std::vector<BenchEntry> entries;
  for (int depth = 1; depth <= deepest<T>(bench); ++depth) {
    std::optional<SweepBench<T>> fields;
    for (const StencilKernel<T>* row : rows) {
      if (!has_depth(*row, depth, bench.options)) continue;
      const int policies = bench.options.all_policies ? static_cast<int>(row->policies.size()) : 1;
      for (int policy = 0; policy < policies; ++policy) {
        if (const std::string why = why_skipped(*row, policy, cells, bench.options); !why.empty()) {
          BenchEntry& entry = entries.emplace_back(new_entry<T>(row->name, cells));
          entry.policy = row->policies[policy];
          entry.depth = depth;
          entry.note = why;
          continue;
        }
        if (!fields) fields.emplace(bench, cells, depth, bench.options.norm);
        entries.push_back(fields->measure(*row, policy, {copy.get(), nullptr}));
      }
    }
  }
  return entries;
}

// Refuses a depth that no row has: it would be left out without a word.
void validate_depths(const Bench& bench) {
  for (const int depth : bench.options.depths) {
    bool found = false;
    int most = 1;
    for (const StencilKernel<double>* row : chosen_rows(stencil_kernels<double>(), bench)) {
      found = found || has_depth(*row, depth, bench.options);
      if (!bench.options.norm || row->fuses_norm()) most = std::max(most, row->max_depth);
    }
    if (found) continue;
    throw Error(ExitCode::command_line,
                fmt::format("bench: --depths: none of these rows {} {} sweeps; use depths up to {}",
                            bench.options.norm ? "returns the norm of" : "fuses", depth, most));
  }
}

BenchMemory memory(const Bench& bench, Int3 cells, Precision precision) {
  const int ghosts = with_number(precision, [&](auto zero) { return deepest<decltype(zero)>(bench); });
  const double field = field_bytes(cells, ghosts, precision);
  const double source = bench.options.source ? 1 : 0;
  if (bench.on_host()) return {0, field * (2 + 1 + 2 + source)};  // in, out; expected; two of the copy
  return {field * (2 + 2 + source), field * (2 + source)};
}

}  // namespace

LadderBench stencil_bench() {
  return {[](Backend backend) { return names_of(stencil_kernels<double>(), backend); }, memory, ladder<float>,
          ladder<double>, validate_depths};
}

}  // namespace isotherm
