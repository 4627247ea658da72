#include "output/safe_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

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

Writeback::Writeback(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

Writeback::~Writeback() {
  if (descriptor_ >= 0) close(descriptor_);
}

// A hint: what fails here is told by fsync.
void Writeback::start() const {
  if (descriptor_ >= 0) sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

namespace {

[[noreturn]] void fail(ExitCode code, const std::string& path, const char* action) {
  const int reason = errno;
  throw Error(code, fmt::format("{}: {} failed ({}); check the folder, its permissions and its free space",
                                path, action, std::strerror(reason)));
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, ExitCode code, const char* action) : path_(path) {
    do {
      fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail(code, path, action);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // write() may take less than it is given, or nothing at all.
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t taken = ::write(fd_, bytes.data(), bytes.size());
      if (taken < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (taken < 0) fail(ExitCode::io, path_, "writing");
      bytes.remove_prefix(static_cast<std::size_t>(taken));
    }
  }
  void sync() {
    int result = 0;
    do {
      result = ::fsync(fd_);
    } while (result != 0 && errno == EINTR);
    // Some file systems know no fsync of folders.
    if (result != 0 && errno != EINVAL && errno != ENOTSUP) fail(ExitCode::io, path_, "fsync");
  }
  // Some file systems (NFS, quotas) report a failed write only here.
  void close() {
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0 && errno != EINTR) fail(ExitCode::io, path_, "closing");
  }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace

void create_empty_file(const std::string& path) {
  Descriptor(path, O_WRONLY | O_CREAT | O_TRUNC, ExitCode::cannot_create, "creating").close();
}

void sync_file(const std::string& path) {
  Descriptor file(path, O_RDONLY, ExitCode::io, "opening for fsync");
  file.sync();
  file.close();
}

void publish_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail(ExitCode::io, to, "renaming");
  sync_names(std::filesystem::path(to).parent_path());
}

void sync_names(const std::string& folder) {
  Descriptor entry(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY, ExitCode::io, "opening for fsync");
  entry.sync();
}

void remove_file(const std::string& path) noexcept {
  ::unlink(path.c_str());
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::string part = path + ".part";
  Descriptor file(part, O_WRONLY | O_CREAT | O_TRUNC, ExitCode::cannot_create, "creating");
  try {
    file.write(bytes);
    file.sync();
    file.close();
    publish_file(part, path);
  } catch (...) {
    remove_file(part);
    throw;
  }
}

}  // namespace isotherm
