#include "app/subcommands.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>

#include "app/session.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"
#include "core/build_info.hpp"
#include "core/text.hpp"
#include "grid/decomposition.hpp"
#include "kernels/bandwidth.hpp"
#include "output/console/console.hpp"
#include "output/records/json_value.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/schedule.hpp"
#include "solver/super_step.hpp"

namespace isotherm {

ISOTHERM_KEYS(Change, key, before, now)
ISOTHERM_KEYS(Override, key, argument)

static void to_json(Json& json, const Place& place) { json = {place.argument, place.line, place.column}; }
static void from_json(const Json& json, Place& place) { place = {json.at(0), json.at(1), json.at(2)}; }

namespace {

using Kind = YamlNode::Kind;

// Why sweeps of this config cannot store the neighbours' ghosts themselves, judged by the deck alone.
std::string why_no_stores(const Config& config, Backend backend) {
  if (config.parallel.overlap != Overlap::in_kernel) return "";
  if (backend == Backend::host) return "only kernels of GPUs store faces";
  if (config.solver.halo_width && *config.solver.halo_width != 1) return "in_kernel needs halo_width 1";
  const std::string& transport = config.parallel.transport;
  if (transport != "auto" && transport != "peer") return "in_kernel needs transport peer";
  for (const StencilKernel<double>& kernel : stencil_kernels<double>())
    if (kernel.name == config.solver.kernel && kernel.stores_faces == nullptr)
      return "the kernel stores no faces";
  return "";
}

// Throws Error if a run on so many ranks would be rejected: on this host, or on any.
void validate_case(const Config& config, int ranks, Host host, const CudaDevices& found) {
  PlannedBackend where =
      host == Host::another ? PlannedBackend{Backend::host, host} : planned_backend(config, found, host);
  // A query about kernels would open a GPU, and a study that holds it may block its own cases.
  if (where.backend == Backend::cuda) where.host = Host::another;
  check_tuning_file(config);
  for (const Config& grid : sound_cases(config)) validate_on(grid, ranks, where);
}

std::unique_ptr<Device> device_of(Backend backend, const CudaDevices& found) {
  return backend == Backend::cuda ? make_cuda_device(found.devices.front().index) : make_host_device();
}

// The same for `isotherm compare`, with the checks at the start of a run and one that data is moved.
void validate_combination(const Config& config, int ranks, const CudaDevices& found) {
  const PlannedBackend where = planned_backend(config, found, Host::this_one);
  sound_cases(config);
  if (!moves_data(config))
    throw deck_error(
        config, "parallel.transport",
        "transport '{}' moves nothing (there are no bits to compare); use auto, or another of isotherm list",
        config.parallel.transport);
  if (const std::string why = why_no_stores(config, where.backend); !why.empty())
    throw deck_error(config, "parallel.overlap", "{}; use auto", why);
  const auto device = device_of(where.backend, found);
  validate_on(config, ranks, where);
  validate_transport(config, *device);
}

// For `isotherm compare`: so many sweeps in the time blocks of the deck, and history.csv as the only file.
Config short_run(Config config, std::int64_t sweeps) {
  ProblemConfig& problem = config.problem;
  const bool transient = problem.kind == ProblemKind::transient;
  if (problem.end_time || takes_long_steps(config)) problem.dt = euler_dt(config);
  problem.end_time.reset();
  if (transient) problem.steps = sweeps;
  problem.max_sweeps = sweeps;
  problem.tolerance = 0;
  // Sweeps of any weight take the same time; intervals still count sweeps. `mixed` is compared as fp64.
  if (config.precision == Precision::mixed) config.precision = Precision::fp64;
  problem.method = transient ? MethodName::euler : MethodName::jacobi;
  problem.cycle = problem.max_cycles = std::nullopt;
  problem.accelerate = Acceleration::none;
  OutputConfig output;
  output.directory = config.output.directory;
  output.overwrite = true;
  output.snapshots = output.checkpoint.write = output.xdmf = false;
  output.every_steps = config.output.every_steps;
  if (const auto& interval = config.output.diagnostics)
    output.every_steps = std::min(*interval, output.every_steps.value_or(*interval));
  config.output = output;
  config.verify.order.clear();  // the solution stays, as `initial` may need it
  config.verify.tolerance.reset();
  return config;
}

// The needs of a case; in a series, those of the largest grid, but the sweeps of all grids.
Json plan_json(const Config& config, int ranks, const CudaDevices& found) {
  const PlannedBackend where = planned_backend(config, found, Host::either);
  const std::vector<Config> grids = cases_of(config);
  std::int64_t all_sweeps = 0;  // expected
  double traffic_bytes = 0;     // an estimate of the bytes that they move
  for (const Config& grid : grids) {
    all_sweeps += likely_sweeps(grid);
    traffic_bytes += sweep_work(grid, decompose(grid, ranks, where.backend), where.backend).bytes;
  }
  const MemoryPlan memory = plan_memory(grids.back(), ranks, 0, where, ranks);
  const std::size_t of_a_rank = where.backend == Backend::cuda ? memory.device() : memory.host(where.backend);
  double file_bytes = 0;  // of the field, checkpoints included
  for (const FileGroup& group : plan_files(config)) file_bytes += group.bytes();
  if (config.output.checkpoint.at_end() || config.output.checkpoint.has_interval())
    file_bytes += plan_checkpoints(config).bytes();
  return {{"cells", grids.back().grid.cells},
          {"sweeps", all_sweeps},
          {"memory_bytes", static_cast<double>(of_a_rank) * ranks},
          {"file_bytes", file_bytes},
          {"traffic_bytes", traffic_bytes},
          {"may_divide_steps", step_control(config).has_value()},
          {"backend", where.backend},
          {"process_grid", decompose(config, ranks, where.backend).process_grid()}};
}

// Counts exchanged cells, all alike, and nothing else.
constexpr ExchangeWeights surface{.cell_bytes = 8,
                                  .memory = 1,
                                  .sector = 8,
                                  .touches = 1,
                                  .wire = std::numeric_limits<double>::infinity(),
                                  .wire_sector = 8};

void check_gpus(const Config& config) {
  if (config.parallel.device == DeviceChoice::cpu)
    throw deck_error(config, "parallel.device",
                     "cpu (and scaling counts GPUs); write scaling.ranks, or cuda");
  if (config.parallel.ranks_per_gpu.value_or(1) > 1)
    throw deck_error(config, "parallel.ranks_per_gpu",
                     "{} (and scaling.gpus counts GPUs with a rank each); write scaling.ranks",
                     *config.parallel.ranks_per_gpu);
}

// Growth of each axis of a weak series' body: ranks cut a cube with the least surface, first along z, then y.
// An axis of one cell stays one cell.
Int3 weak_growth(Int3 cells, int ranks) {
  constexpr Index edge = Index{1} << 20;  // of a cube that any count can cut
  Int3 cube{edge, edge, edge};
  if (cells.product() > 1)
    for (int axis = 0; axis < 3; ++axis)
      if (cells[axis] == 1) cube[axis] = 1;
  return process_grids_by_cost(cube, ranks, {}, 1, surface).front().grid;
}

// A request that does not have the form in docs/reference/requests.md.
struct Malformed : Json::exception {
  explicit Malformed(const std::string& problem) : Json::exception(0, problem.c_str()) {}
};

// Throws Malformed if the map has other keys than these.
void check_keys(const Json& map, const std::vector<std::string_view>& known) {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : map.items())
    if (std::ranges::count(known, key) == 0) unknown.push_back(printable(key));
  if (!unknown.empty())
    throw Malformed(fmt::format("unknown keys: {} (the keys of such a map are {})", fmt::join(unknown, ", "),
                                fmt::join(known, ", ")));
}

int ranks_of(const Json& request) {
  constexpr double most = 1 << 24;
  const double ranks = request.value("ranks", 1.0);
  if (!(ranks >= 1 && ranks <= most && ranks == std::floor(ranks)))
    throw Malformed(fmt::format("ranks is {}; write a whole number from 1 to {}", ranks, most));
  return static_cast<int>(ranks);
}

// The process grid of a run on so many cells; weak: on so many for each rank.
Json process_grid_json(const Json& wanted, int ranks) {
  check_keys(wanted, {"backend", "value_bytes", "halo_width", "periodic", "cells", "weak"});
  Int3 cells = wanted.at("cells"), growth{1, 1, 1};
  const int halo_width = wanted.at("halo_width"), value_bytes = wanted.at("value_bytes");
  if (std::min({cells.x, cells.y, cells.z, Index{halo_width}, Index{value_bytes}}) < 1)
    throw Malformed("a number of cells, halo_width or value_bytes is below 1");
  if (wanted.value("weak", false)) growth = weak_growth(cells, ranks);
  for (int axis = 0; axis < 3; ++axis) cells[axis] *= growth[axis];
  const auto weights = ExchangeWeights::of(wanted.at("backend"), value_bytes);
  const auto grids = process_grids_by_cost(cells, ranks, wanted.at("periodic"), halo_width, weights);
  return {{"cells", cells}, {"process_grid", grids.front().grid}};
}

// Sets the keys of a case that depend on its ranks: for weak scaling the cells of all ranks, with spacing in
// place of lengths; for gpus, a GPU for every rank. `place`: of `scaling:`. Returns false if nothing changes.
// Throws Error(deck) if the deck asks for another device, or for grids of its own.
bool scale_case(YamlNode& deck, const ScalingConfig& scaling, const Config& config, int ranks,
                const Place& place, Problems& problems) {
  if (!scaling.gpus.empty()) {
    check_gpus(config);
    put_value(deck, "parallel.device", yaml_scalar("cuda", place), problems);
    put_value(deck, "parallel.ranks_per_gpu", yaml_scalar("1", place), problems);
  }
  if (!scaling.is_given() || scaling.kind != ScalingKind::weak) return !scaling.gpus.empty();
  if (!config.verify.order.empty())
    throw deck_error(config, "verify.order",
                     "has grids of its own (and weak scaling lets that of the deck grow); remove it, or "
                     "write scaling.kind: strong");
  if (config.grid.is_graded())
    throw deck_error(config, "grid.spacing",
                     "has zones (and weak scaling lets the body grow, which says nothing of its zones); "
                     "write numbers, or scaling.kind: strong");
  const Int3 growth = config.parallel.process_grid.value_or(weak_growth(config.grid.cells, ranks));
  const auto cells = [&](int axis) { return fmt::format("{}", config.grid.cells[axis] * growth[axis]); };
  const Vector3 h = spacing(config);
  if (YamlNode* const grid = deck.find("grid")) erase_keys(*grid, [](auto key) { return key == "lengths"; });
  put_value(deck, "grid.cells", yaml_triple(cells, place), problems);
  put_value(deck, "grid.spacing", yaml_triple([&](int axis) { return shortest(h[axis]); }, place), problems);
  return true;
}

// A text by which values are compared: the same for 16 and 16.0.
std::string same_text(const YamlNode& value) {
  if (value.kind == Kind::scalar && !value.quoted)
    if (const auto number = parse_number(value.text); number.is_number) return shortest(number.value);
  return yaml_text(value);
}

// Adds the value of a study as a count of ranks, or why it is no count.
void add_count(const YamlNode& node, Json& json) {
  const std::string path = "study.ranks";
  int count = 1;
  const Key key{"ranks", &count, "", {.range = {1, 1e6}}};
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

// A part of the deck as it was written, with the place of each node. `key`: the key whose value it is.
Json node_json(const YamlNode& node, const std::string& key = "") {
  Json json = {{"at", node.place}, {"yaml", yaml_text(node)}, {"same", same_text(node)}};
  if (node.kind == Kind::scalar) {
    json["text"] = node.text;
    json["quoted"] = node.quoted;
  }
  if (node.kind == Kind::map) json["keys"] = Json::array();
  for (const YamlKey& each : node.keys) json["keys"].push_back({{"name", each.name}, {"at", each.place}});
  if (node.kind == Kind::map || node.kind == Kind::list) json["items"] = Json::array();
  for (std::size_t i = 0; i < node.items.size(); ++i)
    json["items"].push_back(node_json(node.items[i], node.kind == Kind::map ? node.keys[i].name : key));
  if (key == "ranks") add_count(node, json);
  return json;
}

YamlNode node_of(const Json& json) {
  YamlNode node{.place = json.at("at").get<Place>()};
  if (json.contains("text")) {
    node.kind = Kind::scalar;
    node.text = json["text"];
    node.quoted = json.value("quoted", false);
  }
  if (json.contains("items")) {
    node.kind = json.contains("keys") ? Kind::map : Kind::list;
    for (const Json& item : json["items"]) node.items.push_back(node_of(item));
    for (const Json& key : json.value("keys", Json::array()))
      node.keys.push_back({key.at("name"), key.at("at").get<Place>()});
  }
  return node;
}

// The values that a resolved deck has at these paths, such as "initial.0.value".
Json values_json(const std::string& deck, const std::vector<std::string>& paths) {
  Json values = Json::object();
  const YamlNode tree = paths.empty() ? YamlNode{} : parse_yaml(deck);
  for (const std::string& path : paths) {
    const YamlNode* node = &tree;
    for (const std::string& part : split(path, '.')) {
      if (!node) break;
      const auto i = read_number<std::size_t>(part);
      if (node->kind != Kind::list)
        node = node->find(part);
      else
        node = i && *i < node->items.size() ? &node->items[*i] : nullptr;
    }
    if (node) values[path] = node_json(*node);
  }
  return values;
}

Json error_json(const Error& error) {
  return {{"code", static_cast<int>(error.code())}, {"text", error.what()}};
}

// The unit of each varied key, or why the deck has no such key.
void add_key_facts(const YamlNode& map, Json& facts) {
  Config config;
  const Keys deck = describe(config);
  for (const YamlKey& key : map.keys) {
    const KeyAtPath found = find_key_at(key.name, deck);
    facts[key.name] = {{"problem", found.problem.empty() ? Json() : Json(found.problem)},
                       {"unit", found.unit}};
  }
}

void check_scaling(const StudyConfig& study, const YamlNode& tree, Problems& problems) {
  const std::string key = problems.given("scaling.gpus") ? "scaling.gpus" : "scaling.ranks";
  if (tree.find("scaling") && problems.given(key) && problems.sound({key}) && !study.scaling.is_given())
    problems.add(key, "the list is empty (it would leave no case); write [1, 2, 4]");
  if (study.launcher.find("{nodes}") != std::string::npos && !study.ranks_per_node)
    problems.add("study.launcher",
                 "has {nodes} (which follow from the ranks of each); add ranks_per_node: 8");
}

// The deck with the changes that `isotherm compare` requests.
Config compared(Config config, const Json& wanted) {
  check_keys(wanted, {"sweeps", "check_interval", "tuning_file", "snapshots"});
  if (wanted.contains("sweeps")) config = short_run(std::move(config), wanted["sweeps"]);
  config.problem.check_interval = wanted.value("check_interval", config.problem.check_interval);
  config.solver.tuning_file = wanted.value("tuning_file", "");
  config.output.snapshots = wanted.value("snapshots", false);
  return config;
}

class Deck {
 public:
  Deck(const CommandLine& command, const std::vector<int>& arguments)
      : path_(command.file),
        problems_(path_),
        tree_(read_tree(read_deck_file(path_), command.overrides, arguments, problems_)),
        overrides_(split_overrides(command.overrides, arguments)),
        base_(tree_),
        of_study_(problems_) {
    erase_keys(base_, is_of_study);
    if (problems_.empty()) read_study(tree_, study_, of_study_);  // else requests throw them
  }

  Json sections() {
    Problems problems = of_study_;
    if (!section_of_study(tree_))
      problems.add("study",
                   "is missing (the deck is of one run); add study: {matrix: {key.path: [values]}}, or "
                   "scaling: {kind: strong, ranks: [1, 2]}, or use isotherm run");
    check_scaling(study_, tree_, problems);
    problems.throw_if_any();
    Json keys = Json::object();
    add_key_facts(study_.matrix, keys);
    add_key_facts(study_.zip, keys);
    for (const YamlNode& entry : study_.list.items) add_key_facts(entry, keys);
    const ScalingConfig& scaling = study_.scaling;
    return {{"matrix", node_json(study_.matrix)},
            {"zip", node_json(study_.zip)},
            {"list", node_json(study_.list)},
            {"exclude", node_json(study_.exclude)},
            {"name", study_.name},
            {"limit", study_.limit},
            {"default_limit", StudyConfig::default_limit},
            {"ranks", study_.ranks},
            {"launcher", study_.launcher},
            {"default_launcher", StudyConfig::default_launcher},
            {"ranks_per_node", study_.ranks_per_node},
            {"template", study_.slurm_template},
            {"options", study_.slurm_options},
            {"report", study_.report},
            {"sort", study_.sort},
            {"scaling", scaling.is_given() ? Json{{"kind", word(scaling.kind)},
                                                  {"unit", scaling.gpus.empty() ? "ranks" : "gpus"},
                                                  {"counts", scaling.counts()},
                                                  {"repeats", scaling.repeats}}
                                           : Json(nullptr)},
            {"keys", std::move(keys)},
            {"places", problems.remembered()},
            {"overrides", overrides_},
            {"warnings", problems.warnings()},
            {"version", build_info().version},
            {"git_revision", build_info().git_revision}};
  }

  // One case: the deck with these settings, on so many ranks.
  Json resolve(const Json& request) {
    check_keys(request, {"settings", "ranks", "name", "host", "plan", "values", "compare", "sections"});
    const int ranks = ranks_of(request);
    problems_.throw_if_any();
    Config config = settle(request.value("settings", Json::array()), ranks);
    record_contents(config);
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
    answer["method"] = word(config.problem.method);
    if (request.contains("compare")) {
      const Config timed = short_run(config, 1);
      answer["measured"] = {{"method", word(timed.problem.method)}, {"precision", timed.precision}};
      config = compared(std::move(config), request["compare"]);
    }
    answer["deck"] = to_yaml(config);
    answer["values"] = values_json(answer["deck"], request.value("values", std::vector<std::string>()));
    answer["cells"] = config.grid.cells;
    answer["precision"] = config.precision;
    answer["sweeps"] = likely_sweeps(config);
    const Host host = request.value("host", Host::either);
    try {
      if (request.contains("compare")) {
        validate_combination(config, ranks, gpus());
      } else {
        validate_case(config, ranks, host, host == Host::another ? CudaDevices{} : gpus());
      }
      if (request.value("plan", false)) answer["plan"] = plan_json(config, ranks, gpus());
    } catch (const Error& error) {
      answer["refused"] = error_json(error);
    }
    return answer;
  }

 private:
  Config settle(const Json& settings, int ranks) const {
    Problems problems(path_);
    YamlNode deck = base_;
    for (const Json& setting : settings)
      put_value(deck, setting.at("key"), node_of(setting.at("value")), problems);
    rename_former(deck, problems);
    Config config = settle_config(deck, path_, registry_, problems);
    Problems again(path_);
    if (scale_case(deck, study_.scaling, config, ranks, of_study_.place_of("scaling"), again))
      config = settle_config(deck, path_, registry_, again);
    check_all_cells(config);
    return config;
  }

  const CudaDevices& gpus() {
    if (!gpus_) gpus_ = find_cuda_devices();
    return *gpus_;
  }

  const std::string path_;
  Problems problems_;
  const YamlNode tree_;
  const std::vector<Override> overrides_;  // that tree_ contains
  const RegistryNames registry_ = registry_names();
  YamlNode base_;  // without study and scaling
  StudyConfig study_;
  Problems of_study_;  // sections() throws them
  std::optional<CudaDevices> gpus_;
};

// The changes between two resolved decks; null if `before` is no deck. Throws Error(deck) for unknown keys.
Json changes_json(const std::string& before, const std::string& now) {
  try {
    if (parse_yaml(before).kind != Kind::map) return nullptr;
  } catch (const YamlError&) {
    return nullptr;
  }
  return changes(read_resolved_deck(before, "deck.yaml"), read_resolved_deck(now, "deck.yaml"));
}

// The answer, or the error of the request. `number`: of the request, from 1.
Json answer_to(const Json& request, std::size_t number, const CommandLine& command,
               const std::vector<int>& arguments, std::optional<Deck>& deck) try {
  if (request.contains("before")) {
    check_keys(request, {"before", "now"});
    return {{"changes", changes_json(request["before"], request.at("now"))}};
  }
  if (request.contains("bandwidth")) {
    check_keys(request, {"bandwidth", "bytes"});
    const Backend backend = request["bandwidth"];
    const std::size_t bytes =
        copy_probe_bytes(request.at("bytes"), std::numeric_limits<double>::infinity(), backend, 1);
    return {{"bytes_per_s", measure_copy_bandwidth(*device_of(backend, find_cuda_devices()), bytes)}};
  }
  if (request.contains("process_grid")) {
    check_keys(request, {"process_grid", "ranks"});
    return process_grid_json(request["process_grid"], ranks_of(request));
  }
  if (!deck) deck.emplace(command, arguments);
  if (!request.value("sections", false)) return deck->resolve(request);
  check_keys(request, {"sections"});
  return deck->sections();
} catch (const Error& error) {
  return {{"error", error_json(error)}};
} catch (const Json::exception& error) {
  return {{"error",
           error_json(error_of(ExitCode::deck,
                               "standard input: request {}: {}; docs/reference/requests.md has their form",
                               number, error.what()))}};
}

}  // namespace

bool has_study(const CommandLine& command) {
  std::error_code ignored;
  // A pipe can be read only once: by check().
  if (command.from_output || !std::filesystem::is_regular_file(command.file, ignored)) return false;
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
    for (const Json& request : input.at("requests").get<std::vector<Json>>())
      answers.push_back(answer_to(request, answers.size() + 1, command, arguments, deck));
    const Json whole = {{"schema", "isotherm-check"}, {"schema_version", 1}, {"answers", std::move(answers)}};
    print_now(whole.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const Json::exception& error) {
    throw error_of(ExitCode::deck,
                   "standard input: no requests ({}); docs/reference/requests.md has their form",
                   error.what());
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace isotherm
