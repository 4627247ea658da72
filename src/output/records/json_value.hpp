// What the JSON files have in common. Included by the .cpp that write one: nlohmann's header takes seconds to
// compile.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "core/box.hpp"

namespace isotherm {

using Json = nlohmann::ordered_json;

inline Json triple(Int3 v) {
  return Json::array({v.x, v.y, v.z});
}
inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// The text of a file, which ends in a newline. JSON has no NaN and no infinity: they become null and are
// listed under "not_finite" by their place. Never throws for bytes that are no UTF-8: they are replaced.
std::string file_text(Json json);

// Of a record that some isotherm wrote, which may be newer than this one. Throws Error(deck) where its
// schema_version is above `known`; what has none passes. Older ones only lack keys.
void refuse_newer(const Json& record, int known, const std::string& file);

}  // namespace isotherm
