#include "study/columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/text.hpp"

namespace isotherm {
namespace {

// clang-format off
const std::vector<Column> table{
    {"sweeps", "performance.sweeps"},
    {"step_s", "performance.step_s"},
    {"points_per_s", "performance.points_per_s"},
    {"effective_bandwidth_bytes_per_s", "performance.effective_bandwidth_bytes_per_s"},
    {"copy_bandwidth_share_percent", "performance.copy_bandwidth_share_percent"},
    {"halo_fraction_percent", "performance.halo_fraction_percent"},
    {"halo_hidden_percent", "halo.hidden_percent"},
    {"residual_K", "residual.last_K"},
    {"convergence", "residual.convergence"},
    {"max_error_K", "verification.max_error_K"},
    {"l2_error_K", "verification.l2_error_K"},
    {"verdict", "verification.verdict"},
    {"min_K", ""}, {"max_K", ""}, {"mean_K", ""}, {"heat_J", ""}, {"rate_W", ""},
    {"wall_x_min_W", ""}, {"wall_x_max_W", ""}, {"wall_y_min_W", ""}, {"wall_y_max_W", ""},
    {"wall_z_min_W", ""}, {"wall_z_max_W", ""}, {"source_W", ""}, {"balance_W", ""},
    {"time_s", "time_s"},
    {"wall_s", "phases_s.total.max"},
    {"host_peak_bytes", "memory.host_peak_bytes"},
    {"kernel", "method.kernel"},
    {"policy", "method.policy"},
    {"reduction", "method.reduction"},
    {"transport", "method.transport"},
    {"fingerprint", "fingerprint"},
    {"message", "message"},
};
// clang-format on

}  // namespace

const std::vector<Column>& run_columns() {
  return table;
}

const std::vector<const char*>& scaling_columns() {
  static const std::vector<const char*> names{"cells", "speedup", "efficiency_percent", "scaling_base"};
  return names;
}

void check_columns(const StudyConfig& study, const std::vector<std::string>& varied, Problems& problems) {
  std::vector<std::string_view> known{"name", "ranks", "state", "exit_code"};
  known.insert(known.end(), varied.begin(), varied.end());
  for (const Column& column : table) known.push_back(column.name);
  if (study.scaling.is_given()) known.insert(known.end(), scaling_columns().begin(), scaling_columns().end());
  const auto check = [&](const std::string& name, const std::string& key) {
    if (name.find('.') != name.npos || std::ranges::find(known, name) != known.end()) return;
    const auto nearest = nearest_word(name, known);
    problems.add(key, nearest.empty()
                          ? fmt::format("unknown column '{}'; use one of {}, or a path within run.json",
                                        printable(name), join(known))
                          : fmt::format("unknown column '{}'; did you mean '{}'?", printable(name), nearest));
  };
  for (const std::string& name : study.report) check(name, "study.report");
  if (!study.sort.empty()) check(study.sort, "study.sort");
}

}  // namespace isotherm
