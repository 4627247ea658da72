#include "config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {

namespace {

using Kind = YamlNode::Kind;

bool is_index(const std::string& part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

void place_all(YamlNode& node, const Place& place) {
  node.place = place;
  for (YamlKey& key : node.keys) key.place = place;
  for (YamlNode& item : node.items) place_all(item, place);
}

// The path of a key of this name at the top of the deck or in one of its sections; else empty.
std::string find_anywhere(const Keys& deck, std::string_view name) {
  if (find_key(deck, name)) return std::string(name);
  for (const Key& section : deck)
    if (const auto* map = std::get_if<Section>(&section.target); map && find_key(map->keys, name))
      return fmt::format("{}.{}", section.name, name);
  return {};
}

// The entry `part` of a map or list, added if it is new. Throws YamlError if it cannot be added.
YamlNode& entry(YamlNode& parent, const std::string& part, const Place& place) {
  // No key of a deck is a number: "0" starts a list.
  if (parent.kind == Kind::null) parent = {.kind = part == "0" ? Kind::list : Kind::map, .place = place};
  if (parent.kind == Kind::scalar)
    throw YamlError{
        place, fmt::format("'{}' stands there, not a map; override it as a whole", printable(parent.text))};
  if (parent.kind == Kind::map) {
    YamlNode* const known = parent.find(part);
    return known ? *known : parent.add(part, {.place = place});
  }
  const std::size_t size = parent.items.size();
  const auto index = read_number<std::size_t>(part);
  if (!index || *index > size || std::to_string(*index) != part)
    throw YamlError{place, fmt::format("'{}' is no entry of the {}list; write 0 to {}append", printable(part),
                                       size == 0 ? "empty " : "",
                                       size == 0 ? "" : fmt::format("{}, or {} to ", size - 1, size))};
  if (*index == size) parent.items.push_back({.place = place});
  return parent.items[*index];
}

// Stores the value at the path of its key. The reader checks the key itself.
void apply_override(YamlNode& deck, const Override& override, Problems& problems) {
  const Place place{.argument = override.argument};
  try {
    YamlNode value = parse_yaml(override.value);
    place_all(value, place);
    put_value(deck, override.key, std::move(value), problems);
  } catch (const YamlError& error) {
    problems.add(place, override.key, error.problem);
  }
}

}  // namespace

std::string unknown_key(const Keys& deck, const Keys& keys, const std::string& before,
                        const std::string& name) {
  const auto former = std::ranges::find(keys, name, &Key::former_name);
  if (!name.empty() && former != keys.end()) return fmt::format("is called {} now", former->name);
  const std::vector<std::string_view> names = names_of(keys);
  if (const auto absent = absent_feature(name); !absent.empty())
    return fmt::format("unknown key; {}", absent);
  std::string meant(nearest_word(name, names));
  meant = meant.empty() ? find_anywhere(deck, name) : before + meant;
  if (!meant.empty()) return fmt::format("unknown key; did you mean '{}'?", meant);
  return fmt::format("unknown key; use {}one of {}", before.empty() ? "" : fmt::format("'{}' and ", before),
                     fmt::join(names, ", "));
}

KeyAtPath find_key_at(const std::string& path, const Keys& deck) {
  Keys keys = deck;
  std::string before;
  std::vector<std::string> parts = split(path, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Key* key = find_key(keys, parts[i]);
    if (!key) return {unknown_key(deck, keys, before, parts[i]), ""};
    before += parts[i] + ".";
    const bool is_last = i + 1 == parts.size();
    if (const auto* section = std::get_if<Section>(&key->target)) {
      const bool is_entry = !is_last && section->list && is_index(parts[i + 1]);
      if (is_entry) before += parts[++i] + ".";
      if (!is_last) keys = is_entry ? section->list->append() : Keys(section->keys);
      continue;
    }
    if (is_last) {
      KeyAtPath found{"", std::string(key->range.unit)};
      for (const Key& other : keys)
        if (std::ranges::count(key->excludes, other.name) + std::ranges::count(other.excludes, key->name) > 0)
          found.rivals.emplace_back(other.name);
      return found;
    }
    const auto* list = std::get_if<MapList>(&key->target);
    if (!(list && list->name) && !is_index(parts[i + 1]))
      return {fmt::format("unknown key; '{}' holds no keys of its own", before.substr(0, before.size() - 1)),
              ""};
    if (!list) return {"", std::string(key->range.unit)};  // an entry of a list of numbers
    before += parts[++i] + ".";
    // An index within an entry: the entry is no map, and stands for its lone key.
    if (!list->lone_key.empty() && i + 1 < parts.size() && is_index(parts[i + 1]))
      parts.emplace(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, list->lone_key);
    keys = list->append();
  }
  return {};
}

std::vector<Override> split_overrides(const std::vector<std::string>& arguments,
                                      const std::vector<int>& numbers) {
  std::vector<Override> overrides;
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const std::string& argument = arguments[n];
    const int number = numbers.empty() ? static_cast<int>(n) + 1 : numbers[n];
    const auto reject = [&](const std::string& problem) {
      throw Error(ExitCode::command_line, fmt::format("argument {}: {}", number, problem));
    };
    const std::size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    if (equals == argument.npos || std::ranges::count(split(key, '.'), ""))
      reject(fmt::format("'{}' {}; write key.path=value, e.g. problem.steps=100", printable(argument),
                         equals == argument.npos ? "has no '='" : "names no key before the '='"));
    const auto is_within = [&](const Override& before) { return (before.key + ".").starts_with(key + "."); };
    if (const auto first = std::ranges::find_if(overrides, is_within); first != overrides.end())
      reject(first->key == key ? fmt::format("{}: appears twice (first in argument {}); keep one",
                                             printable(key), first->argument)
                               : fmt::format("{}: replaces {} of argument {}; keep one", printable(key),
                                             printable(first->key), first->argument));
    overrides.push_back({number, key, argument.substr(equals + 1)});
  }
  return overrides;
}

void put_value(YamlNode& deck, const std::string& key, YamlNode value, Problems& problems) {
  const Place place = value.place;
  const std::vector<std::string> parts = split(key, '.');
  if (parts.size() > static_cast<std::size_t>(deepest_nesting))
    return problems.add(place, key, "nested deeper than {} levels; no deck needs that", deepest_nesting);
  try {
    YamlNode *node = &deck, *parent = node;
    for (const std::string& part : parts) node = &entry(*(parent = node), part, place);
    *node = std::move(value);
    if (parent->kind != Kind::map) return;
    parent->keys[node - parent->items.data()].place = place;
    if (place.argument == 0) return;
    Config config;
    StudyConfig study;
    const KeyAtPath found = find_key_at(key, describe(config, study));
    erase_keys(*parent, [&](std::string_view name) {  // keys of the file that exclude this key
      return std::ranges::count(found.rivals, name) > 0 && parent->find(name)->place.argument == 0;
    });
  } catch (const YamlError& error) {
    problems.add(place, key, error.problem);
  }
}

YamlNode read_tree(const std::string& text, const std::vector<std::string>& overrides,
                   const std::vector<int>& arguments, Problems& problems) {
  const std::vector<Override> replacements = split_overrides(overrides, arguments);
  YamlNode deck;
  try {
    deck = parse_yaml(text);
  } catch (const YamlError& error) {
    problems.add(error.place, "", error.problem);
    problems.throw_if_any();
  }
  if (deck.kind == Kind::map)
    for (const Override& replacement : replacements) apply_override(deck, replacement, problems);
  rename_former(deck, problems);
  return deck;
}

}  // namespace isotherm
