#include "app/tuning_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* schema = "isotherm-tuning";
constexpr int version = 1;

Json to_json(const TuningKey& key) {
  return {{"isotherm", key.version},
          {"git_revision", key.git_revision},
          {"device", key.device},
          {"precision", key.precision},
          {"cells", {key.cells.x, key.cells.y, key.cells.z}},
          {"ranks", key.ranks},
          {"depth", key.depth},
          {"source", key.source},
          {"faces", key.faces},
          {"asked", key.asked}};
}

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw Error(ExitCode::deck, fmt::format("{} is no tuning file of this version ({}); name another in "
                                          "solver.tuning_file, or remove it",
                                          in_quotes(path), why));
}

Json empty_file() {
  return {{"schema", schema}, {"version", version}, {"entries", Json::array()}};
}

// Of that name in an object; null where there is none.
Json member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() ? Json() : *found;
}

Json read(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return empty_file();
    throw Error(ExitCode::io, fmt::format("{} cannot be read ({}); name another in solver.tuning_file",
                                          in_quotes(path), std::strerror(errno)));
  }
  const Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded()) refuse(path, "it is not JSON");
  if (!json.is_object() || member(json, "schema") != schema) refuse(path, "it has another schema");
  if (member(json, "version") != version) refuse(path, "it has another version");
  if (!member(json, "entries").is_array()) refuse(path, "it has no entries");
  return json;
}

}  // namespace

std::optional<TuningChoice> find_tuning(const std::string& path, const TuningKey& key) {
  const Json file = read(path);
  const Json wanted = to_json(key);
  try {
    for (const Json& entry : file["entries"]) {
      if (entry.at("key") != wanted) continue;
      const Json& choice = entry.at("choice");
      // What entries of earlier versions may lack says what those did.
      return TuningChoice{choice.at("kernel"),          choice.at("policy"),  choice.at("reduction"),
                          choice.at("graph"),           choice.at("sweep_s"), choice.value("fused", 1),
                          choice.value("single", false)};
    }
  } catch (const Json::exception&) {
    refuse(path, "an entry is not complete");
  }
  return std::nullopt;
}

void keep_tuning(const std::string& path, const TuningKey& key, const TuningChoice& choice) {
  Json file = read(path);
  Json kept = Json::array();
  const Json mine = to_json(key);
  for (const Json& entry : file["entries"]) {
    if (!entry.is_object() || member(entry, "key") != mine) kept.push_back(entry);
  }
  kept.push_back({{"key", mine},
                  {"choice",
                   {{"kernel", choice.kernel},
                    {"policy", choice.policy},
                    {"reduction", choice.reduction},
                    {"graph", choice.graph},
                    {"fused", choice.fused},
                    {"single", choice.single},
                    {"sweep_s", choice.seconds}}}});
  file["entries"] = kept;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string mine_alone = fmt::format("{}.{}.{}", path, host, getpid());
  write_file_atomically(mine_alone, file.dump(1) + "\n");
  publish_file(mine_alone, path);
}

}  // namespace isotherm
