#include "output/raw_write.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace isotherm {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : path_(path), descriptor_(open(path.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail("opened");
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::size_t write(std::span<const std::byte> bytes, std::int64_t at) const {
    for (;;) {
      const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), at);
      if (written >= 0) return static_cast<std::size_t>(written);
      if (errno != EINTR) fail("written");
    }
  }
  void sync() const {
    if (fsync(descriptor_) != 0) fail("brought to the disk");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(ExitCode::io,
                fmt::format("{}: the file cannot be {} ({}); check the folder and its free space", path_,
                            what, std::strerror(errno)));
  }

  const std::string& path_;
  int descriptor_;
};

}  // namespace

void write_raw(const std::string& path, std::span<const std::byte> bytes, std::int64_t at, std::size_t most) {
  const OpenFile file(path);
  while (!bytes.empty()) {
    const std::size_t written = file.write(bytes.first(std::min(most, bytes.size())), at);
    bytes = bytes.subspan(written);
    at += static_cast<std::int64_t>(written);
  }
  file.sync();
}

}  // namespace isotherm
