#include "output/run_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/agree.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "deck.resolved.yaml";
constexpr std::array<std::string_view, 6> fixed_names{"run.json", "history.csv", "probes.csv",
                                                      "run.log",  "deck.yaml",   mark};

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

void make_folder(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_directory(status))
    refuse(path, "it is a file, not a folder", choose_another);
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

void check_earlier_run(const RunDirectoryPlan& plan, const std::vector<std::string>& files) {
  if (files.empty()) return;
  if (std::ranges::find(files, mark) == files.end())
    refuse(plan.path,
           fmt::format("it holds {}, which no run of isotherm put there: {} is missing beside it",
                       some_names(files), mark),
           "move these files away, or choose another with output.directory=...");
  if (plan.existing == Existing::refuse)
    refuse(plan.path, fmt::format("it holds an earlier run: {}", some_names(files)),
           "replace that run with output.overwrite=true, or choose another with output.directory=...");
  for (const std::string& name : files) {
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

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool in_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// "_region" or "_slice_midplane" of a name that goes on with ".hdf.series" or "_00000100.hdf".
void take_part(std::string_view& text) {
  for (const std::string_view part : {"_region", "_coarse"})
    if (text.starts_with(part)) return text.remove_prefix(part.size());
  const std::string_view slice = "_slice_";
  if (!text.starts_with(slice)) return;
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, in_names) - text.begin());
  std::string_view name = text.substr(0, end);
  if (text.substr(end) == ".hdf") name = name.substr(0, name.rfind('_'));  // the sweep
  if (name.size() > slice.size()) text.remove_prefix(name.size());
}

}  // namespace

bool is_run_file(std::string_view file_name, std::string_view run_name) {
  take_suffix(file_name, ".part");
  if (std::ranges::find(fixed_names, file_name) != fixed_names.end()) return true;
  if (!file_name.starts_with(run_name)) return false;
  file_name.remove_prefix(run_name.size());
  take_part(file_name);
  if (file_name == ".hdf.series" || file_name == ".xmf") return true;
  return take_suffix(file_name, ".hdf") && file_name.starts_with('_') && all_digits(file_name.substr(1));
}

std::vector<std::string> find_run_files(const fs::path& folder, std::string_view run_name) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::string name = entry->path().filename().string(); is_run_file(name, run_name))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

RunDirectory prepare_run_directory(const RunDirectoryPlan& plan) {
  if (plan.path.empty()) refuse(plan.path, "its name is empty", "name one with output.directory=...");
  make_folder(plan.path);
  const std::vector<std::string> earlier = find_run_files(plan.path, plan.run_name);
  check_earlier_run(plan, earlier);
  remove_earlier_run(plan.path, earlier);
  write_file_atomically(plan.path / mark, plan.resolved_deck);
  write_file_atomically(plan.path / "deck.yaml", plan.deck);
  return {plan.path};
}

RunDirectory open_run_directory(const Config& config, const std::string& deck,
                                const std::string& resolved_deck, const Communicator& communicator) {
  const RunDirectoryPlan plan{config.output.directory, config.name,
                              config.output.overwrite ? Existing::replace : Existing::refuse, deck,
                              resolved_deck};
  agree(communicator, [&] {
    if (communicator.is_root()) prepare_run_directory(plan);
  });
  return {plan.path};
}

}  // namespace isotherm
