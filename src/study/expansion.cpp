#include "study/expansion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "config/key_path.hpp"
#include "config/text.hpp"
#include "config/value.hpp"
#include "config/yaml_text.hpp"
#include "core/text.hpp"
#include "study/case_name.hpp"

namespace isotherm {
namespace {

using Kind = YamlNode::Kind;

constexpr double most_cases = 100000;  // before any is excluded

// Settings that go together, each with the name that the list gives it.
struct Combination {
  std::string name;
  std::vector<StudySetting> settings;
};
using Axis = std::vector<Combination>;

// To tell values apart: 16 and 16.0 are one.
std::string canonical(const YamlNode& value) {
  if (value.kind == Kind::scalar && !value.quoted)
    if (const auto number = parse_real(value.text); number.is_number) return shortest(number.value);
  return yaml_text(value);
}

bool within(const std::string& key, const std::string& around) {
  return key.size() > around.size() && key.starts_with(around) && key[around.size()] == '.';
}

enum class Repeats { refused, allowed };  // of a value in its list

class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  // {key: [values]}: an axis a key.
  std::vector<Axis> read_lists(const YamlNode& node, const std::string& path, Repeats repeats) {
    if (node.kind == Kind::null || !is_map(node, path, "{key.path: [values]}")) return {};
    std::vector<Axis> axes;
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
        if (repeats == Repeats::refused) refuse_repeated(values, at);
        Axis axis;
        for (const YamlNode& value : values.items) axis.push_back({"", {{key.name, value}}});
        axes.push_back(std::move(axis));
      }
    }
    return axes;
  }

  // {key: [values]}, all lists as long: one axis.
  std::optional<Axis> read_zip(const YamlNode& node, const std::string& path) {
    const std::vector<Axis> axes = read_lists(node, path, Repeats::allowed);
    if (axes.empty()) return std::nullopt;
    Axis together(axes.front().size());
    for (const Axis& axis : axes) {
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

  std::optional<Axis> read_cases(const YamlNode& node, const std::string& path) {
    const std::vector<const YamlNode*> maps = read_maps(node, path);
    if (maps.empty()) return std::nullopt;
    Axis axis;
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const std::string at = fmt::format("{}.{}", path, i);
      std::map<std::string, Place> keys;  // of this entry: another may have the same
      Combination choice;
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

  // A list of maps, none empty.
  std::vector<const YamlNode*> read_maps(const YamlNode& node, const std::string& path) {
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

  void add(const Place& place, const std::string& key, const std::string& problem) {
    problems_.add(place, key, problem);
    good_ = false;
  }
  bool good() const { return good_; }
  // The varied keys, in the order of the deck.
  std::vector<std::string> varied() const { return order_; }

 private:
  struct Taken {
    std::string path;  // of its map: "study.matrix"
    Place place;
  };

  static std::string example(const YamlNode& value) {
    return value.kind == Kind::scalar ? printable(yaml_text(value)) : "value, value";
  }

  bool is_map(const YamlNode& node, const std::string& path, const char* example) {
    if (node.kind == Kind::map && !node.keys.empty()) return true;
    add(node.place, path,
        fmt::format("{} stands where a map of keys is wanted; write {}",
                    node.kind == Kind::map ? "an empty map" : name_of(node.kind), example));
    return false;
  }

  void refuse_repeated(const YamlNode& values, const std::string& path) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < values.items.size(); ++i) {
      if (seen.insert(canonical(values.items[i])).second) continue;
      add(values.items[i].place, fmt::format("{}.{}", path, i),
          fmt::format("{} stands twice; keep one", printable(yaml_text(values.items[i]))));
      return;
    }
  }

  bool is_deck_key(const YamlKey& key, const std::string& path) {
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
  void remember(const std::string& key) {
    if (std::ranges::find(order_, key) == order_.end()) order_.push_back(key);
  }

  // Not given by another of matrix, zip and list too, nor as a part of what another gives.
  bool is_apart(const YamlKey& key, const std::string& at, const std::string& path) {
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

  bool take_key(const YamlKey& key, const std::string& path) {
    if (!is_deck_key(key, path) || !is_apart(key, path, path)) return false;
    taken_.emplace(key.name, Taken{path, key.place});
    return true;
  }

  Problems& problems_;
  bool good_ = true;
  std::map<std::string, Taken> taken_;
  std::vector<std::string> order_;
};

const YamlNode* value_of(const std::vector<StudySetting>& settings, const std::string& key) {
  for (const StudySetting& setting : settings)
    if (setting.key == key) return &setting.value;
  return nullptr;
}

// The n-th of all combinations; the last axis changes fastest.
Combination combine(const std::vector<Axis>& axes, std::size_t number) {
  std::vector<std::size_t> index(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    index[a] = number % axes[a].size();
    number /= axes[a].size();
  }
  Combination all;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Combination& one = axes[a][index[a]];
    if (!one.name.empty()) all.name = one.name;
    all.settings.insert(all.settings.end(), one.settings.begin(), one.settings.end());
  }
  return all;
}

// An entry of exclude, and how many cases it has left out.
struct Excluded {
  const YamlNode* entry;
  std::string path;
  int cases = 0;

  bool matches(const Combination& choice) const {
    for (std::size_t k = 0; k < entry->keys.size(); ++k) {
      const std::string& key = entry->keys[k].name;
      if (key == "name") {
        if (entry->items[k].text != choice.name) return false;
        continue;
      }
      const YamlNode* value = value_of(choice.settings, key);
      if (!value || canonical(*value) != canonical(entry->items[k])) return false;
    }
    return true;
  }
};

std::vector<Excluded> read_excluded(const StudyConfig& study, Reader& reader) {
  std::vector<Excluded> all;
  std::vector<std::string> varied = reader.varied();
  if (study.list.kind != Kind::null) varied.emplace_back("name");
  for (const YamlNode* entry : reader.read_maps(study.exclude, "study.exclude")) {
    const std::string path = fmt::format("study.exclude.{}", all.size());
    for (const YamlKey& key : entry->keys)
      if (std::ranges::find(varied, key.name) == varied.end())
        reader.add(key.place, fmt::format("{}.{}", path, key.name),
                   fmt::format("does not vary; use one of {}", join({varied.begin(), varied.end()})));
    all.push_back({entry, path});
  }
  return all;
}

// Of `ranks` among the settings; it is taken out of them.
int take_ranks(std::vector<StudySetting>& settings, int otherwise, Problems& problems) {
  const auto found = std::ranges::find(settings, "ranks", &StudySetting::key);
  if (found == settings.end()) return otherwise;
  constexpr const char* key_path = "study.ranks";
  int ranks = otherwise;
  const Key key{.name = "ranks", .target = &ranks, .range = {1, 1e6}};
  if (problems.sound({key_path})) read_value(found->value, key, key_path, problems);  // once, of many cases
  settings.erase(found);
  return ranks;
}

void refuse_too_many(double cases, const StudyConfig& study, const char* remark, Problems& problems) {
  const int limit = study.limit.value_or(StudyConfig::default_limit);
  const bool beyond_all = cases > most_cases;
  problems.add("study.limit",
               beyond_all
                   ? fmt::format("{:.0f} cases{} are more than any study may have ({:.0f}); make "
                                 "several studies of it",
                                 cases, remark, most_cases)
                   : fmt::format("{:.0f} cases are more than {}; write --limit {:.0f} (or study.limit) "
                                 "to have them all, or exclude some",
                                 cases, limit, cases));
}

}  // namespace

std::string value_text(const YamlNode& value) {
  if (value.kind == Kind::scalar) return value.text;
  const auto is_scalar = [](const YamlNode& item) { return item.kind == Kind::scalar; };
  if (value.kind != Kind::list || !std::ranges::all_of(value.items, is_scalar)) return yaml_text(value);
  std::vector<std::string_view> items;
  for (const YamlNode& item : value.items) items.push_back(item.text);
  return join(items, "x");
}

std::string value_text(const StudyCase& each, const std::string& key) {
  if (key == "ranks") return fmt::format("{}", each.ranks);
  const YamlNode* value = value_of(each.settings, key);
  return value ? value_text(*value) : "default";
}

Expansion expand(const StudyConfig& study, Problems& problems) {
  Reader reader(problems);
  std::vector<Axis> axes = reader.read_lists(study.matrix, "study.matrix", Repeats::refused);
  if (auto zip = reader.read_zip(study.zip, "study.zip")) axes.push_back(std::move(*zip));
  if (auto list = reader.read_cases(study.list, "study.list")) axes.push_back(std::move(*list));
  std::vector<Excluded> excluded = read_excluded(study, reader);
  if (!study.is_given())
    reader.add(problems.place_of("study"), "study", "has no cases; add matrix, zip or list");
  if (!reader.good()) return {};

  double count = 1;
  for (const Axis& axis : axes) count *= static_cast<double>(axis.size());
  if (count > most_cases) {
    refuse_too_many(count, study, study.exclude.kind == Kind::null ? "" : ", before any is excluded,",
                    problems);
    return {};
  }
  Expansion result{reader.varied(), {}};
  std::vector<std::string> words;  // that the list gives the cases
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    Combination choice = combine(axes, i);
    const auto left_out =
        std::ranges::find_if(excluded, [&](const Excluded& e) { return e.matches(choice); });
    if (left_out != excluded.end()) {
      ++left_out->cases;
      continue;
    }
    const int ranks = take_ranks(choice.settings, study.ranks.value_or(1), problems);
    words.push_back(choice.name);
    result.cases.push_back({"", ranks, std::move(choice.settings)});
  }
  for (const Excluded& each : excluded)
    if (each.cases == 0) problems.warn(each.path, "leaves out no case that none before it does; remove it?");
  if (result.cases.empty()) {
    problems.add("study.exclude", fmt::format("leaves out all {:.0f} cases; remove an entry", count));
  } else if (std::ssize(result.cases) > study.limit.value_or(StudyConfig::default_limit)) {
    refuse_too_many(static_cast<double>(result.cases.size()), study, "", problems);
  } else {
    name_cases(study, words, result, problems);
  }
  return result;
}

}  // namespace isotherm
