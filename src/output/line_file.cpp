#include "output/line_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/text.hpp"
#include "output/console.hpp"

namespace isotherm {
namespace {

// Often enough to watch a run by its files, seldom enough that a line every sweep costs nothing.
constexpr double flush_seconds = 2;
constexpr std::size_t flush_bytes = std::size_t{64} << 10;

}  // namespace

LineFile::LineFile(const std::filesystem::path& path, Console& console, std::string head, std::string loss)
    : name_(in_quotes(path.string())),
      loss_(std::move(loss)),
      console_(console),
      file_(std::fopen(path.c_str(), "wb"), &std::fclose),
      buffer_(std::move(head)) {
  if (file_) {
    std::setvbuf(file_.get(), nullptr, _IONBF,
                 0);  // ours is the only buffer: a failure shows where it happens
    write_out();
  } else {
    lose();
  }
}

LineFile::~LineFile() {
  try {
    finish();
  } catch (...) {  // a warning that cannot be said, on the way out
  }
}

void LineFile::add(std::string_view line) {
  if (!file_) return;
  buffer_ += line;
  if (buffer_.size() >= flush_bytes || since_flush_.seconds() >= flush_seconds) write_out();
}

void LineFile::finish() {
  if (file_) write_out();
  if (file_ && std::fclose(file_.release()) != 0) lose();
}

void LineFile::write_out() {
  since_flush_.lap();
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size()) return lose();
  buffer_.clear();
}

void LineFile::lose() {
  const int reason = errno;
  file_.reset();
  buffer_ = {};
  console_.warn(fmt::format("{} cannot be written ({}); the run goes on without {}", name_,
                            std::strerror(reason), loss_));
}

}  // namespace isotherm
