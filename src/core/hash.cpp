#include "core/hash.hpp"

#include <fmt/format.h>

#include <fstream>
#include <vector>

// Includes all of xxHash, so that there is no library to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace isotherm {

std::uint64_t hash_of(std::span<const char> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::optional<std::uint64_t> hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> chunk(std::size_t{4} << 20);
  std::uint64_t hash = 0;  // of the chunks so far, the seed of the next one
  while (file.read(chunk.data(), std::ssize(chunk)) || file.gcount() > 0)
    hash = XXH3_64bits_withSeed(chunk.data(), static_cast<std::size_t>(file.gcount()), hash);
  return file.eof() && !file.bad() ? std::optional(hash) : std::nullopt;
}

std::string contents_text(std::uint64_t hash) { return fmt::format("xxh3-{:016x}", hash); }

}  // namespace isotherm
