// Hashes by XXH3 (github.com/Cyan4973/xxHash), which show whether data has changed. Not secure against
// deliberate changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace isotherm {

std::uint64_t hash_of(std::span<const char> bytes);
// The hash of the whole file; none if it cannot be read.
std::optional<std::uint64_t> hash_of_file(const std::string& path);

// The text by which decks record the contents of a file: "xxh3-00c0ffee00c0ffee".
std::string contents_text(std::uint64_t hash);

}  // namespace isotherm
