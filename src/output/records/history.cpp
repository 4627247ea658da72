#include "output/records/history.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/console/console.hpp"
#include "output/run_directory.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

namespace {

// Often enough to watch a run by its files, seldom enough that a line every sweep costs nothing.
constexpr double flush_seconds = 2;
constexpr std::size_t flush_bytes = std::size_t{64} << 10;

// "history.csv.aside", or the next that is free: "history.csv.2.aside".
std::filesystem::path free_aside(const std::filesystem::path& path) {
  std::filesystem::path aside = path.string() + std::string(aside_suffix);
  std::error_code ignored;  // publish_file() reports it
  for (int n = 2; std::filesystem::exists(aside, ignored); ++n)
    aside = fmt::format("{}.{}{}", path.string(), n, aside_suffix);
  return aside;
}

// Removes the lines of later sweeps, and a truncated line, from the file. False if there is no file with this
// head, with a warning; a file with another head is backed up. Throws Error if the file cannot be replaced.
bool keep_lines(const std::filesystem::path& path, const std::string& head, std::int64_t last,
                Console& console) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    console.warn(
        fmt::format("{} is missing: it has no lines up to sweep {}", in_quotes(path.string()), last));
    return false;
  }
  std::string kept, line;
  while (std::getline(file, line) && !file.eof()) {  // eof: a line without a newline is truncated
    if (line.ends_with('\r')) line.pop_back();       // of an editor
    std::int64_t sweep = 0;
    const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), sweep);
    if (kept.size() < head.size() || (problem == std::errc() && sweep <= last))
      kept.append(line).append("\n");
  }
  if (!kept.starts_with(head)) {
    const std::filesystem::path aside = free_aside(path);
    publish_file(path, aside);
    console.warn(
        fmt::format("{}: {}; its lines are in {}", in_quotes(path.string()),
                    head.starts_with(kept) ? "it is empty or damaged" : "the run before wrote other columns",
                    in_quotes(aside.filename().string())));
    return false;
  }
  write_file_atomically(path, kept);
  return true;
}

template <class Number>
std::string text(Number value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // the sign of a NaN has no meaning
}
std::string text(const std::optional<double>& value) { return value ? text(*value) : ""; }

// The one place that knows the columns of diagnostics: "," before each name or value, empty without `d`.
std::string columns_of(const DiagnosticsPlan& plan, bool names, const std::optional<Diagnostics>& d = {}) {
  const Diagnostics* const all = d ? &*d : nullptr;
  const HeatFlows* const flows = d && d->flows ? &*d->flows : nullptr;
  std::string line;
  const auto put = [&](const std::string& name, const auto* from, const auto& value) {
    line += "," + (names ? name : from ? text(std::invoke(value, *from)) : "");
  };
  put("min_K", all, &Diagnostics::min);
  put("max_K", all, &Diagnostics::max);
  put("mean_K", all, &Diagnostics::mean);
  if (plan.heat_capacity) put("heat_J", all, &Diagnostics::heat);
  if (plan.rate) put("rate_W", flows, &HeatFlows::rate);
  for (std::size_t f = 0; f < face_count; ++f)
    if (plan.boundaries[f])
      put(fmt::format("wall_{}_W", face_names[f]), flows,
          [&](const HeatFlows& h) { return h.boundaries[f]; });
  for (std::size_t i = 0; i < plan.voids.size(); ++i)
    put(fmt::format("void_{}_W", plan.voids[i].name), flows, [&](const HeatFlows& h) { return h.voids[i]; });
  if (plan.flows) {
    put("source_W", flows, &HeatFlows::source);
    put("balance_W", flows, &HeatFlows::balance);
    put("relative_balance", flows, &HeatFlows::relative_balance);
  }
  for (int bin = -1; plan.bins > 0 && bin <= plan.bins; ++bin) {
    const std::string name = bin < 0 ? "under" : bin == plan.bins ? "over" : fmt::format("{}", bin);
    put("hist_" + name, all, [&](const Diagnostics& of) { return of.histogram->counts[bin + 1]; });
  }
  put("nan_cells", all, &Diagnostics::nan_cells);
  return line;
}

}  // namespace

LineFile::LineFile(const std::filesystem::path& path, Console& console, std::string head, std::string loss,
                   std::optional<std::int64_t> resumed)
    : name_(in_quotes(path.string())),
      loss_(std::move(loss)),
      console_(console),
      file_(nullptr, &std::fclose) {
  bool resumes = false;
  try {
    resumes = resumed && keep_lines(path, head, *resumed, console);
  } catch (const Error& e) {
    console_.warn(fmt::format("{}; the run continues without {}", e.what(), loss_));
    return;
  }
  file_.reset(std::fopen(path.c_str(), resumes ? "ab" : "wb"));
  if (!resumes) buffer_ = std::move(head);
  if (file_) {
    std::setvbuf(file_.get(), nullptr, _IONBF,
                 0);  // buffer_ is the only buffer: a failure shows where it happens
    write_out();
  } else {
    abandon();
  }
}

LineFile::~LineFile() {
  try {
    finish();
  } catch (...) {  // the warning cannot be printed
  }
}

void LineFile::add(std::string_view line) {
  if (!file_) return;
  buffer_ += line;
  if (buffer_.size() >= flush_bytes || since_flush_.seconds() >= flush_seconds) write_out();
}

void LineFile::flush() {
  if (file_) write_out();
  if (file_ && fsync(fileno(file_.get())) != 0) abandon();
}

void LineFile::finish() {
  if (file_) write_out();
  if (file_ && std::fclose(file_.release()) != 0) abandon();
}

void LineFile::write_out() {
  since_flush_.lap();
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size()) return abandon();
  buffer_.clear();
}

void LineFile::abandon() {
  const int reason = errno;
  file_.reset();
  buffer_ = {};
  console_.warn(fmt::format("{} cannot be written ({}); the run continues without {}", name_,
                            std::strerror(reason), loss_));
}

std::string history_head(const DiagnosticsColumns& columns) {
  return "sweep,time_s,residual,relative_residual,wall_s" + (columns ? columns_of(*columns, true) : "") +
         "\n";
}

std::string history_line(const HistoryLine& row, const DiagnosticsColumns& columns) {
  return fmt::format("{},{},{},{},{:.6f}{}\n", row.sweep, row.time, text(row.residual), text(row.relative),
                     row.wall, columns ? columns_of(*columns, false, row.diagnostics) : "");
}

std::string probes_head(const ProbesConfig& probes) {
  std::string places, columns = "sweep,time_s";
  for (const ProbePoint& point : probes.points) {
    places += fmt::format("# {}: {} {} {} m\n", point.name, point.at[0], point.at[1], point.at[2]);
    columns += fmt::format(",{}_K", point.name);
  }
  return places + columns + "\n";
}

std::string probes_line(std::int64_t sweep, double time, const std::vector<double>& kelvins) {
  std::string line = fmt::format("{},{}", sweep, time);
  for (const double kelvin : kelvins) line += "," + text(kelvin);
  return line + "\n";
}

}  // namespace isotherm
