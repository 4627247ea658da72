#include "study/scaling_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "config/text.hpp"
#include "core/text.hpp"
#include "core/text_table.hpp"

namespace isotherm {
namespace {

double rate(const ScaledCase& each) {
  return static_cast<double>(each.cells.product()) / *each.step_s;
}

Speed compare(const ScaledCase& each, const ScaledCase& base) {
  const double speedup = rate(each) / (rate(base) / base.ranks);
  return {speedup, 100 * speedup / each.ranks};
}

// `members`: of one count of ranks.
ScalingRow make_row(const std::vector<std::size_t>& members, const std::vector<ScaledCase>& cases) {
  const ScaledCase& any = cases[members.front()];
  ScalingRow row{.ranks = any.ranks, .cells = any.cells};
  std::vector<std::size_t> timed;
  std::vector<std::string> without;
  for (const std::size_t i : members) {
    if (cases[i].step_s) {
      timed.push_back(i);
    } else {
      without.push_back(fmt::format("{}: {}", cases[i].name, cases[i].state));
    }
  }
  std::ranges::stable_sort(timed, {}, [&](std::size_t i) { return *cases[i].step_s; });
  row.runs = static_cast<int>(timed.size());
  if (!timed.empty()) row.middle = timed[(timed.size() - 1) / 2];
  row.remark = join({without.begin(), without.end()});
  return row;
}

// One problem has one answer, whoever computes it; cases that ended at other sweeps have another.
std::string disagreement_of(const std::vector<std::size_t>& members, const std::vector<ScaledCase>& cases) {
  std::map<std::tuple<Index, Index, Index, double>, std::set<std::string>> answers;
  for (const std::size_t i : members) {
    const ScaledCase& each = cases[i];
    if (each.step_s && !each.fingerprint.empty())
      answers[{each.cells.x, each.cells.y, each.cells.z, each.sweeps}].insert(each.fingerprint);
  }
  for (const auto& [problem, prints] : answers)
    if (prints.size() > 1)
      return fmt::format("{} different fingerprints of {} cells (one problem has one answer on any ranks)",
                         prints.size(),
                         extent_text({std::get<0>(problem), std::get<1>(problem), std::get<2>(problem)}));
  return {};
}

ScalingSeries make_series(const std::vector<std::size_t>& members, const std::vector<ScaledCase>& cases) {
  std::map<int, std::vector<std::size_t>> by_ranks;
  for (const std::size_t i : members) by_ranks[cases[i].ranks].push_back(i);
  ScalingSeries series{.first = members.front(), .rows = {}, .disagreement = disagreement_of(members, cases)};
  for (const auto& [ranks, some] : by_ranks) series.rows.push_back(make_row(some, cases));
  const ScalingRow& base = series.rows.front();
  if (!base.middle) {
    series.no_base = base.remark;
    return series;
  }
  for (ScalingRow& row : series.rows)
    if (row.middle) row.speed = compare(cases[*row.middle], cases[*base.middle]);
  return series;
}

std::string number(std::optional<double> value, const char* form) {
  return value ? fmt::format(fmt::runtime(form), *value) : "-";
}

}  // namespace

std::vector<ScalingSeries> scaling_series(const std::vector<ScaledCase>& cases) {
  std::vector<int> order;
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!members.contains(cases[i].series)) order.push_back(cases[i].series);
    members[cases[i].series].push_back(i);
  }
  std::vector<ScalingSeries> all;
  for (const int series : order) all.push_back(make_series(members[series], cases));
  return all;
}

std::optional<Speed> speed_of(const ScaledCase& each, const ScalingSeries& series,
                              const std::vector<ScaledCase>& cases) {
  const std::optional<std::size_t> base = series.rows.front().middle;
  return base && each.step_s ? std::optional(compare(each, cases[*base])) : std::nullopt;
}

std::string base_text(const ScalingSeries& series) {
  return series.no_base.empty() ? counted(series.rows.front().ranks, "rank")
                                : fmt::format("none ({})", series.no_base);
}

std::string scaling_text(ScalingKind kind, const std::string& label, const ScalingSeries& series,
                         const std::vector<ScaledCase>& cases, std::optional<int> width) {
  std::string text = fmt::format("{} scaling{}{}, compared with {}\n", word(kind),
                                 label.empty() ? "" : " of ", label, base_text(series));
  TextTable table{"rrrrrrrl",
                  {{"ranks", "cells", "runs", "step_s", "speed-up", "efficiency", "hidden", "remark"}}};
  bool has_remarks = false;
  for (const ScalingRow& row : series.rows) {
    const ScaledCase* run = row.middle ? &cases[*row.middle] : nullptr;
    const auto speed = [&](double Speed::*part) {
      return row.speed ? std::optional(*row.speed.*part) : std::nullopt;
    };
    has_remarks = has_remarks || !row.remark.empty();
    table.rows.push_back({fmt::format("{}", row.ranks), extent_text(row.cells), fmt::format("{}", row.runs),
                          number(run ? run->step_s : std::nullopt, "{:.6g}"),
                          number(speed(&Speed::speedup), "{:.4g}"),
                          number(speed(&Speed::efficiency_percent), "{:.1f} %"),
                          number(run ? run->hidden_percent : std::nullopt, "{:.1f} %"), escaped(row.remark)});
  }
  if (!has_remarks) {
    table.alignment.pop_back();
    for (std::vector<std::string>& row : table.rows) row.pop_back();
  }
  text += table.text(2, width);
  if (!series.disagreement.empty()) text += fmt::format("  {}\n", series.disagreement);
  return text;
}

}  // namespace isotherm
