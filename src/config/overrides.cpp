#include "config/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/text.hpp"
#include "core/error.hpp"

namespace isotherm {
namespace {

using Kind = YamlNode::Kind;

void place_all(YamlNode& node, const Place& place) {
  node.place = place;
  for (YamlKey& key : node.keys) key.place = place;
  for (YamlNode& item : node.items) place_all(item, place);
}

// The entry `part` of a map or list, made if it is new; null, with the reason in `problem`, where it cannot
// be.
YamlNode* entry(YamlNode& parent, const std::string& part, const Place& place, std::string& problem) {
  // No key of a deck is a number: "0" starts a list.
  if (parent.kind == Kind::null) parent = {.kind = part == "0" ? Kind::list : Kind::map, .place = place};
  if (parent.kind == Kind::map) {
    const auto known = std::find_if(parent.keys.begin(), parent.keys.end(),
                                    [&](const YamlKey& key) { return key.name == part; });
    if (known != parent.keys.end())
      return &parent.items[static_cast<std::size_t>(known - parent.keys.begin())];
    parent.keys.push_back({part, place});
    return &parent.items.emplace_back(YamlNode{.place = place});
  }
  if (parent.kind == Kind::scalar) {
    problem = fmt::format("'{}' stands there in the deck, not a map; override it as a whole",
                          printable(parent.text));
    return nullptr;
  }
  const auto index = parse_count(part);
  const auto size = static_cast<std::int64_t>(parent.items.size());
  if (!index.is_number || !index.problem.empty() || index.value < 0 || index.value > size) {
    problem = fmt::format("'{}' is no entry of the list; write 0 to {}, or {} to append", printable(part),
                          size - 1, size);
    if (size == 0)
      problem = fmt::format("'{}' is no entry of the empty list; write 0 to append", printable(part));
    return nullptr;
  }
  if (index.value == size) parent.items.emplace_back(YamlNode{.place = place});
  return &parent.items[static_cast<std::size_t>(index.value)];
}

}  // namespace

std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t dot = key.find('.', start);
    parts.push_back(key.substr(start, dot == key.npos ? key.npos : dot - start));
    if (dot == key.npos) return parts;
    start = dot + 1;
  }
}

std::vector<Override> split_overrides(const std::vector<std::string>& arguments,
                                      const std::vector<int>& numbers) {
  std::vector<Override> overrides;
  std::map<std::string, int> seen;
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const std::string& argument = arguments[n];
    const int number = numbers.empty() ? static_cast<int>(n) + 1 : numbers[n];
    const std::size_t equals = argument.find('=');
    if (equals == argument.npos)
      throw Error(ExitCode::command_line,
                  fmt::format("argument {}: '{}' has no '='; write key.path=value, e.g. problem.steps=100",
                              number, printable(argument)));
    Override made{number, argument.substr(0, equals), split_key(argument.substr(0, equals)),
                  argument.substr(equals + 1)};
    if (std::find(made.parts.begin(), made.parts.end(), "") != made.parts.end())
      throw Error(ExitCode::command_line,
                  fmt::format("argument {}: '{}' names no key before the '='; write key.path=value, e.g. "
                              "problem.steps=100",
                              number, printable(argument)));
    const auto [first, is_new] = seen.emplace(made.key, number);
    if (!is_new)
      throw Error(ExitCode::command_line,
                  fmt::format("argument {}: {}: stands twice (first in argument {}); keep one", number,
                              printable(made.key), first->second));
    overrides.push_back(std::move(made));
  }
  return overrides;
}

void apply_override(YamlNode& deck, const Override& override, Problems& problems) {
  const Place place{.argument = override.argument};
  YamlNode value;
  try {
    value = parse_yaml(override.value);
  } catch (const YamlError& error) {
    problems.add(place, override.key, error.problem);
    return;
  }
  place_all(value, place);
  put_value(deck, override.key, std::move(value), problems);
}

void put_value(YamlNode& deck, const std::string& key, YamlNode value, Problems& problems) {
  const Place place = value.place;
  const std::vector<std::string> parts = split_key(key);
  if (parts.size() > static_cast<std::size_t>(deepest_nesting)) {
    problems.add(place, key,
                 fmt::format("nested deeper than {} levels; no deck needs that", deepest_nesting));
    return;
  }
  YamlNode* node = &deck;
  for (const std::string& part : parts) {
    std::string problem;
    node = entry(*node, part, place, problem);
    if (!node) {
      problems.add(place, key, problem);
      return;
    }
  }
  *node = std::move(value);
}

}  // namespace isotherm
