#include "config/key_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/key_table.hpp"
#include "config/overrides.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

bool is_index(const std::string& part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

// The path of a key of this name in a section.
std::string find_elsewhere(const Keys& deck, const std::string& name) {
  for (const Key& section : deck)
    if (const auto* map = std::get_if<Section>(&section.target); map && find_key(map->keys, name))
      return fmt::format("{}.{}", section.name, name);
  return {};
}

std::string unknown(const Keys& deck, const Keys& keys, const std::string& before, const std::string& part) {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  std::string meant(nearest_word(part, names));
  meant = meant.empty() ? find_elsewhere(deck, part) : before + meant;
  if (!meant.empty()) return fmt::format("unknown key; did you mean '{}'?", meant);
  return fmt::format("unknown key; use {}one of {}", before.empty() ? "" : fmt::format("'{}' and ", before),
                     join(names));
}

}  // namespace

KeyAtPath find_key_at(const std::string& path) {
  Config config;
  const Keys deck = describe(config);
  Keys keys = deck;
  std::string before;
  const std::vector<std::string> parts = split_key(path);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Key* key = find_key(keys, parts[i]);
    if (!key) return {unknown(deck, keys, before, parts[i]), ""};
    before += parts[i] + ".";
    const bool is_last = i + 1 == parts.size();
    if (const auto* section = std::get_if<Section>(&key->target)) {
      if (!is_last) keys = Keys(section->keys);
      continue;
    }
    if (is_last) return {"", std::string(key->unit)};
    if (!is_index(parts[i + 1]))
      return {fmt::format("unknown key; '{}' holds no keys of its own", before.substr(0, before.size() - 1)),
              ""};
    const auto* list = std::get_if<MapList>(&key->target);
    if (!list) return {"", std::string(key->unit)};  // an entry of a list of numbers
    before += parts[++i] + ".";
    keys = list->append();
  }
  return {};
}

}  // namespace isotherm
