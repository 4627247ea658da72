// The resolved deck: every key that applies, with its value.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/deck.hpp"
#include "config/key_table.hpp"
#include "config/text.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {
namespace {

std::string yaml(double value) {
  return shortest(value);
}
std::string yaml(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string yaml(int value) {
  return fmt::format("{}", value);
}

std::string yaml(const std::string& text) {
  return yaml_text(text);
}
std::string yaml(const Expression& value) {
  return value.is_constant() ? yaml(value(0, 0, 0)) : yaml_in_quotes(value.text());
}
std::string yaml(const Int3& v) {
  return fmt::format("[{}, {}, {}]", v.x, v.y, v.z);
}
std::string yaml(const Vector3& v) {
  return fmt::format("[{}, {}, {}]", yaml(v[0]), yaml(v[1]), yaml(v[2]));
}
std::string yaml(const Interval& v) {
  return fmt::format("[{}, {}]", yaml(v[0]), yaml(v[1]));
}
std::string yaml(const std::array<int, 3>& v) {
  return fmt::format("[{}, {}, {}]", v[0], v[1], v[2]);
}
// An empty list or text stands for a key that was left out.
std::optional<std::string> optional_yaml(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return yaml(text);
}
std::optional<std::string> optional_yaml(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  std::vector<std::string> each;
  for (const std::string& word : words) each.push_back(yaml(word));
  return fmt::format("[{}]", fmt::join(each, ", "));
}
std::optional<std::string> optional_yaml(const std::vector<std::int64_t>& v) {
  if (v.empty()) return std::nullopt;
  return fmt::format("[{}]", fmt::join(v, ", "));
}
template <class T>
std::optional<std::string> optional_yaml(const T& value) {
  return yaml(value);
}
template <class T>
std::optional<std::string> optional_yaml(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return yaml(*value);
}

std::string list_text(const MapList& list, const std::string& before, const std::string& after) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) text += before + map_yaml(list.entry(i)) + after;
  return text;
}

}  // namespace

std::string map_yaml(const Keys& keys) {
  std::string text;
  for (const Key& key : keys) {
    if (!applies(key, keys)) continue;
    if (const auto value = value_yaml(key))
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key.name, *value);
  }
  return fmt::format("{{{}}}", text);
}

std::optional<std::string> value_yaml(const Key& key) {
  auto value = std::visit(
      Overloaded{[](const Choice& choice) { return std::optional<std::string>(choice.word()); },
                 [](const Section& section) { return std::optional<std::string>(map_yaml(section.keys)); },
                 [](const MapList& list) {
                   std::string text = list_text(list, "", ", ");
                   if (!text.empty()) text.erase(text.size() - 2);
                   return std::optional<std::string>(fmt::format("[{}]", text));
                 },
                 [](const Written& written) {
                   const bool stands = written.node->kind != YamlNode::Kind::null;
                   return stands ? std::optional<std::string>(yaml_text(*written.node)) : std::nullopt;
                 },
                 [](const auto* target) { return optional_yaml(*target); }},
      key.target);
  if (!value && !key.absent_word.empty()) value = std::string(key.absent_word);
  return value;
}

std::string to_yaml(const Config& config) {
  Config copy = config;  // the table binds what it could also write to
  const Keys sections = describe(copy);
  std::string text;
  for (const Key& section : sections) {
    if (const auto* map = std::get_if<Section>(&section.target)) {
      std::string lines;
      for (const Key& key : map->keys) {
        if (!applies(key, map->keys)) continue;
        if (const auto value = value_yaml(key)) lines += fmt::format("  {}: {}\n", key.name, *value);
      }
      if (!lines.empty()) text += fmt::format("{}:\n{}", section.name, lines);
    } else if (const auto* list = std::get_if<MapList>(&section.target); list && list->size() > 0) {
      text += fmt::format("{}:\n{}", section.name, list_text(*list, "  - ", "\n"));
    } else {
      text += fmt::format("{}: {}\n", section.name, *value_yaml(section));
    }
  }
  return text;
}

}  // namespace isotherm
