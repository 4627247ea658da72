// Files that are complete or absent, and disk space for them.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/handle.hpp"

namespace isotherm {

// Replaces `path` by a file of these bytes: written to `<path>.part`, fsync, rename, fsync of the folder. A
// reader, even after a crash, finds the old file or the new one. Throws Error(cannot_create) if no file can
// be created there, Error(io) if writing fails; then `.part` is removed and the old file is unchanged.
void write_file_atomically(const std::string& path, std::string_view bytes);
// The same for a path that a user names: its links are followed, and a device or a pipe, which a file would
// replace, is written to.
void write_named_file(const std::string& path, std::string_view bytes);
std::string follow_links(const std::string& path);  // symbolic links; the last may name no file

// The single steps, for large files that other code writes.
void create_empty_file(const std::string& path);  // or truncates; throws Error(cannot_create)
void sync_file(const std::string& path);          // on the disk when this returns; throws Error(io)
// Renames `from` to `to`, in one folder; the folder's entry is on the disk on return. Throws Error(io).
void publish_file(const std::string& from, const std::string& to);
// Syncs names created, changed or removed in this folder ("": the current one) to the disk. Throws Error(io).
void sync_names(const std::string& folder);
void remove_file(const std::string& path) noexcept;  // no error if there is none

using FileDescriptor = Handle<int, ::close>;

enum class Reserved {
  on_disk,   // the file owns its blocks: writing within it cannot run out of space
  estimated  // this file system cannot reserve; the free space, if known, exceeds the need by 10 %
};
// stays: the reserved space is beyond the end of the file, whose size is not known yet.
enum class FileSize { grows, stays };
// Reserves blocks for the existing file `path` up to `bytes`, or up to its present end if that is further.
// Throws Error(io) if that is impossible: disk full, quota, file size limit.
Reserved reserve_space(const std::string& path, std::int64_t bytes, FileSize size = FileSize::grows);
// Releases space that is reserved beyond the end of the file. Throws Error(io).
void release_space(const std::string& path);

// For benchmarks: writes `bytes` to disk at offset `at`, at most `most` per call. Throws Error(io).
void write_raw(const std::string& path, std::string_view bytes, std::int64_t at, std::size_t most);

}  // namespace isotherm
