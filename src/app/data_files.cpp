// What the files of a deck's datasets hold.
#include <map>
#include <optional>
#include <vector>

#include "app/session.hpp"
#include "config/problems.hpp"
#include "core/all_or_throw.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "output/field_files/snapshot_file.hpp"

namespace isotherm {
namespace {

// Of a snapshot of isotherm the fingerprint that is stored in it, as its field may be large; of other files
// the hash of all bytes.
std::optional<std::string> contents_of(const RegionValue& dataset) {
  static std::map<std::string, std::optional<std::string>> known;  // cases of a study share their files
  const std::string name = dataset.file + '\n' + dataset.dataset;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::optional<std::string> contents;
  try {
    if (dataset.dataset == RegionValue().dataset)
      contents = fmt::format("field-{:016x}", read_snapshot_header(dataset.file).meta.fingerprint);
  } catch (const Error&) {  // it is no snapshot
  }
  if (!contents)
    if (const auto hash = hash_of_file(dataset.file)) contents = contents_text(*hash);
  return known[name] = contents;
}

struct NamedDataset {
  std::string key;  // "regions.0"
  RegionValue* place;
};
std::vector<NamedDataset> datasets_of(Config& config) {
  std::vector<NamedDataset> all;
  const auto add = [&](const char* list, std::size_t i, RegionValue& place) {
    if (!place.file.empty()) all.push_back({fmt::format("{}.{}", list, i), &place});
  };
  for (std::size_t i = 0; i < config.regions.size(); ++i) add("regions", i, config.regions[i].place);
  for (std::size_t i = 0; i < config.initial.size(); ++i) add("initial", i, config.initial[i]);
  for (std::size_t i = 0; i < config.sources.size(); ++i) add("sources", i, config.sources[i]);
  return all;
}

}  // namespace

void record_contents(Config& config) {
  for (const auto& [key, place] : datasets_of(config)) {
    const std::optional<std::string> found = contents_of(*place);
    if (!found) continue;
    if (!place->contents.empty() && place->contents != *found)
      throw deck_error(
          config, key + ".contents",
          "{} holds something else than when this deck was resolved ({}, now {}); restore it, or "
          "remove contents",
          place->file, place->contents, *found);
    place->contents = *found;
  }
}

void record_contents(Config& config, const Communicator& world) {
  on_root(world, [&] { record_contents(config); });
  for (const NamedDataset& each : datasets_of(config))
    each.place->contents = world.broadcast(each.place->contents);
}

}  // namespace isotherm
