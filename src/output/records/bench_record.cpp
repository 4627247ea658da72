#include "output/records/bench_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {
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
  f.points_a_second = e.points / f.seconds.median;
  f.bandwidth = e.bytes / f.seconds.median;
  if (s.base_seconds.empty()) {
    f.copy_share = share_of(s.copy_bytes_per_s, s.seconds, e.bytes);
    f.read_share = share_of(s.read_bytes_per_s, s.seconds, e.bytes);
  } else {
    if (f.copy_bandwidth) f.copy_share = f.bandwidth / *f.copy_bandwidth;
    if (f.read_bandwidth) f.read_share = f.bandwidth / *f.read_bandwidth;
  }
  return f;
}

bool same_ladder(const BenchEntry& a, const BenchEntry& b) {
  return a.cells == b.cells && a.precision == b.precision;
}

Json spread_json(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  const Quantiles q = quantiles(values);
  return {{"median", q.median}, {"p10", q.p10}, {"p90", q.p90}};
}

Json to_json_object(const BenchEntry& e, const std::optional<BenchFigures>& f) {
  const auto of = [&](auto pick) { return f ? Json(pick(*f)) : Json(nullptr); };
  const auto percent = [](const std::optional<double>& share) {
    return share ? Json(100 * *share) : Json(nullptr);
  };
  const bool updates = e.points > 0;
  const auto rate = [&](double BenchFigures::*figure) {
    return f && (*f).*figure > 0 ? Json((*f).*figure) : Json(nullptr);
  };
  return {{"row", e.row},
          {"policy", e.policy},
          {"depth", e.depth},
          {"precision", word(e.precision)},
          {"cells", triple(e.cells)},
          {"verdict", word(e.verdict)},
          {"note", text_or_null(e.note)},
          {"points_per_launch", updates ? Json(e.points) : Json(nullptr)},
          {"bytes_per_launch", e.bytes},
          {"launches_per_sample", e.samples.launches},
          {"launch_s", spread_json(e.samples.seconds)},
          {"base_s", spread_json(e.samples.base_seconds)},
          {"spread_percent", of([](const BenchFigures& g) { return 100 * g.seconds.spread(); })},
          {"points_per_s", rate(&BenchFigures::points_a_second)},
          {"bandwidth_bytes_per_s", rate(&BenchFigures::bandwidth)},
          {"copy_bandwidth_bytes_per_s", spread_json(e.samples.copy_bytes_per_s)},
          {"copy_bandwidth_share_percent", f ? percent(f->copy_share) : Json(nullptr)},
          {"read_bandwidth_bytes_per_s", spread_json(e.samples.read_bytes_per_s)},
          {"read_bandwidth_share_percent", f ? percent(f->read_share) : Json(nullptr)},
          {"speedup", f ? value_or_null(f->speedup) : Json(nullptr)},
          {"error", value_or_null(e.error)},
          {"same_bits", value_or_null(e.same_bits)},
          {"samples",
           {{"launch_s", e.samples.seconds},
            {"base_s", e.samples.base_seconds},
            {"copy_bandwidth_bytes_per_s", e.samples.copy_bytes_per_s},
            {"read_bandwidth_bytes_per_s", e.samples.read_bytes_per_s}}}};
}

Json to_json_object(const HaloBenchEntry& e) {
  const auto measured = [](double seconds) { return seconds > 0 ? Json(seconds) : Json(nullptr); };
  return {{"transport", e.transport},
          {"face", e.face},
          {"ghosts", e.ghosts},
          {"precision", word(e.precision)},
          {"cells", triple(e.cells)},
          {"bytes", e.bytes},
          {"verdict", word(e.verdict)},
          {"note", text_or_null(e.note)},
          {"pack_s", measured(e.pack)},
          {"wire_s", value_or_null(e.wire())},
          {"unpack_s", measured(e.unpack)},
          {"latency_s", measured(e.latency)},
          {"exchange_s", spread_json(e.exchanges)},
          {"alone_s", spread_json(e.alone)},
          {"bandwidth_bytes_per_s", value_or_null(e.bandwidth())},
          {"samples", {{"exchange_s", e.exchanges}, {"alone_s", e.alone}}}};
}

Json to_json_object(const IoBenchEntry& e) {
  return {{"way", e.way},
          {"precision", word(e.precision)},
          {"cells", triple(e.cells)},
          {"bytes", e.bytes},
          {"write_s", spread_json(e.seconds)},
          {"raw_write_s", spread_json(e.raw_seconds)},
          {"bandwidth_bytes_per_s", e.bandwidth()},
          {"raw_share_percent", 100 * e.raw_share()},
          {"samples", {{"write_s", e.seconds}, {"raw_write_s", e.raw_seconds}}}};
}

Json device_json(const BenchRecord& r) {
  return {{"backend", word(r.device.backend)},
          {"name", r.device.name},
          {"uuid", text_or_null(r.device.uuid)},
          {"detail", text_or_null(r.device.detail)},
          {"instruction_set", text_or_null(r.instruction_set)},
          {"threads", text_or_null(r.threads_note)}};
}

}  // namespace

std::vector<std::optional<BenchFigures>> figures(const BenchRecord& record) {
  std::vector<std::optional<BenchFigures>> all;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const BenchEntry& e = record.entries[i];
    all.push_back(e.samples.seconds.empty() ? std::nullopt : std::optional(figures_of(e)));
    if (!all.back() || !(all.back()->points_a_second > 0)) continue;
    for (std::size_t lowest = 0; lowest <= i; ++lowest) {
      const BenchEntry& rung = record.entries[lowest];
      if (rung.verdict != BenchVerdict::right || !all[lowest] || !same_ladder(rung, e)) continue;
      if (!(all[lowest]->points_a_second > 0)) continue;
      all.back()->speedup = all.back()->points_a_second / all[lowest]->points_a_second;
      break;
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
  return file_text({{"schema", "isotherm-bench"},
                    {"schema_version", bench_schema_version},
                    {"subject", word(r.subject)},
                    {"result", all_right(r) && !(r.baseline && r.baseline->worse()) ? "PASS" : "FAIL"},
                    {"provenance",
                     {{"version", r.build.version},
                      {"git_revision", r.build.git_revision},
                      {"build_type", r.build.build_type},
                      {"compiler", r.build.compiler},
                      {"cuda", r.build.cuda},
                      {"host", text_or_null(r.host)},
                      {"command_line", text_or_null(r.command_line)},
                      {"started", text_or_null(r.started)},
                      {"finished", text_or_null(r.finished)}}},
                    {"device", device_json(r)},
                    {"ranks", r.ranks},
                    {"options",
                     {{"seed", r.seed},
                      {"seconds_per_row_s", r.seconds_a_row},
                      {"walls", r.walls},
                      {"source", r.source},
                      {"overlap", r.overlap},
                      {"norm", value_or_null(r.norm)},
                      {"op", value_or_null(r.op)}}},
                    {"baseline", r.baseline ? to_json_object(*r.baseline) : Json(nullptr)},
                    {"entries", entries},
                    {"warnings", r.warnings}});
}

}  // namespace isotherm
