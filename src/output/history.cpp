#include "output/history.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/console.hpp"
#include "output/run_files.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

// Often enough to watch a run by its history, seldom enough that a check every sweep costs nothing.
constexpr double flush_seconds = 2;
constexpr std::size_t flush_bytes = std::size_t{64} << 10;

std::string text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // the sign of a NaN says nothing
}
std::string text(std::int64_t value) {
  return fmt::format("{}", value);
}
template <class T>
std::string text(const std::optional<T>& value) {
  return value ? text(*value) : "";
}

// The one place that knows which columns there are: calls cell(name, value) for each, in order. `d` may be
// null.
template <class Cell>
void for_each_column(const DiagnosticsPlan& plan, const Diagnostics* d, const Cell& cell) {
  const auto put = [&](const std::string& name, const auto& value_of) {
    cell(name, d ? text(value_of(*d)) : std::string());
  };
  const auto put_flow = [&](const std::string& name, const auto& value_of) {
    cell(name, d && d->flows ? text(value_of(*d->flows)) : std::string());
  };
  put("min_K", [](const auto& of) { return of.min; });
  put("max_K", [](const auto& of) { return of.max; });
  put("mean_K", [](const auto& of) { return of.mean; });
  if (plan.heat_capacity) put("heat_J", [](const auto& of) { return of.heat; });
  if (plan.rate) put_flow("rate_W", [](const auto& of) { return of.rate; });
  for (std::size_t f = 0; f < face_count; ++f) {
    if (plan.walls[f]) {
      put_flow(fmt::format("wall_{}_W", face_names[f]), [=](const auto& of) { return of.walls[f]; });
    }
  }
  if (plan.flows) {
    put_flow("source_W", [](const auto& of) { return of.source; });
    put_flow("balance_W", [](const auto& of) { return of.balance; });
    put_flow("relative_balance", [](const auto& of) { return of.relative_balance; });
  }
  if (plan.bins > 0) {
    const auto put_count = [&](const std::string& name, int slot) {
      put(name, [=](const auto& of) { return of.histogram->counts[static_cast<std::size_t>(slot)]; });
    };
    put_count("hist_under", 0);
    for (int bin = 0; bin < plan.bins; ++bin) put_count(fmt::format("hist_{}", bin), bin + 1);
    put_count("hist_over", plan.bins + 1);
  }
  put("nan_cells", [](const auto& of) { return of.nan_cells; });
}

// Takes the lines of later sweeps, and one that was cut short, out of the file. False where there is no file
// with this head; what has another is set aside. Throws Error where the file cannot be replaced.
bool keep_lines(const std::filesystem::path& path, const std::string& head, std::int64_t last) {
  std::ifstream file(path, std::ios::binary);
  std::string line, kept;
  if (!file || !std::getline(file, line)) return false;
  if (line + '\n' != head) {
    publish_file(path, path.string() + std::string(aside_suffix));
    return false;
  }
  kept = head;
  while (std::getline(file, line) && !file.eof()) {  // the last of a file ends with a newline too
    std::int64_t sweep = 0;
    const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), sweep);
    if (problem == std::errc() && sweep <= last) kept.append(line).append("\n");
  }
  write_file_atomically(path, kept);
  return true;
}

}  // namespace

std::string history_head(const DiagnosticsColumns& columns) {
  std::string head = "sweep,time_s,residual,relative_residual,wall_s";
  if (columns) {
    for_each_column(*columns, nullptr,
                    [&](const std::string& name, const std::string&) { head += "," + name; });
  }
  return head + "\n";
}

std::string history_line(const HistoryRow& row, const DiagnosticsColumns& columns) {
  std::string line = fmt::format("{},{},{},{},{:.6f}", row.sweep, row.time, text(row.residual),
                                 text(row.relative), row.wall);
  if (columns) {
    for_each_column(*columns, row.diagnostics ? &*row.diagnostics : nullptr,
                    [&](const std::string&, const std::string& value) { line += "," + value; });
  }
  return line + "\n";
}

History::History(const std::filesystem::path& path, Console& console, const DiagnosticsColumns& columns,
                 std::optional<std::int64_t> resumed)
    : name_(in_quotes(path.string())), columns_(columns), console_(console), file_(nullptr, &std::fclose) {
  const std::string head = history_head(columns);
  bool go_on = false;
  try {
    go_on = resumed && keep_lines(path, head, *resumed);
  } catch (const Error& e) {
    console_.warn(fmt::format("{}; the run goes on without its history", e.what()));
    return;
  }
  file_.reset(std::fopen(path.c_str(), go_on ? "ab" : "wb"));
  if (!go_on) buffer_ = head;
  if (file_) {
    std::setvbuf(file_.get(), nullptr, _IONBF,
                 0);  // ours is the only buffer: a failure shows where it happens
    write_out();
  } else {
    lose();
  }
}

History::~History() {
  try {
    finish();
  } catch (...) {  // a warning that cannot be said, on the way out
  }
}

void History::add(const HistoryRow& row) {
  if (!file_) return;
  buffer_ += history_line(row, columns_);
  if (buffer_.size() >= flush_bytes || since_flush_.seconds() >= flush_seconds) write_out();
}

void History::flush() {
  if (file_) write_out();
  if (file_ && fsync(fileno(file_.get())) != 0) lose();
}

void History::finish() {
  if (file_) write_out();
  if (file_ && std::fclose(file_.release()) != 0) lose();
}

void History::write_out() {
  since_flush_.lap();
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size()) return lose();
  buffer_.clear();
}

void History::lose() {
  const int reason = errno;
  file_.reset();
  buffer_ = {};
  console_.warn(fmt::format("{} cannot be written ({}); the run goes on without its history", name_,
                            std::strerror(reason)));
}

}  // namespace isotherm
