#include "output/history.hpp"

#include <fmt/format.h>

#include <cmath>

namespace isotherm {
namespace {

std::string text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // the sign of a NaN says nothing
}
std::string text(std::int64_t value) {
  return fmt::format("{}", value);
}
template <class T>
std::string text(const std::optional<T>& value) {
  return value ? text(*value) : "";
}

// The one place that knows which columns there are: calls cell(name, value) for each, in order. `d` may be
// null.
template <class Cell>
void for_each_column(const DiagnosticsPlan& plan, const Diagnostics* d, const Cell& cell) {
  const auto put = [&](const std::string& name, const auto& value_of) {
    cell(name, d ? text(value_of(*d)) : std::string());
  };
  const auto put_flow = [&](const std::string& name, const auto& value_of) {
    cell(name, d && d->flows ? text(value_of(*d->flows)) : std::string());
  };
  put("min_K", [](const auto& of) { return of.min; });
  put("max_K", [](const auto& of) { return of.max; });
  put("mean_K", [](const auto& of) { return of.mean; });
  if (plan.heat_capacity) put("heat_J", [](const auto& of) { return of.heat; });
  if (plan.rate) put_flow("rate_W", [](const auto& of) { return of.rate; });
  for (std::size_t f = 0; f < face_count; ++f) {
    if (plan.walls[f]) {
      put_flow(fmt::format("wall_{}_W", face_names[f]), [=](const auto& of) { return of.walls[f]; });
    }
  }
  if (plan.flows) {
    put_flow("source_W", [](const auto& of) { return of.source; });
    put_flow("balance_W", [](const auto& of) { return of.balance; });
    put_flow("relative_balance", [](const auto& of) { return of.relative_balance; });
  }
  if (plan.bins > 0) {
    const auto put_count = [&](const std::string& name, int slot) {
      put(name, [=](const auto& of) { return of.histogram->counts[static_cast<std::size_t>(slot)]; });
    };
    put_count("hist_under", 0);
    for (int bin = 0; bin < plan.bins; ++bin) put_count(fmt::format("hist_{}", bin), bin + 1);
    put_count("hist_over", plan.bins + 1);
  }
  put("nan_cells", [](const auto& of) { return of.nan_cells; });
}

}  // namespace

std::string history_head(const DiagnosticsColumns& columns) {
  std::string head = "sweep,time_s,residual,relative_residual,wall_s";
  if (columns) {
    for_each_column(*columns, nullptr,
                    [&](const std::string& name, const std::string&) { head += "," + name; });
  }
  return head + "\n";
}

std::string history_line(const HistoryRow& row, const DiagnosticsColumns& columns) {
  std::string line = fmt::format("{},{},{},{},{:.6f}", row.sweep, row.time, text(row.residual),
                                 text(row.relative), row.wall);
  if (columns) {
    for_each_column(*columns, row.diagnostics ? &*row.diagnostics : nullptr,
                    [&](const std::string&, const std::string& value) { line += "," + value; });
  }
  return line + "\n";
}

History::History(const std::filesystem::path& path, Console& console, const DiagnosticsColumns& columns,
                 std::optional<std::int64_t> resumed)
    : columns_(columns), file_(path, console, history_head(columns), "its history", resumed) {}

void History::add(const HistoryRow& row) {
  file_.add(history_line(row, columns_));
}

void History::flush() {
  file_.flush();
}

void History::finish() {
  file_.finish();
}

}  // namespace isotherm
