// Decks that isotherm writes. The resolved deck: written, read back, and compared with another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "config/deck.hpp"
#include "config/key_table.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

// [text(first entry), text(second entry), ...]
template <class Entries, class Text>
std::string in_brackets(const Entries& entries, const Text& text) {
  std::vector<std::string> all;
  for (const auto& entry : entries) all.push_back(text(entry));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::optional<std::string> numbers_yaml(const Numbers& numbers) {
  const auto text = [&](double value) {
    return numbers.are_whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : shortest(value);
  };
  const std::vector<double> values = numbers.get();
  if (values.empty()) return std::nullopt;
  return numbers.count == 1 ? text(values[0]) : in_brackets(values, text);
}

std::optional<std::string> sizes_yaml(const GridConfig& grid) {
  if (!grid.spacing) return std::nullopt;
  const auto zone_yaml = [](const SpacingZone& zone) {
    return fmt::format("[{}, {}]", zone.cells, shortest(zone.size));
  };
  return in_brackets(std::array{0, 1, 2}, [&](int axis) {
    return grid.is_graded(axis) ? in_brackets(grid.zones[axis], zone_yaml) : shortest((*grid.spacing)[axis]);
  });
}

std::string formula_yaml(const Expression& formula) {
  if (formula.is_table()) return formula.text();
  return formula.is_constant() ? shortest(formula(0, 0, 0)) : yaml_in_quotes(formula.text());
}

// The value as YAML on one line; none if the key is left out.
std::optional<std::string> value_yaml(const Key& key);

// The keys that apply and have a value, as "name: value".
std::vector<std::string> settings(const Keys& keys) {
  std::vector<std::string> all;
  for (const Key& key : keys)
    if (applies(key, keys))
      if (const auto value = value_yaml(key)) all.push_back(fmt::format("{}: {}", key.name, *value));
  return all;
}

// "{kind: flux, value: 10}"
std::string map_yaml(const Keys& keys) { return fmt::format("{{{}}}", fmt::join(settings(keys), ", ")); }

std::vector<std::string> entries_of(const MapList& list) {
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < list.size(); ++i)
    entries.push_back((list.name ? yaml_text(list.name(i)) + ": " : "") + map_yaml(list.entry(i)));
  return entries;
}

std::string list_yaml(const MapList& list) {
  const std::string entries = fmt::format("{}", fmt::join(entries_of(list), ", "));
  return list.name ? "{" + entries + "}" : "[" + entries + "]";
}

std::optional<std::string> value_yaml(const Key& key) {
  using Text = std::optional<std::string>;
  const Text value = std::visit(
      Overloaded{
          [](const Choice& choice) { return Text(choice.word()); },
          [](const Section& section) {
            if (section.holds_list()) return Text(list_yaml(*section.list));
            return section.is_given && !section.is_given() ? std::nullopt : Text(map_yaml(section.keys));
          },
          [](const MapList& list) { return Text(list_yaml(list)); },
          [](const Written& written) {
            const bool is_given = written.node->kind != YamlNode::Kind::null;
            return is_given ? Text(yaml_text(*written.node)) : std::nullopt;
          },
          [](const Numbers& numbers) { return numbers_yaml(numbers); },
          [](const CellSizes& sizes) { return sizes_yaml(*sizes.grid); },
          [](const std::string* text) { return text->empty() ? std::nullopt : Text(yaml_text(*text)); },
          [](const std::vector<std::string>* words) {
            const auto text = [](const std::string& word) { return yaml_text(word); };
            return words->empty() ? std::nullopt : Text(in_brackets(*words, text));
          },
          [](const Expression* formula) { return Text(formula_yaml(*formula)); },
          [](const std::array<Expression, 3>* formulas) {
            return Text(in_brackets(*formulas, formula_yaml));
          },
          [](const std::optional<Expression>* formula) {
            return *formula ? Text(formula_yaml(**formula)) : std::nullopt;
          }},
      key.target);
  return value || key.absent_word.empty() ? value : Text(key.absent_word);
}

// Sections with all their keys, and single keys. A restart checks separately that the time step stays.
bool may_change(std::string_view key) {
  static constexpr auto allowed =
      words("problem.end_time", "problem.steps", "problem.max_cycles", "problem.max_sweeps",
            "problem.tolerance", "problem.criterion", "problem.error", "solver", "parallel", "output",
            "verify.expected_order", "verify.order_tolerance", "verify.tolerance", "verify.order");
  return std::ranges::any_of(allowed, [&](std::string_view each) {
    return key == each || (key.starts_with(each) && key[each.size()] == '.');
  });
}

// Files are compared by their contents, or by their paths if a deck of an earlier version lacks the contents.
bool same_value(std::string before, std::string now) {
  if (before == now) return true;
  static const std::regex path(R"re((table|file): ("([^"\\]|\\.)*"|[^,"{}\[\]]+), contents:)re"),
      contents(R"re(, contents: [^,{}]+)re");
  const bool both = before.find(", contents: ") != before.npos && now.find(", contents: ") != now.npos;
  for (std::string* text : {&before, &now})
    *text = both ? std::regex_replace(*text, path, "contents:") : std::regex_replace(*text, contents, "");
  return before == now;
}

void collect_changes(const Keys& before, const Keys& now, const std::string& section,
                     std::vector<Change>& found) {
  const auto text = [](const Key& key, const Keys& keys) {
    return applies(key, keys) ? value_yaml(key).value_or("nothing") : "nothing";
  };
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string path = path_to(section, now[i].name);
    const auto* map = std::get_if<Section>(&now[i].target);
    const auto* old = std::get_if<Section>(&before[i].target);
    if (map && !map->is_given && !map->holds_list() && !old->holds_list()) {
      collect_changes(old->keys, map->keys, path, found);
    } else {
      Change change{path, text(before[i], before), text(now[i], now), may_change(path)};
      if (!same_value(change.before, change.now)) found.push_back(std::move(change));
    }
  }
}

// The tree of a stored deck in current words. A key that its version lacked has the value of that version.
YamlNode stored_tree(const std::string& text) {
  YamlNode deck = parse_yaml(text);
  Problems known("");
  rename_former(deck, known);
  YamlNode* const problem = deck.find("problem");
  if (!problem || problem->kind != YamlNode::Kind::map) return deck;
  const auto supply = [&](const char* key, const char* value) {
    if (!problem->find(key)) problem->add(key, yaml_scalar(value, problem->place));
  };
  if (const YamlNode* const kind = problem->find("kind"); kind && kind->text == "steady")
    supply("method", "jacobi");
  supply("accelerate", "none");
  return deck;
}

}  // namespace

std::optional<std::string> name_of_run(const std::filesystem::path& folder) {
  std::ifstream deck(folder / "deck.resolved.yaml", std::ios::binary);
  std::string line;
  std::getline(deck, line);
  nlohmann::json name;
  if (line.starts_with(name_line)) {
    name = nlohmann::json::parse(line.substr(name_line.size()), nullptr, false);
  } else {
    std::ifstream file(folder / "run.json");
    const auto record = nlohmann::json::parse(file, nullptr, false);
    if (record.is_object()) name = record.value("name", nlohmann::json());
  }
  return name.is_string() ? std::optional(name.get<std::string>()) : std::nullopt;
}

std::string to_yaml(const Config& config) {
  Config copy = config;  // the key table binds to variables that it could change
  std::string text;
  for (const Key& section : describe(copy)) {
    const auto* map = std::get_if<Section>(&section.target);
    const auto* list = std::get_if<MapList>(&section.target);
    if (!map && !(list && list->size() > 0)) {
      text += fmt::format("{}: {}\n", section.name, *value_yaml(section));
      continue;
    }
    const std::vector<std::string> lines = map ? settings(map->keys) : entries_of(*list);
    if (lines.empty()) continue;
    text += fmt::format("{}:\n", section.name);
    for (const std::string& line : lines)
      text += fmt::format("{}{}\n", map || list->name ? "  " : "  - ", line);
  }
  return text;
}

Config read_resolved_deck(const std::string& text, const std::string& place) {
  Problems problems(place);
  problems.reads_tables = false;
  Config config;
  try {
    read_config(stored_tree(text), config, problems);
  } catch (const YamlError& error) {
    problems.add(error.place, "", error.problem);
  }
  problems.throw_if_any();
  return config;
}

std::string stored_deck_text(const std::string& text) {
  const std::string now = yaml_text(stored_tree(text));
  return now == yaml_text(parse_yaml(text)) ? text : now + "\n";
}

std::vector<Change> changes(const Config& before, const Config& now) {
  Config old_copy = before, new_copy = now;
  std::vector<Change> found;
  collect_changes(describe(old_copy), describe(new_copy), "", found);
  return found;
}

// The decks of `isotherm init`; both can run. In the long deck keys that do not apply are commented out.

namespace {

// A copper block heated from one side and cooled by air from the other.
constexpr const char* minimal =
    R"deck(# A short deck for isotherm, in SI units and kelvin. isotherm init prints one with every key.
grid:
  cells: [64, 64, 64]
  lengths: [0.1, 0.1, 0.1]
material:
  conductivity: 400
  density: 8960
  heat_capacity: 385
boundaries:
  x_min: {kind: temperature, value: "293 + 80*sin(pi*y/0.1)"}
  x_max: {kind: convection, ambient: 293, coefficient: 25}
initial:
  - {shape: constant, value: 293}
problem:
  end_time: 10
)deck";

Config example_config() {
  Config config;
  Problems problems("the minimal deck");
  read_config(parse_yaml(minimal), config, problems);
  problems.throw_if_any();
  return config;
}

class Commented {
 public:
  std::string write() {
    Config example = example_config(), defaults;
    StudyConfig study;
    const Keys keys = describe(example, study), default_keys = describe(defaults, study);
    text_ =
        "# A deck for isotherm: every key, with its meaning, its allowed values and its default.\n"
        "# SI units, kelvin. Keys after a '#' keep their default or do not apply here.\n";
    for (std::size_t i = 0; i < keys.size(); ++i) {
      text_ += "\n";
      entries({keys[i]}, {default_keys[i]}, "");
    }
    return text_;
  }

 private:
  // Of consecutive maps with the same word_key, only the first shows its keys. `behind`: see line().
  void entries(const Keys& keys, const Keys& defaults, const std::string& indent,
               const std::string& behind = "", bool are_of_list = false) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (const auto* inner = std::get_if<Section>(&keys[i].target)) {
        const auto* before = i > 0 ? std::get_if<Section>(&keys[i - 1].target) : nullptr;
        const bool repeats = before && !inner->word_key.empty() && before->word_key == inner->word_key;
        map(keys[i], *inner, defaults[i], indent, !repeats);
      } else if (const auto* inner_list = std::get_if<MapList>(&keys[i].target)) {
        list(keys[i], *inner_list, std::get<MapList>(defaults[i].target), indent);
      } else {
        const bool begins = are_of_list && i == 0;
        line(keys[i], keys, defaults[i], begins ? indent.substr(2) + "- " : indent, behind);
      }
    }
  }

  void map(const Key& key, const Section& section, const Key& defaults, const std::string& indent,
           bool in_full) {
    if (!in_full) {
      text_ += fmt::format("{}{}: {}\n", indent, key.name, *value_yaml(key));
      return;
    }
    const bool is_off = section.is_optional || is_bare(section.keys);
    const std::string tag =
        indent.empty() ? "" : fmt::format(" [default {}]", value_yaml(defaults).value_or("none"));
    text_ += fmt::format("{0}# {1}{2}\n{3}{0}{4}:\n", indent, key.doc, tag, is_off ? "#" : "", key.name);
    entries(section.keys, std::get<Section>(defaults.target).keys, indent + "  ",
            section.is_optional ? "#" : "");
  }

  // Is no key of the map shown? Then its name alone would be a key without a value.
  static bool is_bare(const Keys& keys) {
    return std::none_of(keys.begin(), keys.end(), [&](const Key& key) {
      if (const auto* section = std::get_if<Section>(&key.target))
        return applies(key, keys) && !is_bare(section->keys);
      const auto* list = std::get_if<MapList>(&key.target);
      return list ? list->size() > 0 : value_yaml(key) && applies(key, keys);
    });
  }

  // Writes one entry with all keys; the whole list is commented out if the example has none.
  void list(const Key& key, const MapList& list, const MapList& defaults, const std::string& indent) {
    text_ += fmt::format("{}# {} [{}{}]\n", indent, key.doc, key.is_required ? "required" : "default ",
                         key.absent);
    const bool used = list.size() > 0;
    const std::string behind = used ? "" : "#";
    const Keys keys = used ? list.entry(0) : list.append(), default_keys = defaults.append();
    text_ += fmt::format("{}{}{}:\n", behind, indent, key.name);
    if (list.name) text_ += fmt::format("{}{}  NAME:\n", behind, indent);
    entries(keys, default_keys, indent + "    ", behind, !list.name);
  }

  // `behind`: "#" for a list or section that the example leaves out as a whole. A default that depends on
  // other keys stays a default.
  void line(const Key& key, const Keys& keys, const Key& defaults, const std::string& indent,
            const std::string& behind) {
    const auto value = value_yaml(key);
    const bool depends = key.absent_word.empty() && !key.absent.empty() && value == value_yaml(defaults);
    const bool shown = value && applies(key, keys) && behind.empty() && !depends;
    const std::string margin(indent.size() - (indent.find('-') == indent.npos ? 0 : 2), ' ');
    text_ += fmt::format("{0}# {1}\n{0}#   {2}\n", margin, key.doc, tag_text(key, defaults));
    text_ += fmt::format("{}{}{}: {}\n", shown ? "" : "#", indent, key.name,
                         shown || key.example.empty() ? value.value_or("") : std::string(key.example));
  }

  static std::string tag_text(const Key& key, const Key& defaults) {
    std::string tags = wanted_text(key);
    if (!key.when.key.empty()) tags += fmt::format("; only for {}", when_text(key.when));
    if (key.is_required) return tags + "; required";
    if (key.is_one_of_two()) return fmt::format("{}; this or {}", tags, key.partner);
    if (key.absent.empty()) return fmt::format("{}; default {}", tags, value_yaml(defaults).value_or("none"));
    return fmt::format("{}; default {}{}{}", tags, key.absent_word, key.absent_word.empty() ? "" : ": ",
                       key.absent);
  }

  std::string text_;
};

}  // namespace

std::string commented_deck() { return Commented().write(); }

std::string minimal_deck() { return minimal; }

}  // namespace isotherm
