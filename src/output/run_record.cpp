#include "output/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/proc_status.hpp"
#include "core/text.hpp"
#include "output/json_value.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

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

Json method(const Method& m) {
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
