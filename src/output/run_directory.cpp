#include "output/run_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "core/agree.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "output/run_files.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "deck.resolved.yaml";
constexpr std::string_view name_line = "# run: ";  // the first of the mark, with the run's name in quotes

[[noreturn]] void refuse(const fs::path& path, const std::string& why, const std::string& what_to_do) {
  throw Error(ExitCode::cannot_create, fmt::format("cannot use {} as run directory ({}); {}",
                                                   in_quotes(path.string()), why, what_to_do));
}

constexpr const char* choose_another = "choose another with output.directory=...";

// The longest part of `path` that exists: where making the rest of it fails.
fs::path deepest_existing(fs::path path) {
  std::error_code ignored;
  while (path.has_relative_path() && !fs::exists(path, ignored)) {
    const fs::path parent = path.parent_path();
    if (parent == path) break;
    path = parent;
  }
  return path.empty() ? fs::path(".") : path;
}

// The folders that were just made below `stood`: a file that is on the disk is lost with its folder's name.
void sync_new_folders(fs::path path, const fs::path& stood) {
  while (path != stood && path.has_relative_path()) {
    path = path.parent_path();
    if (access(path.empty() ? "." : path.c_str(), R_OK) == 0) sync_names(path.string());
  }
}

void make_folder(const fs::path& path) {
  if (path.empty()) refuse(path, "its name is empty", "name one with output.directory=...");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_directory(status))
    refuse(path, "it is a file, not a folder", choose_another);
  const fs::path folder = path.has_filename() ? path : path.parent_path();  // without a slash at its end
  const fs::path stood = deepest_existing(folder);
  fs::create_directories(path, error);
  // An existing folder named with a slash at its end is no failure of create_directories, whatever it
  // returns.
  std::error_code ignored;
  if (error && !fs::is_directory(path, ignored)) {
    const fs::path parent = deepest_existing(path);
    const bool is_file = fs::exists(parent, ignored) && !fs::is_directory(parent, ignored);
    refuse(path,
           is_file ? fmt::format("{} is a file, not a folder", in_quotes(parent.string()))
                   : fmt::format("a folder cannot be made in {}: {}", in_quotes(parent.string()),
                                 error.message()),
           choose_another);
  }
  sync_new_folders(folder, stood);
  if (access(path.c_str(), W_OK | X_OK) != 0)
    refuse(path, fmt::format("it cannot be written to: {}", std::strerror(errno)), choose_another);
}

// "run.json, run.log and 12 more"
std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i ? ", " : "") + escaped(names[i]);
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

bool has_checkpoint(const std::vector<std::string>& files, const std::string& run_name) {
  return std::ranges::any_of(files, [&](const std::string& name) {
    return sweep_of_file(name, run_name, checkpoint_suffix).has_value();
  });
}

// Of the run that the folder holds, as its mark says; where an earlier isotherm wrote that, as its record
// does.
std::optional<std::string> name_of_earlier_run(const fs::path& folder) {
  constexpr std::size_t longest = 4096;
  std::ifstream marked(folder / mark, std::ios::binary);
  std::string line(longest, '\0');
  marked.read(line.data(), longest);
  line.resize(static_cast<std::size_t>(marked.gcount()));
  line.erase(std::min(line.find('\n'), line.size()));
  nlohmann::json name;
  if (line.starts_with(name_line)) {
    name = nlohmann::json::parse(line.substr(name_line.size()), nullptr, false);
  } else {
    std::ifstream file(folder / "run.json");
    const auto record = nlohmann::json::parse(file, nullptr, false);
    if (record.is_object() && record.contains("name")) name = record["name"];
  }
  return name.is_string() ? std::optional(name.get<std::string>()) : std::nullopt;
}

// Of the plan's run, and to replace also those of the run that stands there: its name may be another.
std::vector<std::string> files_of_earlier_run(const RunDirectoryPlan& plan) {
  std::vector<std::string> files = find_run_files(plan.path, plan.run_name);
  if (plan.existing != Existing::replace) return files;
  if (const auto name = name_of_earlier_run(plan.path); name && *name != plan.run_name)
    for (std::string& file : find_run_files(plan.path, *name))
      if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
  return files;
}

void check_earlier_run(const RunDirectoryPlan& plan, const std::vector<std::string>& files) {
  if (files.empty()) return;
  if (std::ranges::find(files, mark) == files.end())
    refuse(plan.path,
           fmt::format("it holds {}, which no run of isotherm put there: {} is missing beside it",
                       some_names(files), mark),
           "move these files away, or choose another with output.directory=...");
  if (plan.existing == Existing::refuse)
    refuse(
        plan.path, fmt::format("it holds an earlier run: {}", some_names(files)),
        fmt::format("{}replace it with output.overwrite=true, or choose another with output.directory=...",
                    has_checkpoint(files, plan.run_name) ? "go on with that run by --restart latest, " : ""));
  for (const std::string& name : files) {
    if (plan.existing == Existing::resume) break;  // nothing is removed
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(plan.path / name, ignored)))
      refuse(plan.path, fmt::format("{} in it is a folder", in_quotes(name)),
             "move that folder away, or choose another with output.directory=...");
  }
}

// The mark goes last: a removal that is cut short leaves a folder that is still known as ours.
void remove_earlier_run(const fs::path& folder, std::vector<std::string> files) {
  std::ranges::stable_partition(files, [](const std::string& name) { return name != mark; });
  for (const std::string& name : files) {
    std::error_code error;
    fs::remove(folder / name, error);  // of a link the link, never what it points at
    if (error)
      refuse(folder,
             fmt::format("{} of the earlier run cannot be removed: {}", in_quotes(name), error.message()),
             choose_another);
  }
}

}  // namespace

RunDirectory prepare_run_directory(const RunDirectoryPlan& plan) {
  make_folder(plan.path);
  const std::vector<std::string> earlier = files_of_earlier_run(plan);
  check_earlier_run(plan, earlier);
  if (plan.existing == Existing::replace) remove_earlier_run(plan.path, earlier);
  using ErrorHandler = nlohmann::json::error_handler_t;
  const std::string name = nlohmann::json(plan.run_name).dump(-1, ' ', true, ErrorHandler::replace);
  write_file_atomically(plan.path / mark, fmt::format("{}{}\n{}", name_line, name, plan.resolved_deck));
  write_file_atomically(plan.path / "deck.yaml", plan.deck);
  return {plan.path};
}

RunDirectory open_run_directory(const Config& config, const std::string& deck,
                                const std::string& resolved_deck, const Communicator& communicator,
                                const RunDirectoryUse& use) {
  const Existing existing = use.resumed               ? Existing::resume
                            : config.output.overwrite ? Existing::replace
                                                      : Existing::refuse;
  RunDirectory opened{config.output.directory};
  agree(communicator, [&] {
    if (!communicator.is_root()) return;
    make_folder(opened.path);
    opened.lock = use.lock ? use.lock : std::make_shared<RunLock>(opened.path, use.force);
    prepare_run_directory({opened.path, config.name, existing, deck, resolved_deck});
  });
  return opened;
}

}  // namespace isotherm
