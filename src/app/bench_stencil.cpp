// `isotherm bench stencil`: every row, policy and depth on a block of random numbers. A row is compared with
// the reference cell by cell before it is timed.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/bench_reference.hpp"
#include "app/bench_subjects.hpp"
#include "core/error.hpp"
#include "grid/field.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {
namespace {

// They sum to 1, so that temperatures stay where they are however often the block is swept; no two are alike.
template <class T>
constexpr Coefficients<T> coefficients{T(0.24), T(0.11), T(0.13), T(0.14)};

// Held temperatures in x, a flux in y, convection in z.
template <class T>
Walls<T> six_walls() {
  const Wall<T> held{true, T(-1), T(600)}, flux{true, T(1), T(0.25)}, convection{true, T(0.6), T(120)};
  return {{held, held, flux, flux, convection, convection}};
}

// The fields of one grid and one depth, and what must come out.
template <class T>
class SweepBench {
 public:
  SweepBench(const Bench& bench, Int3 cells, int depth);
  BenchEntry measure(const StencilKernel<T>& row, int policy, Roofs roofs);

 private:
  void start_anew(Field<T>& field);
  std::string first_sweep_is_wrong(const StencilKernel<T>& row, int policy, const UpdateNorm& norm);
  SweepArgs<T> args(Field<T>& in, Field<T>& out, const UpdateNorm& norm);
  void queue(const StencilKernel<T>& row, int policy, SweepArgs<T> args);

  const Bench& bench_;
  const Int3 cells_;
  const int depth_;
  Walls<T> walls_;
  Field<T> in_, out_;
  std::optional<Field<T>> source_;
  std::optional<Field<T>> mirror_;  // a GPU's field in host memory
  Field<T> expected_;               // in host memory
  ExactReduction expected_norm_;
};

template <class T>
SweepBench<T>::SweepBench(const Bench& bench, Int3 cells, int depth)
    : bench_(bench),
      cells_(cells),
      depth_(depth),
      walls_(bench.options.walls ? six_walls<T>() : Walls<T>{}),
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
  sweep_reference(start, expected_, source ? std::as_const(*source).view() : none, coefficients<T>, walls_,
                  depth);
  if (bench.options.norm) {
    expected_norm_ = reduce_exactly<T>(std::as_const(expected_).view(), std::as_const(start).view(),
                                       start.view().interior(), *bench.options.norm);
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
          walls_,
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
        .fill_walls(ghosts, walls_in_ghosts(row, walls_), ghosts.interior(), bench_.stream);
  }
  row.launch(args, {depth_, policy}, bench_.stream);
}

// Empty, or what is wrong.
template <class T>
std::string SweepBench<T>::first_sweep_is_wrong(const StencilKernel<T>& row, int policy,
                                                const UpdateNorm& norm) {
  start_anew(in_);
  face_copy<T>(row.backend).fill(out_.view(), poison<T>, bench_.stream);
  queue(row, policy, args(in_, out_, norm));
  if (mirror_) bench_.device.copy(mirror_->data(), out_.data(), out_.bytes(), bench_.stream);
  double found_norm = poison<double>;
  if (norm.result) bench_.device.copy(&found_norm, norm.result, sizeof(double), bench_.stream);
  bench_.device.synchronize(bench_.stream);

  const Field<T>& found = mirror_ ? *mirror_ : out_;
  const std::string wrong = difference(std::as_const(expected_).view(), found.view());
  if (!wrong.empty() || !norm.result) return wrong;
  const double error = reduction_error(expected_norm_, found_norm);
  if (error <= error_bound(cells_.product(), norm.op)) return {};
  return fmt::format("the norm is {} and should be {}", found_norm, expected_norm_.value);
}

template <class T>
BenchEntry SweepBench<T>::measure(const StencilKernel<T>& row, int policy, Roofs roofs) {
  const double cells = static_cast<double>(cells_.product());
  BenchEntry entry = new_entry<T>(row.name, cells_);
  entry.policy = row.policies[static_cast<std::size_t>(policy)];
  entry.depth = depth_;
  entry.points = cells * depth_;
  entry.bytes = cells * least_bytes_per_cell<T>(bench_.options.source);

  UpdateNorm norm;
  Buffer result, scratch;
  if (bench_.options.norm) {
    result = Buffer(bench_.device, sizeof(double));
    scratch = Buffer(bench_.device, row.norm_scratch_bytes(in_.view().interior(), policy));
    norm = {*bench_.options.norm, result.as<double>(), scratch.data(), false};
  }
  entry.note = first_sweep_is_wrong(row, policy, norm);
  entry.verdict = entry.note.empty() ? BenchVerdict::right : BenchVerdict::wrong;
  if (entry.verdict == BenchVerdict::wrong) return entry;

  start_anew(in_);  // both: what is swept next must not be poison
  start_anew(out_);
  const SweepArgs<T> there = args(in_, out_, norm), back = args(out_, in_, norm);
  bool forth = true;
  entry.samples =
      bench_.sampler.measure([&] { queue(row, policy, std::exchange(forth, !forth) ? there : back); }, roofs);
  return entry;
}

// Why a row is not measured; empty where it is.
template <class T>
std::string why_skipped(const StencilKernel<T>& row, int policy, const BenchOptions& options) {
  if (!row.launch) return "not in this build";
  if (std::string why = row.why_unsupported(policy); !why.empty()) return why;
  if (options.norm && !row.fuses_norm()) return "returns no norm of its update";
  return {};
}

// A fused norm belongs to one sweep.
template <class T>
bool has_depth(const StencilKernel<T>& row, int depth, const BenchOptions& options) {
  if (depth > row.max_depth || (options.norm && depth > 1)) return false;
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
      bench.device, static_cast<std::size_t>(FieldLayout::make(cells, 1, sizeof(T)).elements) * sizeof(T));
  std::vector<BenchEntry> entries;
  for (int depth = 1; depth <= deepest<T>(bench); ++depth) {
    std::optional<SweepBench<T>> fields;
    for (const StencilKernel<T>* row : rows) {
      if (!has_depth(*row, depth, bench.options)) continue;
      const int policies = bench.options.all_policies ? static_cast<int>(row->policies.size()) : 1;
      for (int policy = 0; policy < policies; ++policy) {
        if (const std::string why = why_skipped(*row, policy, bench.options); !why.empty()) {
          BenchEntry& entry = entries.emplace_back(new_entry<T>(row->name, cells));
          entry.policy = row->policies[static_cast<std::size_t>(policy)];
          entry.depth = depth;
          entry.note = why;
          continue;
        }
        if (!fields) fields.emplace(bench, cells, depth);
        entries.push_back(fields->measure(*row, policy, {copy.get(), nullptr}));
      }
    }
  }
  return entries;
}

}  // namespace

// A depth that nobody has would be left out, and pass for measured.
void refuse_stencil_depths(const Bench& bench) {
  for (const int depth : bench.options.depths) {
    bool found = false;
    int most = 1;
    for (const StencilKernel<double>* row : chosen_rows(stencil_kernels<double>(), bench)) {
      found = found || has_depth(*row, depth, bench.options);
      if (!bench.options.norm) most = std::max(most, row->max_depth);
    }
    if (found) continue;
    throw Error(ExitCode::command_line,
                fmt::format("bench: --depths: none of these rows {} {} sweeps; use depths up to {}",
                            bench.options.norm ? "returns the norm of" : "fuses", depth, most));
  }
}

BenchMemory stencil_memory(const Bench& bench, Int3 cells, Precision precision) {
  const int ghosts = with_number(precision, [&](auto zero) { return deepest<decltype(zero)>(bench); });
  const double field = field_bytes(cells, ghosts, precision);
  const double source = bench.options.source ? 1 : 0;
  if (bench.on_host()) return {0, field * (2 + 1 + 2 + source)};  // in, out; expected; two of the copy
  return {field * (2 + 2 + source), field * (2 + source)};
}

std::vector<BenchEntry> stencil_ladder(const Bench& bench, Int3 cells, Precision precision) {
  return with_number(precision, [&](auto zero) { return ladder<decltype(zero)>(bench, cells); });
}

std::vector<std::string_view> stencil_names(Backend backend) {
  std::vector<std::string_view> names;
  for (const auto& row : stencil_kernels<double>())
    if (row.backend == backend) names.push_back(row.name);
  return names;
}

}  // namespace isotherm
