#include "output/records/json_value.hpp"

#include <fmt/format.h>

#include <cmath>

namespace isotherm {
namespace {

// The library would write null for what is not finite, and say nothing. An empty text is null.
void list_not_finite(Json& json, const std::string& place, Json& list) {
  if (json.is_structured()) {
    for (const auto& [key, value] : json.items()) list_not_finite(value, place + "/" + key, list);
  } else if (json.is_string() && json.get_ref<const std::string&>().empty()) {
    json = nullptr;
  } else if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    list[place] = fmt::format("{}", json.get<double>());
    json = nullptr;
  }
}

}  // namespace

Described object(const std::vector<DescribedKey>& keys) {
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

std::string file_text(Json json) {
  Json not_finite = Json::object();
  list_not_finite(json, "", not_finite);
  json["not_finite"] = std::move(not_finite);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace isotherm
