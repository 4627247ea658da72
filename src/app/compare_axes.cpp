#include "app/compare_axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "app/plan.hpp"
#include "app/session.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {
namespace {

using Values = std::vector<AxisValue>;

Values kernels(const Config&, const CompareSetting& setting, bool) {
  Values values;
  for (const std::string& name : setting.kernels)
    values.push_back({name, [name](Config& config) { config.solver.kernel = name; }});
  return values;
}

// Of all kernels; which has which is a matter of legality.
Values policies(const Config&, const CompareSetting& setting, bool) {
  std::vector<std::string_view> names;
  for (const StencilKernel<double>& row : stencil_kernels<double>()) {
    if (std::ranges::find(setting.kernels, row.name) == setting.kernels.end()) continue;
    for (const std::string_view policy : row.policies)
      if (std::ranges::find(names, policy) == names.end()) names.push_back(policy);
  }
  Values values;
  for (const std::string_view name : names)
    values.push_back({std::string(name), [name](Config& config) { config.solver.tile = name; }});
  return values;
}

Values reductions(const Config&, const CompareSetting& setting, bool asked) {
  Values values;
  for (const ReductionKernel<double>& row : reduction_kernels<double>()) {
    if (row.backend != setting.backend || !row.available() || !(row.on_trial || asked)) continue;
    values.push_back({std::string(row.name), [&row](Config& config) { config.solver.reduction = row.name; }});
  }
  return values;
}

Values transports(const Config&, const CompareSetting& setting, bool) {
  Values values;
  if (setting.ranks == 1) return values;
  for (const std::string& name : setting.transports)
    values.push_back({name, [name](Config& config) { config.parallel.transport = name; }});
  return values;
}

Values overlaps_of(const Config&, const CompareSetting& setting, bool) {
  Values values;
  if (setting.ranks == 1) return values;
  const auto add = [&](const char* word, Overlap overlap) {
    values.push_back({word, [overlap](Config& config) { config.parallel.overlap = overlap; }});
  };
  add("false", Overlap::off);
  add("true", Overlap::on);
  if (setting.backend != Backend::host) add("in_kernel", Overlap::in_kernel);
  return values;
}

Values depths(const Config&, const CompareSetting& setting, bool) {
  Values values;
  for (int depth = 1; depth <= setting.deepest; ++depth)
    values.push_back(
        {fmt::format("{}", depth), [depth](Config& config) { config.solver.halo_width = depth; }});
  return values;
}

// The cheapest by estimate first: it is what a run would take.
Values process_grids_of(const Config& config, const CompareSetting& setting, bool) {
  const Decomposition cheapest = decompose(config, setting.ranks, setting.backend);
  std::vector<Int3> grids = process_grids(
      setting.ranks,
      Decomposition::most_parts(config.grid.cells, cheapest.periodic(), halo_depth(config), setting.ranks));
  std::ranges::stable_partition(grids, [&](Int3 grid) { return grid == cheapest.process_grid(); });
  Values values;
  for (const Int3 grid : grids)
    values.push_back({fmt::format("[{},{},{}]", grid.x, grid.y, grid.z),
                      [grid](Config& each) { each.parallel.process_grid = grid; }});
  return values;
}

Values graphs(const Config&, const CompareSetting& setting, bool) {
  if (!setting.graphs) return {};
  return {{"false", [](Config& config) { config.solver.cuda_graph = GraphChoice::off; }},
          {"true", [](Config& config) { config.solver.cuda_graph = GraphChoice::on; }}};
}

// Where they are too many together, the later make way for the earlier.
constexpr CompareAxis axes_table[] = {
    {"kernel", "solver.kernel", [](const Config& c) { return c.solver.kernel != "auto"; },
     [](Config& c) { c.solver.kernel = "auto"; }, kernels},
    {"policy", "solver.tile", [](const Config& c) { return c.solver.tile != "auto"; },
     [](Config& c) { c.solver.tile = "auto"; }, policies, false},
    {"transport", "parallel.transport", [](const Config& c) { return c.parallel.transport != "auto"; },
     [](Config& c) { c.parallel.transport = "auto"; }, transports},
    {"overlap", "parallel.overlap", [](const Config& c) { return c.parallel.overlap != Overlap::automatic; },
     [](Config& c) { c.parallel.overlap = Overlap::automatic; }, overlaps_of},
    {"depth", "solver.halo_width", [](const Config& c) { return c.solver.halo_width.has_value(); },
     [](Config& c) { c.solver.halo_width.reset(); }, depths},
    {"process_grid", "parallel.process_grid",
     [](const Config& c) { return c.parallel.process_grid.has_value(); },
     [](Config& c) { c.parallel.process_grid.reset(); }, process_grids_of},
    {"graph", "solver.cuda_graph",
     [](const Config& c) { return c.solver.cuda_graph != GraphChoice::automatic; },
     [](Config& c) { c.solver.cuda_graph = GraphChoice::automatic; }, graphs},
    {"reduction", "solver.reduction", [](const Config& c) { return c.solver.reduction != "auto"; },
     [](Config& c) { c.solver.reduction = "auto"; }, reductions},
};

// Why sweeps of this config cannot store their faces, as far as words tell.
std::string why_no_stores(const Config& config) {
  if (config.parallel.overlap != Overlap::in_kernel) return "";
  if (config.solver.halo_width && *config.solver.halo_width != 1) return "in_kernel has depth 1";
  const std::string& transport = config.parallel.transport;
  if (transport != "auto" && transport != "peer") return "in_kernel needs transport peer";
  for (const StencilKernel<double>& row : stencil_kernels<double>())
    if (row.name == config.solver.kernel && row.stores_faces == nullptr) return "the kernel stores no faces";
  return "";
}

struct OpenAxis {
  const CompareAxis* axis;
  Values values;
};

// All legal combinations, but no more than `most`. What is illegal with an axis still open stays so, whatever
// the axis says.
void extend(const Combination& begun, std::span<const OpenAxis> axes, const CompareSetting& setting,
            std::size_t most, std::vector<Combination>& all) {
  if (all.size() >= most) return;
  if (axes.empty()) return all.push_back(begun);
  for (const AxisValue& value : axes.front().values) {
    Combination next = begun;
    next.words.push_back(value.word);
    value.apply(next.config);
    if (why_not_combined(next.config, setting).empty()) extend(next, axes.subspan(1), setting, most, all);
  }
}

std::vector<Combination> combine(const Config& config, const std::vector<OpenAxis>& axes,
                                 const CompareSetting& setting, int limit) {
  std::vector<Combination> all;
  extend({{}, config}, axes, setting, static_cast<std::size_t>(limit) + 1, all);
  return all;
}

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ExitCode::command_line, "compare: " + problem);
}

[[noreturn]] void refuse_many(const std::vector<OpenAxis>& axes, int limit) {
  std::vector<std::string> sizes;
  for (const OpenAxis& open : axes)
    sizes.push_back(fmt::format("{} ({})", open.axis->name, open.values.size()));
  refuse(
      fmt::format("{} have more than {} legal combinations; name fewer with --axes, give one a value such as "
                  "{}={}, or raise --limit",
                  fmt::join(sizes, " x "), limit, axes.back().axis->key, axes.back().values.front().word));
}

bool holds(const std::vector<const CompareAxis*>& axes, const CompareAxis& axis) {
  return std::ranges::find(axes, &axis) != axes.end();
}

// Those that vary, in the order of the table.
std::vector<OpenAxis> open_axes(const Config& config, const CompareSetting& setting,
                                const std::vector<const CompareAxis*>& asked) {
  std::vector<OpenAxis> open;
  for (const CompareAxis& axis : axes_table) {
    const bool named = holds(asked, axis);
    if (asked.empty() ? !axis.unasked || axis.is_pinned(config) : !named) continue;
    OpenAxis candidate{&axis, axis.values(config, setting, named)};
    if (candidate.values.size() > 1) open.push_back(std::move(candidate));
  }
  return open;
}

}  // namespace

std::vector<const CompareAxis*> parse_axes(const std::string& text) {
  std::vector<const CompareAxis*> axes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, end - at);
    const auto row = std::ranges::find(axes_table, name, &CompareAxis::name);
    if (row == std::end(axes_table)) {
      std::vector<std::string_view> names;
      for (const CompareAxis& axis : axes_table) names.push_back(axis.name);
      refuse(fmt::format("--axes: there is no axis {}; use some of {}", in_quotes(name),
                         fmt::join(names, ", ")));
    }
    if (!holds(axes, *row)) axes.push_back(row);
    at = end + 1;
  }
  return axes;
}

Config with_open(Config config, const std::vector<const CompareAxis*>& axes) {
  for (const CompareAxis* axis : axes) axis->open(config);
  return config;
}

std::string why_not_combined(const Config& config, const CompareSetting& setting) {
  if (const std::string why = why_no_stores(config); !why.empty()) return why;
  try {
    refuse_on(config, setting.ranks, setting.backend);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string combination_name(const std::vector<const CompareAxis*>& axes,
                             const std::vector<std::string>& words) {
  std::string name;
  for (std::size_t i = 0; i < words.size(); ++i)
    name += fmt::format("{}{}={}", i ? " " : "", axes[i]->name, words[i]);
  return name.empty() ? "the deck" : name;
}

ComparePlan plan_comparison(const Config& config, const CompareSetting& setting,
                            const std::vector<const CompareAxis*>& asked, int limit) {
  const std::vector<OpenAxis> open = open_axes(config, setting, asked);
  const auto most = static_cast<std::size_t>(limit);
  ComparePlan plan;
  std::vector<OpenAxis> taken;
  if (!asked.empty()) {
    taken = open;
    plan.combinations = combine(config, taken, setting, limit);
    if (plan.combinations.size() > most) refuse_many(taken, limit);
  } else {
    plan.combinations = combine(config, taken, setting, limit);
    for (const OpenAxis& next : open) {
      taken.push_back(next);
      std::vector<Combination> more = combine(config, taken, setting, limit);
      if (more.size() <= most) {
        plan.combinations = std::move(more);
      } else {
        plan.left.push_back(next.axis);
        taken.pop_back();
      }
    }
  }
  if (plan.combinations.empty())
    refuse(
        "no combination of these axes is legal here (policies need the axis kernel, or solver.kernel); name "
        "others "
        "with --axes");
  for (const OpenAxis& each : taken) plan.axes.push_back(each.axis);
  return plan;
}

}  // namespace isotherm
