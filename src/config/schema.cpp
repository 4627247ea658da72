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
  if (word == "true" || word == "false") return word == "true";  // what YAML makes of the plain words
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
Json list(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}
Json list(const Json& items, int count) {
  Json all = list(items);
  all["minItems"] = all["maxItems"] = count;
  return all;
}
Json text() {
  return {{"type", "string"}, {"minLength", 1}, {"maxLength", 4096}};
}
Json described(Json schema, const char* description) {
  schema["description"] = description;
  return schema;
}
Json object_of(const Json& properties) {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}
Json any_of(const Json& one, const Json& other) {
  return {{"anyOf", Json::array({one, other})}};
}
Json required(std::string_view key) {
  return {{"required", Json::array({key})}};
}
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

// What the target holds, as the default; null where it holds nothing.
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
// give what is missing, and decide what applies.
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
    schema["properties"][std::string(key.name)] = schema_of(key, demands);
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
std::vector<std::string_view> lone_words(const Keys& keys, std::string_view word_key) {
  std::vector<std::string_view> words;
  for (const std::string_view word : std::get<Choice>(find_key(keys, word_key)->target).words) {
    const bool lone = std::ranges::none_of(keys, [&](const Key& key) {
      return key.is_required && std::ranges::count(key.when.words, word) > 0;
    });
    if (lone) words.push_back(word);
  }
  return words;
}

Json entry(const MapList& maps, bool demands) {
  const Keys keys = maps.append();
  Json map = object(keys, demands);
  if (maps.lone_key.empty()) return map;
  const Key& lone = *find_key(keys, maps.lone_key);
  if (std::holds_alternative<Choice>(lone.target))
    return any_of(map, {{"enum", json_words(lone_words(keys, lone.name))}});
  return any_of(map, schema_of(lone, demands));
}

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
            Json map = object(section.keys, section.is_optional || demands);
            if (section.word_key.empty()) return map;
            Json all = any_of(map, {{"enum", json_words(lone_words(section.keys, section.word_key))}});
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
    entries_.push_back({"ranks", described(number("integer", {1, 1e6}), "MPI ranks of the case.")});
  }

  // {key: value}, and the case's name.
  Json settings() const {
    Json object = paths_to([](const Entry& entry) { return entry.value; });
    object["properties"]["name"] = described(text(), "The case's name, of which its folder has its own.");
    return object;
  }
  // {key: [values]}
  Json lists() const {
    return paths_to([](const Entry& entry) {
      const bool is_property = entry.pattern().empty();  // defined in settings()
      Json values =
          list(is_property ? Json{{"$ref", fmt::format("#/definitions/case/properties/{}", entry.path)}}
                           : entry.value);
      values["minItems"] = 1;
      if (entry.value.contains("description")) values["description"] = entry.value["description"];
      return values;
    });
  }

 private:
  struct Entry {
    std::string path;  // "initial.#.value": '#' is any number, '*' any name
    Json value;

    std::string pattern() const {  // empty where neither is in it
      if (path.find_first_of("#*") == path.npos) return {};
      std::string like;
      for (const char c : path)
        like += c == '.' ? R"(\.)" : c == '#' ? "(0|[1-9][0-9]*)" : c == '*' ? "[^.]+" : std::string(1, c);
      return fmt::format("^{}$", like);
    }
  };

  template <class Shape>
  Json paths_to(Shape shape) const {
    Json object = {{"type", "object"}, {"additionalProperties", false}, {"minProperties", 1}};
    for (const Entry& entry : entries_)
      if (const std::string pattern = entry.pattern(); pattern.empty())
        object["properties"][entry.path] = shape(entry);
      else
        object["patternProperties"][pattern] = shape(entry);
    return object;
  }

  void add_all(const Keys& keys, const std::string& path) {
    for (const Key& key : keys) {
      const std::string at = path_to(path, key.name);
      if (at == "output.directory" || at == "output.overwrite") continue;  // set by the study
      if (at != "output") entries_.push_back({at, schema_of(key, true)});
      if (const auto* section = std::get_if<Section>(&key.target)) {
        add_all(section->keys, at);
        if (section->list) add_entries(*section->list, at);
      } else if (const auto* maps = std::get_if<MapList>(&key.target)) {
        add_entries(*maps, at);
      } else if (const Json item = item_of(schema_of(key, true)); !item.is_null()) {
        entries_.push_back({at + ".#", item});
      }
    }
  }

  void add_entries(const MapList& maps, const std::string& at) {
    const std::string each = at + (maps.name ? ".*" : ".#");
    entries_.push_back({each, entry(maps, true)});
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

  std::vector<Entry> entries_;
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
  schema["definitions"] = {
      {"lists", varied.lists()}, {"case", varied.settings()}, {"table", table_of_times()}};
  return schema.dump(2) + "\n";
}

}  // namespace isotherm
