// A file of the same bytes by plain system calls: what the writing of snapshots is measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace isotherm {

// `bytes` to place `at` of the file, which must exist, in calls of `most` bytes at the most; on the disk when
// this returns. Ranks write their parts at the same time. Throws Error(io).
void write_raw(const std::string& path, std::span<const std::byte> bytes, std::int64_t at, std::size_t most);

}  // namespace isotherm
