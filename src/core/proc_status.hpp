// Figures of memory in /proc/meminfo and /proc/self/status.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace isotherm {

// The value of the line "Key:   123 kB" of `file`, in bytes; 0 where there is no such line.
std::size_t proc_bytes(const std::filesystem::path& file, std::string_view key);

}  // namespace isotherm
