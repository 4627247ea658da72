#include "output/field_files/checkpoint_group.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "output/field_files/hdf5_file.hpp"

namespace isotherm {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// In the file NaN stands for no number: what has diverged has no checkpoint.
std::optional<double> number_or_none(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::optional<double> read_optional(hid_t id, const char* name, const std::string& path) {
  return number_or_none(read_real_attribute(id, name, path));
}

}  // namespace

void write_checkpoint_state(hid_t id, const CheckpointState& state, const std::string& path) {
  write_attribute(id, "version", CheckpointState::newest_version, path);
  write_attribute(id, "first_residual", state.first_residual.value_or(nan), path);
  write_attribute(id, "last_residual", state.last_residual.value_or(nan), path);
  write_attribute(id, "last_checked", state.last_checked, path);
  write_attribute(id, "checks", state.checks, path);
  write_attribute(id, "pending_sweep", state.pending_sweep, path);
  write_attribute(id, "pending_residual", state.pending_residual.value_or(nan), path);
  write_attribute(id, "lowest_residual", state.lowest_residual.value_or(nan), path);
  write_attribute(id, "lowest_sweep", state.lowest_sweep, path);
  write_attribute(id, "stagnated", std::int64_t{state.stagnated}, path);
  write_attribute(id, "histogram_low", state.histogram_range ? (*state.histogram_range)[0] : nan, path);
  write_attribute(id, "histogram_high", state.histogram_range ? (*state.histogram_range)[1] : nan, path);
  write_attribute(id, "wall", state.wall, path);
  write_attribute(id, "dt", state.dt, path);
}

CheckpointState read_checkpoint_state(hid_t id, const std::string& path) {
  const std::int64_t version = read_int_attribute(id, "version", path);
  if (version < 1 || version > CheckpointState::newest_version)
    throw Error(
        ExitCode::deck,
        fmt::format("{}: checkpoint version {} (this isotherm reads 1 to {}); use the isotherm that wrote "
                    "it, or a newer one",
                    path, version, CheckpointState::newest_version));
  CheckpointState state;
  state.first_residual = read_optional(id, "first_residual", path);
  state.last_residual = read_optional(id, "last_residual", path);
  state.last_checked = read_int_attribute(id, "last_checked", path);
  state.checks = read_int_attribute(id, "checks", path);
  state.pending_sweep = read_int_attribute(id, "pending_sweep", path);
  state.pending_residual = read_optional(id, "pending_residual", path);
  if (version > 1) {
    state.lowest_residual = read_optional(id, "lowest_residual", path);
    state.lowest_sweep = read_int_attribute(id, "lowest_sweep", path);
    state.stagnated = read_int_attribute(id, "stagnated", path) != 0;
  }
  const auto low = read_optional(id, "histogram_low", path), high = read_optional(id, "histogram_high", path);
  if (low && high) state.histogram_range = Interval{*low, *high};
  state.wall = read_real_attribute(id, "wall", path);
  state.dt = read_real_attribute(id, "dt", path);
  return state;
}

}  // namespace isotherm
