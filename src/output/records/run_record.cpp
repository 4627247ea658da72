#include "output/records/run_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/host_threads.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "output/records/json_value.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

ISOTHERM_KEYS(TransportMeasurement, transport, why_not, seconds, latency)
ISOTHERM_KEYS(HaloLink, peer, directions, bytes, transport, measurements)
ISOTHERM_KEYS(Spread, min, mean, max)
ISOTHERM_KEYS(RankInfo, rank, host, backend, device_index, device, uuid, threads, cells, peak_bytes)
ISOTHERM_KEYS(HistogramRecord, kernel, bins, low_K, high_K)
ISOTHERM_KEYS(OrderLevel, cells, sweeps, dt_s, max_error_K, l2_error_K)
ISOTHERM_KEYS(Verification, solution, max_error_K, l2_error_K, tolerance_K, order, levels, verdict)
ISOTHERM_KEYS(SourceRecord, power_W, cells)
ISOTHERM_KEYS(Continuation::Restarted, file, sweep)

namespace {

constexpr std::size_t pairs_worth_a_line = 12;

std::vector<std::string> words(const std::vector<Direction>& directions) {
  std::vector<std::string> all;
  for (const Direction d : directions) all.push_back(direction_word(d));
  return all;
}

Json to_json_object(const TransportMeasurement& measurement) {
  const auto measured = [](double seconds) { return seconds > 0 ? Json(seconds) : Json(nullptr); };
  return {{"transport", measurement.transport},
          {"why_not", measurement.why_not},
          {"exchange_s", measured(measurement.seconds)},
          {"latency_s", measured(measurement.latency)}};
}

Json to_json_object(const HaloPair& pair) {
  const HaloLink& link = pair.link;
  Json measurements = Json::array();
  for (const TransportMeasurement& measurement : link.measurements)
    measurements.push_back(to_json_object(measurement));
  const TransportMeasurement& chosen = link.chosen();
  Json json = to_json_object(chosen);
  json.erase("why_not");
  json.update({{"rank", pair.rank},
               {"peer", link.peer},
               {"directions", words(link.directions)},
               {"bytes", link.bytes},
               {"bandwidth_bytes_per_s", bandwidth(link)},
               {"trials", measurements}});
  return json;
}

// What pairs of one kind were measured to do.
std::string figures_of(const std::vector<const HaloLink*>& links) {
  std::vector<double> seconds, latencies;
  for (const HaloLink* link : links) {
    seconds.push_back(link->chosen().seconds);
    latencies.push_back(link->chosen().latency);
  }
  const auto bytes = static_cast<double>(links.front()->bytes);
  const double time = median(seconds);
  if (!(time > 0)) return fmt::format("{} each way", human_bytes(bytes));
  return fmt::format("{} each way in {:.1f} us: {:.2f} GB/s, latency {:.1f} us", human_bytes(bytes),
                     1e6 * time, bytes / time / 1e9, 1e6 * median(latencies));
}

}  // namespace

std::string direction_word(Direction d) {
  std::string text;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (d[axis] != 0) text += fmt::format("{}{}", "xyz"[axis], d[axis] > 0 ? '+' : '-');
  return text;
}

std::optional<double> hidden_percent(const HaloRecord& record) {
  const std::optional<double> share = record.cost ? record.cost->hidden_share() : std::nullopt;
  return share ? std::optional(100 * *share) : std::nullopt;
}

std::optional<double> bandwidth(const HaloLink& link) {
  const double seconds = link.chosen().seconds;
  if (!(seconds > 0)) return std::nullopt;
  return static_cast<double>(link.bytes) / seconds;
}

std::vector<HaloPair> gather_pairs(const std::vector<HaloLink>& mine, const Communicator& communicator) {
  std::vector<HaloLink> upper;  // each pair once, by its lower rank
  std::ranges::copy_if(mine, std::back_inserter(upper),
                       [&](const HaloLink& link) { return link.peer >= communicator.rank(); });
  std::vector<HaloPair> pairs;
  int rank = 0;
  const std::string text = Json(upper).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const std::string& of_rank : communicator.all_gather(text)) {
    for (const Json& link : Json::parse(of_rank)) pairs.push_back({rank, link.get<HaloLink>()});
    ++rank;
  }
  std::ranges::sort(pairs, {}, [](const HaloPair& pair) { return std::pair(pair.rank, pair.link.peer); });
  return pairs;
}

std::string transports_in_use(const HaloRecord& record) {
  std::vector<std::string> names;
  for (const HaloPair& pair : record.pairs) {
    if (std::find(names.begin(), names.end(), pair.link.transport) == names.end()) {
      names.push_back(pair.link.transport);
    }
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> halo_lines(const HaloRecord& record) {
  std::map<std::string, std::vector<const HaloLink*>> groups;
  const bool each = record.pairs.size() <= pairs_worth_a_line;
  for (const HaloPair& pair : record.pairs) {
    const HaloLink& link = pair.link;
    const std::string who = each ? fmt::format("ranks {}-{} ", pair.rank, link.peer) : "";
    groups[fmt::format("{}{} by {}", who, fmt::join(words(link.directions), " "), link.transport)].push_back(
        &link);
  }
  std::vector<std::string> lines;
  for (const auto& [name, links] : groups) {
    const std::string count = each ? "" : fmt::format(" ({} pairs)", links.size());
    lines.push_back(fmt::format("{}{}: {}", name, count, figures_of(links)));
  }
  if (const auto percent = hidden_percent(record)) {
    lines.push_back(fmt::format("{:.1f} % hidden: of an exchange of {:.1f} us, {:.1f} us add to a step",
                                *percent, 1e6 * record.cost->exchange, 1e6 * record.cost->exposed));
  }
  return lines;
}

Json to_json_object(const HaloRecord& record) {
  Json links = Json::array();
  for (const HaloPair& pair : record.pairs) links.push_back(to_json_object(pair));
  const std::optional<HaloCost>& cost = record.cost;
  return {{"hidden_percent", hidden_percent(record)},
          {"exchange_s", cost ? Json(cost->exchange) : Json()},
          {"exposed_s", cost ? Json(cost->exposed) : Json()},
          {"links", links}};
}

WritingRecord slowest(WritingRecord mine, const Communicator& communicator) {
  double times[] = {mine.seconds, mine.exposed, mine.at_end};
  communicator.all_reduce(times, 3, ReduceOp::max);
  mine.seconds = times[0];
  mine.exposed = times[1];
  mine.at_end = times[2];
  return mine;
}

std::optional<double> hidden_percent(const WritingRecord& record) {
  const double could_hide = record.seconds - record.at_end;
  if (record.files == 0 || !(could_hide > 0)) return std::nullopt;
  return 100 * std::clamp(1 - record.exposed / could_hide, 0.0, 1.0);
}

std::optional<double> compression_ratio(const WritingRecord& record) {
  if (record.compression == 0 || record.bytes == 0) return std::nullopt;
  return static_cast<double>(record.cell_bytes) / static_cast<double>(record.bytes);
}

std::optional<double> bandwidth(const WritingRecord& record) {
  if (record.files == 0 || !(record.seconds > 0)) return std::nullopt;
  return static_cast<double>(record.bytes) / record.seconds;
}

std::string writing_line(const WritingRecord& record) {
  const auto rate = bandwidth(record);
  if (!rate) return {};
  std::string text =
      fmt::format("{} of {} in {}, {:.3g} GB/s", human_bytes(static_cast<double>(record.bytes)),
                  counted(record.files, "file"), human_duration(record.seconds), *rate / 1e9);
  if (const auto ratio = compression_ratio(record))
    text += fmt::format(", compressed from {} ({:.3g} times)",
                        human_bytes(static_cast<double>(record.cell_bytes)), *ratio);
  if (!record.why_in_step.empty()) return text + fmt::format(", in step ({})", record.why_in_step);
  const auto hidden = hidden_percent(record);
  const std::string end =
      record.at_end > 0 ? fmt::format(", {} after the last", human_duration(record.at_end)) : "";
  return text + (hidden ? fmt::format(", {:.1f} % hidden behind sweeps", *hidden) : "") + end;
}

Json to_json_object(const WritingRecord& record) {
  return {{"mode", record.why_in_step.empty() ? "asynchronous" : "in_step"},
          {"why_in_step", record.why_in_step},
          {"files", record.files},
          {"bytes", record.bytes},
          {"cell_bytes", record.cell_bytes},
          {"compression", record.compression},
          {"compression_ratio", compression_ratio(record)},
          {"write_s", record.seconds},
          {"bandwidth_bytes_per_s", bandwidth(record)},
          {"exposed_s", record.exposed},
          {"after_last_sweep_s", record.at_end},
          {"hidden_percent", hidden_percent(record)}};
}

namespace {

Json provenance(const RunRecord& r) {
  std::set<std::string> hosts;
  for (const RankInfo& info : r.ranks) hosts.insert(info.host);
  Json json = r.build;
  json.update({{"mpi", r.mpi},
               {"hdf5", r.hdf5},
               {"hdf5_kind", r.build.hdf5},
               {"hosts", hosts},
               {"command_line", r.command_line},
               {"started", r.started},
               {"finished", r.finished}});
  return json;
}

Json tuning(const Tuning& t) {
  Json candidates = Json::array();
  for (const Tuning::Candidate& c : t.candidates)
    candidates.push_back({{"kernel", c.kernel},
                          {"tile", c.tile},
                          {"time_block", c.time_block},
                          {"halo_width", c.halo_width},
                          {"overlap", c.overlap},
                          {"graph", c.graph},
                          {"reduction", c.reduction},
                          {"sweep_s", c.seconds},
                          {"samples", c.samples}});
  return {{"source", t.source}, {"file", t.file},         {"measured_s", t.seconds}, {"sweeps", t.sweeps},
          {"planes", t.planes}, {"complete", t.complete}, {"candidates", candidates}};
}

Json method(const MethodRecord& m) {
  return {{"problem", m.problem},
          {"kernel", m.kernel},
          {"tile", m.tile},
          {"reduction", m.reduction},
          {"graph", m.graph},
          {"transport", m.transport},
          {"halo_width", m.halo_width},
          {"time_block", m.time_block},
          {"why_single", m.why_single},
          {"overlap", m.overlap},
          {"instruction_set", m.instruction_set},
          {"threads", m.threads_note},
          {"device_note", m.device_note},
          {"dt_s", m.dt},
          {"dt_limit_s", m.dt_limit},
          {"end_time_s", m.end_time},
          {"name", m.name},
          {"cycle", m.cycle},
          {"weight", m.weight},
          {"planned_sweeps", m.planned_sweeps},
          {"tuning", tuning(m.tuning)}};
}

Json decomposition(const RunRecord& r) {
  const ExchangeWeights& w = r.weights;
  return {{"process_grid", r.process_grid},
          {"smallest_rank_cells", r.smallest_rank_cells},
          {"largest_rank_cells", r.largest_rank_cells},
          {"weights",
           {{"cell_bytes", w.cell_bytes},
            {"memory_bytes_per_s", w.memory},
            {"sector_bytes", w.sector},
            {"touches", w.touches},
            {"wire_bytes_per_s", w.wire},
            {"wire_sector_bytes", w.wire_sector},
            {"message_s", w.message},
            {"message_across_xz_s", w.across_xz},
            {"tile_columns", w.columns},
            {"tile_rows", w.rows}}}};
}

Json phases(const RunRecord& r) {
  Json json;
  for (const Phase phase : {Phase::setup, Phase::sweeps, Phase::halo, Phase::reduction, Phase::diagnostics,
                            Phase::output, Phase::total, Phase::stepping}) {
    json[std::string(word(phase))] = r.phases[phase];
  }
  return json;
}

Json performance(const RunRecord& r) {
  const Performance& p = r.performance;
  const std::optional<Figures> f = figures(r);
  const auto of = [&](double value) { return f ? Json(value) : Json(); };
  const Figures g = f.value_or(Figures{});
  return {{"sweeps", p.sweeps},
          {"cycles", p.cycles},
          {"points", p.points},
          {"bytes_per_point", p.bytes_per_point},
          {"copy_bandwidth_bytes_per_s", p.copy_bandwidth},
          {"points_per_s", of(g.points_per_second)},
          {"effective_bandwidth_bytes_per_s", of(g.effective_bandwidth)},
          {"step_s", of(g.seconds_a_step)},
          {"halo_fraction_percent", of(100 * g.halo_fraction)},
          {"copy_bandwidth_share_percent", g.copy_share ? Json(100 * *g.copy_share) : Json()}};
}

Json residual(const Residual& r) {
  return {{"norm", r.norm},
          {"criterion", r.criterion},
          {"tolerance", r.tolerance},
          {"first_K", r.first},
          {"last_K", r.last},
          {"last_sweep", r.last_sweep},
          {"checks", r.checks},
          {"check", r.check},
          {"extra_sweeps", r.extra_sweeps},
          {"convergence", r.convergence}};
}

Json continuation(const Continuation& c) {
  return {{"checkpoints", c.checkpoints},
          {"newest_checkpoint", c.newest},
          {"restarted_from", c.restarted},
          {"stopped_by", c.stopped_by}};
}

Json memory(const RunRecord& r) {
  std::int64_t peak = 0;
  for (const RankInfo& info : r.ranks) peak = std::max(peak, info.peak_bytes);
  return {{"estimate_bytes", r.memory_estimate_bytes},
          {"host_peak_bytes", peak > 0 ? Json(peak) : Json(nullptr)}};
}

}  // namespace

namespace {

constexpr std::size_t most_lines = 32;  // of ranks; a page of a terminal, and a node or four of GPUs
constexpr std::size_t ends = 8;         // of more ranks: so many of the slowest, and of the fastest

// In the order of the columns; those from `interior` to `other` are the loop's.
constexpr std::array profiled{Phase::setup,      Phase::interior,    Phase::exterior, Phase::sweep,
                              Phase::boundaries, Phase::pack,        Phase::wire,     Phase::unpack,
                              Phase::reduction,  Phase::diagnostics, Phase::output,   Phase::other,
                              Phase::loop,       Phase::total};

double swept(const PhaseTimes& p) {
  return p[Phase::interior] + p[Phase::exterior] + p[Phase::sweep];
}

// The ranks that are shown; of many, the slowest first.
std::vector<std::size_t> shown(const std::vector<PhaseTimes>& profiles) {
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= most_lines) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return swept(profiles[a]) > swept(profiles[b]); });
  order.erase(order.begin() + ends, order.end() - ends);
  return order;
}

PhaseTimes mean_of(const std::vector<PhaseTimes>& profiles) {
  PhaseTimes mean;
  for (const PhaseTimes& each : profiles)
    for (const Phase phase : profiled) mean[phase] += each[phase] / static_cast<double>(profiles.size());
  return mean;
}

std::string share_text(Phase phase, const PhaseTimes& mean) {
  const bool within_loop = phase != Phase::setup && phase != Phase::total;
  return within_loop && mean[Phase::loop] > 0 ? fmt::format("{:.1f} %", 100 * mean[phase] / mean[Phase::loop])
                                              : "";
}

Json profile(const std::vector<PhaseTimes>& profiles) {
  if (profiles.empty()) return nullptr;
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < profiles.size(); ++rank) {
    Json json = {{"rank", rank}};
    for (const Phase phase : profiled) json[fmt::format("{}_s", word(phase))] = profiles[rank][phase];
    ranks.push_back(std::move(json));
  }
  return ranks;
}

}  // namespace

std::vector<PhaseTimes> gather_profiles(const PhaseTimes& mine, const Communicator& communicator) {
  std::vector<PhaseTimes> profiles;
  for (const std::string& text : communicator.all_gather(Json(mine.values).dump()))
    profiles.push_back({Json::parse(text).get<decltype(mine.values)>()});
  return profiles;
}

std::string profile_table(const std::vector<PhaseTimes>& profiles, const std::vector<RankInfo>& ranks) {
  if (profiles.empty()) return "";
  std::vector<Phase> spent;  // by some rank
  TextTable table{"rll", {{"rank", "host", "device"}}};
  for (const Phase phase : profiled) {
    if (std::ranges::none_of(profiles, [&](const PhaseTimes& p) { return p[phase] != 0; })) continue;
    spent.push_back(phase);
    table.alignment += 'r';
    table.rows.front().emplace_back(word(phase));
  }
  const auto add = [&](std::vector<std::string> line, const auto& cell) {
    for (const Phase phase : spent) line.push_back(cell(phase));
    table.rows.push_back(std::move(line));
  };
  for (const std::size_t i : shown(profiles)) {
    const RankInfo& info = ranks[i];
    const std::string device = info.device_index < 0 ? "" : fmt::format("{} ", info.device_index);
    add({fmt::format("{}", info.rank), escaped(info.host), device + escaped(info.device)},
        [&](Phase phase) { return signed_duration(profiles[i][phase]); });
  }
  const PhaseTimes mean = mean_of(profiles);
  add({"", "mean", ""}, [&](Phase phase) { return signed_duration(mean[phase]); });
  add({"", "share of the loop", ""}, [&](Phase phase) { return share_text(phase, mean); });
  std::string text = "\n" + table.text(2);
  if (profiles.size() > most_lines)
    text += fmt::format("  {} ranks that swept longest and {} that swept shortest; {} more in run.json\n",
                        ends, ends, profiles.size() - 2 * ends);
  return text;
}

std::optional<Figures> figures(const RunRecord& record) {
  const Spread& halo = record.phases[Phase::halo];
  const Spread& stepping = record.phases[Phase::stepping];
  const Performance& p = record.performance;
  Figures f;
  f.stepping_seconds = stepping.max;
  if (!(f.stepping_seconds > 0) || p.sweeps <= p.untimed_sweeps) return std::nullopt;
  f.points_per_second = (p.points - p.untimed_points) / f.stepping_seconds;
  f.effective_bandwidth = f.points_per_second * p.bytes_per_point;
  f.seconds_a_step = f.stepping_seconds / static_cast<double>(p.sweeps - p.untimed_sweeps);
  f.halo_fraction = halo.mean / stepping.mean;
  if (p.copy_bandwidth && *p.copy_bandwidth > 0) f.copy_share = f.effective_bandwidth / *p.copy_bandwidth;
  return f;
}

std::vector<FigureOfMerit> foms(const RunRecord& r) {
  const bool right = r.exit_code == ExitCode::done || r.exit_code == ExitCode::stopped ||
                     r.exit_code == ExitCode::not_converged;
  const std::optional<Figures> f = figures(r);
  if (!right || r.answer != Answer::finite || !f) return {};
  std::vector<FigureOfMerit> all{
      {"cell_updates", f->points_per_second / 1e9, "GLUP/s", Better::higher, 3},
      {"effective_bandwidth", f->effective_bandwidth / 1e9, "GB/s", Better::higher, 1}};
  if (f->copy_share) all.push_back({"copy_bandwidth_share", 100 * *f->copy_share, "%", Better::higher, 1});
  all.push_back({"time_per_step", 1e3 * f->seconds_a_step, "ms", Better::lower, 3});
  all.push_back({"halo_fraction", 100 * f->halo_fraction, "%", Better::lower, 1});
  if (const auto percent = hidden_percent(r.halo))
    all.push_back({"halo_hidden", *percent, "%", Better::higher, 1});
  if (const auto rate = bandwidth(r.writing))
    all.push_back({"write_bandwidth", *rate / 1e9, "GB/s", Better::higher, 3});
  if (const auto percent = hidden_percent(r.writing))
    all.push_back({"write_hidden", *percent, "%", Better::higher, 1});
  return all;
}

namespace {

// {"cell_updates": {"value": 1.5, "unit": "GLUP/s", "better": "higher"}}; without what is not finite.
Json figures_of_merit(const RunRecord& record) {
  Json json = Json::object();
  for (const FigureOfMerit& fom : foms(record))
    if (std::isfinite(fom.value))
      json[fom.name] = {{"value", fom.value},
                        {"unit", fom.unit},
                        {"better", fom.better == Better::lower ? "lower" : "higher"}};
  return json;
}

}  // namespace

const char* result_word(const RunRecord& r) {
  switch (r.exit_code) {
    case ExitCode::done:
      if (r.verification && r.verification->verdict == Verdict::passed) return "VERIFIED";
      if (r.residual.convergence == Convergence::stagnated)
        return "CONVERGED";  // as far as the precision goes
      return r.residual.convergence == Convergence::reached ? "CONVERGED" : "DONE";
    case ExitCode::not_converged:
      return "NOT CONVERGED";
    case ExitCode::stopped:
      return "STOPPED";
    default:
      return "FAILED";
  }
}

std::string to_json(const RunRecord& r) {
  Json ranks = r.ranks;
  for (Json& row : ranks)
    if (row["device_index"] == -1) row["device_index"] = nullptr;
  Json json = {{"schema", "isotherm-run"},
               {"schema_version", run_schema_version},
               {"result", result_word(r)},
               {"exit_code", static_cast<int>(r.exit_code)},
               {"message", r.message},
               {"name", r.name},
               {"provenance", provenance(r)},
               {"deck", {{"path", r.deck_path}, {"resolved", r.resolved_deck}}},
               {"directory", r.directory},
               {"grid", {{"cells", r.cells}, {"lengths_m", r.lengths}, {"precision", r.precision}}},
               {"sources", r.sources},
               {"decomposition", decomposition(r)},
               {"ranks", std::move(ranks)},
               {"method", method(r.method)},
               {"phases_s", phases(r)},
               {"profile", profile(r.profile)},
               {"performance", performance(r)},
               {"figures_of_merit", figures_of_merit(r)},
               {"halo", to_json_object(r.halo)},
               {"snapshots", to_json_object(r.writing)},
               {"residual", residual(r.residual)},
               {"histogram", r.histogram},
               {"verification", r.verification},
               {"memory", memory(r)},
               {"time_s", r.time},
               {"answer", r.answer},
               {"end_state", r.end_state ? to_json_object(*r.end_state) : Json(nullptr)},
               {"fingerprint", r.fingerprint ? Json(fmt::format("{:016x}", *r.fingerprint)) : Json(nullptr)},
               {"files", r.files},
               {"continuation", continuation(r.continuation)},
               {"warnings", r.warnings}};
  return file_text(std::move(json));
}

void write_run_record(const std::filesystem::path& path, const RunRecord& record) {
  write_file_atomically(path, to_json(record));
}

PhaseTable<Spread> gather_phases(PhaseTimes mine, const Communicator& communicator) {
  mine[Phase::stepping] = mine[Phase::sweeps] + mine[Phase::halo] + mine[Phase::reduction];
  const int count = static_cast<int>(mine.values.size());
  PhaseTimes min = mine, sum = mine, max = mine;
  communicator.all_reduce(min.values.data(), count, ReduceOp::min);
  communicator.all_reduce(sum.values.data(), count, ReduceOp::sum);
  communicator.all_reduce(max.values.data(), count, ReduceOp::max);
  PhaseTable<Spread> spreads;
  for (std::size_t p = 0; p < spreads.values.size(); ++p)
    spreads.values[p] = {min.values[p], sum.values[p] / communicator.size(), max.values[p]};
  return spreads;
}

std::vector<RankInfo> gather_ranks(const RankInfo& mine, const Communicator& communicator) {
  std::vector<RankInfo> rows;
  const std::string text = Json(mine).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const std::string& info : communicator.all_gather(text)) rows.push_back(Json::parse(info));
  return rows;
}

std::int64_t peak_memory_bytes() {
  return static_cast<std::int64_t>(proc_bytes("/proc/self/status", "VmHWM"));
}

}  // namespace isotherm
