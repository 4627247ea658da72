#include "output/records/run_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/memory_limits.hpp"
#include "core/text.hpp"
#include "output/records/json_value.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

namespace {

using Estimate = DepthRecord::Estimate;

const Estimate& other_than(const DepthRecord& record, int depth) {
  if (depth != 1) return record.weighed.front();
  return *std::min_element(record.weighed.begin() + 1, record.weighed.end(),
                           [](const Estimate& a, const Estimate& b) { return a.seconds < b.seconds; });
}

std::string costs_text(const DepthRecord& r) {
  return fmt::format("{} an exchange, {} a message, {:.3g} GB/s, {:.3g} ns a cell by {}, measured in {}",
                     human_duration(r.exchange_seconds), human_duration(r.message_seconds),
                     r.bytes_a_second / 1e9, r.cell_seconds * 1e9, r.transports, human_duration(r.seconds));
}

}  // namespace

std::string depth_line(const DepthRecord& record, int depth) {
  if (!record.automatic) return {};
  if (record.weighed.size() < 2) return fmt::format("{} (auto): {}", depth, record.why);
  const auto taken = std::find_if(record.weighed.begin(), record.weighed.end(),
                                  [&](const Estimate& e) { return e.depth == depth; });
  const Estimate& other = other_than(record, depth);
  const auto text = [](const Estimate& e) {
    return fmt::format("({:.3g} messages, {} cells)", e.messages, grouped(std::llround(e.cells)));
  };
  return fmt::format("{} (auto): {} a sweep by estimate {}, {} at depth {} {}; {}", depth,
                     human_duration(taken->seconds), text(*taken), human_duration(other.seconds), other.depth,
                     text(other), costs_text(record));
}

Json to_json_object(const DepthRecord& record) {
  Json weighed = Json::array();
  for (const Estimate& e : record.weighed) {
    weighed.push_back(
        {{"depth", e.depth}, {"sweep_s", e.seconds}, {"messages", e.messages}, {"cells", e.cells}});
  }
  Json costs;
  if (!record.weighed.empty()) {
    costs = {{"exchange_s", record.exchange_seconds},
             {"message_s", record.message_seconds},
             {"bandwidth_bytes_per_s", record.bytes_a_second},
             {"cell_s", record.cell_seconds},
             {"transport", record.transports},
             {"trial_s", record.seconds}};
  }
  return {{"automatic", record.automatic},
          {"why", text_or_null(record.why)},
          {"costs", costs},
          {"weighed", weighed}};
}

namespace {

constexpr std::size_t pairs_worth_a_line = 12;

// "x+", "y-z+": as the lower rank sees its peer.
std::string word(Direction d) {
  std::string text;
  for (int axis = 0; axis < 3; ++axis) {
    if (d[static_cast<std::size_t>(axis)] == 0) continue;
    text += "xyz"[axis];
    text += d[static_cast<std::size_t>(axis)] > 0 ? '+' : '-';
  }
  return text;
}

std::vector<std::string> words(const std::vector<Direction>& directions) {
  std::vector<std::string> all;
  for (const Direction d : directions) all.push_back(word(d));
  return all;
}

Json to_json_object(const TransportTrial& trial) {
  const auto measured = [](double seconds) { return seconds > 0 ? Json(seconds) : Json(nullptr); };
  return {{"transport", trial.transport},
          {"why_not", text_or_null(trial.why_not)},
          {"exchange_s", measured(trial.seconds)},
          {"latency_s", measured(trial.latency)}};
}

Json to_json_object(const HaloPair& pair) {
  const HaloLink& link = pair.link;
  Json trials = Json::array();
  for (const TransportTrial& trial : link.trials) trials.push_back(to_json_object(trial));
  const TransportTrial& chosen = link.chosen();
  Json json = to_json_object(chosen);
  json.erase("why_not");
  json.update({{"rank", pair.rank},
               {"peer", link.peer},
               {"directions", words(link.directions)},
               {"bytes", link.bytes},
               {"bandwidth_bytes_per_s", value_or_null(bandwidth(link))},
               {"trials", trials}});
  return json;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What pairs of one kind were measured to do.
std::string figures_of(const std::vector<const HaloLink*>& links) {
  std::vector<double> seconds, latencies;
  for (const HaloLink* link : links) {
    seconds.push_back(link->chosen().seconds);
    latencies.push_back(link->chosen().latency);
  }
  const auto bytes = static_cast<double>(links.front()->bytes);
  const double time = median_of(seconds);
  if (!(time > 0)) return fmt::format("{} each way", human_bytes(bytes));
  return fmt::format("{} each way in {:.1f} us: {:.2f} GB/s, latency {:.1f} us", human_bytes(bytes),
                     1e6 * time, bytes / time / 1e9, 1e6 * median_of(latencies));
}

}  // namespace

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
  Json sent = Json::array();
  for (const HaloLink& link : mine) {
    if (link.peer < communicator.rank()) continue;
    Json trials = Json::array();
    for (const TransportTrial& t : link.trials) {
      trials.push_back({t.transport, t.why_not, t.seconds, t.latency});
    }
    sent.push_back({link.peer, link.directions, link.bytes, link.transport, trials});
  }
  std::vector<HaloPair> pairs;
  int rank = 0;
  for (const std::string& text :
       communicator.all_gather(sent.dump(-1, ' ', false, Json::error_handler_t::replace))) {
    for (const Json& j : Json::parse(text)) {
      HaloPair& pair = pairs.emplace_back(HaloPair{rank, {j[0], j[1], j[2], j[3], {}}});
      for (const Json& t : j[4]) pair.link.trials.push_back({t[0], t[1], t[2], t[3]});
    }
    ++rank;
  }
  std::sort(pairs.begin(), pairs.end(), [](const HaloPair& a, const HaloPair& b) {
    return std::pair(a.rank, a.link.peer) < std::pair(b.rank, b.link.peer);
  });
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
  return {{"hidden_percent", value_or_null(hidden_percent(record))},
          {"exchange_s", value_or_null(cost ? std::optional(cost->exchange) : std::nullopt)},
          {"exposed_s", value_or_null(cost ? std::optional(cost->exposed) : std::nullopt)},
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
          {"why_in_step", text_or_null(record.why_in_step)},
          {"files", record.files},
          {"bytes", record.bytes},
          {"cell_bytes", record.cell_bytes},
          {"compression", record.compression},
          {"compression_ratio", value_or_null(compression_ratio(record))},
          {"write_s", record.seconds},
          {"bandwidth_bytes_per_s", value_or_null(bandwidth(record))},
          {"exposed_s", record.exposed},
          {"after_last_sweep_s", record.at_end},
          {"hidden_percent", value_or_null(hidden_percent(record))}};
}

const char* word(Overlap o) {
  switch (o) {
    case Overlap::on:
      return "on";
    case Overlap::off:
      return "off";
    case Overlap::in_sweep:
      return "in_sweep";
    case Overlap::automatic:
      break;
  }
  return "auto";
}

namespace {

const char* word(Norm n) {
  return n == Norm::max ? "max" : n == Norm::l2 ? "l2" : "l1";
}
const char* word(Answer a) {
  return a == Answer::finite ? "finite" : a == Answer::not_finite ? "not_finite" : "unchecked";
}
const char* word(Convergence c) {
  static constexpr const char* words[] = {"not_asked", "reached", "not_reached", "stagnated"};
  return words[static_cast<int>(c)];
}
const char* word(Check c) {
  return c == Check::lagged ? "lagged" : "immediate";
}
const char* word(Verdict v) {
  return v == Verdict::passed ? "passed" : v == Verdict::failed ? "failed" : "reported";
}

Json to_json_object(const RankRow& row) {
  return {{"rank", row.rank},
          {"host", row.host},
          {"backend", word(row.backend)},
          {"device_index", row.device_index < 0 ? Json(nullptr) : Json(row.device_index)},
          {"device", row.device},
          {"uuid", text_or_null(row.uuid)},
          {"threads", row.threads},
          {"cells", row.cells},
          {"peak_bytes", row.peak_bytes}};
}

RankRow rank_row(const Json& json) {
  const auto text = [&](const char* key) {
    return json[key].is_null() ? std::string() : json[key].get<std::string>();
  };
  return {json["rank"],
          text("host"),
          json["backend"] == "cuda" ? Backend::cuda : Backend::host,
          json["device_index"].is_null() ? -1 : json["device_index"].get<int>(),
          text("device"),
          text("uuid"),
          json["threads"],
          json["cells"],
          json["peak_bytes"]};
}

Json provenance(const RunRecord& r) {
  std::set<std::string> hosts;
  for (const RankRow& row : r.ranks) hosts.insert(row.host);
  return {{"version", r.build.version},
          {"git_revision", r.build.git_revision},
          {"build_type", r.build.build_type},
          {"compiler", r.build.compiler},
          {"cuda", r.build.cuda},
          {"mpi", text_or_null(r.mpi)},
          {"hdf5", text_or_null(r.hdf5)},
          {"hdf5_kind", r.build.hdf5},
          {"hosts", hosts},
          {"command_line", text_or_null(r.command_line)},
          {"started", text_or_null(r.started)},
          {"finished", text_or_null(r.finished)}};
}

Json sources(const std::optional<SourceRecord>& s) {
  if (!s) return nullptr;
  return {{"power_W", s->power}, {"cells", s->cells}};
}

Json tuning(const Tuning& t) {
  static constexpr const char* sources[] = {"deck", "trial", "file"};
  Json trials = Json::array();
  for (const Tuning::Trial& trial : t.trials) {
    trials.push_back({{"row", trial.row},
                      {"policy", text_or_null(trial.policy)},
                      {"kernel", text_or_null(trial.kernel)},
                      {"fused", trial.fused},
                      {"seconds_s", trial.seconds}});
  }
  return {{"source", sources[static_cast<int>(t.source)]},
          {"file", text_or_null(t.file)},
          {"trial_s", t.seconds},
          {"trial_cells", {t.cells.x, t.cells.y, t.cells.z}},
          {"trials", trials}};
}

Json method(const MethodRecord& m) {
  return {{"problem", m.problem == ProblemKind::steady ? "steady" : "transient"},
          {"kernel", text_or_null(m.kernel)},
          {"policy", text_or_null(m.policy)},
          {"reduction", text_or_null(m.reduction)},
          {"graph", m.graph},
          {"transport", text_or_null(m.transport)},
          {"depth", m.depth},
          {"fused", m.fused},
          {"why_single", text_or_null(m.why_single)},
          {"depth_choice", to_json_object(m.depth_choice)},
          {"overlap", word(m.overlap)},
          {"instruction_set", text_or_null(m.instruction_set)},
          {"threads", text_or_null(m.threads_note)},
          {"device_note", text_or_null(m.device_note)},
          {"dt_s", value_or_null(m.dt)},
          {"dt_limit_s", value_or_null(m.dt_limit)},
          {"end_time_s", value_or_null(m.end_time)},
          {"weight", value_or_null(m.weight)},
          {"planned_sweeps", m.planned_sweeps},
          {"tuning", tuning(m.tuning)}};
}

Json decomposition(const RunRecord& r) {
  const ExchangeWeights& w = r.weights;
  return {{"process_grid", triple(r.process_grid)},
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
  for (std::size_t p = 0; p < phase_names.size(); ++p) {
    const Spread& s = r.phases.values[p];
    json[phase_names[p]] = {{"min", s.min}, {"mean", s.mean}, {"max", s.max}};
  }
  return json;
}

Json performance(const RunRecord& r) {
  const Performance& p = r.performance;
  Json json = {{"sweeps", p.sweeps},
               {"points", p.points},
               {"bytes_per_point", p.bytes_per_point},
               {"copy_bandwidth_bytes_per_s", value_or_null(p.copy_bandwidth)}};
  const std::optional<Figures> f = figures(r);
  const auto put = [&](const char* key, std::optional<double> value) { json[key] = value_or_null(value); };
  const auto percent = [](double share) { return 100 * share; };
  put("points_per_s", f ? std::optional(f->points_a_second) : std::nullopt);
  put("effective_bandwidth_bytes_per_s", f ? std::optional(f->effective_bandwidth) : std::nullopt);
  put("step_s", f ? std::optional(f->seconds_a_step) : std::nullopt);
  put("halo_fraction_percent", f ? std::optional(percent(f->halo_fraction)) : std::nullopt);
  put("copy_bandwidth_share_percent",
      f && f->copy_share ? std::optional(percent(*f->copy_share)) : std::nullopt);
  return json;
}

Json residual(const Residual& r) {
  return {{"norm", word(r.norm)},
          {"criterion", r.criterion == Criterion::relative ? "relative" : "absolute"},
          {"tolerance", value_or_null(r.tolerance)},
          {"first_K", value_or_null(r.first)},
          {"last_K", value_or_null(r.last)},
          {"last_sweep", value_or_null(r.last_sweep)},
          {"checks", r.checks},
          {"check", word(r.check)},
          {"extra_sweeps", r.extra_sweeps},
          {"convergence", word(r.convergence)}};
}

Json verification(const std::optional<Verification>& v) {
  if (!v) return nullptr;
  Json levels = Json::array();
  for (const OrderLevel& level : v->levels) {
    levels.push_back({{"cells", triple(level.cells)},
                      {"sweeps", level.sweeps},
                      {"dt_s", value_or_null(level.dt)},
                      {"max_error_K", level.max_error},
                      {"l2_error_K", level.l2_error}});
  }
  return {{"solution", v->solution},    {"max_error_K", v->max_error},
          {"l2_error_K", v->l2_error},  {"tolerance_K", value_or_null(v->tolerance)},
          {"order", v->orders},         {"levels", levels},
          {"verdict", word(v->verdict)}};
}

Json histogram(const std::optional<HistogramRecord>& h) {
  if (!h) return nullptr;
  return {{"row", h->row}, {"bins", h->bins}, {"low_K", h->low}, {"high_K", h->high}};
}

Json continuation(const Continuation& c) {
  Json from = nullptr;
  if (c.restarted) from = {{"file", c.restarted->file}, {"sweep", c.restarted->sweep}};
  return {{"checkpoints", c.checkpoints},
          {"newest_checkpoint", text_or_null(c.newest)},
          {"restarted_from", from},
          {"stopped_by", text_or_null(c.stopped_by)}};
}

Json memory(const RunRecord& r) {
  std::int64_t peak = 0;
  for (const RankRow& row : r.ranks) peak = std::max(peak, row.peak_bytes);
  return {{"estimate_bytes", r.memory_estimate_bytes},
          {"host_peak_bytes", peak > 0 ? Json(peak) : Json(nullptr)}};
}

}  // namespace

std::optional<Figures> figures(const RunRecord& record) {
  const Spread& halo = record.phases[Phase::halo];
  const Spread& stepping = record.phases[Phase::stepping];
  const Performance& p = record.performance;
  Figures f;
  f.stepping_seconds = stepping.max;
  if (!(f.stepping_seconds > 0) || p.sweeps <= 0) return std::nullopt;
  f.points_a_second = p.points / f.stepping_seconds;
  f.effective_bandwidth = f.points_a_second * p.bytes_per_point;
  f.seconds_a_step = f.stepping_seconds / static_cast<double>(p.sweeps);
  f.halo_fraction = halo.mean / stepping.mean;
  if (p.copy_bandwidth && *p.copy_bandwidth > 0) f.copy_share = f.effective_bandwidth / *p.copy_bandwidth;
  return f;
}

// What was held against a baseline was right, however it stood that.
std::vector<Merit> merits(const RunRecord& r) {
  const bool right = r.exit_code == ExitCode::done || r.exit_code == ExitCode::stopped ||
                     r.exit_code == ExitCode::not_converged || r.baseline;
  const std::optional<Figures> f = figures(r);
  if (!right || r.answer != Answer::finite || !f) return {};
  std::vector<Merit> all{{"cell_updates", f->points_a_second / 1e9, "GLUP/s", Better::higher, 3},
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

Subject subject_of(const RunRecord& record) {
  Subject subject{record.cells, record.precision, {}};
  for (const RankRow& row : record.ranks) subject.devices.push_back(row.device);
  return subject;
}

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
  Json ranks = Json::array();
  for (const RankRow& row : r.ranks) ranks.push_back(to_json_object(row));
  Json json = {
      {"schema", "isotherm-run"},
      {"schema_version", run_schema_version},
      {"result", result_word(r)},
      {"exit_code", static_cast<int>(r.exit_code)},
      {"message", text_or_null(r.message)},
      {"name", r.name},
      {"provenance", provenance(r)},
      {"deck", {{"path", r.deck_path}, {"resolved", r.resolved_deck}}},
      {"directory", r.directory},
      {"grid", {{"cells", triple(r.cells)}, {"lengths_m", r.lengths}, {"precision", word(r.precision)}}},
      {"sources", sources(r.sources)},
      {"decomposition", decomposition(r)},
      {"ranks", std::move(ranks)},
      {"method", method(r.method)},
      {"phases_s", phases(r)},
      {"profile", to_json_object(r.profile)},
      {"performance", performance(r)},
      {"figures_of_merit", to_json_object(merits(r))},
      {"baseline", r.baseline ? to_json_object(*r.baseline) : Json(nullptr)},
      {"halo", to_json_object(r.halo)},
      {"snapshots", to_json_object(r.writing)},
      {"residual", residual(r.residual)},
      {"histogram", histogram(r.histogram)},
      {"verification", verification(r.verification)},
      {"memory", memory(r)},
      {"time_s", r.time},
      {"answer", word(r.answer)},
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

PhaseTable<Spread> gather_phases(PhaseTable<double> mine, const Communicator& communicator) {
  mine[Phase::stepping] = mine[Phase::sweeps] + mine[Phase::halo] + mine[Phase::reduction];
  PhaseTable<double> min = mine, sum = mine, max = mine;
  communicator.all_reduce(min.values.data(), phase_count, ReduceOp::min);
  communicator.all_reduce(sum.values.data(), phase_count, ReduceOp::sum);
  communicator.all_reduce(max.values.data(), phase_count, ReduceOp::max);
  PhaseTable<Spread> spreads;
  for (std::size_t p = 0; p < spreads.values.size(); ++p)
    spreads.values[p] = {min.values[p], sum.values[p] / communicator.size(), max.values[p]};
  return spreads;
}

std::vector<RankRow> gather_ranks(const RankRow& mine, const Communicator& communicator) {
  std::vector<RankRow> rows;
  const std::string text = to_json_object(mine).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const std::string& row : communicator.all_gather(text)) rows.push_back(rank_row(Json::parse(row)));
  return rows;
}

std::int64_t peak_memory_bytes() {
  return static_cast<std::int64_t>(proc_bytes("/proc/self/status", "VmHWM"));
}

}  // namespace isotherm
