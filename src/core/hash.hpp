// Hashes by XXH3 (github.com/Cyan4973/xxHash), which tell whether data has changed. Not secure against
// intent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace isotherm {

std::uint64_t hash_of(std::span<const char> bytes);
// Of the whole file; none if it cannot be read.
std::optional<std::uint64_t> hash_of_file(const std::string& path);

// As decks record the contents of the files that they name: "xxh3-00c0ffee00c0ffee".
std::string contents_text(std::uint64_t hash);

}  // namespace isotherm
