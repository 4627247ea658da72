#include "config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <tuple>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;
using Kind = YamlNode::Kind;

constexpr std::size_t longest_text = 4096;  // bytes of a formula or path

// One value at one place. Each `read` stores the value and returns true, or adds a problem.
class ValueReader {
 public:
  ValueReader(const YamlNode& node, const Key& key, std::string path, Problems& problems)
      : node_(node), key_(key), path_(std::move(path)), problems_(problems) {}

  bool read(const Numbers& target) {
    std::vector<double> numbers;  // empty: a word leaves the key out
    const bool is_left_out = !key_.absent_word.empty() && node_.text == key_.absent_word;
    if (!is_left_out && !read_numbers(numbers, target.count)) return false;
    target.set(numbers);
    return true;
  }
  bool read(const CellSizes& target) {
    Vector3 spacing{};
    std::array<std::vector<SpacingZone>, 3> zones{};
    if (node_.kind == Kind::scalar) {
      if (!read(spacing[0])) return false;
      spacing.fill(spacing[0]);
    } else {
      std::vector<std::vector<SpacingZone>> axes;
      if (!read_list(axes, 3)) return false;
      for (int axis = 0; axis < 3; ++axis) {
        if (target.grid->cells[axis] == 0)
          for (const SpacingZone& zone : axes[axis]) target.grid->cells[axis] += zone.cells;
        spacing[axis] = axes[axis][0].size;
        const SpacingZone& first = axes[axis][0];  // a number has no count
        if (axes[axis].size() == 1 && first.cells > 0 && first.cells != target.grid->cells[axis])
          return reject_with(fmt::format("write {}, or null", first.cells),
                             "its zones have {} cells along {}, and grid.cells {}", first.cells, "xyz"[axis],
                             target.grid->cells[axis]);
        if (axes[axis].size() > 1) zones[axis] = std::move(axes[axis]);
      }
    }
    target.grid->spacing = spacing;
    target.grid->zones = std::move(zones);
    return true;
  }
  bool read(std::vector<std::string>& target) { return read_list(target, 0); }
  bool read(std::string& target) {
    if (node_.kind == Kind::map)
      return reject_with(fmt::format("write text with braces in quotes{}",
                                     node_.place.argument ? fmt::format(", '{}=\"{{...}}\"'", path_) : ""),
                         "a map is given where text is expected");
    if (!is_text()) return false;
    target = node_.text;
    return true;
  }
  bool read(Expression& target) {
    if (node_.kind == Kind::map) return read_table_into(target);
    if (!is_text() || has_unit()) return false;
    const ParsedNumber number = parse_number(node_.text);
    if (!number.problem.empty()) return reject_number(number);
    if (number.is_number) {
      target = Expression(number.value);
      return is_in_range(number.value);
    }
    try {
      target = Expression(node_.text, key_.variables);
    } catch (const FormulaError& error) {
      return reject_formula(error);
    }
    if (std::ranges::any_of(key_.variables, [&](char letter) { return target.uses(letter); })) return true;
    const double value = target(0, 0, 0);
    if (std::isfinite(value)) return is_in_range(value);
    const double shown = std::isnan(value) ? std::abs(value) : value;  // the sign of a NaN says nothing
    return reject("the formula '{}' gives {}{}", printable(node_.text), shown, why_nan(value, node_.text));
  }
  bool read(std::array<Expression, 3>& target) { return read_list(target, 3); }
  bool read(const Choice& choice) {
    if (!is_scalar()) return false;
    const auto found = std::ranges::find(choice.words, node_.text);
    if (found != choice.words.end()) {
      choice.set(static_cast<int>(found - choice.words.begin()));
      return true;
    }
    problems_.add_unknown_word(path_, node_.text, {choice.words.begin(), choice.words.end()});
    return false;
  }

 private:
  template <class... Args>
  bool reject(fmt::format_string<Args...> problem, Args&&... args) {
    return reject_with("write " + wanted_text(key_), problem, std::forward<Args>(args)...);
  }
  template <class... Args>
  bool reject_with(const std::string& advice, fmt::format_string<Args...> problem, Args&&... args) {
    problems_.add(node_.place, path_,
                  fmt::format("{}; {}", fmt::format(problem, std::forward<Args>(args)...), advice));
    return false;
  }
  bool reject_number(const ParsedNumber& number) {
    return number.advice.empty() ? reject("{}", number.problem)
                                 : reject_with(number.advice, "{}", number.problem);
  }
  bool reject_formula(const FormulaError& error) {
    // A long formula is shown from a little before the place of the error.
    constexpr std::size_t shown = 50, before = 20;
    const std::size_t at = std::min(error.position, node_.text.size());
    const std::size_t start = node_.text.size() <= shown || at < before ? 0 : at - before;
    return reject_with(fmt::format("it may use {}, pi, and functions such as sin, exp, min",
                                   fmt::join(key_.variables, ", ")),
                       "{} at {} of the formula '{}{}'", printable(error.problem, 120),
                       at == node_.text.size() ? "the end" : fmt::format("character {}", at + 1),
                       start ? "..." : "", printable(std::string_view(node_.text).substr(start), shown));
  }

  bool read_table_into(Expression& target) {
    if (key_.variables.find('t') == key_.variables.npos)
      return reject("a table is given where nothing may change in time");
    const fs::path folder = fs::path(problems_.file()).parent_path();
    try {
      target = read_table(node_, folder, problems_.reads_tables);
    } catch (const YamlError& error) {
      problems_.add(node_.place, path_, error.problem);
      return false;
    }
    if (!problems_.reads_tables) return true;
    if (const YamlNode* const table = node_.find("table"); table->kind == YamlNode::Kind::scalar)
      problems_.remember_file(path_, folder / table->text);
    for (const FormulaStep& step : target.program()->steps)
      if (step.op == FormulaOp::number && step.variable == 1 && !is_within(step.number))
        return reject("the value {} of the table is out of range", step.number);
    return true;
  }

  bool is_something() {
    const bool is_nothing = node_.kind == Kind::null || (node_.kind == Kind::scalar && node_.text.empty());
    return !is_nothing || reject("has no value");
  }
  bool is_scalar() {
    if (!is_something()) return false;
    return node_.kind == Kind::scalar ||
           reject("{} is given where one value is expected{}", word(node_.kind), why_one_number());
  }
  bool is_text() {
    if (!is_scalar()) return false;
    return node_.text.size() <= longest_text || reject_with(fmt::format("write at most {}", longest_text),
                                                            "{} characters are too many", node_.text.size());
  }
  bool has_unit() {
    const std::string advice = advice_on_unit(node_.text, key_.range.unit);
    return !advice.empty() && !reject_with(advice, "'{}' has a unit", printable(node_.text));
  }
  // Other programs take lists or formulas for a material.
  std::string_view why_one_number() const {
    if (!path_.starts_with("material.") && !path_.starts_with("materials.")) return {};
    if (key_.name == "ambient" || key_.name == "coefficient")
      return " (ambient and coefficient of a void are numbers in this version)";
    return " (what differs by axis or place takes materials and regions; what depends on the temperature is "
           "not available in this version)";
  }
  bool is_within(double value) const {
    const Range& range = key_.range;
    return value >= range.low && value <= range.high && !(range.above_low && value == range.low);
  }
  bool is_in_range(double value) {
    return is_within(value) || reject("{} is out of range", printable(node_.text));
  }

  bool read_numbers(std::vector<double>& numbers, std::size_t count) {
    const bool is_one_for_all = key_.one_for_all && node_.kind == Kind::scalar && !node_.text.empty();
    if (count != 1 && !is_one_for_all) return read_list(numbers, count);
    double number = 0;
    if (!read(number)) return false;
    numbers.assign(count, number);
    return true;
  }

  // The zones of one axis. A number is one zone of any count. Neighbouring zones of one size are merged.
  bool read(std::vector<SpacingZone>& zones) {
    if (node_.kind != Kind::list) {
      zones.resize(1);
      return read(zones[0].size);
    }
    std::vector<SpacingZone> all;
    if (!read_list(all, 0)) return false;
    if (all.empty()) return reject("has no zone");
    for (const SpacingZone& zone : all)
      if (!zones.empty() && zones.back().size == zone.size)
        zones.back().cells += zone.cells;
      else
        zones.push_back(zone);
    return true;
  }
  bool read(SpacingZone& zone) {
    if (node_.kind != Kind::list || node_.items.size() != 2)
      return reject_with("write zones [[count, size], ...], such as [[20, 1e-6], [40, 25e-6]]",
                         "a zone is no pair of a count and a size");
    const Key count("count", &zone.cells, "", {.range = {1, 1e12}});
    if (!ValueReader(node_.items[0], count, path_ + ".0", problems_).read(std::get<Numbers>(count.target)))
      return false;
    return ValueReader(node_.items[1], key_, path_ + ".1", problems_).read(zone.size);
  }

  bool read(double& target) {
    if (key_.may_be_null && node_.kind == Kind::null) return true;
    if (!is_scalar() || has_unit()) return false;
    const bool is_formula = node_.text.find_first_of("+*/^(") != node_.text.npos;
    const std::string_view why = is_formula ? why_one_number() : std::string_view();
    if (node_.quoted) return reject("'{}' in quotes is text, not a number{}", printable(node_.text), why);
    const auto* const numbers = std::get_if<Numbers>(&key_.target);
    const bool is_whole = numbers && numbers->are_whole;
    const ParsedNumber number = parse_number(node_.text, is_whole);
    if (!number.is_number) return reject("'{}' is not a number{}", printable(node_.text), why);
    if (!number.problem.empty()) return reject_number(number);
    if (is_whole && number.value != std::floor(number.value))
      return reject("'{}' is not a whole number", printable(node_.text));
    target = number.value;
    return is_in_range(number.value);
  }

  // `count`: the number of entries, or 0 for any.
  template <class Values>
  bool read_list(Values& target, std::size_t count) {
    const std::string_view wanted = count == 0 ? "a list is" : count == 2 ? "two are" : "three are";
    if (!is_something()) return false;
    if (node_.kind != Kind::list) return reject("{} is given where {} expected", word(node_.kind), wanted);
    if (count > 0 && node_.items.size() != count)
      return reject("has {} entries, not {}", node_.items.size(), wanted.substr(0, wanted.find(' ')));
    Key entry_key = key_;
    if (auto* numbers = std::get_if<Numbers>(&entry_key.target)) numbers->count = 1;  // for messages
    if constexpr (std::is_same_v<Values, std::array<Expression, 3>>) entry_key.target = target.data();
    entry_key.absent_word = {};
    if constexpr (requires { target.resize(0); }) target.resize(node_.items.size());
    bool good = true;
    for (std::size_t i = 0; i < target.size(); ++i) {
      ValueReader entry(node_.items[i], entry_key, fmt::format("{}.{}", path_, i), problems_);
      good = entry.read(target[i]) && good;
    }
    return good;
  }

  const YamlNode& node_;
  const Key& key_;
  std::string path_;
  Problems& problems_;
};

std::string where(const Place& place) {
  return place.argument > 0 ? fmt::format("in argument {}", place.argument)
                            : fmt::format("on line {}", place.line);
}

class Reader {
 public:
  Reader(const Keys& deck_keys, Problems& problems) : deck_keys_(deck_keys), problems_(problems) {}

  void read_deck(const YamlNode& deck) { read_map(deck, deck_keys_, "", ""); }

 private:
  static YamlNode map_of(std::string_view key, const YamlNode& value) {
    return {
        .kind = Kind::map, .place = value.place, .keys = {{std::string(key), value.place}}, .items = {value}};
  }

  void read_map(const YamlNode& node, const Keys& keys, const std::string& path, std::string_view word_key) {
    if (node.kind == Kind::scalar && !word_key.empty())
      return read_map(map_of(word_key, node), keys, path, {});
    if (node.kind != Kind::map && node.kind != Kind::null)
      return problems_.add(node.place, path, "{} is given where a map is expected; write keys of {}",
                           word(node.kind), fmt::join(names_of(keys), ", "));
    check_names(node, keys, path);
    for (const Key& key : keys) {
      const std::string key_path = path_to(path, key.name);
      if (!key.when.key.empty() && !problems_.sound({path_to(path, key.when.key)})) continue;
      const YamlKey* const name = node.find_key(key.name);
      if (!name) {
        read_absent(node, key, keys, path);
        continue;
      }
      const YamlNode& value = *node.find(key.name);
      const auto* section = std::get_if<Section>(&key.target);
      // A null leaves the section out, as the override "scaling=null" does.
      if (section && section->is_optional && value.kind == Kind::null) continue;
      problems_.remember(key_path, section && value.kind == Kind::map ? name->place : value.place);
      if (!applies(key, keys)) {
        reject_inapplicable(node, key, keys, path);
      } else {
        check_neighbours(node, key, keys, path);
        read(value, key, key_path);
      }
    }
  }

  void reject_inapplicable(const YamlNode& node, const Key& key, const Keys& keys, const std::string& path) {
    const std::string_view choice = key.when.key,
                           word = std::get<Choice>(find_key(keys, choice)->target).word();
    const auto is_of_word = [&](const YamlKey& name) {
      const Key* const given = find_key(keys, name.name);
      return given && given->when.key == choice && std::ranges::count(given->when.words, word) > 0;
    };
    // If no given key belongs to the default word, the deck means another word.
    if (!node.find_key(choice) && std::ranges::none_of(node.keys, is_of_word))
      return problems_.add(path_to(path, choice), "is missing; add {}: {}", choice, key.when.words[0]);
    problems_.add(node.find_key(key.name)->place, path_to(path, key.name),
                  "does not apply to {} {} (only to {}); remove it", choice, word,
                  fmt::join(key.when.words, ", "));
  }

  // Of two keys that exclude each other the later one is rejected.
  void check_neighbours(const YamlNode& node, const Key& key, const Keys& keys, const std::string& path) {
    const YamlKey* const name = node.find_key(key.name);
    const auto is_given = [&](std::string_view other) { return node.find_key(other) != nullptr; };
    if (const auto rival = std::ranges::find_if(key.excludes, is_given); rival != key.excludes.end()) {
      const auto [before, later] = std::minmax({name, node.find_key(*rival)});
      if (const std::string at = path_to(path, later->name); problems_.sound({at}))
        problems_.add(later->place, at, "cannot be combined with {} ({}); keep one", before->name,
                      where(before->place));
    }
    const auto is_there = [&](std::string_view need) {
      return is_given(need) || !problems_.sound({path_to(path, need)});
    };
    const std::string at = path_to(path, key.name);
    if (!key.needs.empty() && problems_.sound({at}) && std::ranges::none_of(key.needs, is_there))
      problems_.add(name->place, at, "has no effect without {}; add {}: {}, or remove it",
                    fmt::join(key.needs, " or "), key.needs[0], find_key(keys, key.needs[0])->example);
  }

  // Rejects keys that are unknown or given twice.
  void check_names(const YamlNode& node, const Keys& keys, const std::string& path) {
    for (const YamlKey& key : node.keys)
      if (!is_repeated(node, key, path) && !find_key(keys, key.name)) reject_unknown(key, keys, path);
  }
  bool is_repeated(const YamlNode& node, const YamlKey& key, const std::string& path) {
    const YamlKey* const first = node.find_key(key.name);
    if (first == &key) return false;
    problems_.add(key.place, path_to(path, key.name), "appears twice (first {}); keep one",
                  where(first->place));
    return true;
  }

  void reject_unknown(const YamlKey& key, const Keys& keys, const std::string& path) {
    const std::string key_path = path_to(path, key.name);
    if (key.name == "<<")
      return problems_.add(key.place, key_path, "merge keys are not supported; write the keys out");
    if (key.name.find('.') != key.name.npos)
      return problems_.add(key.place, key_path,
                           "unknown key; write the keys as maps within maps (dots are for the command line)");
    if (const auto nearest = nearest_word(key.name, names_of(keys)); !nearest.empty())
      problems_.mark_failed(path_to(path, nearest));
    problems_.add(key.place, key_path, unknown_key(deck_keys_, keys, "", key.name));
  }

  void read_absent(const YamlNode& node, const Key& key, const Keys& keys, const std::string& path) {
    const std::string key_path = path_to(path, key.name);
    if (const auto* section = std::get_if<Section>(&key.target))
      return section->is_optional ? void() : read_map({}, section->keys, key_path, {});
    if (!applies(key, keys) || !problems_.sound({key_path})) return;
    const Place place = problems_.place_of(path);
    const Key* const partner = find_key(keys, key.partner);
    if ((key.is_required && !key.may_be_null) || (partner && !applies(*partner, keys)))
      problems_.add(place, key_path, "is missing; add {}: {}", key.name, key.example);
    // If two partners are missing, one problem is added, for the first in alphabetical order.
    else if (key.name < key.partner && !node.find_key(key.partner) &&
             problems_.sound({path_to(path, key.partner)}))
      problems_.add(place, key_path, "is missing, and so is {1}; add {0}: {2} or {1}: {3}", key.name,
                    key.partner, key.example, partner->example);
  }

  void read(const YamlNode& node, const Key& key, const std::string& path) {
    std::visit(Overloaded{[&](const Section& section) {
                            if (section.list && node.kind == Kind::list)
                              return read_list(node, *section.list, key, path);
                            read_map(node, section.keys, path, section.word_key);
                          },
                          [&](const MapList& list) { read_list(node, list, key, path); },
                          [&](const auto&) { read_value(node, key, path, problems_); }},
               key.target);
  }

  void read_list(const YamlNode& node, const MapList& list, const Key& key, const std::string& path) {
    const Kind wanted = list.name ? Kind::map : Kind::list;
    if (node.kind != wanted && node.kind != Kind::null)
      return problems_.add(node.place, path, "{} is given where {} is expected; write {}", word(node.kind),
                           word(wanted), wanted_text(key));
    if (std::holds_alternative<Section>(key.target) && node.items.empty())
      problems_.add(node.place, path, "is an empty list; write one of {} at least", list.what);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const YamlNode& item = node.items[i];
      if (list.name && is_repeated(node, node.keys[i], path)) continue;
      const YamlKey name = list.name ? node.keys[i] : YamlKey{fmt::format("{}", i), item.place};
      const std::string entry_path = path_to(path, name.name);
      problems_.remember(entry_path, name.place);
      const Keys keys = list.append();
      if (list.name) list.name(list.size() - 1) = name.name;
      const bool alone =
          !list.lone_key.empty() && item.kind != Kind::map && (!list.name || item.kind == Kind::scalar);
      read_map(alone ? map_of(list.lone_key, item) : item, keys, entry_path, {});
    }
  }

  const Keys& deck_keys_;
  Problems& problems_;
};

void rename_in(YamlNode& map, const Keys& keys, const std::string& path, Problems& problems) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    YamlKey& name = map.keys[i];
    YamlNode& value = map.items[i];
    for (const Key& key : keys) {
      if (!key.former_name.empty() && key.former_name == name.name) {
        problems.add(name.place, path_to(path, name.name), "is called {} now", key.name);
        if (!map.find_key(key.name)) name.name = key.name;
      }
      if (key.name != name.name) continue;
      if (const auto* section = std::get_if<Section>(&key.target))
        rename_in(value, section->keys, path_to(path, key.name), problems);
      const auto word = std::ranges::find(key.former_words, value.text, &FormerWord::was);
      if (value.kind != Kind::scalar || word == key.former_words.end()) continue;
      problems.add(value.place, path_to(path, key.name), "'{}' is called {} now", word->was, word->is);
      value.text = word->is;
    }
  }
  erase_keys(map, [&](std::string_view name) {  // reported; the map has the new names as well
    return !name.empty() && std::ranges::find(keys, name, &Key::former_name) != keys.end();
  });
}

// The last snapshot in a run's directory, NAME_00000100.hdf; else the directory. Where the run's name is not
// known, NAME is the shortest.
fs::path last_snapshot(const fs::path& directory) {
  static const std::regex form("(.+)_([0-9]{1,18})\\.hdf");
  const std::optional<std::string> run = name_of_run(directory);
  std::tuple<std::ptrdiff_t, long long, fs::path> best{std::numeric_limits<std::ptrdiff_t>::min(), 0,
                                                       directory};
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string file = entry.path().filename().string();
    std::smatch parts;
    if (std::regex_match(file, parts, form) && parts[1] == run.value_or(parts[1]))
      best = std::max(best, {-parts.length(1), std::stoll(parts[2]), entry.path()});
  }
  return std::get<fs::path>(best);
}

// Makes the path absolute; a run's directory becomes its last snapshot. `key`: of the dataset.
void complete_file(RegionValue& dataset, const std::string& key, Problems& problems) {
  if (dataset.file.empty()) return;
  const fs::path folder = fs::path(problems.file()).parent_path();
  const fs::path file = fs::absolute(folder / dataset.file).lexically_normal();
  std::error_code ignored;
  dataset.file = (fs::is_directory(file, ignored) ? last_snapshot(file) : file).string();
  problems.remember_file(key + ".file", dataset.file);
}

// Sets values that the deck leaves out and that follow from other keys.
void complete(Config& config, const std::string& path, Problems& problems) {
  config.name = fs::path(path).stem().string();
  // Where halos are exchanged, a launch of several sweeps needs as many layers of ghosts.
  if (!config.solver.halo_width) config.solver.halo_width = config.solver.time_block;
  OutputConfig& output = config.output;
  if (output.directory.empty()) output.directory = "runs/" + config.name;
  if (!output.snapshots) {  // also where an override switches them off
    output.every_steps.reset();
    output.every_time.reset();
  }
  if (config.initial.empty() && config.verify.solution != ExactSolution::none)
    config.initial.emplace_back().shape = Shape::exact;
  std::vector<ProbePoint>& points = output.probes.points;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].name.empty()) points[i].name = fmt::format("p{}", i);
  for (std::size_t i = 0; i < config.regions.size(); ++i)
    complete_file(config.regions[i].place, fmt::format("regions.{}", i), problems);
  for (RegionValue& source : config.sources)
    for (std::size_t a = 0; a < 3; ++a) {
      source.from[a] = source.from_at[a](0, 0, 0);
      source.to[a] = source.to_at[a](0, 0, 0);
      source.centre[a] = source.centre_at[a](0, 0, 0);
    }
  for (auto [list, entries] : {std::pair("initial", &config.initial), std::pair("sources", &config.sources)})
    for (std::size_t i = 0; i < entries->size(); ++i) {
      RegionValue& entry = (*entries)[i];
      const std::string key = fmt::format("{}.{}", list, i);
      const bool is_free = !problems.given(key + ".mode");
      if (entry.shape == Shape::gaussian || (entry.varies() && is_free)) entry.mode = RegionMode::add;
      complete_file(entry, key, problems);
    }
}

}  // namespace

void read_value(const YamlNode& node, const Key& key, const std::string& path, Problems& problems) {
  ValueReader reader(node, key, path, problems);
  std::visit(Overloaded{[](const Section&) {}, [](const MapList&) {},
                        [&](const Written& written) { *written.node = node; },
                        [&](std::optional<Expression>* formula) { reader.read(formula->emplace()); },
                        [&](auto* target) { reader.read(*target); },
                        [&](const auto& target) { reader.read(target); }},
             key.target);
}

void read_config(const YamlNode& original, Config& config, Problems& problems) {
  YamlNode deck = original;
  if (YamlNode* const sources = deck.find("sources"); sources && sources->kind == Kind::list)
    lay_out_floorplans(*sources, problems);
  StudyConfig study;  // its keys are known, although a run does not use them
  const Keys keys = describe(config, study);
  if (deck.kind == Kind::null)
    problems.add(deck.place, "",
                 "the deck is empty; write at least a grid (isotherm init prints a commented deck)");
  else if (deck.kind != Kind::map)
    problems.add(deck.place, "", "{} is given where a deck is expected; write keys of {}", word(deck.kind),
                 fmt::join(names_of(keys), ", "));
  else
    Reader(keys, problems).read_deck(deck);
}

void read_study(const YamlNode& deck, StudyConfig& study, Problems& problems) {
  YamlNode alone = deck;
  const auto is_other = [](std::string_view section) { return !is_of_study(section); };
  erase_keys(alone, is_other);
  Config config;
  Keys keys = describe(config, study);
  std::erase_if(keys, [&](const Key& key) { return is_other(key.name); });
  Reader(keys, problems).read_deck(alone);
}

std::string read_deck_file(const std::string& path) {
  const auto reject = [&](const std::string& why) {
    throw error_of(ExitCode::file_missing,
                   "cannot read the deck {} ({}); name a deck that exists, or write one with isotherm init",
                   path, why);
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) reject("it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) reject(std::strerror(errno));
  std::string text(largest_deck_bytes + 1, '\0');  // one more than a deck may have; a device may have no end
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) reject(std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

void rename_former(YamlNode& deck, Problems& problems) {
  Config config;
  rename_in(deck, describe(config), "", problems);
}

std::optional<YamlKey> section_of_study(const YamlNode& deck) {
  for (std::size_t i = 0; i < deck.keys.size(); ++i)
    if (is_of_study(deck.keys[i].name) && deck.items[i].kind != Kind::null) return deck.keys[i];
  return std::nullopt;
}

Config parse_deck(const std::string& text, const std::string& path, const std::vector<std::string>& overrides,
                  const RegistryNames& registry, const std::vector<int>& arguments) {
  Problems problems(path);
  const YamlNode deck = read_tree(text, overrides, arguments, problems);
  if (const auto section = section_of_study(deck)) {
    Problems alone(path);
    std::string words = shell_word(path);
    for (const std::string& each : overrides) words += " " + shell_word(each);
    alone.add(section->place, section->name,
              "the deck is of several cases, not of one run; start them with isotherm study {}", words);
    alone.throw_if_any();
  }
  return settle_config(deck, path, registry, problems);
}

Config settle_config(const YamlNode& deck, const std::string& path, const RegistryNames& registry,
                     Problems& problems) {
  Config config;
  read_config(deck, config, problems);
  if (deck.kind != Kind::map) problems.throw_if_any();
  complete(config, path, problems);
  validate(config, registry, problems);
  problems.throw_if_any();
  config.sources_of_deck = problems.sources();
  config.file = path;
  config.places = problems.remembered();
  config.data_files = problems.files();
  config.warnings = problems.warnings();
  return config;
}

}  // namespace isotherm
