#include "output/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace isotherm {
namespace {

constexpr std::array<std::string_view, 7> fixed_names{
    "run.json", "history.csv", "probes.csv", "run.log", "deck.yaml", "latest", "deck.resolved.yaml"};

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

// "history.csv", or "history.csv.2" of those set aside.
bool is_line_file(std::string_view name) {
  const auto digits = name.size() - (name.find_last_not_of("0123456789") + 1);
  if (digits > 0 && digits + 1 < name.size() && name[name.size() - digits - 1] == '.')
    name.remove_suffix(digits + 1);
  return name == "history.csv" || name == "probes.csv";
}

}  // namespace

std::string snapshot_name(std::string_view run_name, std::int64_t sweep) {
  return fmt::format("{}_{:08}{}", run_name, sweep, snapshot_suffix);
}

std::string checkpoint_name(std::string_view run_name, std::int64_t sweep) {
  return fmt::format("{}_{:08}{}", run_name, sweep, checkpoint_suffix);
}

std::string diverged_name(std::string_view run_name, std::int64_t sweep) {
  return fmt::format("{}_{:08}{}", run_name, sweep, diverged_suffix);
}

std::optional<std::int64_t> sweep_of_file(std::string_view file_name, std::string_view run_name,
                                          std::string_view suffix) {
  if (!file_name.starts_with(run_name)) return std::nullopt;
  file_name.remove_prefix(run_name.size());
  if (!take_suffix(file_name, suffix) || !file_name.starts_with('_')) return std::nullopt;
  file_name.remove_prefix(1);
  const bool digits =
      !file_name.empty() && std::ranges::all_of(file_name, [](char c) { return c >= '0' && c <= '9'; });
  std::int64_t sweep = 0;
  const auto [end, problem] = std::from_chars(file_name.data(), file_name.data() + file_name.size(), sweep);
  if (!digits || problem != std::errc()) return std::nullopt;
  return sweep;
}

bool is_run_file(std::string_view file_name, std::string_view run_name) {
  take_suffix(file_name, ".part");
  const bool aside = take_suffix(file_name, aside_suffix);
  if (sweep_of_file(file_name, run_name, checkpoint_suffix)) return true;
  if (sweep_of_file(file_name, run_name, diverged_suffix)) return !aside;
  if (aside) return is_line_file(file_name);
  if (std::ranges::find(fixed_names, file_name) != fixed_names.end()) return true;
  if (!file_name.starts_with(run_name)) return false;
  file_name.remove_prefix(run_name.size());
  take_part(file_name);
  return file_name == ".hdf.series" || file_name == ".xmf" || sweep_of_file(file_name, "", snapshot_suffix);
}

std::vector<std::string> find_run_files(const std::filesystem::path& folder, std::string_view run_name) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (std::string name = entry->path().filename().string(); is_run_file(name, run_name))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace isotherm
