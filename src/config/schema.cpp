// JSON Schema (draft 7) of a deck, for editors: completion, hover texts, and errors while typing.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/deck.hpp"
#include "config/key_table.hpp"

namespace isotherm {
namespace {

using Json = nlohmann::ordered_json;

Json json_word(std::string_view word) {
  if (word == "true" || word == "false") return word == "true";  // YAML reads these words as booleans
  return word;
}
Json json_words(std::span<const std::string_view> words) {
  Json list = Json::array();
  for (const std::string_view word : words) list.push_back(json_word(word));
  return list;
}

Json number(const char* type, const Range& range) {
  return {
      {"type", type}, {range.above_low ? "exclusiveMinimum" : "minimum", range.low}, {"maximum", range.high}};
}
Json list(const Json& items) { return {{"type", "array"}, {"items", items}}; }
Json list(const Json& items, int count) {
  Json all = list(items);
  all["minItems"] = all["maxItems"] = count;
  return all;
}
Json text() { return {{"type", "string"}, {"minLength", 1}, {"maxLength", 4096}}; }
Json described(Json schema, const char* description) {
  schema["description"] = description;
  return schema;
}
Json object_of(const Json& properties) {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}
Json any_of(const Json& one, const Json& other) { return {{"anyOf", Json::array({one, other})}}; }
void allow_null(Json& schema) {
  if (schema.contains("anyOf"))
    schema["anyOf"].push_back({{"type", "null"}});
  else
    schema["type"] = Json::array({schema["type"], "null"});
}
Json required(std::string_view key) { return {{"required", Json::array({key})}}; }
Json one_of(const Key& key) {  // it or its partner
  return Json::array({required(key.name), required(key.partner)});
}

// A reference in a form that allows a description next to it.
Json definition(const char* name) {
  return {{"allOf", Json::array({{{"$ref", fmt::format("#/definitions/{}", name)}}})}};
}

Json shape_of(const Key& key, const Numbers& numbers) {
  const Json item = number(numbers.are_whole ? "integer" : "number", key.range);
  if (key.may_be_null) return any_of(list(any_of(item, {{"type", "null"}}), 3), item);
  if (numbers.count == 1) return item;
  if (numbers.count > 0) {
    const Json all = list(item, static_cast<int>(numbers.count));
    return key.one_for_all ? any_of(all, item) : all;
  }
  Json counts = list(item);
  if (!key.has_default()) counts.update({{"minItems", 1}, {"uniqueItems", true}});
  return counts;
}

// A number for all axes, or for each axis a number or zones.
Json shape_of_sizes(const Key& key) {
  const Json size = number("number", key.range), count = number("integer", {1, 1e12});
  Json zones = list(list(Json::array({count, size}), 2));
  zones["minItems"] = 1;
  return any_of(list(any_of(size, zones), 3), size);
}

// The value of the target, as the default; null if it has none.
Json held(const Numbers& numbers) {
  Json all = Json::array();
  for (const double value : numbers.get())
    all.push_back(numbers.are_whole ? Json(static_cast<std::int64_t>(value)) : Json(value));
  return all.empty() ? Json() : numbers.count == 1 ? all[0] : all;
}

Json table_of_times() {
  const Json pair = list({{"type", "number"}}, 2),
             pairs = {{"type", "array"}, {"items", pair}, {"minItems", 1}},
             between = {{"enum", Json::array({"linear", "step"})}, {"default", "linear"}};
  Json table = object_of(
      {{"table", described(any_of(text(), pairs), "A file of columns, or pairs [time in s, value].")},
       {"time", described(text(), "The name of the file's column of times, s.")},
       {"column", described(text(), "The name of its column of values.")},
       {"contents",
        described(text(), "Hash of the table when this deck was resolved; another one is an error.")},
       {"interpolation",
        described(between, "Linear between the times, or constant from each to the next.")}});
  table.update(required("table"));
  return table;
}

Json floorplan() {
  const Json of_table = table_of_times()["properties"];
  Json plan = object_of(
      {{"floorplan",
        described(text(),
                  "A file of blocks: name, x, y, width, height (m, from the box's corner) and power "
                  "(W, or a column of the trace).")},
       {"trace",
        described(text(), "A file of columns: time (s), and powers (W) by the names that blocks have.")},
       {"time", of_table["time"]},
       {"interpolation", of_table["interpolation"]}});
  plan.update(required("floorplan"));
  return plan;
}

Json formula(const Key& key) {
  const Json written = any_of(number("number", key.range), text());
  if (key.variables.find('t') == key.variables.npos) return written;
  const Json in_time = any_of(written, definition("table"));
  return key.name == "power" ? any_of(in_time, floorplan()) : in_time;
}

// `demands`: include required keys and conditions, at all levels. Not for a deck with a study: its cases may
// give missing keys, and decide which keys apply.
Json schema_of(const Key& key, bool demands);

// Keys that apply only for some words of another key are required or rejected by the value of that key.
Json conditions(const Keys& keys) {
  Json all = Json::array();
  for (const Key& key : keys) {
    if (key.when.key.empty()) continue;
    const Key& other = *find_key(keys, key.when.key);
    Json holds = {{"properties", {{other.name, {{"enum", json_words(key.when.words)}}}}}};
    // A word that is left out counts as its default.
    if (other.is_required || !applies(key, keys)) holds.update(required(other.name));
    Json condition = {{"if", holds}};
    if (key.is_required) condition["then"] = required(key.name);
    if (key.name < key.partner) condition["then"]["oneOf"] = one_of(key);
    condition["else"] = {{"properties", {{key.name, false}}}};
    all.push_back(condition);
  }
  return all;
}

// A section is needed where an empty map would be rejected.
bool is_needed(const Key& key, const Keys& keys) {
  if (const auto* section = std::get_if<Section>(&key.target))
    return !section->is_optional && std::ranges::any_of(section->keys, [&](const Key& inner) {
      return is_needed(inner, section->keys);
    });
  return !key.has_default() && !key.may_be_null && applies(key, keys);
}

Json object(const Keys& keys, bool demands) {
  Json schema = object_of(Json::object());
  Json needed = Json::array();
  for (const Key& key : keys) {
    Json& property = schema["properties"][std::string(key.name)] = schema_of(key, demands);
    const bool is_empty_when_null =
        std::holds_alternative<Section>(key.target) || std::holds_alternative<MapList>(key.target);
    if (is_empty_when_null && !is_needed(key, keys)) allow_null(property);
    if (!demands || !key.when.key.empty()) continue;
    if (!key.is_one_of_two() && is_needed(key, keys)) needed.push_back(key.name);
    if (key.name < key.partner) schema["oneOf"] = one_of(key);
  }
  if (!needed.empty()) schema["required"] = needed;
  if (!demands) return schema;
  if (Json all = conditions(keys); !all.empty()) schema["allOf"] = all;
  return schema;
}

// The words that need no other key.
std::vector<std::string_view> lone_words(const Keys& keys, const Choice& choice) {
  std::vector<std::string_view> words;
  for (const std::string_view word : choice.words) {
    const bool lone = std::ranges::none_of(keys, [&](const Key& key) {
      return key.is_required && std::ranges::count(key.when.words, word) > 0;
    });
    if (lone) words.push_back(word);
  }
  return words;
}

// A map, or the value of its key `lone` alone; of words only those that need no other key.
Json map_or_value(const Keys& keys, std::string_view lone, bool demands) {
  Json map = object(keys, demands);
  if (lone.empty()) return map;
  const Key& key = *find_key(keys, lone);
  if (const auto* choice = std::get_if<Choice>(&key.target))
    return any_of(map, {{"enum", json_words(lone_words(keys, *choice))}});
  return any_of(map, schema_of(key, demands));
}

Json entry(const MapList& maps, bool demands) { return map_or_value(maps.append(), maps.lone_key, demands); }

Json with_default(Json schema, const Key& key, const Json& value) {
  if (key.has_default() && key.absent.empty() && !value.is_null()) schema["default"] = value;
  return schema;
}

Json shape(const Key& key, bool demands) {
  return std::visit(
      Overloaded{
          [](const Choice& choice) -> Json {
            return {{"enum", json_words(choice.words)}, {"default", json_word(choice.word())}};
          },
          [&](const Section& section) {
            Json all = map_or_value(section.keys, section.word_key, section.is_optional || demands);
            if (section.list) all["anyOf"].push_back(list(entry(*section.list, demands)));
            return all;
          },
          [&](const MapList& maps) {
            const Json each = entry(maps, demands);
            return maps.name ? Json{{"type", "object"}, {"additionalProperties", each}} : list(each);
          },
          [](const Written& written) -> Json {
            return written.form == Written::Form::maps ? list(definition("case")) : definition("lists");
          },
          [&](const Numbers& numbers) { return with_default(shape_of(key, numbers), key, held(numbers)); },
          [&](const CellSizes&) { return shape_of_sizes(key); },
          [&](const std::string* value) { return with_default(text(), key, *value); },
          [](const std::vector<std::string>*) { return list(text()); },
          [&](const std::array<Expression, 3>*) { return list(formula(key), 3); },
          [&](const auto*) { return formula(key); }},
      key.target);
}

Json schema_of(const Key& key, bool demands) {
  std::string description(key.doc);
  if (!key.range.unit.empty()) description += fmt::format(" [{}]", key.range.unit);
  if (!key.when.key.empty()) description += fmt::format(" Only for {}.", when_text(key.when));
  if (!key.absent.empty()) description += fmt::format(" Default: {}.", key.absent);
  Json schema = {{"description", description}};
  Json body = shape(key, demands);
  if (!key.absent_word.empty())
    body = {{"anyOf", Json::array({body, {{"const", key.absent_word}}})}, {"default", key.absent_word}};
  schema.update(body);
  return schema;
}

// The keys that a study may vary, by their paths: properties, or patterns of paths with numbers in them.
class Varied {
 public:
  Varied() {
    Config config;
    add_all(describe(config), "");
    add("ranks", described(number("integer", {1, 1e6}), "MPI ranks of the case."));
    settings["properties"]["name"] = described(text(), "The name of the case, and of its folder.");
  }

  Json settings = no_paths();  // {key: value}, and the case's name
  Json lists = no_paths();     // {key: [values]}

 private:
  static Json no_paths() {
    return {{"type", "object"}, {"additionalProperties", false}, {"minProperties", 1}};
  }

  // `path`: "initial.#.value", where '#' is any number, '*' any name.
  void add(const std::string& path, const Json& value) {
    const bool is_pattern = path.find_first_of("#*") != path.npos;
    std::string pattern;
    for (const char c : path)
      pattern += c == '.' ? R"(\.)" : c == '#' ? "(0|[1-9][0-9]*)" : c == '*' ? "[^.]+" : std::string(1, c);
    const std::string name = is_pattern ? fmt::format("^{}$", pattern) : path;
    const char* const kind = is_pattern ? "patternProperties" : "properties";
    Json values =
        list(is_pattern ? value : Json{{"$ref", fmt::format("#/definitions/case/properties/{}", path)}});
    values["minItems"] = 1;
    if (value.contains("description")) values["description"] = value["description"];
    settings[kind][name] = value;
    lists[kind][name] = values;
  }

  void add_all(const Keys& keys, const std::string& path) {
    for (const Key& key : keys) {
      const std::string at = path_to(path, key.name);
      if (at == "output.directory" || at == "output.overwrite") continue;  // set by the study
      if (at != "output") add(at, schema_of(key, true));
      if (const auto* section = std::get_if<Section>(&key.target)) {
        add_all(section->keys, at);
        if (section->list) add_entries(*section->list, at);
      } else if (const auto* maps = std::get_if<MapList>(&key.target)) {
        add_entries(*maps, at);
      } else if (const Json item = item_of(schema_of(key, true)); !item.is_null()) {
        add(at + ".#", item);
      }
    }
  }

  void add_entries(const MapList& maps, const std::string& at) {
    const std::string each = at + (maps.name ? ".*" : ".#");
    add(each, entry(maps, true));
    add_all(maps.append(), each);
  }

  // The schema of an entry: one number of three, one word of a list.
  static Json item_of(const Json& schema) {
    if (schema.contains("items")) return schema["items"];
    if (schema.contains("anyOf"))
      for (const Json& choice : schema["anyOf"])
        if (Json item = item_of(choice); !item.is_null()) return item;
    return nullptr;
  }
};

}  // namespace

std::string json_schema() {
  Config defaults;
  StudyConfig study;
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "isotherm deck"},
                 {"description", "A heat problem for isotherm. SI units, kelvin."}};
  const Keys keys = describe(defaults, study);
  schema.update(object(keys, false));
  schema["allOf"].push_back({{"if", {{"not", required("study")}}}, {"then", object(keys, true)}});
  const Varied varied;
  schema["definitions"] = {{"lists", varied.lists}, {"case", varied.settings}, {"table", table_of_times()}};
  return schema.dump(2) + "\n";
}

}  // namespace isotherm
