#include "output/records/bench_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "core/text.hpp"

namespace isotherm {

ISOTHERM_KEYS(Quantiles, median, p10, p90)

namespace {

Json to_json_object(const BenchEntry& e) {
  const BenchSamples& s = e.samples;
  const bool is_difference = !s.base_seconds.empty();
  std::optional<double> spread, seconds;  // percent; of a launch, if precise enough for a rate
  if (!s.seconds.empty()) {
    const Quantiles found = quantiles(s.seconds);
    spread = 100 * found.spread();
    if (!is_difference || found.median > found.p90 - found.p10) seconds = found.median;
  }
  const auto per_second = [&](double count) {
    return seconds ? std::optional(count / *seconds) : std::nullopt;
  };
  const auto share_of = [&](const std::vector<double>& bandwidths) -> std::optional<double> {
    if (!seconds || bandwidths.empty()) return std::nullopt;
    if (is_difference) return 100 * (e.bytes / *seconds) / median(bandwidths);
    std::vector<double> shares;  // per sample, so that drift of the bandwidth cancels out
    for (std::size_t i = 0; i < std::min(bandwidths.size(), s.seconds.size()); ++i)
      shares.push_back(100 * e.bytes / s.seconds[i] / bandwidths[i]);
    return median(shares);
  };
  return {{"kernel", e.kernel},
          {"tile", e.tile},
          {"time_block", e.time_block},
          {"precision", e.precision},
          {"cells", e.cells},
          {"verdict", e.verdict},
          {"note", e.note},
          {"points_per_launch", e.points > 0 ? Json(e.points) : Json()},
          {"bytes_per_launch", e.bytes},
          {"launches_per_sample", s.launches},
          {"launch_s", spread_json(s.seconds)},
          {"base_s", spread_json(s.base_seconds)},
          {"spread_percent", spread},
          {"points_per_s", e.points > 0 ? per_second(e.points) : std::nullopt},
          {"bandwidth_bytes_per_s", per_second(e.bytes)},
          {"copy_bandwidth_bytes_per_s", spread_json(s.copy_bytes_per_s)},
          {"copy_bandwidth_share_percent", share_of(s.copy_bytes_per_s)},
          {"read_bandwidth_bytes_per_s", spread_json(s.read_bytes_per_s)},
          {"read_bandwidth_share_percent", share_of(s.read_bytes_per_s)},
          {"speedup", nullptr},
          {"error", e.error},
          {"same_bits", e.same_bits},
          {"samples",
           {{"launch_s", s.seconds},
            {"base_s", s.base_seconds},
            {"copy_bandwidth_bytes_per_s", s.copy_bytes_per_s},
            {"read_bandwidth_bytes_per_s", s.read_bytes_per_s}}}};
}

// Tables: a column is its head, 'l' or 'r', and its cells.
struct Column {
  const char* head;
  char alignment;
  std::function<std::string(const Json& entry)> cell;
};

// The value at `place`, such as "/launch_s/median"; none if it was not measured.
std::optional<double> number(const Json& entry, const char* place) {
  return entry.value(Json::json_pointer(place), std::optional<double>());
}
auto shown(const char* place, auto text_of) {
  return [=](const Json& e) {
    const auto value = number(e, place);
    return value ? text_of(*value) : std::string("-");
  };
}
auto formatted(const char* place, fmt::string_view format, double factor = 1) {
  return shown(place, [=](double value) { return fmt::format(fmt::runtime(format), factor * value); });
}
auto decimal(const char* place, double unit, int decimals) {
  return shown(place, [=](double value) { return plain_decimal(value / unit, decimals); });
}
auto duration(const char* place) { return shown(place, signed_duration); }
auto text(const char* key) {
  return
      [=](const Json& e) { return e.at(key).is_string() ? e.at(key).get<std::string>() : e.at(key).dump(); };
}

constexpr double most_spread = 0.3;  // of a reliable figure

// Marks a spread above `most_spread`.
auto spread(const char* key) {
  return [=](const Json& e) {
    if (e.at(key).is_null()) return std::string("-");
    const double spread = e.at(key).get<Quantiles>().spread();
    return fmt::format("{}{:.1f} %", spread > most_spread ? "*" : "", 100 * spread);
  };
}

std::string verdict_text(const Json& e) {
  const std::string note = e.at("note");
  if (e.at("verdict") == "right") return note.empty() ? "right" : "right (" + note + ")";
  return (e.at("verdict") == "wrong" ? "WRONG: " : "skipped: ") + note;
}

std::string table_of(const std::vector<Column>& columns, const std::vector<Json>& entries) {
  TextTable table{"", {{}}};
  for (const Column& column : columns) {
    table.alignment += column.alignment;
    table.rows[0].push_back(column.head);
  }
  bool marked = false;
  for (const Json& e : entries) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const Column& column : columns) marked |= row.emplace_back(column.cell(e)).starts_with('*');
  }
  if (!marked) return table.text(2);
  return table.text(2) +
         fmt::format(
             "  * spread above {:.0f} %: the machine was busy or the samples are too few; measure longer\n",
             100 * most_spread);
}

std::vector<Column> halo_columns() {
  const auto us = [](const char* place) {
    return shown(place, [](double value) { return value > 0 ? plain_decimal(1e6 * value, 1) : "-"; });
  };
  return {{"transport", 'l', text("transport")},
          {"face", 'l', text("face")},
          {"layers", 'r', text("ghosts")},
          {"bytes", 'r', [](const Json& e) { return human_bytes(e.at("bytes")); }},
          {"pack us", 'r', us("/pack_s")},
          {"wire us", 'r', us("/wire_s")},
          {"unpack us", 'r', us("/unpack_s")},
          {"exchange us", 'r', us("/exchange_s/median")},
          {"GB/s", 'r', decimal("/bandwidth_bytes_per_s", 1e9, 2)},
          {"alone us", 'r', us("/alone_s/median")},
          {"latency us", 'r', us("/latency_s")},
          {"spread", 'r', spread("exchange_s")},
          {"check", 'l', verdict_text}};
}

std::vector<Column> columns_of(BenchSubject subject, const std::vector<Json>& ladder) {
  if (subject == BenchSubject::halo) return halo_columns();
  if (subject == BenchSubject::io)
    return {{"way", 'l', text("way")},
            {"time", 'r', duration("/write_s/median")},
            {"GB/s", 'r', decimal("/bandwidth_bytes_per_s", 1e9, 2)},
            {"of raw", 'r', formatted("/raw_share_percent", "{:.1f} %")},
            {"spread", 'r', spread("write_s")},
            {"files", 'r', [](const Json& e) { return fmt::format("{}", e["samples"]["write_s"].size()); }}};
  if (subject == BenchSubject::solve)
    return {{"method", 'l', text("method")},
            {"cycles", 'r', formatted("/cycles", "{:.0f}")},
            {"time", 'r', duration("/solve_s/median")},
            {"MDOF/s", 'r', decimal("/unknowns_per_s", 1e6, 1)},
            {"spread", 'r', spread("solve_s")},
            {"residual", 'l', [](const Json& e) {
               return e.contains("note") ? verdict_text(e) : formatted("/relative_residual", "{:.1e}")(e);
             }}};
  const auto any = [&](auto is) { return std::ranges::any_of(ladder, is); };
  const bool temporal = any([](const Json&e) { return e.at("time_block") > 1; }),
             reduction = subject == BenchSubject::reduction, updates = subject != BenchSubject::bandwidth;
  const char* const copy_share = "/copy_bandwidth_share_percent";
  std::vector<Column> columns{{"kernel", 'l', text("kernel")}};
  const auto add = [&](bool wanted, const char* head, char alignment, auto cell) {
    if (wanted) columns.push_back({head, alignment, cell});
  };
  add(any([](const Json& e) { return e.at("tile") != "-"; }), "tile", 'l', text("tile"));
  add(temporal, "time block", 'l', text("time_block"));
  add(reduction, "time", 'r', duration("/launch_s/median"));
  add(updates, "GPts/s", 'r', decimal("/points_per_s", 1e9, 2));
  add(true, "GB/s", 'r', decimal("/bandwidth_bytes_per_s", 1e9, 1));
  add(true, "of copy", 'r', formatted(copy_share, "{:.1f} %"));
  // Bandwidth of single sweeps at this rate, over that of a copy: single-sweep kernels cannot exceed 100 %.
  add(temporal, "of limit", 'r',
      [copy_share](const Json& e) { return formatted(copy_share, "{:.1f} %", e.at("time_block"))(e); });
  add(reduction, "of read", 'r', formatted("/read_bandwidth_share_percent", "{:.1f} %"));
  add(true, "copy GB/s", 'r', decimal("/copy_bandwidth_bytes_per_s/median", 1e9, 1));
  add(true, "spread", 'r', spread("launch_s"));
  add(updates, "speed-up", 'r', formatted("/speedup", "{:.2f}x"));
  add(reduction, "error", 'r', formatted("/error", "{:.1e}"));
  add(reduction, "bits", 'l', [](const Json& e) {
    const Json& same = e.at("same_bits");
    return std::string(same.is_null() ? "-" : same.get<bool>() ? "same" : "differ");
  });
  add(true, "check", 'l', verdict_text);
  return columns;
}

// The time of a V cycle by grid, of methods that have V cycles.
std::string cycle_lines(const std::vector<Json>& entries) {
  std::string all;
  for (const Json& e : entries) {
    if (!e.contains("levels")) continue;
    all += fmt::format("  a cycle takes {}", human_duration(e.at("cycle_s")));
    if (e.contains("least_cycle_s"))
      all += fmt::format(", its launches at least {} ({:.0f} %)", human_duration(e.at("least_cycle_s")),
                         e.at("least_share_percent").get<double>());
    all += "; by grid:";
    for (const Json& level : e.at("levels"))
      all += fmt::format(" {} {:.1f} %,", extent_text(level.at("cells").get<Int3>()),
                         level.at("share_percent").get<double>());
    all.back() = '\n';
  }
  return all;
}

}  // namespace

Json spread_json(const std::vector<double>& values) {
  return values.empty() ? Json() : Json(quantiles(values));
}

std::vector<Json> ladder_json(const std::vector<BenchEntry>& ladder) {
  std::vector<Json> all;
  std::optional<double> lowest;  // points per second
  for (const BenchEntry& entry : ladder) {
    Json& e = all.emplace_back(to_json_object(entry));
    const auto rate = number(e, "/points_per_s");
    if (!lowest && entry.verdict == BenchVerdict::right) lowest = rate;
    if (lowest && rate) e["speedup"] = *rate / *lowest;
  }
  return all;
}

bool all_right(const BenchRecord& record) {
  return std::ranges::none_of(record.entries,
                              [](const Json& e) { return e.value("verdict", "") == "wrong"; });
}

std::string to_json(const BenchRecord& r) {
  const BenchOptions& o = r.options;
  Json provenance = r.build;
  provenance.update(
      {{"host", r.host}, {"command_line", r.command_line}, {"started", r.started}, {"finished", r.finished}});
  return file_text({{"schema", "isotherm-bench"},
                    {"schema_version", bench_schema_version},
                    {"subject", r.options.subject},
                    {"result", all_right(r) ? "PASS" : "FAIL"},
                    {"provenance", std::move(provenance)},
                    {"device",
                     {{"backend", r.device.backend},
                      {"name", r.device.name},
                      {"uuid", r.device.uuid},
                      {"detail", r.device.detail},
                      {"instruction_set", r.instruction_set},
                      {"threads", r.threads_note}}},
                    {"ranks", r.ranks},
                    {"options",
                     {{"seed", o.seed},
                      {"seconds_per_kernel_s", o.seconds},
                      {"boundaries", o.boundaries},
                      {"source", o.source},
                      {"overlap", o.overlap},
                      {"norm", o.norm},
                      {"op", o.subject == BenchSubject::reduction ? Json(o.op) : Json()},
                      {"formula", o.subject == BenchSubject::formula ? Json(o.formula) : Json()},
                      {"deck", o.deck.empty() ? Json() : Json(o.deck)},
                      {"deck_contents", r.deck_contents.empty() ? Json() : Json(r.deck_contents)}}},
                    {"entries", r.entries},
                    {"warnings", r.warnings}});
}

std::string bench_banner(const BenchRecord& r) {
  const BenchOptions& o = r.options;
  std::string text = fmt::format("isotherm {} ({}), bench {} on {}", r.build.version, r.build.git_revision,
                                 word(o.subject), r.device.name);
  if (r.ranks > 1) text += fmt::format(", {} ranks", r.ranks);
  for (const std::string& part : {r.instruction_set, r.threads_note})
    if (!part.empty()) text += ", " + part;
  if (o.source) text += ", with a source";
  if (o.boundaries) text += ", with boundaries";
  if (o.overlap) text += ", interior and exterior apart";
  if (o.norm) text += fmt::format(", with the fused {} norm", word(*o.norm));
  if (o.subject == BenchSubject::reduction) text += fmt::format(", {} of a - b", word(o.op));
  text += "\n";
  for (const std::string& warning : r.warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string skipped_line(const std::vector<Json>& entries) {
  std::vector<std::string> transports;
  for (const Json& e : entries) {
    if (!e.contains("transport") || e.at("verdict") != "skipped") continue;
    const std::string line =
        fmt::format("{} ({})", e.at("transport").get<std::string>(), e.at("note").get<std::string>());
    if (std::ranges::count(transports, line) == 0) transports.push_back(line);
  }
  return transports.empty() ? "" : fmt::format("\nnot possible here: {}\n", fmt::join(transports, ", "));
}

std::string bench_table(const BenchOptions& options, std::vector<Json> entries) {
  const BenchSubject subject = options.subject;
  if (subject == BenchSubject::halo)  // skipped_line() lists them
    std::erase_if(entries, [](const Json& e) { return e.at("verdict") == "skipped"; });
  if (entries.empty()) return "";
  const Json& first = entries.front();
  return fmt::format(
      "\n{}{}, {}{}\n{}{}", extent_text(first.at("cells").get<Int3>()),
      subject == BenchSubject::halo ? " a rank" : "", first.at("precision").get<std::string>(),
      subject == BenchSubject::io ? fmt::format(", {} of cells", human_bytes(first.at("bytes"))) : "",
      table_of(columns_of(subject, entries), entries), cycle_lines(entries));
}

}  // namespace isotherm
