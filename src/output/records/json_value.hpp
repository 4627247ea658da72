// What the JSON files have in common. Included by the .cpp that write one: nlohmann's header takes seconds to
// compile.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/build_info.hpp"

// An optional is its value or null.
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

// As NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE, with the keys in the order of the fields: up to version 3.11 the
// library's own macro knows objects with sorted keys only.
#define ISOTHERM_KEYS(Type, ...)                                               \
  inline void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {    \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))   \
  }                                                                            \
  inline void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) {  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__)) \
  }

inline void to_json(Json& json, const Int3& v) {
  json = {v.x, v.y, v.z};
}
inline void from_json(const Json& json, Int3& v) {
  v = {json.at(0), json.at(1), json.at(2)};
}

// An enum is its word.
template <class Enum>
requires(!words_of<Enum>.empty()) void to_json(Json& json, Enum value) {
  json = word(value);
}
template <class Enum>
requires(!words_of<Enum>.empty()) void from_json(const Json& json, Enum& value) {
  value = from_word<Enum>(json.get<std::string>()).value();
}

ISOTHERM_KEYS(BuildInfo, version, git_revision, build_type, compiler, cuda)

// The text of a file, which ends in a newline. An empty text becomes null. JSON has no NaN and no infinity:
// they become null too and are listed under "not_finite" by their place. Never throws for bytes that are no
// UTF-8: they are replaced.
std::string file_text(Json json);

}  // namespace isotherm
