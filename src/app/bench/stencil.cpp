// `isotherm bench stencil`: every row, policy and depth on a block of random numbers. A row is compared with
// the reference cell by cell before it is timed.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/bench/bench.hpp"
#include "app/bench/sweep_bench.hpp"
#include "core/error.hpp"
#include "grid/field.hpp"
#include "kernels/stencil.hpp"
#include "solver/rows.hpp"

namespace isotherm {
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
          entry.policy = row->policies[static_cast<std::size_t>(policy)];
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

// A depth that nobody has would be left out, and pass for measured.
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
  return {[](Backend backend) { return names_of(stencil_kernels<double>(), backend); }, memory,
          [](const Bench& bench, Int3 cells, Precision precision) {
            return with_number(precision, [&](auto zero) { return ladder<decltype(zero)>(bench, cells); });
          },
          validate_depths};
}

}  // namespace isotherm
