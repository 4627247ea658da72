#include "tune/tuning_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/boundary_laws.hpp"
#include "config/materials.hpp"
#include "core/all_or_throw.hpp"
#include "core/build_info.hpp"
#include "core/text.hpp"
#include "kernels/host_info.hpp"
#include "output/records/json_value.hpp"
#include "output/safe_file.hpp"
#include "physics/varying_sources.hpp"
#include "solver/kernel_choice.hpp"
#include "solver/schedule.hpp"

namespace isotherm {

ISOTHERM_KEYS(TuningKey, version, git_revision, device, precision, cells, ranks, source, faces, asked)
ISOTHERM_KEYS(TuningChoice, kernel, tile, reduction, overlap, time_block, halo_width, graph, seconds,
              measured, complete)

namespace {

constexpr const char* schema = "isotherm-tuning";
constexpr int version = 2;

struct Entry {
  TuningKey key;
  TuningChoice choice;
};
ISOTHERM_KEYS(Entry, key, choice)

[[noreturn]] void reject(const std::string& path, const char* why) {
  throw error_of(
      ExitCode::deck,
      "{} is no tuning file of this version ({}); name another in solver.tuning_file, or remove it",
      in_quotes(path), why);
}

// Skips files of version 1: the keys of their entries name other versions of the program.
std::vector<Entry> read(const std::string& path) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing) && !missing) return {};
  if (!missing && !std::filesystem::is_regular_file(path)) reject(path, "it is no regular file");
  std::ifstream file(path);
  std::stringstream text;
  if (!file || (file.peek() != EOF && !(text << file.rdbuf())) || file.bad())
    throw error_of(ExitCode::io, "{} cannot be read ({}); name another in solver.tuning_file",
                   in_quotes(path), std::strerror(errno));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) reject(path, "it is not JSON");
  if (!json.is_object() || json.value("schema", Json()) != schema) reject(path, "it has another schema");
  if (json.value("version", Json()) == 1) return {};
  if (json.value("version", Json()) != version) reject(path, "it has another version");
  try {
    return json.at("entries").get<std::vector<Entry>>();
  } catch (const std::exception&) {  // of the library, or of an unknown keyword
    reject(path, "an entry is not complete");
  }
}

}  // namespace

double tuning_seconds(const Config& config, double sweep_seconds) {
  constexpr double share_of_run = 0.05;
  return std::min(config.solver.tuning_budget, share_of_run * likely_sweeps(config) * sweep_seconds);
}

TuningKey tuning_key(const Config& config, const Decomposition& decomposition, const Device& device,
                     int threads) {
  TuningKey key;
  key.version = build_info().version;
  key.git_revision = build_info().git_revision;
  key.device = device.info().name;
  if (device.backend() == Backend::host)
    key.device += fmt::format(", {}, {} threads", host_instruction_set(), threads);
  key.precision = word(config.precision);
  key.cells = decomposition.subdomain(0).extent();  // of the largest: the first ranks have the remainder
  key.ranks = decomposition.ranks();
  key.source = fields_of_sources(config) > 0;
  for (const BoundaryConfig& boundary : config.boundaries)
    key.faces += boundary.kind == BoundaryKind::periodic ? 'p' : 'w';
  const SolverConfig& s = config.solver;
  constexpr const char* graphs[] = {"auto", "graph", "launches"};
  key.asked = fmt::format("{} {} {} {}, norm {}, overlap {}, halo width {}, time block {}", s.kernel, s.tile,
                          s.reduction, graphs[static_cast<int>(s.cuda_graph)],
                          config.problem.norm == Norm::max ? "max" : "sum", word(config.parallel.overlap),
                          s.halo_width.value_or(0), s.time_block.value_or(0));
  if (has_several_materials(config)) key.asked += ", several materials";
  if (has_varying_coefficients(config)) key.asked += ", coefficients vary";
  return key;
}

std::optional<TuningChoice> find_tuning(const std::string& path, const TuningKey& key) {
  const std::vector<Entry> entries = read(path);
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? std::nullopt : std::optional(found->choice);
}

std::optional<TuningChoice> recall_tuning(const Config& config, const TuningKey& key,
                                          const Communicator& world) {
  std::string text;
  on_root(world, [&] {
    const auto choice = find_tuning(config.solver.tuning_file, key);
    if (!choice) return;
    if (choice->complete || tuning_seconds(config, choice->seconds) < 2 * choice->measured)
      text = Json(*choice).dump();
  });
  text = world.broadcast(text);
  return text.empty() ? std::nullopt : std::optional(Json::parse(text).get<TuningChoice>());
}

void keep_tuning(const std::string& named, const TuningKey& key, const TuningChoice& choice) {
  const std::string path = follow_links(named);
  const FileDescriptor lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.valid()) TEMP_FAILURE_RETRY(::flock(lock.get(), LOCK_EX));  // some file systems have no locks
  std::vector<Entry> entries = read(path);
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
  entries.push_back({key, choice});
  const Json file = {{"schema", schema}, {"version", version}, {"entries", entries}};
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string mine_alone = fmt::format("{}.{}.{}", path, host, getpid());
  write_file_atomically(mine_alone, file.dump(1) + "\n");
  publish_file(mine_alone, path);
}

}  // namespace isotherm
