#include "app/check_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "app/case_plan.hpp"
#include "app/load.hpp"
#include "app/scaled_case.hpp"
#include "config/changes.hpp"
#include "config/deck.hpp"
#include "config/overrides.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"
#include "config/value.hpp"
#include "config/yaml_tree.hpp"
#include "core/build_info.hpp"
#include "output/console/console.hpp"
#include "output/records/json_value.hpp"
#include "solver/rows.hpp"
#include "solver/schedule.hpp"

namespace isotherm {

ISOTHERM_KEYS(CasePlan, cells, sweeps, memory_bytes, file_bytes, traffic_bytes, backend, process_grid)

namespace {

using Kind = YamlNode::Kind;

Json place_json(const Place& place) {
  return Json::array({place.argument, place.line, place.column});
}
Place place_of(const Json& json) {
  return {json.at(0).get<int>(), json.at(1).get<int>(), json.at(2).get<int>()};
}

// To tell values apart: 16 and 16.0 are one.
std::string same_text(const YamlNode& value) {
  if (value.kind == Kind::scalar && !value.quoted)
    if (const auto number = parse_real(value.text); number.is_number) return shortest(number.value);
  return yaml_text(value);
}

// A count of ranks among the values of a study, or why it is none.
void add_count(const YamlNode& node, Json& json) {
  const std::string path = "study.ranks";
  int count = 1;
  const Key key{.name = "ranks", .target = &count, .range = {1, 1e6}};
  Problems problems("");
  read_value(node, key, path, problems);
  try {
    problems.throw_if_any();
    json["count"] = count;
  } catch (const Error& error) {
    const std::string text = error.what();
    json["problem"] = text.substr(text.find(path) + path.size() + 2);
  }
}

// A part of the deck as it was written, with the place of each node. `key`: whose value it is, or holds.
Json node_json(const YamlNode& node, const std::string& key = "") {
  Json json = {{"at", place_json(node.place)}, {"yaml", yaml_text(node)}, {"same", same_text(node)}};
  if (node.kind == Kind::scalar) {
    json["text"] = node.text;
    json["quoted"] = node.quoted;
  }
  if (node.kind == Kind::map) {
    json["keys"] = Json::array();
    for (const YamlKey& each : node.keys)
      json["keys"].push_back({{"name", each.name}, {"at", place_json(each.place)}});
  }
  if (node.kind == Kind::map || node.kind == Kind::list) {
    json["items"] = Json::array();
    for (std::size_t i = 0; i < node.items.size(); ++i)
      json["items"].push_back(node_json(node.items[i], node.kind == Kind::map ? node.keys[i].name : key));
  }
  if (key == "ranks") add_count(node, json);
  return json;
}

YamlNode node_of(const Json& json) {
  YamlNode node{.place = place_of(json.at("at"))};
  if (json.contains("text")) {
    node.kind = Kind::scalar;
    node.text = json["text"];
    node.quoted = json.value("quoted", false);
  }
  if (json.contains("items")) {
    node.kind = json.contains("keys") ? Kind::map : Kind::list;
    for (const Json& item : json["items"]) node.items.push_back(node_of(item));
    for (const Json& key : json.value("keys", Json::array()))
      node.keys.push_back({key.at("name"), place_of(key.at("at"))});
  }
  return node;
}

Json error_json(const Error& error) {
  return {{"code", static_cast<int>(error.code())}, {"text", error.what()}};
}

// What stands in a map of `study:`, by which keys of the deck vary.
void add_key_facts(const YamlNode& map, Json& facts) {
  for (const YamlKey& key : map.keys) {
    const KeyAtPath found = find_key_at(key.name);
    facts[key.name] = {{"problem", found.problem.empty() ? Json() : Json(found.problem)},
                       {"unit", found.unit}};
  }
}

void check_scaling(const StudyConfig& study, const YamlNode& tree, Problems& problems) {
  const bool stands =
      std::ranges::any_of(tree.keys, [](const YamlKey& key) { return key.name == "scaling"; });
  const std::string key = problems.given("scaling.gpus") ? "scaling.gpus" : "scaling.ranks";
  if (stands && problems.given(key) && problems.sound({key}) && !study.scaling.is_given())
    problems.add(key, "the list is empty (it would leave no case); write [1, 2, 4]");
  if (study.launcher.find("{nodes}") != std::string::npos && !study.ranks_per_node)
    problems.add("study.launcher",
                 "has {nodes} (which follow from the ranks of each); add ranks_per_node: 8");
}

YamlNode without_study(YamlNode deck) {
  for (std::size_t i = deck.keys.size(); i-- > 0;) {
    if (!is_of_study(deck.keys[i].name)) continue;
    deck.keys.erase(deck.keys.begin() + static_cast<std::ptrdiff_t>(i));
    deck.items.erase(deck.items.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return deck;
}

// The deck as `isotherm compare` asks for it.
Config compared(Config config, const Json& wanted) {
  if (wanted.contains("sweeps")) config = short_run(std::move(config), wanted["sweeps"]);
  config.problem.check_interval = wanted.value("check_interval", config.problem.check_interval);
  config.solver.tuning_file = wanted.value("tuning_file", "");
  config.output.snapshots = wanted.value("snapshots", false);
  return config;
}

// The deck of the command line, and what is asked of it.
class Deck {
 public:
  Deck(const CommandLine& command, std::vector<int> arguments)
      : path_(command.file),
        overrides_(command.overrides),
        arguments_(std::move(arguments)),
        problems_(path_),
        tree_(read_tree(read_deck_file(path_), overrides_, arguments_, problems_)) {}

  Json sections() {
    Problems problems = problems_;
    if (!section_of_study(tree_))
      problems.add("study",
                   "is missing (the deck is of one run); add study: {matrix: {key.path: [values]}}, or "
                   "scaling: {kind: strong, ranks: [1, 2]}, or use isotherm run");
    problems.throw_if_any();
    StudyConfig study;
    read_study(tree_, study, problems);
    check_scaling(study, tree_, problems);
    problems.throw_if_any();
    return sections_json(study, problems);
  }

  // One case: the deck with these settings, on so many ranks.
  Json resolve(const Json& request) {
    read_scaling();
    const int ranks = request.value("ranks", 1);
    Config config = settle(request.value("settings", Json::array()), ranks);
    Json answer = {{"directory", config.output.directory},
                   {"overwrite", config.output.overwrite},
                   {"warnings", config.warnings}};
    if (request.contains("name")) {
      config.name = request["name"];
      config.output.directory = (std::filesystem::path(config.output.directory) / config.name).string();
      config.output.overwrite = false;
    }
    answer["check_interval"] = config.problem.check_interval;
    answer["interval"] = sweeps_until_due(config);
    if (request.contains("compare")) config = compared(std::move(config), request["compare"]);
    answer["deck"] = to_yaml(config);
    answer["cells"] = config.grid.cells;
    answer["precision"] = config.precision;
    answer["sweeps"] = likely_sweeps(config);
    try {
      const Host host = request.value("host", Host::either);
      if (request.contains("compare")) {
        validate_combination(config, ranks, gpus());
      } else {
        validate_case(config, ranks, host, host == Host::another ? CudaDevices{} : gpus());
      }
      if (request.value("plan", false)) answer["plan"] = plan_case(config, ranks, gpus());
    } catch (const Error& error) {
      answer["refused"] = error_json(error);
    }
    return answer;
  }

 private:
  Json sections_json(const StudyConfig& study, const Problems& problems) const {
    Json keys = Json::object(), places = Json::object(), overridden = Json::array();
    add_key_facts(study.matrix, keys);
    add_key_facts(study.zip, keys);
    for (const YamlNode& entry : study.list.items) add_key_facts(entry, keys);
    for (const auto& [key, place] : problems.remembered()) places[key] = place_json(place);
    for (const Override& each : split_overrides(overrides_, arguments_))
      overridden.push_back({{"key", each.key}, {"argument", each.argument}});
    const ScalingConfig& scaling = study.scaling;
    return {{"matrix", node_json(study.matrix)},
            {"zip", node_json(study.zip)},
            {"list", node_json(study.list)},
            {"exclude", node_json(study.exclude)},
            {"name", study.name},
            {"limit", study.limit},
            {"default_limit", StudyConfig::default_limit},
            {"ranks", study.ranks},
            {"launcher", study.launcher},
            {"default_launcher", StudyConfig::default_launcher},
            {"ranks_per_node", study.ranks_per_node},
            {"template", study.slurm.script_template},
            {"options", study.slurm.options},
            {"report", study.report},
            {"sort", study.sort},
            {"scaling", scaling.is_given() ? Json{{"kind", word(scaling.kind)},
                                                  {"unit", scaling.gpus.empty() ? "ranks" : "gpus"},
                                                  {"counts", scaling.counts()},
                                                  {"repeats", scaling.repeats}}
                                           : Json(nullptr)},
            {"keys", std::move(keys)},
            {"places", std::move(places)},
            {"overrides", std::move(overridden)},
            {"warnings", problems.warnings()},
            {"version", build_info().version},
            {"git_revision", build_info().git_revision}};
  }

  // Of the deck, once, for all cases.
  void read_scaling() {
    if (base_) return;
    problems_.throw_if_any();
    Problems problems(path_);
    problems.remember("", {});
    StudyConfig study;
    read_study(tree_, study, problems);
    scaling_ = study.scaling;
    place_ = problems.place_of("scaling");
    base_ = without_study(tree_);
  }

  Config settle(const Json& settings, int ranks) const {
    Problems problems(path_);
    problems.remember("", {});
    YamlNode deck = *base_;
    for (const Json& setting : settings)
      put_value(deck, setting.at("key"), node_of(setting.at("value")), problems);
    const Config config = settle_config(deck, path_, rows_, problems);
    Problems again(path_);
    again.remember("", {});
    if (!scale_case(deck, scaling_, config, ranks, place_, again)) return config;
    return settle_config(deck, path_, rows_, again);
  }

  const CudaDevices& gpus() {
    if (!gpus_) gpus_ = find_cuda_devices();
    return *gpus_;
  }

  const std::string path_;
  const std::vector<std::string> overrides_;
  const std::vector<int> arguments_;
  Problems problems_;
  const YamlNode tree_;
  const KnownRows rows_ = known_rows();
  std::optional<YamlNode> base_;  // without study and scaling
  ScalingConfig scaling_;
  Place place_;  // of `scaling:`
  std::optional<CudaDevices> gpus_;
};

// Between two resolved decks; empty where the first is none.
Json changes_json(const std::string& before, const std::string& now) {
  Json all = Json::array();
  try {
    for (const Change& each :
         changes(read_resolved_deck(before, "deck.yaml"), read_resolved_deck(now, "deck.yaml")))
      all.push_back({{"key", each.key}, {"before", each.before}, {"now", each.now}});
  } catch (const Error&) {
    return nullptr;
  }
  return all;
}

Json answer_to(const Json& request, const CommandLine& command, const std::vector<int>& arguments,
               std::optional<Deck>& deck) {
  try {
    if (request.contains("before")) return {{"changes", changes_json(request["before"], request.at("now"))}};
    if (request.contains("bandwidth"))
      return {{"bytes_per_s", measure_copy_bandwidth(
                                  request["bandwidth"] == word(Backend::cuda) ? Backend::cuda : Backend::host,
                                  request.at("bytes").get<std::size_t>())}};
    if (!deck) deck.emplace(command, arguments);
    return request.value("sections", false) ? deck->sections() : deck->resolve(request);
  } catch (const Error& error) {
    return {{"error", error_json(error)}};
  }
}

}  // namespace

bool names_study(const CommandLine& command) {
  if (command.from_output) return false;
  try {
    Problems problems("");
    return section_of_study(read_tree(read_deck_file(command.file), command.overrides, {}, problems))
        .has_value();
  } catch (const Error&) {
    return false;
  }
}

int check_json(const CommandLine& command) {
  try {
    const Json input = Json::parse(std::cin);
    const std::vector<int> arguments = input.value("arguments", command.override_arguments);
    std::optional<Deck> deck;
    Json answers = Json::array();
    for (const Json& request : input.at("requests"))
      answers.push_back(answer_to(request, command, arguments, deck));
    const Json whole = {{"schema", "isotherm-check"}, {"schema_version", 1}, {"answers", std::move(answers)}};
    print_now(whole.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const Json::exception& error) {
    throw Error(ExitCode::deck,
                fmt::format("standard input: no requests ({}); docs/files.md has their form", error.what()));
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace isotherm
