#include "output/safe_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "core/text.hpp"

namespace isotherm {

namespace {

[[noreturn]] void fail(ExitCode code, const std::string& path, const char* action,
                       const char* what_to_check = "the folder, its permissions and its free space") {
  const int reason = errno;
  throw error_of(code, "{}: {} failed ({}); check {}", path, action, std::strerror(reason), what_to_check);
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, ExitCode code, const char* action) : path_(path) {
    fd_ = FileDescriptor(TEMP_FAILURE_RETRY(::open(path.c_str(), flags | O_CLOEXEC, 0666)));
    if (!fd_.valid()) fail(code, path, action);
  }

  // A call may write fewer bytes than it is given, or none.
  void write(std::string_view bytes, std::int64_t at, std::size_t most) {
    while (!bytes.empty()) {
      const ssize_t taken = ::pwrite(fd_.get(), bytes.data(), std::min(most, bytes.size()), at);
      if (taken < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (taken < 0) fail(ExitCode::io, path_, "writing");
      bytes.remove_prefix(static_cast<std::size_t>(taken));
      at += taken;
    }
  }
  void sync() {
    // Some file systems do not support fsync of folders.
    if (TEMP_FAILURE_RETRY(::fsync(fd_.get())) != 0 && errno != EINVAL && errno != ENOTSUP)
      fail(ExitCode::io, path_, "fsync");
  }
  // Some file systems (NFS, quotas) report a failed write only here.
  void close() {
    if (::close(fd_.release()) != 0 && errno != EINTR) fail(ExitCode::io, path_, "closing");
  }

 private:
  std::string path_;
  FileDescriptor fd_;
};

// None if the file system does not report it (some network and user-space ones report 0 blocks in all).
std::optional<std::int64_t> free_bytes(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  struct statvfs status {};
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &status) != 0 || status.f_blocks == 0) return {};
  const auto blocks = ::geteuid() == 0 ? status.f_bfree : status.f_bavail;
  return static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(status.f_frsize);
}

[[noreturn]] void reject(const std::string& path, const char* reason, std::int64_t wanted) {
  const bool too_large = errno == EFBIG;
  const auto free = free_bytes(path);
  throw error_of(
      ExitCode::io,
      "{}: no room for the file ({}: {} bytes wanted, {}); {}, or write less with output.snapshots, "
      "output.every_steps, fp32",
      path, reason, wanted,
      too_large ? "more than a file may have"
                : fmt::format("{} free", free ? std::to_string(*free) : "an unknown number"),
      too_large ? "raise the limit of file sizes (ulimit -f)" : "free some");
}

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

void remove_file(const std::string& path) noexcept { ::unlink(path.c_str()); }

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::string part = path + ".part";
  Descriptor file(part, O_WRONLY | O_CREAT | O_TRUNC, ExitCode::cannot_create, "creating");
  try {
    file.write(bytes, 0, bytes.size());
    file.sync();
    file.close();
    publish_file(part, path);
  } catch (...) {
    remove_file(part);
    throw;
  }
}

std::string follow_links(const std::string& path) {
  constexpr int most = 40;  // as in Linux: links may form a cycle
  std::filesystem::path target = path;
  std::error_code ignored;
  for (int i = 0; i < most && std::filesystem::is_symlink(target, ignored); ++i)
    target = target.parent_path() / std::filesystem::read_symlink(target, ignored);
  return target.string();
}

void write_named_file(const std::string& path, std::string_view bytes) {
  std::error_code ignored;
  if (!std::filesystem::is_other(path, ignored)) return write_file_atomically(follow_links(path), bytes);
  std::ofstream file(path);
  if (!(file << bytes << std::flush)) fail(ExitCode::io, path, "writing");
}

void write_raw(const std::string& path, std::string_view bytes, std::int64_t at, std::size_t most) {
  Descriptor file(path, O_WRONLY, ExitCode::io, "opening");
  file.write(bytes, at, most);
  file.sync();
}

Reserved reserve_space(const std::string& path, std::int64_t bytes, FileSize size) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid())
    fail(ExitCode::io, path, "opening",
         "the folder, its permissions and the limits of the process (ulimit -a)");
  struct stat status {};
  if (::fstat(file.get(), &status) == 0) bytes = std::max<std::int64_t>(bytes, status.st_size);
  // Not posix_fallocate: where reserving is not supported, it writes a byte to every block instead.
  const int mode = size == FileSize::grows ? 0 : FALLOC_FL_KEEP_SIZE;
  if (TEMP_FAILURE_RETRY(::fallocate(file.get(), mode, 0, bytes)) == 0) return Reserved::on_disk;
  if (errno != EOPNOTSUPP && errno != ENOSYS) reject(path, std::strerror(errno), bytes);
  const auto free = free_bytes(path);
  if (free && *free < bytes + bytes / 10) reject(path, "10 % to spare are needed here", bytes);
  return Reserved::estimated;
}

// Truncating a file at its end releases the space beyond it.
void release_space(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && ::truncate(path.c_str(), status.st_size) == 0) return;
  fail(ExitCode::io, path, "giving back reserved space", "the folder and its permissions");
}

}  // namespace isotherm
