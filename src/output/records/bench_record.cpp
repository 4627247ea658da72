#include "output/records/bench_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/text.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {

ISOTHERM_KEYS(Quantiles, median, p10, p90)

namespace {

bool reduces(const BenchRecord& r) {
  return r.options.subject == BenchSubject::reduction;
}

std::optional<double> median_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

// Of each sample by itself, then the median: what the memory did in between drops out.
std::optional<double> share_of(const std::vector<double>& copy_bandwidth, const std::vector<double>& seconds,
                               double bytes) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < std::min(copy_bandwidth.size(), seconds.size()); ++i)
    shares.push_back(bytes / seconds[i] / copy_bandwidth[i]);
  return median_of(shares);
}

BenchFigures figures_of(const BenchEntry& e) {
  BenchFigures f;
  const BenchSamples& s = e.samples;
  f.seconds = quantiles(s.seconds);
  f.copy_bandwidth = median_of(s.copy_bytes_per_s);
  f.read_bandwidth = median_of(s.read_bytes_per_s);
  if (!s.base_seconds.empty() && !(f.seconds.median > f.seconds.p90 - f.seconds.p10)) return f;
  if (e.points > 0) f.points_per_second = e.points / f.seconds.median;
  f.bandwidth = e.bytes / f.seconds.median;
  if (s.base_seconds.empty()) {
    f.copy_share = share_of(s.copy_bytes_per_s, s.seconds, e.bytes);
    f.read_share = share_of(s.read_bytes_per_s, s.seconds, e.bytes);
  } else {
    if (f.copy_bandwidth) f.copy_share = *f.bandwidth / *f.copy_bandwidth;
    if (f.read_bandwidth) f.read_share = *f.bandwidth / *f.read_bandwidth;
  }
  return f;
}

Json spread_json(const std::vector<double>& values) {
  return values.empty() ? Json() : Json(quantiles(values));
}

Json to_json_object(const BenchEntry& e, const std::optional<BenchFigures>& figures) {
  const BenchFigures f = figures.value_or(BenchFigures{});
  const auto percent = [](std::optional<double> share) { return share ? Json(100 * *share) : Json(); };
  return {{"kernel", e.kernel},
          {"tile", e.tile},
          {"time_block", e.time_block},
          {"precision", e.precision},
          {"cells", e.cells},
          {"verdict", e.verdict},
          {"note", e.note},
          {"points_per_launch", e.points > 0 ? Json(e.points) : Json()},
          {"bytes_per_launch", e.bytes},
          {"launches_per_sample", e.samples.launches},
          {"launch_s", spread_json(e.samples.seconds)},
          {"base_s", spread_json(e.samples.base_seconds)},
          {"spread_percent", figures ? Json(100 * f.seconds.spread()) : Json()},
          {"points_per_s", f.points_per_second},
          {"bandwidth_bytes_per_s", f.bandwidth},
          {"copy_bandwidth_bytes_per_s", spread_json(e.samples.copy_bytes_per_s)},
          {"copy_bandwidth_share_percent", percent(f.copy_share)},
          {"read_bandwidth_bytes_per_s", spread_json(e.samples.read_bytes_per_s)},
          {"read_bandwidth_share_percent", percent(f.read_share)},
          {"speedup", f.speedup},
          {"error", e.error},
          {"same_bits", e.same_bits},
          {"samples",
           {{"launch_s", e.samples.seconds},
            {"base_s", e.samples.base_seconds},
            {"copy_bandwidth_bytes_per_s", e.samples.copy_bytes_per_s},
            {"read_bandwidth_bytes_per_s", e.samples.read_bytes_per_s}}}};
}

Json to_json_object(const HaloBenchEntry& e) {
  const auto measured = [](double seconds) { return seconds > 0 ? Json(seconds) : Json(); };
  return {{"transport", e.transport},
          {"face", e.face},
          {"ghosts", e.ghosts},
          {"precision", e.precision},
          {"cells", e.cells},
          {"bytes", e.bytes},
          {"verdict", e.verdict},
          {"note", e.note},
          {"pack_s", measured(e.pack)},
          {"wire_s", e.wire()},
          {"unpack_s", measured(e.unpack)},
          {"latency_s", measured(e.latency)},
          {"exchange_s", spread_json(e.exchanges)},
          {"alone_s", spread_json(e.alone)},
          {"bandwidth_bytes_per_s", e.bandwidth()},
          {"samples", {{"exchange_s", e.exchanges}, {"alone_s", e.alone}}}};
}

Json to_json_object(const IoBenchEntry& e) {
  return {{"way", e.way},
          {"precision", e.precision},
          {"cells", e.cells},
          {"bytes", e.bytes},
          {"write_s", spread_json(e.seconds)},
          {"raw_write_s", spread_json(e.raw_seconds)},
          {"bandwidth_bytes_per_s", e.bandwidth()},
          {"raw_share_percent", 100 * e.raw_share()},
          {"samples", {{"write_s", e.seconds}, {"raw_write_s", e.raw_seconds}}}};
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

constexpr double most_spread = 0.3;  // of a figure to rely on

std::string spread_text(double spread) {
  return fmt::format("{}{:.1f} %", spread > most_spread ? "*" : "", 100 * spread);
}

// Below a table with figures that are marked.
std::string spread_line(const TextTable& table) {
  const bool marked = std::ranges::any_of(table.rows, [](const std::vector<std::string>& row) {
    return std::ranges::any_of(row, [](const std::string& cell) { return cell.starts_with('*'); });
  });
  if (!marked) return "";
  return fmt::format(
      "  * spread above {:.0f} %: the machine was busy or the samples are too few; measure longer\n",
      100 * most_spread);
}

std::string verdict_text(const auto& e) {
  if (e.verdict == BenchVerdict::right) return e.note.empty() ? "right" : "right (" + e.note + ")";
  return (e.verdict == BenchVerdict::wrong ? "WRONG: " : "skipped: ") + e.note;
}

std::string decimal(std::optional<double> value, double unit, int decimals) {
  return value ? plain_decimal(*value / unit, decimals) : "-";
}

// A column: its head, 'l' or 'r', and its cells. Figures are none for what was not measured.
struct Column {
  std::string head;
  char alignment;
  std::function<std::string(const BenchEntry& e, const BenchFigures& f)> cell;
};

std::vector<Column> columns_of(const BenchRecord& r) {
  using E = BenchEntry;
  using F = BenchFigures;
  const auto any = [&](auto is) { return std::any_of(r.entries.begin(), r.entries.end(), is); };
  const bool temporal = any([](const E&e) { return e.time_block > 1; }), reduction = reduces(r),
             updates = r.options.subject != BenchSubject::bandwidth;
  std::vector<Column> columns{{"kernel", 'l', [](const E& e, const F&) { return e.kernel; }}};
  const auto add = [&](bool wanted, const char* head, char alignment, auto cell) {
    if (wanted) columns.push_back({head, alignment, cell});
  };
  const bool tiles = any([](const E& e) { return e.tile != "-"; });
  add(tiles, "tile", 'l', [](const E& e, const F&) { return e.tile; });
  add(temporal, "time block", 'l', [](const E& e, const F&) { return fmt::format("{}", e.time_block); });
  add(reduction, "time", 'r', [](const E& e, const F& f) {
    return e.samples.seconds.empty() ? "-" : signed_duration(f.seconds.median);
  });
  add(updates, "GPts/s", 'r', [](const E&, const F& f) { return decimal(f.points_per_second, 1e9, 2); });
  add(true, "GB/s", 'r', [](const E&, const F& f) { return decimal(f.bandwidth, 1e9, 1); });
  add(true, "of copy", 'r', [](const E&, const F& f) { return percent(f.copy_share); });
  // What the sweeps would need one by one, of the copy: over 100 % no single kernel can get.
  add(temporal, "of limit", 'r',
      [](const E& e, const F& f) { return f.copy_share ? percent(*f.copy_share * e.time_block) : "-"; });
  add(reduction, "of read", 'r', [](const E&, const F& f) { return percent(f.read_share); });
  add(true, "copy GB/s", 'r', [](const E&, const F& f) { return decimal(f.copy_bandwidth, 1e9, 1); });
  add(true, "spread", 'r', [](const E& e, const F& f) {
    return e.samples.seconds.empty() ? "-" : spread_text(f.seconds.spread());
  });
  add(updates, "speed-up", 'r',
      [](const E&, const F& f) { return f.speedup ? fmt::format("{:.2f}x", *f.speedup) : "-"; });
  add(reduction, "error", 'r',
      [](const E& e, const F&) { return e.error ? fmt::format("{:.1e}", *e.error) : "-"; });
  add(reduction, "bits", 'l', [](const E& e, const F&) {
    return std::string(!e.same_bits ? "-" : *e.same_bits ? "same" : "differ");
  });
  add(true, "check", 'l', [](const E& e, const F&) { return verdict_text(e); });
  return columns;
}

bool is_skipped(const HaloBenchEntry& e) {
  return e.verdict == BenchVerdict::skipped;
}

}  // namespace

std::vector<std::optional<BenchFigures>> figures(const BenchRecord& record) {
  std::vector<std::optional<BenchFigures>> all;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const BenchEntry& e = record.entries[i];
    all.push_back(e.samples.seconds.empty() ? std::nullopt : std::optional(figures_of(e)));
    if (!all.back() || !all.back()->points_per_second) continue;
    for (std::size_t lowest = 0; lowest <= i && !all.back()->speedup; ++lowest) {
      const BenchEntry& rung = record.entries[lowest];
      if (rung.verdict == BenchVerdict::right && all[lowest] && all[lowest]->points_per_second &&
          rung.cells == e.cells && rung.precision == e.precision)
        all.back()->speedup = *all.back()->points_per_second / *all[lowest]->points_per_second;
    }
  }
  return all;
}

bool all_right(const BenchRecord& record) {
  const auto is_wrong = [](const auto& e) { return e.verdict == BenchVerdict::wrong; };
  return std::ranges::none_of(record.entries, is_wrong) && std::ranges::none_of(record.halos, is_wrong);
}

std::optional<double> HaloBenchEntry::wire() const {
  if (exchanges.empty()) return std::nullopt;
  return median(exchanges) - pack - unpack;
}

std::optional<double> HaloBenchEntry::bandwidth() const {
  if (exchanges.empty() || !moves) return std::nullopt;
  return static_cast<double>(bytes) / median(exchanges);
}

double IoBenchEntry::bandwidth() const {
  return bytes / median(seconds);
}

double IoBenchEntry::raw_share() const {
  std::vector<double> shares;
  for (std::size_t i = 0; i < seconds.size(); ++i) shares.push_back(raw_seconds[i] / seconds[i]);
  return median(std::move(shares));
}

std::string to_json(const BenchRecord& r) {
  const BenchOptions& o = r.options;
  const auto all = figures(r);
  Json entries = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) entries.push_back(to_json_object(r.entries[i], all[i]));
  for (const HaloBenchEntry& e : r.halos) entries.push_back(to_json_object(e));
  for (const IoBenchEntry& e : r.files) entries.push_back(to_json_object(e));
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
                      {"op", reduces(r) ? Json(o.op) : Json()}}},
                    {"entries", entries},
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
  if (reduces(r)) text += fmt::format(", {} of a - b", word(o.op));
  text += "\n";
  for (const std::string& warning : r.warnings) text += "warning: " + warning + "\n";
  return text;
}

std::string bench_table(const BenchRecord& r) {
  const auto all = figures(r);
  const std::vector<Column> columns = columns_of(r);
  std::string text;
  for (std::size_t first = 0; first < r.entries.size();) {
    TextTable table{"", {{}}};
    for (const Column& column : columns) {
      table.alignment += column.alignment;
      table.rows[0].push_back(column.head);
    }
    const BenchEntry& head = r.entries[first];
    std::size_t i = first;
    for (; i < r.entries.size(); ++i) {
      const BenchEntry& e = r.entries[i];
      if (!(e.cells == head.cells) || e.precision != head.precision) break;
      std::vector<std::string>& line = table.rows.emplace_back();
      for (const Column& column : columns) line.push_back(column.cell(e, all[i].value_or(BenchFigures{})));
    }
    text += fmt::format("\n{}, {}\n{}{}", extent_text(head.cells), word(head.precision), table.text(2),
                        spread_line(table));
    first = i;
  }
  return text;
}

std::string skipped_line(const std::vector<HaloBenchEntry>& entries) {
  std::set<std::string> known;
  std::vector<std::string> transports;
  for (const HaloBenchEntry& e : entries)
    if (std::string text = fmt::format("{} ({})", e.transport, e.note);
        is_skipped(e) && known.insert(text).second)
      transports.push_back(text);
  return transports.empty() ? "" : fmt::format("\nnot possible here: {}\n", fmt::join(transports, ", "));
}

std::string halo_bench_table(const std::vector<HaloBenchEntry>& entries) {
  if (std::ranges::all_of(entries, is_skipped)) return "";
  const HaloBenchEntry& head = entries.front();
  const auto us = [](double seconds) { return seconds > 0 ? plain_decimal(1e6 * seconds, 1) : "-"; };
  TextTable table{"llrrrrrrrrrl",
                  {{"transport", "face", "bytes", "pack us", "wire us", "unpack us", "exchange us", "GB/s",
                    "alone us", "latency us", "spread", "check"}}};
  for (const HaloBenchEntry& e : entries) {
    if (is_skipped(e)) continue;
    std::vector<std::string> line{e.transport, e.face, human_bytes(static_cast<double>(e.bytes))};
    if (e.exchanges.empty()) {
      line.insert(line.end(), 8, "-");
    } else {
      const Quantiles q = quantiles(e.exchanges);
      line.insert(line.end(), {us(e.pack), us(*e.wire()), us(e.unpack), us(q.median),
                               e.moves ? plain_decimal(*e.bandwidth() / 1e9, 2) : "-", us(median(e.alone)),
                               us(e.latency), spread_text(q.spread())});
    }
    line.push_back(verdict_text(e));
    table.rows.push_back(std::move(line));
  }
  return fmt::format("\n{} a rank, {}, {} ghost layer{}\n{}", extent_text(head.cells), word(head.precision),
                     head.ghosts, head.ghosts == 1 ? "" : "s", table.text(2) + spread_line(table));
}

std::string io_bench_table(const std::vector<IoBenchEntry>& entries) {
  if (entries.empty()) return "";
  TextTable table{"lrrrrr", {{"way", "time", "GB/s", "of raw", "spread", "files"}}};
  for (const IoBenchEntry& e : entries) {
    const Quantiles q = quantiles(e.seconds);
    table.rows.push_back({e.way, signed_duration(q.median), plain_decimal(e.bandwidth() / 1e9, 2),
                          percent(e.raw_share()), spread_text(q.spread()),
                          fmt::format("{}", e.seconds.size())});
  }
  const IoBenchEntry& head = entries.front();
  return fmt::format("\n{}, {}, {} of cells\n{}", extent_text(head.cells), word(head.precision),
                     human_bytes(head.bytes), table.text(2) + spread_line(table));
}

}  // namespace isotherm
