#include "output/records/run_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {

ISOTHERM_KEYS(TransportMeasurement, transport, why_not, seconds, latency)
ISOTHERM_KEYS(PhaseTimes, values)
ISOTHERM_KEYS(HaloLink, rank, peer, directions, bytes, transport, measurements)
ISOTHERM_KEYS(RankInfo, rank, host, backend, device_index, device, uuid, threads, cells, peak_bytes)

namespace {

constexpr std::size_t pairs_worth_a_line = 12;

std::vector<std::string> words(const std::vector<Direction>& directions) {
  std::vector<std::string> all;
  for (const Direction d : directions) all.push_back(direction_word(d));
  return all;
}

// The measured figures of pairs of one kind.
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

std::optional<double> if_measured(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

std::optional<double> percent(const std::optional<double>& share) {
  return share ? std::optional(100 * *share) : std::nullopt;
}

// Hidden share of the cost of an exchange. None if it was not measured.
std::optional<double> hidden_percent(const HaloRecord& record) {
  return percent(record.cost ? record.cost->hidden_share() : std::nullopt);
}

// Hidden share of the time of all files, without that after the last sweep. None if this time is 0.
std::optional<double> hidden_percent(const WritingRecord& record) {
  const double could_hide = record.seconds - record.at_end;
  if (record.files == 0 || !(could_hide > 0)) return std::nullopt;
  return 100 * std::clamp(1 - record.exposed / could_hide, 0.0, 1.0);
}

// Size of the cells over the size of their files. None if they are not compressed.
std::optional<double> compression_ratio(const WritingRecord& record) {
  if (record.compression == 0 || record.bytes == 0) return std::nullopt;
  return static_cast<double>(record.cell_bytes) / record.bytes;
}

// Bytes of the files per second. None without files.
std::optional<double> bandwidth(const WritingRecord& record) {
  if (record.files == 0 || !(record.seconds > 0)) return std::nullopt;
  return record.bytes / record.seconds;
}

constexpr std::size_t most_lines = 32;  // of ranks: a page of a terminal, or the GPUs of one to four nodes
constexpr std::size_t ends = 8;         // of more ranks: as many of the slowest as of the fastest

// In the order of the columns; those from `interior` to `other` add up to the loop.
constexpr std::array profiled{Phase::setup,      Phase::interior,    Phase::exterior, Phase::sweep,
                              Phase::boundaries, Phase::pack,        Phase::wire,     Phase::unpack,
                              Phase::reduction,  Phase::diagnostics, Phase::output,   Phase::other,
                              Phase::loop,       Phase::total};

double swept(const PhaseTimes& p) { return p[Phase::interior] + p[Phase::exterior] + p[Phase::sweep]; }

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

}  // namespace

std::string direction_word(Direction d) {
  std::string text;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (d[axis] != 0) text += fmt::format("{}{}", "xyz"[axis], d[axis] > 0 ? '+' : '-');
  return text;
}

std::vector<HaloLink> gather_pairs(const std::vector<HaloLink>& mine, const Communicator& communicator) {
  std::vector<HaloLink> pairs;
  for (const std::vector<HaloLink>& links : gather(mine, communicator))
    std::ranges::copy_if(links, std::back_inserter(pairs),
                         [](const HaloLink& link) { return link.peer >= link.rank; });
  std::ranges::sort(pairs, {}, [](const HaloLink& link) { return std::pair(link.rank, link.peer); });
  return pairs;
}

std::string transports_in_use(const HaloRecord& record) {
  std::vector<std::string> names;
  for (const HaloLink& pair : record.pairs)
    if (std::ranges::count(names, pair.transport) == 0) names.push_back(pair.transport);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> halo_lines(const HaloRecord& record) {
  std::map<std::string, std::vector<const HaloLink*>> groups;
  const bool each = record.pairs.size() <= pairs_worth_a_line;
  for (const HaloLink& link : record.pairs) {
    const std::string who = each ? fmt::format("ranks {}-{} ", link.rank, link.peer) : "";
    groups[fmt::format("{}{} by {}", who, fmt::join(words(link.directions), " "), link.transport)].push_back(
        &link);
  }
  std::vector<std::string> lines;
  for (const auto& [name, links] : groups) {
    const std::string count = each ? "" : fmt::format(" ({} pairs)", links.size());
    lines.push_back(fmt::format("{}{}: {}", name, count, figures_of(links)));
  }
  if (const auto percent = hidden_percent(record)) {
    lines.push_back(fmt::format("{:.1f} % hidden: of an exchange of {:.1f} us, {:.1f} us add to a sweep",
                                *percent, 1e6 * record.cost->exchange, 1e6 * record.cost->exposed));
  }
  return lines;
}

std::string writing_line(const WritingRecord& record) {
  const auto rate = bandwidth(record);
  if (!rate) return {};
  std::string text = fmt::format("{} of {} in {}, {:.3g} GB/s", human_bytes(record.bytes),
                                 counted(record.files, "file"), human_duration(record.seconds), *rate / 1e9);
  if (const auto ratio = compression_ratio(record))
    text += fmt::format(", compressed from {} ({:.3g} times)", human_bytes(record.cell_bytes), *ratio);
  if (!record.why_in_step.empty()) return text + fmt::format(", in step ({})", record.why_in_step);
  const auto hidden = hidden_percent(record);
  const std::string end =
      record.at_end > 0 ? fmt::format(", {} after the last", human_duration(record.at_end)) : "";
  return text + (hidden ? fmt::format(", {:.1f} % hidden behind sweeps", *hidden) : "") + end;
}

std::vector<PhaseTimes> gather_profiles(const PhaseTimes& mine, const Communicator& communicator) {
  return gather(mine, communicator);
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
  PhaseTimes mean;
  for (const PhaseTimes& each : profiles)
    for (const Phase phase : spent) mean[phase] += each[phase] / static_cast<double>(profiles.size());
  add({"", "mean", ""}, [&](Phase phase) { return signed_duration(mean[phase]); });
  add({"", "share of the loop", ""}, [&](Phase phase) {
    const bool within_loop = phase != Phase::setup && phase != Phase::total && mean[Phase::loop] > 0;
    return within_loop ? fmt::format("{:.1f} %", 100 * mean[phase] / mean[Phase::loop]) : "";
  });
  std::string text = "\n" + table.text(2);
  if (profiles.size() > most_lines)
    text += fmt::format("  {} ranks that swept longest and {} that swept shortest; {} more in run.json\n",
                        ends, ends, profiles.size() - 2 * ends);
  return text;
}

std::int64_t most_peak_bytes(const RunRecord& record) {
  return record.ranks.empty() ? 0 : std::ranges::max(record.ranks, {}, &RankInfo::peak_bytes).peak_bytes;
}

std::set<std::string> hosts_of(const std::vector<RankInfo>& ranks) {
  std::set<std::string> hosts;
  for (const RankInfo& info : ranks) hosts.insert(info.host);
  return hosts;
}

std::optional<Figures> figures(const RunRecord& record) {
  const Spread& halo = record.phases[Phase::halo];
  const Spread& stepping = record.phases[Phase::stepping];
  const Performance& p = record.performance;
  if (!(stepping.max > 0) || p.sweeps <= p.untimed_sweeps) return std::nullopt;
  Figures f;
  f.stepping_seconds = stepping.max;
  f.points_per_second = (p.points - p.untimed_points) / f.stepping_seconds;
  f.effective_bandwidth = f.points_per_second * p.bytes_per_point;
  f.seconds_per_sweep = f.stepping_seconds / static_cast<double>(p.sweeps - p.untimed_sweeps);
  f.halo_fraction = halo.mean / stepping.mean;
  if (p.copy_bandwidth && *p.copy_bandwidth > 0) f.copy_share = f.effective_bandwidth / *p.copy_bandwidth;
  if (p.values_seconds) f.values_fraction = std::min(1.0, *p.values_seconds / f.seconds_per_sweep);
  return f;
}

std::vector<FigureOfMerit> foms(const RunRecord& r) {
  const bool right = r.exit_code == ExitCode::done || r.exit_code == ExitCode::stopped ||
                     r.exit_code == ExitCode::not_converged;
  const std::optional<Figures> f = figures(r);
  if (!right || r.answer != Answer::finite || !f) return {};
  std::vector<FigureOfMerit> all;
  const auto add = [&](const char* name, const std::optional<double>& value, const char* unit, Better better,
                       int decimals) {
    if (value && std::isfinite(*value)) all.push_back({name, *value, unit, better, decimals});
  };
  const auto rate = bandwidth(r.writing);
  add("cell_updates", f->points_per_second / 1e9, "GLUP/s", Better::higher, 3);
  add("effective_bandwidth", f->effective_bandwidth / 1e9, "GB/s", Better::higher, 1);
  add("copy_bandwidth_share", percent(f->copy_share), "%", Better::higher, 1);
  add("time_per_step", 1e3 * f->seconds_per_sweep, "ms", Better::lower, 3);
  add("halo_fraction", 100 * f->halo_fraction, "%", Better::lower, 1);
  add("halo_hidden", hidden_percent(r.halo), "%", Better::higher, 1);
  add("write_bandwidth", rate ? std::optional(*rate / 1e9) : std::nullopt, "GB/s", Better::higher, 3);
  add("write_hidden", hidden_percent(r.writing), "%", Better::higher, 1);
  return all;
}

const char* result_word(const RunRecord& r) {
  const Convergence end = r.residual.convergence;
  if (r.exit_code == ExitCode::not_converged) return "NOT CONVERGED";
  if (r.exit_code == ExitCode::stopped) return "STOPPED";
  if (r.exit_code != ExitCode::done) return "FAILED";
  if (r.verification && r.verification->verdict == Verdict::passed) return "VERIFIED";
  // Stagnated: converged as far as the precision goes.
  return end == Convergence::stagnated || end == Convergence::reached ? "CONVERGED" : "DONE";
}

PhaseTable<Spread> gather_phases(PhaseTimes mine, const Communicator& communicator) {
  mine[Phase::stepping] = mine[Phase::sweeps] + mine[Phase::halo] + mine[Phase::reduction];
  PhaseTimes min = mine, sum = mine, max = mine;
  communicator.all_reduce<double>(min.values, ReduceOp::min);
  communicator.all_reduce<double>(sum.values, ReduceOp::sum);
  communicator.all_reduce<double>(max.values, ReduceOp::max);
  PhaseTable<Spread> spreads;
  for (std::size_t p = 0; p < spreads.values.size(); ++p)
    spreads.values[p] = {min.values[p], sum.values[p] / communicator.size(), max.values[p]};
  return spreads;
}

std::vector<RankInfo> gather_ranks(const RankInfo& mine, const Communicator& communicator) {
  return gather(mine, communicator);
}

// run.json and its schema: a line for each key, with its value and its description in the schema.

static Described described(const Spread& s) {
  return object({{"min", s.min}, {"mean", s.mean}, {"max", s.max}});
}

static Described described(const RankInfo& r) {
  const bool has_index = r.device_index >= 0;
  return object({{"rank", r.rank},
                 {"host", r.host},
                 {"backend", r.backend},
                 {"device_index", has_index ? std::optional(r.device_index) : std::nullopt,
                  "as the rank sees it; null on the CPU"},
                 {"device", r.device},
                 {"uuid", or_null(r.uuid)},
                 {"threads", with(r.threads, "minimum", 1)},
                 {"cells", r.cells},
                 {"peak_bytes", r.peak_bytes, "high-water mark of resident host memory"}});
}

static Described described(const TransportMeasurement& m) {
  return object({{"transport", m.transport, "deck word"},
                 {"why_not", or_null(m.why_not), "why it cannot carry this pair; null: it can"},
                 {"exchange_s", if_measured(m.seconds), "of all cells; null: not timed"},
                 {"latency_s", if_measured(m.latency), "of one cell"}});
}

static Described described(const HaloLink& link) {
  const TransportMeasurement chosen = link.measurements.empty() ? TransportMeasurement{} : link.chosen();
  const auto seconds = if_measured(chosen.seconds);
  Described directions = described(words(link.directions));
  directions.schema["items"]["pattern"] = "^([xyz][+-])+$";
  return object(
      {{"transport", chosen.transport, "the one that carries this pair"},
       {"exchange_s", seconds},
       {"latency_s", if_measured(chosen.latency)},
       {"rank", link.rank, "the lower of the two"},
       {"peer", link.peer},
       {"directions", directions, "of its messages, as the lower rank sees them"},
       {"bytes", link.bytes, "each way, an exchange"},
       {"bandwidth_bytes_per_s", if_measured(seconds ? link.bytes / *seconds : 0), "each way"},
       {"trials", link.measurements, "every transport that was asked, in the order of isotherm list"}});
}

static Described described(const HaloRecord& r) {
  const auto cost = [&](double HaloCost::*part) {
    return r.cost ? std::optional(*r.cost.*part) : std::nullopt;
  };
  return object({{"hidden_percent", hidden_percent(r)},
                 {"exchange_s", cost(&HaloCost::exchange), "alone"},
                 {"exposed_s", any_sign(cost(&HaloCost::exposed)), "the time that it adds to a sweep"},
                 {"links", r.pairs, "every pair of neighbours once"}});
}

static Described described(const WritingRecord& r) {
  return object(
      {{"mode", one_of({"asynchronous", "in_step"}, r.why_in_step.empty() ? "asynchronous" : "in_step")},
       {"why_in_step", or_null(r.why_in_step)},
       {"files", r.files},
       {"bytes", r.bytes},
       {"cell_bytes", r.cell_bytes, "before compression"},
       {"compression", with(r.compression, "maximum", 9)},
       {"compression_ratio", compression_ratio(r)},
       {"write_s", r.seconds},
       {"bandwidth_bytes_per_s", bandwidth(r)},
       {"exposed_s", any_sign(r.exposed), "the time that sweeps have waited"},
       {"after_last_sweep_s", r.at_end},
       {"hidden_percent", hidden_percent(r)}});
}

static Described described(const Tuning::Candidate& c) {
  return object({{"kernel", c.kernel},
                 {"tile", c.tile},
                 {"time_block", with(c.time_block, "minimum", 1), "sweeps of a launch"},
                 {"halo_width", with(c.halo_width, "minimum", 1)},
                 {"overlap", c.overlap},
                 {"graph", c.graph},
                 {"reduction", or_null(c.reduction), "where each step ended with a norm"},
                 {"sweep_s", c.seconds},
                 {"samples", with(c.samples, "minimum", 1)}});
}

static Described described(const Tuning& t) {
  return object({{"source", t.source, "defaults: nothing was measured, or too little"},
                 {"file", or_null(t.file)},
                 {"measured_s", t.seconds},
                 {"sweeps", t.sweeps, "of the run, that were measured"},
                 {"planes", t.planes, "of a rank, that were swept: fewer than it has if a sweep takes long"},
                 {"complete", t.complete, "no candidate was omitted for lack of time"},
                 {"candidates", t.candidates}});
}

static Described described(const MethodRecord& m) {
  return object(
      {{"problem", m.problem},
       {"kernel", or_null(m.kernel)},
       {"tile", or_null(m.tile)},
       {"reduction", or_null(m.reduction)},
       {"graph", m.graph, "sweeps between checks are queued as CUDA graphs"},
       {"transport", or_null(m.transport), "of the halos, or several"},
       {"halo_width", with(m.halo_width, "minimum", 1), "layers of ghosts, sweeps per exchange"},
       {"time_block", with(m.time_block, "minimum", 1), "sweeps per launch, where nothing is due before"},
       {"why_single", or_null(m.why_single), "why a temporal kernel takes one sweep per launch"},
       {"overlap", m.overlap},
       {"instruction_set", or_null(m.instruction_set), "of the kernels on the CPU"},
       {"threads", or_null(m.threads_note)},
       {"device_note", or_null(m.device_note)},
       {"dt_s", m.dt, "transient"},
       {"dt_limit_s", m.dt_limit},
       {"end_time_s", m.end_time},
       {"name", one_of(words_of<MethodName>, m.name)},
       {"cycle", with(m.cycle, "minimum", 1), "sweeps per cycle; the field is valid between cycles"},
       {"weight", m.weight, "steady: of a sweep of the unit weight"},
       {"planned_sweeps", m.planned_sweeps, "steady: the most"},
       {"tuning", m.tuning}});
}

static Described described(const Residual& r) {
  return object(
      {{"norm", r.norm},
       {"criterion", r.criterion},
       {"tolerance", r.tolerance, "steady"},
       {"first_K", r.first},
       {"last_K", r.last},
       {"error_K", r.error,
        "steady: of the field, at most, by its slowest mode; an estimate in other norms than l2"},
       {"last_sweep", r.last_sweep, "to which last_K belongs"},
       {"checks", r.checks},
       {"check", r.check},
       {"extra_sweeps", r.extra_sweeps, "after last_sweep, until an asynchronous check ended the run"},
       {"convergence", r.convergence,
        "stagnated, stalled: the residual stopped falling above the tolerance, at the rounding of this "
        "precision; or above it, or where rounding loses more than 1 % of the heat"}});
}

static Described described(const HistogramRecord& h) {
  return object({{"kernel", h.kernel},
                 {"bins", with(h.bins, "minimum", 1)},
                 {"low_K", any_sign(or_null(h.low_K))},
                 {"high_K", any_sign(or_null(h.high_K))}});
}

static Described described(const OrderLevel& level) {
  return object({{"cells", level.cells},
                 {"sweeps", level.sweeps},
                 {"dt_s", level.dt_s},
                 {"max_error_K", or_null(level.max_error_K)},
                 {"l2_error_K", or_null(level.l2_error_K)}});
}

static Described described(const Verification& v) {
  const std::vector<std::optional<double>> order(v.order.begin(), v.order.end());  // some may be NaN
  return object({{"solution", v.solution},
                 {"max_error_K", or_null(v.max_error_K)},
                 {"l2_error_K", or_null(v.l2_error_K)},
                 {"tolerance_K", v.tolerance_K},
                 {"order", any_sign(order), "observed, between neighbours of the series"},
                 {"levels", v.levels},
                 {"verdict", v.verdict}});
}

static Described described(const HeatTotals& s) {
  return object({{"power_W", any_sign(s.net), "of all sources within the domain"},
                 {"cells", s.cells, "with a source; each that varies in time counts its own"}});
}

static Described described(const Continuation::Restarted& r) {
  return object({{"file", r.file},
                 {"sweep", r.sweep},
                 {"earlier_wall_s", r.wall, "of the runs before in this directory"},
                 {"earlier_sweeps", r.sweeps, "of these runs, as performance.sweeps counts them"}});
}

static Described described(const Continuation& c) {
  return object({{"checkpoints", c.checkpoints, "written"},
                 {"newest_checkpoint", or_null(c.newest)},
                 {"restarted_from", c.restarted},
                 {"stopped_by", or_null(c.stopped_by), "a signal, the wall time or the end of the job"}});
}

static Described described(const FigureOfMerit& fom) {
  return object({{"value", any_sign(fom.value)}, {"unit", fom.unit}, {"better", fom.better}});
}

// The end of a run.

static std::string watts(double value) {
  return fmt::format("{:.6g} W", value + 0.0);  // no "-0 W"
}

// Records of earlier versions have none.
static Json voids_of(const Json& heat) { return heat.value("voids_W", Json::array()); }

// If no heat flows, the balance is the rounding of the stored heat, which is no share of any flow. Earlier
// records have no rounding_W.
static std::string balance_text(const Json& heat) {
  const double balance = heat.at("balance_W"), percent = 100 * heat.at("relative_balance").get<double>();
  const double rounding = heat.value("rounding_W", 0.0);
  const auto flows = [&](const Json& watt) {
    return !watt.is_null() && std::abs(watt.get<double>()) > rounding;
  };
  const auto flows_to = [&](const Json& each) { return flows(each.at("watts")); };
  if (heat.at("sources_W") == 0.0 && std::ranges::none_of(heat.at("faces_W"), flows) &&
      std::ranges::none_of(voids_of(heat), flows_to))
    return fmt::format("nothing flows beyond rounding; {} unaccounted for", watts(balance));
  const bool tiny = percent > 0 && percent < 1e-3;
  return fmt::format("{} % of what flows is unaccounted for: {}{}",
                     tiny ? fmt::format("{:.1e}", percent) : fmt::format("{:.3g}", percent), watts(balance),
                     heat.at("stored_W").is_null() ? "; 0 in the steady state" : "");
}

// `heat`: as run.json has it.
static TitledLines heat_lines(const Json& heat) {
  std::string faces;
  for (const auto& [name, watt] : heat.at("faces_W").items())
    if (!watt.is_null()) faces += fmt::format("{}{} {}", faces.empty() ? "" : ", ", name, watts(watt));
  for (const Json& each : voids_of(heat))
    faces += fmt::format("{}{} {}", faces.empty() ? "" : ", ", each.at("name").get<std::string>(),
                         watts(each.at("watts")));
  const Json& stored = heat.at("stored_W");
  return {{"heat in", faces.empty() ? "all faces are periodic" : faces + " (negative: out)"},
          {"", "from sources " + watts(heat.at("sources_W")) +
                   (stored.is_null() ? "" : ", stored " + watts(stored))},
          {"balance", balance_text(heat)}};
}

static Described described(const EndState::Extreme& e) {
  const Int3 c = e.cell;
  return object({{"temperature_K", any_sign(or_null(e.temperature_K))},
                 {"cell", std::array{c.x, c.y, c.z}, "x, y, z; of equal ones the first, x fastest"},
                 {"position_m", any_sign(e.position_m), "its centre"}});
}

static Described described(const MaterialRecord& m) {
  const NamedMaterial& of = m.material;
  const auto capacity =
      of.density && of.heat_capacity ? std::optional(of.volumetric_heat_capacity()) : std::nullopt;
  const bool takes_heat = of.coefficient.value_or(0) > 0;
  return object(
      {{"name", of.name},
       {"cells", m.cells},
       {"conductivity_W_per_m_K", of.conductivity, "along x, y, z; null of a void"},
       {"heat_capacity_J_per_m3_K", capacity, "density x heat_capacity"},
       {"coefficient_W_per_m2_K", takes_heat ? of.coefficient : std::nullopt, "of a void that takes heat"},
       {"ambient_K", any_sign(takes_heat ? of.ambient : std::nullopt), "of a void that takes heat"},
       {"highest", m.highest, "temperature at the end, and where"},
       {"lowest", m.lowest}});
}

static Described described(const ContactConfig& c) {
  return object({{"between", c.between}, {"resistance_m2_K_per_W", c.resistance}});
}

static Described described(const PlacedLaw& l) {
  const bool has_value = l.has_temperature() || l.kind == BoundaryKind::flux;
  const bool is_convection = l.kind == BoundaryKind::convection;
  return object(
      {{"kind", l.kind},
       {"value", or_null(has_value ? l.value.text() : ""),
        "K, of a flux W/m^2; a number, formula or table of the deck"},
       {"coefficient", or_null(is_convection ? l.coefficient.text() : ""), "of convection, W/(m^2 K)"},
       {"everywhere", l.share.is_constant(), "on the whole face"}});
}

static Described laws(const RunRecord& r) {
  std::vector<DescribedKey> faces;
  for (std::size_t f = 0; f < face_count; ++f) faces.emplace_back(face_names[f], r.laws[f]);
  return object(faces);
}

static Described described(const EndState::VoidFlow& v) {
  return object({{"name", v.name}, {"watts", any_sign(or_null(v.watts))}});
}

static Described described_heat(const EndState& end) {
  const HeatFlows heat = end.heat.value_or(HeatFlows{});
  std::vector<DescribedKey> faces;
  for (std::size_t f = 0; f < face_count; ++f) {
    const std::optional<double> watts(heat.boundaries[f]);
    faces.emplace_back(face_names[f], any_sign(end.faces[f] ? watts : std::nullopt));
  }
  Described content =
      object({{"faces_W", object(faces), "into the domain is positive; null of a periodic face"},
              {"voids_W", end.voids, "through the faces to each void that has a law, into the body"},
              {"sources_W", any_sign(or_null(heat.source))},
              {"stored_W", any_sign(end.steady ? std::nullopt : std::optional(heat.rate)),
               "by the temperatures; null in a steady problem"},
              {"balance_W", any_sign(or_null(heat.balance)), "faces + voids + sources - stored"},
              {"relative_balance", or_null(heat.relative_balance), "of the sum of all magnitudes"},
              {"rounding_W", end.rounding, "flows that are smaller may be rounding alone, in fp64"}});
  content.schema["type"] = {"object", "null"};
  if (!end.heat) content.value = nullptr;
  return content;
}

static Described described(const EndState& end) {
  return object({{"sweep", end.sweep},
                 {"time_s", any_sign(end.time), "0 in a steady problem"},
                 {"highest", end.highest},
                 {"lowest", end.lowest},
                 {"nan_cells", end.nan_cells},
                 {"heat", described_heat(end), "transient: during the last step; steady: of the final field"},
                 {"why_no_heat", or_null(end.why_no_heat)}});
}

std::string end_lines(const EndState& end) {
  TitledLines lines{{"at the end", end.steady
                                       ? "sweep " + grouped(end.sweep)
                                       : fmt::format("{:.6g} s, sweep {}", end.time, grouped(end.sweep))}};
  if (end.highest) lines.emplace_back("highest", extreme_text(*end.highest));
  if (end.lowest) lines.emplace_back("lowest", extreme_text(*end.lowest));
  if (end.nan_cells > 0) lines.emplace_back("not a number", counted(end.nan_cells, "cell"));
  if (end.heat) {
    std::ranges::copy(heat_lines(described_heat(end).value), std::back_inserter(lines));
  } else {
    lines.emplace_back("heat", "not known: " + end.why_no_heat);
  }
  std::string text;
  for (const auto& [title, content] : lines) text += fmt::format("  {:<13}{}\n", title, content);
  return text;
}

TitledLines read_heat_lines(const std::filesystem::path& run_json, std::uint64_t fingerprint) {
  try {
    if (!std::filesystem::is_regular_file(run_json)) return {};  // reading a pipe would block
    std::ifstream file(run_json);
    const Json record = Json::parse(file);
    if (record.at("fingerprint") != fmt::format("{:016x}", fingerprint)) return {};
    return heat_lines(record.at("end_state").at("heat"));
  } catch (const std::exception&) {
    return {};  // the heat is optional: the caller asks for the field
  }
}

static Described provenance(const RunRecord& r) {
  return object({{"version", r.build.version},
                 {"git_revision", r.build.git_revision},
                 {"build_type", r.build.build_type},
                 {"compiler", r.build.compiler},
                 {"cuda", r.build.cuda, "none: built without"},
                 {"mpi", or_null(r.mpi)},
                 {"hdf5", or_null(r.hdf5)},
                 {"hdf5_kind", one_of({"parallel", "serial"}, r.build.hdf5)},
                 {"hosts", hosts_of(r.ranks), "sorted"},
                 {"command_line", or_null(r.command_line)},
                 {"started", or_null(r.started), "UTC, ISO 8601"},
                 {"finished", or_null(r.finished)}});
}

static Described phases(const PhaseTable<Spread>& p) {
  return object({{"setup", p[Phase::setup], "reading, planning, allocating, initialising, probing"},
                 {"sweeps", p[Phase::sweeps], "until the device has completed them"},
                 {"halo", p[Phase::halo], "exchange that no sweep hid"},
                 {"reduction", p[Phase::reduction], "norms and their all-reduce"},
                 {"diagnostics", p[Phase::diagnostics], "extremes, heat, histogram"},
                 {"output", p[Phase::output], "files, as far as the sweeps waited for them"},
                 {"other", p[Phase::other], "polling, history, progress, and work after the loop"},
                 {"total", p[Phase::total], "of the run: all of these together"},
                 {"stepping", p[Phase::stepping], "sweeps, halo and reduction together"}});
}

static Described profile(const PhaseTimes& p, std::size_t rank) {
  return object({{"rank", rank},
                 {"setup_s", p[Phase::setup], "before the loop"},
                 {"interior_s", p[Phase::interior],
                  "sweeps during exchanges: cells that need no ghost of another rank"},
                 {"exterior_s", p[Phase::exterior], "the other cells of these sweeps"},
                 {"sweep_s", any_sign(p[Phase::sweep]), "whole sweeps, and the wait for the device"},
                 {"boundaries_s", any_sign(p[Phase::boundaries]),
                  "boundary ghosts, halos within the rank's own subdomain"},
                 {"pack_s", p[Phase::pack], "edges into messages"},
                 {"wire_s", p[Phase::wire], "messages, and the wait for the neighbours"},
                 {"unpack_s", p[Phase::unpack], "messages into ghosts"},
                 {"reduction_s", p[Phase::reduction]},
                 {"diagnostics_s", p[Phase::diagnostics]},
                 {"output_s", any_sign(p[Phase::output])},
                 {"other_s", any_sign(p[Phase::other]), "of the loop"},
                 {"loop_s", p[Phase::loop], "from the first sweep until all files are complete"},
                 {"total_s", p[Phase::total], "of the run"}});
}

static Described profiles(const std::vector<PhaseTimes>& all) {
  Described ranks{nullptr, {{"type", {"array", "null"}}, {"minItems", 1}, {"items", profile({}, 0).schema}}};
  for (std::size_t rank = 0; rank < all.size(); ++rank) ranks.value.push_back(profile(all[rank], rank).value);
  return ranks;
}

static Described performance(const RunRecord& r) {
  const Performance& p = r.performance;
  const std::optional<Figures> f = figures(r);
  const auto of = [&](double Figures::*figure) { return f ? std::optional(*f.*figure) : std::nullopt; };
  return object(
      {{"sweeps", p.sweeps, "of this run; of all grids of a series, as are points and phases_s"},
       {"cycles", p.cycles, "completed; sweeps where the method has none"},
       {"steps", p.steps, "parts into which a tolerance divides steps; 0 if all steps have one length"},
       {"rejected_steps", p.rejected_steps, "of them, repeated as shorter ones"},
       {"points", p.points, "cell updates"},
       {"bytes_per_point", p.bytes_per_point, "least traffic"},
       {"copy_bandwidth_bytes_per_s", p.copy_bandwidth, "of these devices together, in this run"},
       {"predicted_sweeps_s", p.predicted_seconds,
        "of the sweeps of a whole run, by estimate before the first; of whole steps, where a "
        "tolerance divides them"},
       {"points_per_s", of(&Figures::points_per_second)},
       {"effective_bandwidth_bytes_per_s", of(&Figures::effective_bandwidth)},
       {"step_s", of(&Figures::seconds_per_sweep), "of a sweep"},
       {"halo_fraction_percent", percent(of(&Figures::halo_fraction)), "of the stepping time"},
       {"values_fraction_percent", percent(f ? f->values_fraction : std::nullopt),
        "of the stepping time: values of boundaries and sources that vary in time, measured at the end"},
       {"copy_bandwidth_share_percent", percent(f ? f->copy_share : std::nullopt)}});
}

static Described described_foms(const RunRecord& record) {
  Described all{Json::object(),
                {{"type", "object"}, {"additionalProperties", described(FigureOfMerit{}).schema}}};
  for (const FigureOfMerit& fom : foms(record)) all.value[fom.name] = described(fom).value;
  return all;
}

static Described memory(const RunRecord& r) {
  const std::int64_t peak = most_peak_bytes(r);
  return object({{"estimate_bytes", r.memory_estimate_bytes, "of the largest rank"},
                 {"host_peak_bytes", peak > 0 ? std::optional(peak) : std::nullopt}});
}

static Described fingerprint(const std::optional<std::uint64_t>& bits) {
  return with(or_null(bits ? fmt::format("{:016x}", *bits) : ""), "pattern", "^[0-9a-f]{16}$");
}

static Described whole(const RunRecord& r) {
  const Json names{{"type", "object"},
                   {"additionalProperties", {{"enum", {"nan", "inf", "-inf", "-nan"}}}},
                   {"propertyNames", {{"pattern", "^(/[^/]+)+$"}}}};
  return object(
      {{"schema", Described{"isotherm-run", {{"const", "isotherm-run"}}}},
       {"schema_version", Described{run_schema_version, {{"const", run_schema_version}}},
        "rises when a key is removed or renamed, or changes type, unit or meaning; new keys do not raise it"},
       {"result",
        one_of({"VERIFIED", "CONVERGED", "DONE", "NOT CONVERGED", "STOPPED", "FAILED"}, result_word(r))},
       {"exit_code", one_of({0, 10, 65, 66, 69, 70, 71, 73, 74, 75, 76}, static_cast<int>(r.exit_code)),
        "as isotherm --help lists them"},
       {"message", or_null(r.message), "of the error that ended the run"},
       {"name", r.name},
       {"provenance", provenance(r)},
       {"deck", object({{"path", r.deck_path, "as given"},
                        {"resolved", r.resolved_deck, "YAML, with defaults and overrides"}})},
       {"directory", r.directory, "of the run"},
       {"grid", object({{"cells", r.cells}, {"lengths_m", any_sign(r.lengths)}, {"precision", r.precision}})},
       {"sources", r.sources, "null without sources"},
       {"materials", r.materials, "of a body of several"},
       {"contacts", r.contacts, "of such a body"},
       {"boundaries", laws(r), "by face; the conditions of one face add up"},
       {"decomposition", object({{"process_grid", r.process_grid},
                                 {"smallest_rank_cells", r.smallest_rank_cells},
                                 {"largest_rank_cells", r.largest_rank_cells}})},
       {"ranks", with(r.ranks, "minItems", 1), "by rank"},
       {"method", r.method},
       {"phases_s", phases(r.phases), "wall time over ranks"},
       {"profile", profiles(r.profile),
        "by rank, of isotherm run --profile: its seconds; those from interior_s to other_s add up to loop_s"},
       {"performance", performance(r)},
       {"figures_of_merit", described_foms(r),
        "by name, as the FOM lines have them; none of a run whose answer is wrong"},
       {"halo", r.halo},
       {"snapshots", r.writing, "files of the field without checkpoints; times of the slowest rank"},
       {"residual", r.residual},
       {"histogram", r.histogram, "the bins of the columns hist_ of history.csv"},
       {"verification", r.verification},
       {"memory", memory(r)},
       {"time_s", any_sign(or_null(r.time)), "of the problem, reached"},
       {"answer", r.answer},
       {"end_state", r.end_state,
        "of the final field; null of a run that has diverged, or whose transport moves nothing"},
       {"fingerprint", fingerprint(r.fingerprint), "of the final field"},
       {"files", r.files, "in the run's directory, without checkpoints"},
       {"continuation", r.continuation},
       {"warnings", r.warnings},
       {"not_finite", Described{Json::object(), names},
        "places of numbers that are null because JSON has none for them"}});
}

std::string to_json(const RunRecord& record) { return file_text(whole(record).value); }

std::string run_schema() {
  Json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", fmt::format("isotherm run.json, schema version {}", run_schema_version)},
      {"description",
       "The record of isotherm run in run.json. Names end in their unit; null: not measured, or listed "
       "in not_finite."}};
  schema.update(whole({}).schema);
  return schema.dump(2) + "\n";
}

}  // namespace isotherm
