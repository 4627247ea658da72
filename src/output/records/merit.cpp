#include "output/records/merit.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/text.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {

Json to_json_object(const std::vector<Merit>& merits) {
  Json json = Json::object();
  for (const Merit& merit : merits) {
    if (!std::isfinite(merit.value)) continue;
    json[merit.name] = {{"value", merit.value},
                        {"unit", merit.unit},
                        {"better", merit.better == Better::lower ? "lower" : "higher"}};
  }
  return json;
}

std::string merit_text(double value, const Merit& like) {
  return fmt::format("{} {}", plain_decimal(value, like.decimals), like.unit);
}

}  // namespace isotherm
