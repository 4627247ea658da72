#include "config/reader.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "config/problems.hpp"
#include "config/text.hpp"
#include "config/value.hpp"

namespace isotherm {
namespace {

using Kind = YamlNode::Kind;

std::vector<std::string_view> names_of(const Keys& keys) {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

std::string where(const Place& place) {
  return place.argument > 0 ? fmt::format("in argument {}", place.argument)
                            : fmt::format("on line {}", place.line);
}

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  void read_deck(const YamlNode& deck, const Keys& keys) {
    deck_keys_ = &keys;
    read_map(deck, keys, "", "");
  }

 private:
  using Found = std::unordered_map<std::string_view, std::size_t>;  // key -> its number in the map

  static YamlNode map_of(std::string_view key, const YamlNode& value) {
    YamlNode map{.kind = Kind::map, .place = value.place};
    map.keys.push_back({std::string(key), value.place});
    map.items.push_back(value);
    return map;
  }

  // As an override does it that takes a section away: "scaling=null".
  static bool is_left_out(const Key& key, const YamlNode& value) {
    const auto* section = std::get_if<Section>(&key.target);
    return section && section->is_optional && value.kind == Kind::null;
  }

  void read_map(const YamlNode& node, const Keys& keys, const std::string& path, std::string_view word_key) {
    if (node.kind == Kind::scalar && !word_key.empty())
      return read_map(map_of(word_key, node), keys, path, {});
    if (node.kind != Kind::map && node.kind != Kind::null)
      return problems_.add(node.place, path,
                           fmt::format("{} stands where a map is wanted; write keys of {}",
                                       name_of(node.kind), join(names_of(keys))));
    const Found found = find_keys(node, keys, path);
    for (const Key& key : keys) {
      const std::string key_path =
          path.empty() ? std::string(key.name) : fmt::format("{}.{}", path, key.name);
      if (!key.when.key.empty() && !problems_.sound({fmt::format("{}.{}", path, key.when.key)})) continue;
      const auto at = found.find(key.name);
      if (at == found.end()) {
        read_absent(key, keys, key_path, path, found);
        continue;
      }
      const YamlNode& value = node.items[at->second];
      if (is_left_out(key, value)) continue;
      const bool is_map = std::holds_alternative<Section>(key.target) && value.kind == Kind::map;
      problems_.remember(key_path, is_map ? node.keys[at->second].place : value.place);
      if (!applies(key, keys)) {
        refuse_key(key, keys, node.keys[at->second].place, key_path);
      } else if (key.need == Need::one_of_two && found.count(key.partner) &&
                 found.at(key.partner) < at->second) {
        problems_.add(node.keys[at->second].place, key_path,
                      fmt::format("says what {} ({}) says too; keep one", key.partner,
                                  where(node.keys[found.at(key.partner)].place)));
      } else {
        read(value, key, key_path);
      }
    }
  }

  // Refuses keys that are unknown or stand twice.
  Found find_keys(const YamlNode& node, const Keys& keys, const std::string& path) {
    Found found;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const YamlKey& key = node.keys[i];
      const std::string key_path = path.empty() ? key.name : fmt::format("{}.{}", path, key.name);
      const auto [first, is_new] = found.emplace(key.name, i);
      if (!is_new) {
        problems_.add(
            key.place, key_path,
            fmt::format("stands twice (first {}); keep one", where(node.keys[first->second].place)));
      } else if (!find_key(keys, key.name)) {
        refuse_unknown(key, keys, path, key_path);
      }
    }
    return found;
  }

  void refuse_unknown(const YamlKey& key, const Keys& keys, const std::string& path,
                      const std::string& key_path) {
    if (key.name == "<<")
      return problems_.add(key.place, key_path, "merge keys are not supported; write the keys out");
    const std::string_view absent = absent_feature(key.name);
    std::string advice = fmt::format("use one of {}", join(names_of(keys)));
    if (key.name.find('.') != std::string::npos) {
      advice = "write the keys as maps within maps (dots are for the command line)";
    } else if (const auto nearest = nearest_word(key.name, names_of(keys)); !nearest.empty()) {
      advice = absent.empty() ? fmt::format("did you mean '{}'?", nearest) : std::string(absent);
      problems_.mark_failed(path.empty() ? std::string(nearest) : fmt::format("{}.{}", path, nearest));
    } else if (!absent.empty()) {
      advice = absent;
    } else if (const auto elsewhere = find_elsewhere(key.name); !elsewhere.empty()) {
      advice = fmt::format("did you mean '{}'?", elsewhere);
    }
    problems_.add(key.place, key_path, fmt::format("unknown key; {}", advice));
  }

  // The path of a key of this name in another section.
  std::string find_elsewhere(std::string_view name) const {
    if (find_key(*deck_keys_, name)) return std::string(name);
    for (const Key& section : *deck_keys_)
      if (const auto* map = std::get_if<Section>(&section.target); map && find_key(map->keys, name))
        return fmt::format("{}.{}", section.name, name);
    return {};
  }

  void refuse_key(const Key& key, const Keys& keys, const Place& place, const std::string& key_path) {
    const auto word = std::get<Choice>(find_key(keys, key.when.key)->target).word();
    problems_.add(place, key_path,
                  fmt::format("does not apply to {} {} (only to {}); remove it", key.when.key, word,
                              join(key.when.words)));
  }

  void read_absent(const Key& key, const Keys& keys, const std::string& key_path, const std::string& path,
                   const Found& found) {
    if (const auto* section = std::get_if<Section>(&key.target))
      return section->is_optional ? void() : read_map({}, section->keys, key_path, {});
    if (!applies(key, keys) || !problems_.sound({key_path})) return;
    if (key.need == Need::required)
      problems_.add(problems_.place_of(path), key_path,
                    fmt::format("is missing; add {}: {}", key.name, key.example));
    if (key.need == Need::one_of_two && !found.count(key.partner) && key.name < key.partner) {
      const Key& partner = *find_key(keys, key.partner);
      if (problems_.sound({fmt::format("{}.{}", path, key.partner)}))
        problems_.add(problems_.place_of(path), key_path,
                      fmt::format("is missing, and so is {}; add {}: {} or {}: {}", partner.name, key.name,
                                  key.example, partner.name, partner.example));
    }
  }

  void read(const YamlNode& node, const Key& key, const std::string& path) {
    std::visit(
        Overloaded{[&](const Section& section) { read_map(node, section.keys, path, section.word_key); },
                   [&](const MapList& list) { read_list(node, list, key, path); },
                   [&](const auto&) {
                     if (key.variables.empty() || affords_formula(node, path))
                       read_value(node, key, path, problems_);
                   }},
        key.target);
  }

  // muParser takes time with the square of a formula's length: without a limit on all of them, a deck of 1
  // MiB could take half a minute to read.
  bool affords_formula(const YamlNode& node, const std::string& path) {
    constexpr std::size_t most = 16384;
    formula_bytes_ += node.text.size();
    if (formula_bytes_ <= most) return true;
    problems_.add(
        node.place, path,
        fmt::format("the deck's formulas have more than {} characters in all; shorten them, or use a dataset",
                    most));
    return false;
  }

  void read_list(const YamlNode& node, const MapList& list, const Key& key, const std::string& path) {
    if (node.kind != Kind::list && node.kind != Kind::null)
      return problems_.add(
          node.place, path,
          fmt::format("{} stands where a list is wanted; write {}", name_of(node.kind), wanted_text(key)));
    list.clear();
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string entry_path = fmt::format("{}.{}", path, i);
      const YamlNode& item = node.items[i];
      problems_.remember(entry_path, item.place);
      const bool alone = !list.lone_key.empty() && item.kind != Kind::map;
      read_map(alone ? map_of(list.lone_key, item) : item, list.append(), entry_path, {});
    }
  }

  Problems& problems_;
  const Keys* deck_keys_ = nullptr;
  std::size_t formula_bytes_ = 0;
};

}  // namespace

void read_config(const YamlNode& deck, Config& config, Problems& problems) {
  StudyConfig study;  // of other cases than this
  const Keys keys = describe(config, study);
  if (deck.kind == Kind::null)
    problems.add(deck.place, "",
                 "the deck is empty; write at least a grid (isotherm init prints a commented deck)");
  else if (deck.kind != Kind::map)
    problems.add(deck.place, "",
                 fmt::format("{} stands where a deck is wanted; write keys of {}", name_of(deck.kind),
                             join(names_of(keys))));
  else
    Reader(problems).read_deck(deck, keys);
}

void read_study(const YamlNode& deck, StudyConfig& study, Problems& problems) {
  YamlNode alone{.kind = Kind::map, .place = deck.place};
  for (std::size_t i = 0; i < deck.keys.size(); ++i) {
    if (!is_of_study(deck.keys[i].name)) continue;
    alone.keys.push_back(deck.keys[i]);
    alone.items.push_back(deck.items[i]);
  }
  Config config;
  Keys keys = describe(config, study);
  std::erase_if(keys, [](const Key& key) { return !is_of_study(key.name); });
  Reader(problems).read_deck(alone, keys);
}

}  // namespace isotherm
