#include "output/records/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/records/compare_record.hpp"
#include "output/records/json_value.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ExitCode::deck,
              fmt::format("{} is no baseline ({}); name the run.json of a run that came to its "
                          "end, or what isotherm compare --json has written",
                          in_quotes(file), why));
}

Subject subject_of(const Json& json) {
  const Json& grid = json.at("grid");
  const Json& cells = grid.at("cells");
  Subject subject{{cells.at(0), cells.at(1), cells.at(2)},
                  grid.at("precision") == "fp32" ? Precision::fp32 : Precision::fp64,
                  {}};
  for (const Json& rank : json.at("ranks")) subject.devices.push_back(rank.at("device"));
  return subject;
}

// What figures of merit follow from: run.json had it before it had them.
struct Source {
  const char* merit;
  const char* place;
  double factor;
  const char* unit;
  Better better;
};
constexpr Source sources[] = {
    {"cell_updates", "/performance/points_per_s", 1e-9, "GLUP/s", Better::higher},
    {"effective_bandwidth", "/performance/effective_bandwidth_bytes_per_s", 1e-9, "GB/s", Better::higher},
    {"copy_bandwidth_share", "/performance/copy_bandwidth_share_percent", 1, "%", Better::higher},
    {"time_per_step", "/performance/step_s", 1e3, "ms", Better::lower},
    {"halo_fraction", "/performance/halo_fraction_percent", 1, "%", Better::lower},
    {"halo_hidden", "/halo/hidden_percent", 1, "%", Better::higher},
    {"write_bandwidth", "/snapshots/bandwidth_bytes_per_s", 1e-9, "GB/s", Better::higher},
    {"write_hidden", "/snapshots/hidden_percent", 1, "%", Better::higher}};

// Of a run whose answer was right, as now.
std::vector<Merit> earlier_merits(const Json& json) {
  std::vector<Merit> merits;
  const Json& code = json.at("exit_code");
  const auto is = [&](ExitCode one) { return code == static_cast<int>(one); };
  if (!is(ExitCode::done) && !is(ExitCode::stopped) && !is(ExitCode::not_converged)) return merits;
  for (const Source& source : sources) {
    const Json::json_pointer place(source.place);
    if (json.contains(place) && json[place].is_number())
      merits.push_back({source.merit, source.factor * json[place].get<double>(), source.unit, source.better});
  }
  return merits;
}

std::vector<Merit> merits_of(const Json& json) {
  if (json.at("schema") == "isotherm-run" && !json.contains("figures_of_merit")) return earlier_merits(json);
  std::vector<Merit> merits;
  for (const auto& [name, figure] : json.at("figures_of_merit").items())
    merits.push_back({name, figure.at("value"), figure.at("unit"),
                      figure.at("better") == "lower" ? Better::lower : Better::higher});
  return merits;
}

// "256 x 256 x 256 fp64 on 2 ranks (Some CPU)".
std::string text_of(const Subject& subject) {
  std::map<std::string, int> devices;
  for (const std::string& device : subject.devices) ++devices[device];
  std::string names;
  for (const auto& [name, count] : devices) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return fmt::format("{} {} on {} ({})", extent_text(subject.cells), word(subject.precision),
                     counted(std::ssize(subject.devices), "rank"), escaped(names));
}

double worsening(const Merit& now, double before) {
  const double more = now.value - before;
  const double change = now.unit == "%" ? more : more == 0 ? 0 : 100 * more / std::abs(before);
  return now.better == Better::lower ? change : -change;
}

std::string change_text(const MeritChange& change) {
  return fmt::format("{} {} {}", plain_decimal(std::abs(change.worse), 1),
                     change.now.unit == "%" ? "points" : "%", change.worse > 0 ? "worse" : "better");
}

}  // namespace

Baseline parse_baseline(const std::string& text, const std::string& file) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse(file, "it is not JSON");
  try {
    const bool of_run = json.at("schema") == "isotherm-run";
    if (!of_run && json["schema"] != "isotherm-compare")
      refuse(file, fmt::format("its schema is {}", json["schema"].dump()));
    refuse_newer(json, of_run ? run_schema_version : compare_schema_version, file);
    Baseline baseline{file, subject_of(json), merits_of(json)};
    if (baseline.merits.empty()) refuse(file, "it has no figures of merit");
    return baseline;
  } catch (const Json::exception&) {
    refuse(file, "it lacks schema, figures_of_merit, grid or ranks");
  }
}

void refuse_other_subject(const Baseline& baseline, const Subject& now) {
  if (baseline.subject == now) return;
  throw Error(
      ExitCode::deck,
      fmt::format("{} is of {}, and this is {} (figures of the two say nothing of each other); name a "
                  "baseline of this grid, precision, number of ranks and device",
                  in_quotes(baseline.file), text_of(baseline.subject), text_of(now)));
}

std::int64_t BaselineVerdict::worse() const {
  return std::ranges::count_if(changes, [&](const MeritChange& change) { return is_worse(change); });
}

BaselineVerdict judge(const Baseline& baseline, const std::vector<Merit>& now, double tolerance) {
  BaselineVerdict verdict{baseline.file, tolerance, {}};
  for (const Merit& before : baseline.merits) {
    const auto found = std::ranges::find_if(
        now, [&](const Merit& merit) { return merit.name == before.name && merit.unit == before.unit; });
    if (found == now.end() || !std::isfinite(found->value)) {
      verdict.gone.push_back(before.name);
    } else {
      verdict.changes.push_back({*found, before.value, worsening(*found, before.value)});
    }
  }
  return verdict;
}

std::string baseline_table(const BaselineVerdict& verdict) {
  TextTable table{"lrrr", {{"figure of merit", "before", "now", "change"}}};
  std::int64_t better = 0;
  for (const MeritChange& change : verdict.changes) {
    if (verdict.is_better(change)) ++better;
    if (!verdict.is_worse(change) && !verdict.is_better(change)) continue;
    table.rows.push_back({change.now.name, merit_text(change.before, change.now),
                          merit_text(change.now.value, change.now), change_text(change)});
  }
  const std::int64_t all = std::ssize(verdict.changes), worse = verdict.worse();
  std::string text = table.rows.size() > 1 ? table.text(2) : "";
  text += fmt::format("against {}: {} of {} worse by more than {:.6g} %, {} better, {} within it",
                      escaped(verdict.file), worse, counted(all, "figure"), verdict.tolerance, better,
                      all - worse - better);
  if (!verdict.gone.empty())
    text +=
        fmt::format("; {} of the baseline's not measured now", counted(std::ssize(verdict.gone), "figure"));
  return text + "\n";
}

std::string baseline_problem(const BaselineVerdict& verdict) {
  if (verdict.changes.empty())
    return fmt::format(
        "{} has no figure of merit in common with this (it is of other combinations, rows or sizes, or of "
        "another verb); name a baseline of the same deck and words",
        in_quotes(verdict.file));
  if (verdict.worse() == 0) return "";
  return fmt::format(
      "{} of {} of merit got worse than in {} by more than {:.6g} %; look at the table for which, or allow "
      "more with --tolerance",
      verdict.worse(), counted(std::ssize(verdict.changes), "figure"), in_quotes(verdict.file),
      verdict.tolerance);
}

Json to_json_object(const BaselineVerdict& verdict) {
  Json figures = Json::array();
  for (const MeritChange& change : verdict.changes)
    figures.push_back({{"name", change.now.name},
                       {"unit", change.now.unit},
                       {"before", change.before},
                       {"now", change.now.value},
                       {"worse_percent", change.worse},
                       {"verdict", verdict.is_worse(change)    ? "worse"
                                   : verdict.is_better(change) ? "better"
                                                               : "same"}});
  return {{"file", verdict.file},
          {"tolerance_percent", verdict.tolerance},
          {"worse", verdict.worse()},
          {"figures", std::move(figures)},
          {"gone", verdict.gone}};
}

}  // namespace isotherm
