#include "output/records/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.hpp"

namespace isotherm {
namespace {

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

// "  grid        256 x 256 x 256 ..."
void add(std::string& text, const char* title, const std::string& content) {
  if (!content.empty()) text += fmt::format("  {:<13}{}\n", title, content);
}

// Adds the lines; of more than `most`, the first.
void add_lines(std::string& text, const char* title, const std::vector<std::string>& lines) {
  constexpr std::size_t most = 16;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) add(text, i ? "" : title, lines[i]);
  if (lines.size() > most) add(text, "", fmt::format("{} more in run.json", lines.size() - most));
}

std::string join(const std::vector<std::string>& parts, const char* between = ", ") {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string problem_text(const MethodRecord& m) {
  if (m.problem == ProblemKind::steady)
    return fmt::format("steady, {}, at most {} sweeps",
                       m.cycle > 1 ? fmt::format("{} in cycles of {} sweeps", m.name, m.cycle)
                                   : fmt::format("weighted Jacobi {:.6g}", m.weight.value()),
                       grouped(m.planned_sweeps));
  return fmt::format("transient, {}dt {:.6g} s (limit {:.6g} s), {} to {:.6g} s",
                     m.cycle > 1 ? fmt::format("{}, {} sweeps per step, ", m.name, m.cycle) : "",
                     m.dt.value(), m.dt_limit.value(), plural(m.planned_sweeps / m.cycle, "step"),
                     m.end_time.value());
}

std::string ranks_text(const RunRecord& r) {
  const std::string cells =
      r.smallest_rank_cells == r.largest_rank_cells
          ? fmt::format("{} cells each", grouped(r.largest_rank_cells))
          : fmt::format("{} to {} cells", grouped(r.smallest_rank_cells), grouped(r.largest_rank_cells));
  return fmt::format("{} on {}, process grid {}, {}", plural(std::ssize(r.ranks), "rank"),
                     plural(std::ssize(hosts_of(r.ranks)), "host"), extent_text(r.process_grid), cells);
}

// Distinguishes GPUs. Ranks may know one GPU by different numbers (CUDA_VISIBLE_DEVICES).
std::string gpu_of(const RankInfo& info) {
  return info.uuid.empty() ? fmt::format("{} {}", info.host, info.device_index) : info.uuid;
}

// A GPU counts once however many ranks share it; processors are counted by host.
std::string devices_text(const RunRecord& r) {
  std::map<std::string, std::set<std::string>> seen;  // by name
  for (const RankInfo& info : r.ranks)
    seen[info.device].insert(info.backend == Backend::cuda ? gpu_of(info) : info.host);
  std::vector<std::string> parts;
  for (const auto& [name, devices] : seen) parts.push_back(fmt::format("{} x {}", devices.size(), name));
  return join({join(parts), r.method.instruction_set});
}

// The GPU of each rank: a line per GPU, in the order of the first rank on it.
void add_gpus(std::string& text, const RunRecord& r) {
  std::map<std::string, std::size_t> known;  // the number of each GPU
  std::vector<std::string> gpus, hosts;
  for (const RankInfo& info : r.ranks) {
    if (info.backend != Backend::cuda) continue;
    const auto [gpu, is_new] = known.emplace(gpu_of(info), gpus.size());
    if (is_new) {
      gpus.push_back(fmt::format("{} {}: rank {}", info.device_index, info.uuid, info.rank));
      hosts.push_back(info.host);
    } else {
      gpus[gpu->second] += fmt::format(", {}", info.rank);
    }
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i] += " on " + hosts[i];
  add_lines(text, "gpus", gpus);
}

std::string residual_text(const RunRecord& r) {
  const Residual& residual = r.residual;
  if (!residual.last) return {};
  std::string text = fmt::format("{:.3e} K ({} norm)", *residual.last, word(residual.norm));
  if (residual.first && *residual.first > 0)
    text += fmt::format(", {:.3e} of the first", *residual.last / *residual.first);
  if (residual.tolerance && residual.convergence != Convergence::not_asked)
    text += fmt::format("; {} tolerance {:.3g} {}", word(residual.criterion), *residual.tolerance,
                        residual.convergence == Convergence::reached ? "reached"
                        : residual.convergence == Convergence::stagnated
                            ? "not reached: it stopped falling at rounding"
                        : residual.convergence == Convergence::stalled ? "NOT reached: it stalls"
                                                                       : "NOT reached");
  if (residual.check == Check::asynchronous && residual.last_sweep)
    text += fmt::format("; of sweep {}, {} (asynchronous checks)", grouped(*residual.last_sweep),
                        plural(residual.extra_sweeps, "extra sweep"));
  return text;
}

std::string verification_text(const Verification& v) {
  std::string text =
      fmt::format("{}: max error {:.3e} K, l2 error {:.3e} K", v.solution, v.max_error_K, v.l2_error_K);
  if (v.tolerance_K) text += fmt::format(", tolerance {:.3g} K", *v.tolerance_K);
  if (!v.order.empty()) text += fmt::format(", observed order {:.3f}", v.order.back());
  if (v.misses_order()) text += fmt::format(", not {:g} within {:g}", v.expected_order, v.order_tolerance);
  return text + (v.verdict == Verdict::passed ? "; passed" : v.verdict == Verdict::failed ? "; FAILED" : "");
}

std::string memory_text(const RunRecord& r) {
  const std::int64_t peak = most_peak_bytes(r);
  return join(
      {r.memory_estimate_bytes > 0 ? human_bytes(r.memory_estimate_bytes) + " estimated per rank" : "",
       peak > 0 ? human_bytes(peak) + " host peak" : ""});
}

std::string phase_table(const RunRecord& r) {
  TextTable table{"lrrrr", {{"phase", "min", "mean", "max", "share"}}};
  const double total = r.phases[Phase::total].mean;
  for (const Phase p : {Phase::setup, Phase::sweeps, Phase::halo, Phase::reduction, Phase::diagnostics,
                        Phase::output, Phase::other, Phase::total}) {
    const Spread& s = r.phases[p];
    if (p == Phase::diagnostics && !(s.max > 0)) continue;  // the deck asked for none
    table.rows.push_back({std::string(word(p)), human_duration(s.min), human_duration(s.mean),
                          human_duration(s.max),
                          total > 0 ? fmt::format("{:.1f} %", 100 * s.mean / total) : "-"});
  }
  return table.text(2);
}

std::string bandwidth_text(const RunRecord& r, const Figures& f) {
  std::string text = fmt::format("{:.1f} GB/s effective ({:.4g} bytes per point)",
                                 f.effective_bandwidth / 1e9, r.performance.bytes_per_point);
  if (f.copy_share)
    text += fmt::format(", {:.1f} % of the copy bandwidth of {:.1f} GB/s", 100 * *f.copy_share,
                        *r.performance.copy_bandwidth / 1e9);
  return text;
}

std::string time_block_text(const MethodRecord& m) {
  if (m.time_block > 1) return fmt::format("{} sweeps per launch", m.time_block);
  return m.why_single.empty() ? "" : fmt::format("single sweeps ({})", m.why_single);
}

std::string tuning_text(const Tuning& t) {
  if (t.source == Tuning::Source::deck) return "";
  if (t.source == Tuning::Source::file) return "as " + escaped(t.file) + " says";
  if (t.source == Tuning::Source::defaults || t.candidates.empty()) return "by default";
  std::optional<double> single, temporal;
  for (const Tuning::Candidate& c : t.candidates)
    if (std::optional<double>& best = c.time_block > 1 ? temporal : single; c.reduction.empty())
      best = std::min(best.value_or(c.seconds), c.seconds);
  std::string times;
  if (single && temporal)
    times = fmt::format(": {} per sweep in time blocks, {} single", human_duration(*temporal),
                        human_duration(*single));
  return fmt::format("fastest of {} measured in {}{}", t.candidates.size(), human_duration(t.seconds), times);
}

}  // namespace

std::string kernel_line(const MethodRecord& m) {
  std::string text;
  add(text, "kernel",
      join({m.kernel + (m.tile.empty() || m.tile == "-" ? "" : " " + m.tile),
            fmt::format("halo width {}", m.halo_width), time_block_text(m), "reduction " + m.reduction,
            m.graph ? "graphs" : "", tuning_text(m.tuning)}));
  return text;
}

std::string banner(const RunRecord& r) {
  const BuildInfo& b = r.build;
  std::string text =
      fmt::format("isotherm {} ({}): {}\n", b.version, b.git_revision,
                  join({b.build_type, b.compiler, b.cuda == "none" ? "no CUDA" : "CUDA " + b.cuda}));
  add(text, "libraries", join({r.mpi, r.hdf5.empty() ? "" : fmt::format("HDF5 {} ({})", r.hdf5, b.hdf5)}));
  add(text, "deck", join({escaped(r.deck_path), escaped(r.directory)}, " -> "));
  add(text, "grid",
      fmt::format("{} = {} cells, {}", extent_text(r.cells), grouped(r.cells.product()), word(r.precision)));
  add(text, "domain", r.domain);
  if (r.sources)
    add(text, "sources",
        fmt::format("{} in {}{}", watts_text(r.sources->net), plural(r.sources->cells, "cell"),
                    r.source_cells_note));
  std::vector<std::string> materials;
  for (const MaterialRecord& m : r.materials)
    materials.push_back(fmt::format("{} {}", m.material.name, plural(m.cells, "cell")));
  if (!materials.empty()) add(text, "materials", join(materials));
  add(text, "problem", problem_text(r.method));
  if (const auto& seconds = r.performance.predicted_seconds)
    add(text, "predicted",
        fmt::format("{} {} for the sweeps", r.performance.predicted_as, human_duration(*seconds)));
  add(text, "ranks", ranks_text(r));
  add(text, "device", join({devices_text(r), r.method.device_note}));
  add_gpus(text, r);
  add(text, "threads", r.method.threads_note);
  text += kernel_line(r.method);
  add(text, "halo", join({r.method.transport, fmt::format("overlap {}", word(r.method.overlap))}));
  for (const std::string& line : halo_lines(r.halo)) add(text, "", line);
  return text;
}

std::string final_table(const RunRecord& r) {
  std::string text = phase_table(r) + "\n";
  if (const auto f = figures(r)) {
    add(text, "work",
        fmt::format("{} {} in {}{}",
                    r.verification && !r.verification->levels.empty()
                        ? plural(std::ssize(r.verification->levels), "grid") + ","
                        : grouped(r.cells.product()) + " cells x",
                    plural(r.performance.sweeps - r.performance.untimed_sweeps, "sweep"),
                    human_duration(f->stepping_seconds),
                    r.performance.untimed_sweeps > 0
                        ? fmt::format(", without {} of autotuning", grouped(r.performance.untimed_sweeps))
                        : ""));
    if (r.performance.steps > 0)
      add(text, "steps",
          fmt::format("{} in {}, {} of them taken again as shorter ones",
                      plural(r.performance.cycles, "step"), plural(r.performance.steps, "part"),
                      grouped(r.performance.rejected_steps)));
    add(text, "speed",
        fmt::format("{}, {} per sweep", human_rate(f->points_per_second),
                    human_duration(f->seconds_per_sweep)));
    if (f->values_fraction)
      add(text, "varying",
          fmt::format("values of boundaries and sources: {:.1f} % of the stepping time",
                      100 * *f->values_fraction));
    add(text, "bandwidth", bandwidth_text(r, *f));
  }
  add(text, "residual", residual_text(r));
  if (r.residual.error)
    add(text, "error",
        fmt::format("the field is within about {:.2g} K of the steady one{}", *r.residual.error,
                    r.residual.norm == Norm::max ? "" : ", in the norm of the residual"));
  if (r.verification) add(text, "verification", verification_text(*r.verification));
  add(text, "memory", memory_text(r));
  add(text, "writing", writing_line(r.writing));
  if (r.fingerprint) add(text, "fingerprint", fmt::format("{:016x}", *r.fingerprint));
  if (!r.files.empty())
    add(text, "files", fmt::format("{} in {}", grouped(std::ssize(r.files)), escaped(r.directory)));
  text += profile_table(r.profile, r.ranks);
  add(text, "ParaView", escaped(r.writing.viewer_file));
  return text;
}

std::string figures_of_merit(const RunRecord& r) {
  std::string text;
  for (const FigureOfMerit& fom : foms(r))
    text += fmt::format("FOM {}: {} {}\n", fom.name, plain_decimal(fom.value, fom.decimals), fom.unit);
  return text;
}

std::string extreme_text(const EndState::Extreme& e) {
  return fmt::format("{:.6g} K at ({:.6g}, {:.6g}, {:.6g}) m, cell ({}, {}, {})", e.temperature_K,
                     e.position_m[0], e.position_m[1], e.position_m[2], e.cell.x, e.cell.y, e.cell.z);
}

// Lowest and highest temperature of each material at the end.
static std::string material_lines(const RunRecord& r) {
  std::vector<std::string> lines;
  for (const MaterialRecord& m : r.materials)
    if (m.highest)
      lines.push_back(fmt::format("{} {:.6g} K to {}", m.material.name, m.lowest->temperature_K,
                                  extreme_text(*m.highest)));
  std::string text;
  add_lines(text, "materials", lines);
  return text;
}

std::string closing_lines(const RunRecord& r) {
  const std::string end = (r.end_state ? end_lines(*r.end_state) : "") + material_lines(r);
  const std::string foms = figures_of_merit(r);
  return foms + (end.empty() || foms.empty() ? "" : "\n") + end + fmt::format("RESULT: {}\n", result_word(r));
}

}  // namespace isotherm
