// The decks of `isotherm init`, which run. The commented one has every key with its meaning, unit, range and
// default; keys that do not apply to it, or are better left out, are commented out.
#include <fmt/format.h>

#include <algorithm>

#include "config/deck.hpp"
#include "config/key_table.hpp"
#include "config/reader.hpp"

namespace isotherm {
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
        "# A deck for isotherm: every key, with its meaning, what may stand there, and its default.\n"
        "# SI units, kelvin. Keys behind a '#' keep their default or do not apply here.\n";
    for (std::size_t i = 0; i < keys.size(); ++i) {
      text_ += "\n";
      entries({keys[i]}, {default_keys[i]}, "");
    }
    return text_;
  }

 private:
  // Of maps in a row that the same word may stand for, the first shows all keys; the others are a line
  // each. `behind`: as of line().
  void entries(const Keys& keys, const Keys& defaults, const std::string& indent,
               const std::string& behind = "") {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (const auto* inner = std::get_if<Section>(&keys[i].target)) {
        const auto* before = i > 0 ? std::get_if<Section>(&keys[i - 1].target) : nullptr;
        const bool repeats = before && !inner->word_key.empty() && before->word_key == inner->word_key;
        map(keys[i], *inner, defaults[i], indent, !repeats);
      } else if (const auto* inner_list = std::get_if<MapList>(&keys[i].target)) {
        list(keys[i], *inner_list, std::get<MapList>(defaults[i].target), indent);
      } else {
        line(keys[i], keys, defaults[i], indent, behind);
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
    const std::string tag = indent.empty() ? "" : fmt::format(" [default {}]", *value_yaml(defaults));
    text_ += fmt::format("{0}# {1}{2}\n{3}{0}{4}:\n", indent, key.doc, tag, is_off ? "#" : "", key.name);
    entries(section.keys, std::get<Section>(defaults.target).keys, indent + "  ",
            section.is_optional ? "#" : "");
  }

  // A map of which no key is shown: alone, its name would be a key without a value.
  static bool is_bare(const Keys& keys) {
    return std::none_of(keys.begin(), keys.end(), [&](const Key& key) {
      if (const auto* section = std::get_if<Section>(&key.target))
        return applies(key, keys) && !is_bare(section->keys);
      const auto* list = std::get_if<MapList>(&key.target);
      return list ? list->size() > 0 : value_yaml(key) && applies(key, keys);
    });
  }

  // One entry with all keys; the list as a whole behind '#' where the example has none.
  void list(const Key& key, const MapList& list, const MapList& defaults, const std::string& indent) {
    text_ += fmt::format("{}# {} [default {}]\n", indent, key.doc, key.absent);
    const bool used = list.size() > 0;
    const std::string behind = used ? "" : "#";
    const Keys keys = used ? list.entry(0) : list.append(), default_keys = defaults.append();
    text_ += fmt::format("{}{}{}:\n", behind, indent, key.name);
    for (std::size_t i = 0; i < keys.size(); ++i)
      line(keys[i], keys, default_keys[i], indent + (i == 0 ? "  - " : "    "), behind);
  }

  // `behind`: "#" for a list or section that the example leaves out as a whole.
  void line(const Key& key, const Keys& keys, const Key& defaults, const std::string& indent,
            const std::string& behind) {
    const auto value = value_yaml(key);
    const bool shown = value && applies(key, keys) && behind.empty();
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

std::string commented_deck() {
  return Commented().write();
}

std::string minimal_deck() {
  return minimal;
}

}  // namespace isotherm
