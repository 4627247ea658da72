#include "output/records/compare_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {
namespace {

const char* word(CompareVerdict v) {
  return v == CompareVerdict::same ? "same" : v == CompareVerdict::differs ? "differs" : "left_out";
}

std::vector<double> seconds_of(const CompareRecord& record, const CompareEntry& entry) {
  std::vector<double> all;
  const auto interval = static_cast<double>(record.check_interval);
  for (std::size_t i = 0; i < entry.samples.sweep_seconds.size(); ++i)
    all.push_back(entry.samples.sweep_seconds[i] + entry.samples.check_seconds[i] / interval);
  return all;
}

Json spread_json(const CompareFigures& f) {
  return {{"median", f.seconds.median},
          {"min", f.least},
          {"max", f.most},
          {"p10", f.seconds.p10},
          {"p90", f.seconds.p90}};
}

Json settings_json(const CompareRecord& record, const CompareEntry& entry) {
  Json settings = Json::object();
  for (std::size_t i = 0; i < record.axes.size(); ++i) settings[record.axes[i].key] = entry.words[i];
  return settings;
}

Json to_json_object(const CompareRecord& record, const CompareEntry& e) {
  const std::optional<CompareFigures> f = figures(record, e);
  const auto of = [&](auto pick) { return f ? Json(pick(*f)) : Json(nullptr); };
  Json json = {{"name", e.name},
               {"settings", settings_json(record, e)},
               {"verdict", word(e.verdict)},
               {"note", e.note},
               {"method",
                {{"kernel", e.kernel},
                 {"policy", e.policy},
                 {"reduction", e.reduction},
                 {"transport", e.transport},
                 {"depth", e.depth},
                 {"fused", e.fused},
                 {"overlap", word(e.overlap)},
                 {"graph", e.graph},
                 {"process_grid", e.process_grid}}}};
  if (!f) json["method"] = nullptr;
  json["sweep_s"] = of([](const CompareFigures& g) { return spread_json(g); });
  json["check_s"] = f ? Json(quantiles(e.samples.check_seconds).median) : Json(nullptr);
  json["points_per_s"] = of([](const CompareFigures& g) { return g.points_a_second; });
  json["effective_bandwidth_bytes_per_s"] = of([](const CompareFigures& g) { return g.effective_bandwidth; });
  json["copy_bandwidth_bytes_per_s"] = e.copy_bandwidth;
  json["copy_bandwidth_share_percent"] = f && f->copy_share ? Json(100 * *f->copy_share) : Json(nullptr);
  json["halo_exchange_s"] = e.exchange;
  json["halo_exposed_s"] = e.exposed;
  json["fingerprint"] = e.fingerprint ? Json(fmt::format("{:016x}", *e.fingerprint)) : Json(nullptr);
  json["norm_K"] = e.norm;
  json["samples"] = {{"sweep_s", e.samples.sweep_seconds}, {"check_s", e.samples.check_seconds}};
  return json;
}

std::string bits_text(const CompareRecord& record, const CompareEntry& e) {
  if (e.verdict == CompareVerdict::differs) return "DIFFER: " + e.note;
  if (e.verdict == CompareVerdict::left_out) return "left out: " + e.note;
  return e.name == record.reference ? "same (the others' reference)" : "same";
}

}  // namespace

std::optional<CompareFigures> figures(const CompareRecord& record, const CompareEntry& entry) {
  std::vector<double> seconds = seconds_of(record, entry);
  if (seconds.empty()) return std::nullopt;
  CompareFigures f;
  const auto [least, most] = std::ranges::minmax(seconds);
  f.least = least;
  f.most = most;
  f.seconds = quantiles(std::move(seconds));
  f.points_a_second = static_cast<double>(record.run.cells.product()) / f.seconds.median;
  f.effective_bandwidth = f.points_a_second * entry.bytes_per_point;
  if (entry.copy_bandwidth && *entry.copy_bandwidth > 0)
    f.copy_share = f.effective_bandwidth / *entry.copy_bandwidth;
  return f;
}

void rank(CompareRecord& record) {
  const auto place = [&](const CompareEntry& entry) {
    const std::optional<CompareFigures> f = figures(record, entry);
    return std::pair(entry.verdict, f ? f->seconds.median : std::numeric_limits<double>::infinity());
  };
  std::ranges::stable_sort(record.entries, {}, place);
}

const CompareEntry* winner(const CompareRecord& record) {
  if (record.entries.empty() || record.entries.front().verdict != CompareVerdict::same) return nullptr;
  return &record.entries.front();
}

bool all_same(const CompareRecord& record) {
  return winner(record) && std::ranges::none_of(record.entries, [](const CompareEntry& entry) {
           return entry.verdict == CompareVerdict::differs;
         });
}

// Each is as far from the sum of the same terms as the rounding of a term and of so many additions, in any
// order, can bring it (Higham, Accuracy and Stability of Numerical Algorithms, SIAM 2002, chapter 4); the
// root of it is nearer.
bool norms_agree(double a, double b, bool both_exact, Index cells) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  constexpr double unit_roundoff = 0x1p-53;
  const double far = 2 * static_cast<double>(cells + 4) * unit_roundoff * std::max(std::abs(a), std::abs(b));
  return !both_exact && std::abs(a - b) <= far;
}

std::vector<Merit> merits(const CompareRecord& record) {
  std::vector<Merit> all;
  for (const CompareEntry& entry : record.entries) {
    const std::optional<CompareFigures> f = figures(record, entry);
    if (entry.verdict != CompareVerdict::same || !f) continue;
    const std::string of = entry.name + ": ";
    all.push_back({of + "time_per_sweep", 1e3 * f->seconds.median, "ms", Better::lower, 3});
    all.push_back({of + "cell_updates", f->points_a_second / 1e9, "GLUP/s", Better::higher, 3});
    if (f->copy_share)
      all.push_back({of + "copy_bandwidth_share", 100 * *f->copy_share, "%", Better::higher, 1});
  }
  return all;
}

std::string compare_banner(const CompareRecord& record, std::size_t combinations) {
  const RunRecord& run = record.run;
  std::string text = fmt::format("isotherm {} ({}), compare {} on {}, {}\n  {} = {} cells, {}\n",
                                 run.build.version, run.build.git_revision, escaped(run.deck_path),
                                 run.ranks.front().device, counted(std::ssize(run.ranks), "rank"),
                                 extent_text(run.cells), grouped(run.cells.product()), word(run.precision));
  std::vector<std::string> names;
  for (const CompareRecord::Axis& axis : record.axes) names.push_back(axis.name);
  text += fmt::format("  {} of {}\n", counted(static_cast<std::int64_t>(combinations), "combination"),
                      names.empty() ? "what the deck names" : fmt::format("{}", fmt::join(names, " x ")));
  if (!record.left.empty())
    text += fmt::format("  left to the deck, as they would be too many: {}; see --axes and --limit\n",
                        fmt::join(record.left, ", "));
  return text;
}

std::string compare_table(const CompareRecord& record) {
  const auto any = [&](auto is) { return std::ranges::any_of(record.entries, is); };
  const bool policies =
      std::ranges::find(record.axes, "policy", &CompareRecord::Axis::name) == record.axes.end() &&
      any([](const CompareEntry& e) { return !e.policy.empty() && e.policy != "-"; });
  const bool halos = any([](const CompareEntry& e) { return e.exposed.has_value(); });
  TextTable table{"r", {{"rank"}}};
  const auto column = [&](std::string head, char alignment) {
    table.rows.front().push_back(std::move(head));
    table.alignment += alignment;
  };
  for (const CompareRecord::Axis& axis : record.axes) column(axis.name, 'l');
  if (policies) column("policy", 'l');
  for (const char* head : {"time", "min", "max", "GPts/s", "of roof"}) column(head, 'r');
  if (halos) column("halo exposed", 'r');
  column("bits", 'l');
  const auto duration = [](double seconds) { return signed_duration(seconds); };
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const CompareEntry& e = record.entries[i];
    const std::optional<CompareFigures> f = figures(record, e);
    std::vector<std::string>& line = table.rows.emplace_back();
    line.push_back(e.verdict == CompareVerdict::same ? fmt::format("{}", i + 1) : "-");
    line.insert(line.end(), e.words.begin(), e.words.end());
    if (policies) line.push_back(e.policy.empty() ? "-" : e.policy);
    if (f) {
      line.insert(line.end(), {duration(f->seconds.median), duration(f->least), duration(f->most),
                               plain_decimal(f->points_a_second / 1e9, 3),
                               f->copy_share ? fmt::format("{:.1f} %", 100 * *f->copy_share) : "-"});
    } else {
      line.insert(line.end(), 5, "-");
    }
    if (halos) line.push_back(e.exposed ? duration(*e.exposed) : "-");
    line.push_back(bits_text(record, e));
  }
  return table.text(2);
}

std::string to_json(const CompareRecord& record) {
  const Json run = Json::parse(to_json(record.run));  // what the two have in common
  Json axes = Json::array(), entries = Json::array();
  for (const CompareRecord::Axis& axis : record.axes)
    axes.push_back({{"name", axis.name}, {"key", axis.key}});
  for (const CompareEntry& entry : record.entries) entries.push_back(to_json_object(record, entry));
  const std::optional<BaselineVerdict>& baseline = record.run.baseline;
  const bool passed = all_same(record) && !(baseline && baseline->worse() > 0);
  return file_text({{"schema", "isotherm-compare"},
                    {"schema_version", compare_schema_version},
                    {"result", passed ? "PASS" : "FAIL"},
                    {"provenance", run["provenance"]},
                    {"deck", run["deck"]},
                    {"grid", run["grid"]},
                    {"ranks", run["ranks"]},
                    {"axes", std::move(axes)},
                    {"left_to_the_deck", record.left},
                    {"reference", record.reference},
                    {"sweeps_per_sample", record.sweeps},
                    {"check_interval", record.check_interval},
                    {"norm", run["residual"]["norm"]},
                    {"entries", std::move(entries)},
                    {"figures_of_merit", to_json_object(merits(record))},
                    {"baseline", run["baseline"]},
                    {"warnings", run["warnings"]}});
}

}  // namespace isotherm
