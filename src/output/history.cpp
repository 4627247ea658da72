#include "output/history.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "core/text.hpp"
#include "output/console.hpp"

namespace isotherm {
namespace {

// Often enough to watch a run by its history, seldom enough that a check every sweep costs nothing.
constexpr double flush_seconds = 2;
constexpr std::size_t flush_bytes = std::size_t{64} << 10;

}  // namespace

std::string history_head() {
  return "sweep,time_s,residual,relative_residual,wall_s\n";
}

std::string history_line(const HistoryRow& row) {
  return fmt::format("{},{},{},{},{:.6f}\n", row.sweep, row.time, row.residual, row.relative, row.wall);
}

History::History(const std::filesystem::path& path, Console& console)
    : name_(in_quotes(path.string())),
      console_(console),
      file_(std::fopen(path.c_str(), "wb"), &std::fclose),
      buffer_(history_head()) {
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
  buffer_ += history_line(row);
  if (buffer_.size() >= flush_bytes || since_flush_.seconds() >= flush_seconds) write_out();
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
