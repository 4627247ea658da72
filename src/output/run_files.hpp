// The names of a run's files: which are ours, and what their numbers say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isotherm {

inline constexpr std::string_view snapshot_suffix = ".hdf", checkpoint_suffix = ".checkpoint.hdf",
                                  diverged_suffix = ".diverged.hdf";
// What a run that goes on does not go on with: checkpoints of later sweeps, a history with other columns.
inline constexpr std::string_view aside_suffix = ".aside";

std::string snapshot_name(std::string_view run_name, std::int64_t sweep);  // "plate_00000100.hdf"
std::string checkpoint_name(std::string_view run_name,
                            std::int64_t sweep);                           // "plate_00000100.checkpoint.hdf"
std::string diverged_name(std::string_view run_name, std::int64_t sweep);  // "plate_00000100.diverged.hdf"
// The number between "<run name>_" and the suffix; none for any other name.
std::optional<std::int64_t> sweep_of_file(std::string_view file_name, std::string_view run_name,
                                          std::string_view suffix);

// Does a run called `run_name` write a file of this name? Unfinished files end in `.part`.
bool is_run_file(std::string_view file_name, std::string_view run_name);
// Those that stand in the folder, sorted; none where there is no folder.
std::vector<std::string> find_run_files(const std::filesystem::path& folder, std::string_view run_name);

}  // namespace isotherm
