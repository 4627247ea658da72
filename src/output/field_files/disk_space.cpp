#include "output/field_files/disk_space.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/error.hpp"

namespace isotherm {
namespace {

// None where the file system does not say (some network and user-space ones report 0 blocks in all).
std::optional<std::int64_t> free_bytes(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  struct statvfs status {};
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &status) != 0 || status.f_blocks == 0) return {};
  const auto blocks = ::geteuid() == 0 ? status.f_bfree : status.f_bavail;
  return static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(status.f_frsize);
}

[[noreturn]] void refuse(const std::string& path, const char* reason, std::int64_t wanted) {
  const auto free = free_bytes(path);
  throw Error(ExitCode::io,
              fmt::format("{}: no room for the file ({}: {} bytes wanted, {} free); free some, or write less "
                          "with output.snapshots, output.every_steps, fp32",
                          path, reason, wanted, free ? std::to_string(*free) : "an unknown number"));
}

}  // namespace

Reserved reserve_space(const std::string& path, std::int64_t bytes, FileSize size) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    throw Error(ExitCode::io,
                fmt::format("{}: opening failed ({}); check the folder, its permissions and the "
                            "limits of the process (ulimit -a)",
                            path, std::strerror(errno)));
  struct stat status {};
  if (::fstat(fd, &status) == 0) bytes = std::max<std::int64_t>(bytes, status.st_size);
  // Not posix_fallocate: where reserving is unknown, that one writes a byte to every block in its stead.
  int result = 0;
  do {
    result = ::fallocate(fd, size == FileSize::grows ? 0 : FALLOC_FL_KEEP_SIZE, 0, bytes);
  } while (result != 0 && errno == EINTR);
  const int reason = result == 0 ? 0 : errno;
  ::close(fd);
  if (reason == 0) return Reserved::on_disk;
  if (reason != EOPNOTSUPP && reason != ENOSYS) refuse(path, std::strerror(reason), bytes);
  const auto free = free_bytes(path);
  if (free && *free < bytes + bytes / 10) refuse(path, "10 % to spare are needed here", bytes);
  return Reserved::estimated;
}

// A file that is cut where it ends loses what lies behind.
void release_space(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && ::truncate(path.c_str(), status.st_size) == 0) return;
  throw Error(ExitCode::io,
              fmt::format("{}: giving back reserved space failed ({}); check the folder and its "
                          "permissions",
                          path, std::strerror(errno)));
}

FileSizeSignalIgnored::FileSizeSignalIgnored() : previous_(std::signal(SIGXFSZ, SIG_IGN)) {}

FileSizeSignalIgnored::~FileSizeSignalIgnored() {
  if (previous_ != SIG_ERR) std::signal(SIGXFSZ, previous_);
}

}  // namespace isotherm
