#include "output/records/bench_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {

ISOTHERM_KEYS(Quantiles, median, p10, p90)

namespace {

// Of each sample by itself, then the median: what the memory did in between drops out.
std::optional<double> share_of(const std::vector<double>& roof, const std::vector<double>& seconds,
                               double bytes) {
  if (roof.empty()) return std::nullopt;
  std::vector<double> shares;
  for (std::size_t i = 0; i < std::min(roof.size(), seconds.size()); ++i)
    shares.push_back(bytes / seconds[i] / roof[i]);
  return median(std::move(shares));
}

std::optional<double> median_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return median(values);
}

BenchFigures figures_of(const BenchEntry& e) {
  BenchFigures f;
  const BenchSamples& s = e.samples;
  f.seconds = quantiles(s.seconds);
  f.copy_bandwidth = median_of(s.copy_bytes_per_s);
  f.read_bandwidth = median_of(s.read_bytes_per_s);
  if (!s.base_seconds.empty() && !(f.seconds.median > f.seconds.p90 - f.seconds.p10)) return f;
  if (e.points > 0) f.points_a_second = e.points / f.seconds.median;
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

bool same_ladder(const BenchEntry& a, const BenchEntry& b) {
  return a.cells == b.cells && a.precision == b.precision;
}

Json spread_json(const std::vector<double>& values) {
  return values.empty() ? Json() : Json(quantiles(values));
}

Json to_json_object(const BenchEntry& e, const std::optional<BenchFigures>& figures) {
  const BenchFigures f = figures.value_or(BenchFigures{});
  const auto percent = [](std::optional<double> share) { return share ? Json(100 * *share) : Json(); };
  return {{"row", e.row},
          {"policy", e.policy},
          {"depth", e.depth},
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
          {"points_per_s", f.points_a_second},
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

Json device_json(const BenchRecord& r) {
  return {{"backend", r.device.backend},
          {"name", r.device.name},
          {"uuid", r.device.uuid},
          {"detail", r.device.detail},
          {"instruction_set", r.instruction_set},
          {"threads", r.threads_note}};
}

}  // namespace

std::vector<std::optional<BenchFigures>> figures(const BenchRecord& record) {
  std::vector<std::optional<BenchFigures>> all;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const BenchEntry& e = record.entries[i];
    all.push_back(e.samples.seconds.empty() ? std::nullopt : std::optional(figures_of(e)));
    if (!all.back() || !all.back()->points_a_second) continue;
    for (std::size_t lowest = 0; lowest <= i && !all.back()->speedup; ++lowest) {
      const BenchEntry& rung = record.entries[lowest];
      if (rung.verdict == BenchVerdict::right && all[lowest] && all[lowest]->points_a_second &&
          same_ladder(rung, e))
        all.back()->speedup = *all.back()->points_a_second / *all[lowest]->points_a_second;
    }
  }
  return all;
}

bool all_right(const BenchRecord& record) {
  const auto none_wrong = [](const auto& entries) {
    return std::none_of(entries.begin(), entries.end(),
                        [](const auto& e) { return e.verdict == BenchVerdict::wrong; });
  };
  return none_wrong(record.entries) && none_wrong(record.halos);
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
                    {"subject", r.subject},
                    {"result", all_right(r) && !(r.baseline && r.baseline->worse()) ? "PASS" : "FAIL"},
                    {"provenance", std::move(provenance)},
                    {"device", device_json(r)},
                    {"ranks", r.ranks},
                    {"options",
                     {{"seed", r.seed},
                      {"seconds_per_row_s", r.seconds_a_row},
                      {"walls", r.walls},
                      {"source", r.source},
                      {"overlap", r.overlap},
                      {"norm", r.norm},
                      {"op", r.op}}},
                    {"baseline", r.baseline ? to_json_object(*r.baseline) : Json(nullptr)},
                    {"entries", entries},
                    {"warnings", r.warnings}});
}

}  // namespace isotherm
