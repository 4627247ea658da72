// Helpers for files that write JSON; others do not include them: nlohmann's header takes seconds to compile.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/build_info.hpp"
#include "core/communicator.hpp"
#include "core/text.hpp"

// Stores an optional as its value or null.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(auto& json, const std::optional<T>& value) {
    if (value) {
      json = *value;
    } else {
      json = nullptr;
    }
  }
  static void from_json(const auto& json, std::optional<T>& value) {
    if (!json.is_null()) value = json.template get<T>();
  }
};

namespace isotherm {

using Json = nlohmann::ordered_json;

// As NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE, but in the order of the fields: up to 3.11 that macro sorts keys.
#define ISOTHERM_KEYS(Type, ...)                                               \
  inline void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {    \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))   \
  }                                                                            \
  inline void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) {  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__)) \
  }

inline void to_json(Json& json, const Int3& v) { json = {v.x, v.y, v.z}; }
inline void from_json(const Json& json, Int3& v) { v = {json.at(0), json.at(1), json.at(2)}; }

// Stores an enum as its word.
template <class Enum>
requires(!words_of<Enum>.empty()) void to_json(Json& json, Enum value) { json = word(value); }
template <class Enum>
requires(!words_of<Enum>.empty()) void from_json(const Json& json, Enum& value) {
  const auto text = json.get<std::string>();
  const auto found = from_word<Enum>(text);
  if (!found) throw error_of(ExitCode::deck, "'{}' is none of {}", text, fmt::join(words_of<Enum>, ", "));
  value = *found;
}

ISOTHERM_KEYS(BuildInfo, version, git_revision, build_type, compiler, cuda)

// Collective. Returns the values of all ranks, by rank. Bytes that are no UTF-8 are replaced.
template <class T>
std::vector<T> gather(const T& mine, const Communicator& communicator) {
  const std::string text = Json(mine).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::vector<T> all;
  for (const std::string& of_rank : communicator.all_gather(text))
    all.push_back(Json::parse(of_rank).get<T>());
  return all;
}

// A value and its JSON Schema (draft 7) side by side: one line writes and describes a key of a record.
struct Described {
  Json value, schema;
};

// Numbers must not be negative. Records have their own overloads here, which lists of records use too.
template <class T>
Described described(const T& value) {
  if constexpr (std::is_same_v<T, Described>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return {value, {{"type", "boolean"}}};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return {value, {{"type", std::is_integral_v<T> ? "integer" : "number"}, {"minimum", 0}}};
  } else if constexpr (std::is_enum_v<T>) {
    return {word(value), {{"enum", words_of<T>}}};
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    return {value, {{"type", "string"}}};
  } else if constexpr (requires { value.has_value(); }) {
    Described content = described(value.value_or(typename T::value_type{}));
    content.schema["type"] = Json::array({content.schema["type"], "null"});
    if (!value) content.value = nullptr;
    return content;
  } else {
    Described list{Json::array(), {{"type", "array"}, {"items", described(typename T::value_type{}).schema}}};
    for (const auto& item : value) list.value.push_back(described(item).value);
    if constexpr (requires { std::tuple_size<T>::value; })
      list.schema["minItems"] = list.schema["maxItems"] = value.size();
    return list;
  }
}
inline Described described(const Int3& v) {
  Described content = described(std::array{v.x, v.y, v.z});
  content.schema["items"]["minimum"] = 1;
  content.schema["description"] = "x, y, z";
  return content;
}

// Adds `key` to the schema of a value.
template <class T>
Described with(const T& value, const char* key, const Json& content) {
  Described all = described(value);
  all.schema[key] = content;
  return all;
}
template <class T>
Described any_sign(const T& value) {
  Described all = described(value);
  (all.schema.contains("items") ? all.schema["items"] : all.schema).erase("minimum");
  return all;
}
// A text that may be empty, or a number that may be NaN: a file has null instead.
template <class T>
Described or_null(const T& value) {
  return described(std::optional(value));
}
inline Described one_of(const Json& words, const Json& value) { return {value, {{"enum", words}}}; }

struct DescribedKey {
  template <class T>
  DescribedKey(std::string_view key, const T& value, std::string_view description = {})
      : name(key), content(described(value)) {
    if (!description.empty()) content.schema["description"] = description;
  }
  std::string name;
  Described content;
};
// All keys are required, and no others are allowed: validation finds every missing or unknown key.
inline Described object(const std::vector<DescribedKey>& keys) {
  Described all{Json::object(), {{"type", "object"}, {"additionalProperties", false}}};
  Json names = Json::array(), properties;
  for (const DescribedKey& key : keys) {
    all.value[key.name] = key.content.value;
    names.push_back(key.name);
    properties[key.name] = key.content.schema;
  }
  all.schema.update({{"required", names}, {"properties", properties}});
  return all;
}

// Replaces empty texts by null, and lists numbers that are not finite: the library writes null for these.
inline void list_not_finite(Json& json, const std::string& place, Json& list) {
  if (json.is_structured()) {
    for (const auto& [key, value] : json.items()) list_not_finite(value, place + "/" + key, list);
  } else if (json.is_string() && json.get_ref<const std::string&>().empty()) {
    json = nullptr;
  } else if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    list[place] = fmt::format("{}", json.get<double>());
    json = nullptr;
  }
}

// The text of a file. An empty text becomes null; so do NaN and infinity, which are listed under "not_finite"
// by their place. Bytes that are no UTF-8 are replaced.
inline std::string file_text(Json json) {
  Json not_finite = Json::object();
  list_not_finite(json, "", not_finite);
  json["not_finite"] = std::move(not_finite);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace isotherm
