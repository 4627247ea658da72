#include "study/study_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/key_path.hpp"
#include "config/text.hpp"
#include "config/value.hpp"
#include "config/yaml_text.hpp"
#include "core/text.hpp"

namespace isotherm {

using Kind = YamlNode::Kind;

namespace {

bool within(const std::string& key, const std::string& around) {
  return key.size() > around.size() && key.starts_with(around) && key[around.size()] == '.';
}

}  // namespace

// To tell values apart: 16 and 16.0 are one.
std::string canonical(const YamlNode& value) {
  if (value.kind == Kind::scalar && !value.quoted)
    if (const auto number = parse_real(value.text); number.is_number) return shortest(number.value);
  return yaml_text(value);
}

std::vector<StudyAxis> StudyReader::read_lists(const YamlNode& node, const std::string& path,
                                               Repeated repeated) {
  if (node.kind == Kind::null || !is_map(node, path, "{key.path: [values]}")) return {};
  std::vector<StudyAxis> axes;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const YamlKey& key = node.keys[i];
    const YamlNode& values = node.items[i];
    if (!take_key(key, path)) continue;
    const std::string at = fmt::format("{}.{}", path, key.name);
    if (values.kind != Kind::list) {
      add(values.place, at,
          fmt::format("{} stands where a list of values is wanted; write [{}]", name_of(values.kind),
                      example(values)));
    } else if (values.items.empty()) {
      add(values.place, at, "the list is empty (it would leave no case); write a value, or remove the key");
    } else {
      if (repeated == Repeated::refused) refuse_repeated(values, at);
      StudyAxis axis;
      for (const YamlNode& value : values.items) axis.push_back({"", {{key.name, value}}});
      axes.push_back(std::move(axis));
    }
  }
  return axes;
}

std::optional<StudyAxis> StudyReader::read_zip(const YamlNode& node, const std::string& path) {
  const std::vector<StudyAxis> axes = read_lists(node, path, Repeated::allowed);
  if (axes.empty()) return std::nullopt;
  StudyAxis together(axes.front().size());
  for (const StudyAxis& axis : axes) {
    const StudySetting& setting = axis.front().settings.front();
    if (axis.size() != together.size()) {
      add(setting.value.place, fmt::format("{}.{}", path, setting.key),
          fmt::format("has {} and {} has {} (they go together); give them as many",
                      counted(std::ssize(axis), "value"), axes.front().front().settings.front().key,
                      together.size()));
      continue;
    }
    for (std::size_t i = 0; i < axis.size(); ++i) together[i].settings.push_back(axis[i].settings.front());
  }
  return together;
}

std::optional<StudyAxis> StudyReader::read_cases(const YamlNode& node, const std::string& path) {
  const std::vector<const YamlNode*> maps = read_maps(node, path);
  if (maps.empty()) return std::nullopt;
  StudyAxis axis;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::string at = fmt::format("{}.{}", path, i);
    std::map<std::string, Place> keys;  // of this entry: another may have the same
    StudyChoice choice;
    for (std::size_t k = 0; k < maps[i]->keys.size(); ++k) {
      const YamlKey& key = maps[i]->keys[k];
      const YamlNode& value = maps[i]->items[k];
      if (const auto [first, is_new] = keys.emplace(key.name, key.place); !is_new) {
        add(key.place, fmt::format("{}.{}", at, key.name),
            fmt::format("stands twice (first on line {}); keep one", first->second.line));
      } else if (key.name == "name") {
        if (value.kind != Kind::scalar || value.text.empty())
          add(value.place, at + ".name",
              fmt::format("{} stands where a word is wanted; write name: thin", name_of(value.kind)));
        choice.name = value.text;
      } else if (is_deck_key(key, at) && is_apart(key, at, path)) {
        taken_.emplace(key.name, Taken{path, key.place});
        choice.settings.push_back({key.name, value});
      }
    }
    axis.push_back(std::move(choice));
  }
  return axis;
}

StudyAxis StudyReader::read_counts(const ScalingConfig& scaling) {
  const std::string key = scaling.gpus.empty() ? "ranks" : "gpus", path = "scaling." + key;
  const Place place = problems_.place_of(path);
  taken_.emplace("ranks", Taken{path, place});
  remember("ranks");
  StudyAxis axis;
  std::set<std::int64_t> seen;
  for (const std::int64_t count : scaling.counts()) {
    if (!seen.insert(count).second) add(place, path, fmt::format("{} stands twice; keep one", count));
    axis.push_back({"", {{"ranks", whole(count, place)}}});
  }
  return axis;
}

StudyAxis StudyReader::read_runs(const ScalingConfig& scaling) {
  remember("run");
  StudyAxis axis;
  for (int run = 1; run <= scaling.repeats; ++run)
    axis.push_back({"", {{"run", whole(run, problems_.place_of("scaling.repeats"))}}});
  return axis;
}

std::vector<const YamlNode*> StudyReader::read_maps(const YamlNode& node, const std::string& path) {
  if (node.kind == Kind::null) return {};
  if (node.kind != Kind::list || node.items.empty()) {
    add(node.place, path,
        fmt::format("{} stands where a list of maps is wanted; write [{{key.path: value}}]",
                    node.kind == Kind::list ? "an empty list" : name_of(node.kind)));
    return {};
  }
  std::vector<const YamlNode*> maps;
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (is_map(node.items[i], fmt::format("{}.{}", path, i), "{key.path: value}"))
      maps.push_back(&node.items[i]);
  return maps;
}

void StudyReader::add(const Place& place, const std::string& key, const std::string& problem) {
  problems_.add(place, key, problem);
  good_ = false;
}

YamlNode StudyReader::whole(std::int64_t number, const Place& place) {
  return {.kind = Kind::scalar, .place = place, .text = fmt::format("{}", number)};
}

std::string StudyReader::example(const YamlNode& value) {
  return value.kind == Kind::scalar ? printable(yaml_text(value)) : "value, value";
}

bool StudyReader::is_map(const YamlNode& node, const std::string& path, const char* example) {
  if (node.kind == Kind::map && !node.keys.empty()) return true;
  add(node.place, path,
      fmt::format("{} stands where a map of keys is wanted; write {}",
                  node.kind == Kind::map ? "an empty map" : name_of(node.kind), example));
  return false;
}

void StudyReader::refuse_repeated(const YamlNode& values, const std::string& path) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < values.items.size(); ++i) {
    if (seen.insert(canonical(values.items[i])).second) continue;
    add(values.items[i].place, fmt::format("{}.{}", path, i),
        fmt::format("{} stands twice; keep one", printable(yaml_text(values.items[i]))));
    return;
  }
}

bool StudyReader::is_deck_key(const YamlKey& key, const std::string& path) {
  const std::string at = fmt::format("{}.{}", path, key.name);
  if (key.name == "ranks") {
    remember(key.name);
    return true;
  }
  if (key.name == "output") {
    add(key.place, at, "cannot vary as a whole (its directory is the study's); vary the keys in it");
    return false;
  }
  if (key.name == "output.directory" || key.name == "output.overwrite") {
    add(key.place, at, "cannot vary (each case has a folder of its own in that of the study); remove it");
    return false;
  }
  if (const std::string why = find_key_at(key.name).problem; !why.empty()) {
    add(key.place, at, why);
    return false;
  }
  remember(key.name);
  return true;
}

void StudyReader::remember(const std::string& key) {
  if (std::ranges::find(order_, key) == order_.end()) order_.push_back(key);
}

bool StudyReader::is_apart(const YamlKey& key, const std::string& at, const std::string& path) {
  for (const auto& [other, taken] : taken_) {
    const bool same = other == key.name;
    if (same && taken.path == path && path == "study.list") continue;
    if (!same && !within(key.name, other) && !within(other, key.name)) continue;
    add(key.place, fmt::format("{}.{}", at, key.name),
        fmt::format("{} on line {} says it too; keep one",
                    same ? taken.path : fmt::format("'{}' in {}", other, taken.path), taken.place.line));
    return false;
  }
  return true;
}

bool StudyReader::take_key(const YamlKey& key, const std::string& path) {
  if (!is_deck_key(key, path) || !is_apart(key, path, path)) return false;
  taken_.emplace(key.name, Taken{path, key.place});
  return true;
}

}  // namespace isotherm
