#include "app/earlier_verification.hpp"

#include <filesystem>
#include <fstream>
#include <limits>

#include "app/verification.hpp"
#include "output/json_value.hpp"

namespace isotherm {

std::optional<Verification> earlier_verification(const std::string& checkpoint, const Config& config) {
  const std::filesystem::path file(checkpoint);
  std::ifstream stream(file.parent_path() / "run.json", std::ios::binary);
  const Json record = Json::parse(stream, nullptr, false);
  try {
    const Json& found = record.at("verification");
    if (found.is_null() || !record.at("continuation").at("stopped_by").is_null()) return std::nullopt;
    if (record.at("continuation").at("newest_checkpoint") != file.filename().string()) return std::nullopt;
    const auto number = [&](const char* key) {  // null: it was not finite
      return found.at(key).is_null() ? std::numeric_limits<double>::quiet_NaN() : found.at(key).get<double>();
    };
    Verification v;
    v.solution = found.at("solution").get<std::string>();
    v.max_error = number("max_error_K");
    v.l2_error = number("l2_error_K");
    v.tolerance = config.verify.tolerance;
    v.verdict = verdict(config, v);
    return v;
  } catch (const Json::exception&) {  // no record, or none of a run
    return std::nullopt;
  }
}

}  // namespace isotherm
