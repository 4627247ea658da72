// Files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace isotherm
