#include "core/proc_status.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

namespace isotherm {

// By lines, not by words: the first line of /proc/self/status holds the program's name, and that may hold
// any word.
std::size_t proc_bytes(const std::filesystem::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != ':') continue;
    const std::size_t first = std::min(line.find_first_not_of(" \t", key.size() + 1), line.size());
    std::size_t kilobytes = 0;
    std::from_chars(line.data() + first, line.data() + line.size(), kilobytes);
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace isotherm
