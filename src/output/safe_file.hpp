// Files that appear whole or not at all, and room for them.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/handle.hpp"

namespace isotherm {

// Replaces `path` by a file of these bytes: written to `<path>.part`, fsync, rename, fsync of the folder. A
// reader, or a crash at any moment, finds the old file or the new one. Throws Error(cannot_create) when no
// file can be made there, Error(io) when writing fails; `.part` is gone then and the old file untouched.
void write_file_atomically(const std::string& path, std::string_view bytes);

// The steps by themselves, for large files that someone else writes.
void create_empty_file(const std::string& path);  // or truncates; throws Error(cannot_create)
void sync_file(const std::string& path);          // on the disk when this returns; throws Error(io)
// `from` becomes `to`, in one folder, and the folder's entry is on the disk. Throws Error(io).
void publish_file(const std::string& from, const std::string& to);
// What was made, renamed or removed in this folder ("": the current one) is on the disk. Throws Error(io).
void sync_names(const std::string& folder);
void remove_file(const std::string& path) noexcept;  // no error when it is not there

using FileDescriptor = Handle<int, ::close>;

enum class Reserved {
  on_disk,   // the blocks are the file's: writing within it cannot run out of space
  estimated  // this file system cannot reserve; there is room for it with 10 % to spare, by its own word
};
// stays: what is reserved lies behind the end of the file, whose size is not known yet.
enum class FileSize { grows, stays };
// Gives the existing file `path` its blocks up to `bytes`, or to its present end where that is further.
// Throws Error(io) when they are not to be had: disk full, quota, file size limit.
Reserved reserve_space(const std::string& path, std::int64_t bytes, FileSize size = FileSize::grows);
// Gives back what is reserved behind the end of the file. Throws Error(io).
void release_space(const std::string& path);

// For benchmarks: `bytes` to place `at` of a file, in calls of at most `most`, on disk. Throws Error(io).
void write_raw(const std::string& path, std::string_view bytes, std::int64_t at, std::size_t most);

}  // namespace isotherm
