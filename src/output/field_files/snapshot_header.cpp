// What a snapshot says beside its cells, read back.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/error.hpp"
#include "output/field_files/snapshot_file.hpp"

// All of it in this file: no library to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace isotherm {
namespace {

// In the file NaN stands for no number: what has diverged has no checkpoint.
std::optional<double> read_optional(hid_t id, const char* name, const std::string& path) {
  const double value = read_attribute<double>(id, name, path);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

CheckpointState read_checkpoint_state(hid_t id, const std::string& path) {
  const auto version = read_attribute<std::int64_t>(id, "version", path);
  if (version < 1 || version > CheckpointState::newest_version)
    throw Error(
        ExitCode::deck,
        fmt::format("{}: checkpoint version {} (this isotherm reads 1 to {}); use the isotherm that wrote "
                    "it, or a newer one",
                    path, version, CheckpointState::newest_version));
  const auto number = [&](const char* name) { return read_attribute<std::int64_t>(id, name, path); };
  const auto optional = [&](const char* name) { return read_optional(id, name, path); };
  CheckpointState state;
  state.first_residual = optional("first_residual");
  state.last_residual = optional("last_residual");
  state.last_checked = number("last_checked");
  state.checks = number("checks");
  state.pending_sweep = number("pending_sweep");
  state.pending_residual = optional("pending_residual");
  if (version > 1) {
    state.lowest_residual = optional("lowest_residual");
    state.lowest_sweep = number("lowest_sweep");
    state.stagnated = number("stagnated") != 0;
  }
  const auto low = optional("histogram_low"), high = optional("histogram_high");
  if (low && high) state.histogram_range = Interval{*low, *high};
  state.wall = read_attribute<double>(id, "wall", path);
  state.dt = read_attribute<double>(id, "dt", path);
  return state;
}

// A soft or external link of this name would lead out of the file.
Hdf5Object open_own_group(hid_t parent, const char* name) {
  H5L_info_t link{};
  const bool own = H5Lexists(parent, name, H5P_DEFAULT) > 0 &&
                   H5Lget_info(parent, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
  return own ? Hdf5Object(H5Gopen2(parent, name, H5P_DEFAULT)) : Hdf5Object();
}

Precision precision_of(const std::string& word, const std::string& path) {
  if (const auto precision = from_word<Precision>(word)) return *precision;
  throw Error(ExitCode::deck, fmt::format("{}: unknown precision '{}' (expected fp32 or fp64); the file is "
                                          "damaged",
                                          path, word));
}

Int3 read_cells(hid_t id, const char* name, const std::string& path) {
  const auto cells = read_attribute<std::array<std::int64_t, 3>>(id, name, path);
  return {cells[0], cells[1], cells[2]};
}

// Where the cells lie in the run's grid; files of the first versions hold all of it, and do not say so.
void read_place(hid_t id, FileGrid& grid, const std::string& path) {
  grid.grid_cells = grid.cells;
  if (H5Aexists(id, "grid_cells") <= 0) return;
  grid.grid_cells = read_cells(id, "grid_cells", path);
  grid.first_cell = read_cells(id, "first_cell", path);
  grid.factor = read_cells(id, "factor", path);
}

SnapshotProvenance read_provenance(hid_t id, const std::string& path) {
  return {.deck = read_text_dataset(id, "deck", path),
          .resolved_deck = read_text_dataset(id, "resolved_deck", path),
          .version = read_attribute<std::string>(id, "version", path),
          .git_revision = read_attribute<std::string>(id, "git_revision", path),
          .device = read_attribute<std::string>(id, "device", path),
          .kernel = read_attribute<std::string>(id, "kernel", path),
          .mpi = read_attribute<std::string>(id, "mpi", path),
          .hdf5 = read_attribute<std::string>(id, "hdf5", path),
          .name = H5Aexists(id, "name") > 0 ? read_attribute<std::string>(id, "name", path) : ""};
}

}  // namespace

std::uint64_t header_hash(const SnapshotHeader& header) {
  const SnapshotProvenance& from = header.provenance;
  std::string text;
  const auto add_text = [&](const std::string& value) { text += fmt::format("{}:{};", value.size(), value); };
  const auto add = [&](const auto&... values) { ((text += fmt::format("{};", values)), ...); };
  const auto add_optional = [&](const std::optional<double>& value) { value ? add(*value) : add_text(""); };
  const Vector3 &o = header.origin, &h = header.spacing;
  add(header.format, header.cells.x, header.cells.y, header.cells.z, o[0], o[1], o[2], h[0], h[1], h[2],
      static_cast<int>(header.precision), header.meta.time, header.meta.sweep, header.meta.fingerprint);
  for (const std::string* part : {&from.deck, &from.resolved_deck, &from.version, &from.git_revision,
                                  &from.device, &from.kernel, &from.mpi, &from.hdf5, &from.name})
    add_text(*part);
  if (header.checkpoint) {
    const CheckpointState& state = *header.checkpoint;
    for (const auto& value : {state.first_residual, state.last_residual, state.pending_residual})
      add_optional(value);
    add(state.last_checked, state.checks, state.pending_sweep, state.wall, state.dt);
    if (state.lowest_residual || state.lowest_sweep != 0 || state.stagnated) {  // as version 1 has it without
      add_optional(state.lowest_residual);
      add(state.lowest_sweep, int{state.stagnated});
    }
    if (state.histogram_range) add((*state.histogram_range)[0], (*state.histogram_range)[1]);
  }
  return XXH3_64bits(text.data(), text.size());
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:#018x}", fingerprint);
}

SnapshotHeader read_snapshot_header(const std::string& path) {
  Watchdog watchdog(io_timeout(), path);
  watchdog.phase("reading the header");
  const Hdf5File file = open_hdf5_file(path, "a snapshot");
  if (!file.valid())
    throw Error(ExitCode::deck,
                path + ": HDF5 cannot open it (not an HDF5 file, truncated or damaged); name a snapshot");
  const Hdf5Object group = open_own_group(file.get(), "isotherm");
  if (!group.valid())
    throw Error(ExitCode::deck, path + ": no group /isotherm (not a snapshot of isotherm); name one");
  const hid_t id = group.get();

  SnapshotHeader header;
  header.format = read_attribute<std::int64_t>(id, "format_version", path);
  if (header.format < 1 || header.format > SnapshotHeader::newest_format)
    throw Error(ExitCode::deck,
                fmt::format("{}: format version {} (this isotherm reads 1 to {}); use the isotherm "
                            "that wrote it, or a newer one",
                            path, header.format, SnapshotHeader::newest_format));
  header.kind = read_attribute<std::string>(id, "format", path);
  header.cells = read_cells(id, "cells", path);
  read_place(id, header, path);
  header.origin = read_attribute<Vector3>(id, "origin", path);
  header.spacing = read_attribute<Vector3>(id, "spacing", path);
  header.precision = precision_of(read_attribute<std::string>(id, "precision", path), path);
  header.meta = {read_attribute<double>(id, "time", path), read_attribute<std::int64_t>(id, "sweep", path),
                 read_attribute<std::uint64_t>(id, "fingerprint", path)};
  header.provenance = read_provenance(id, path);
  if (const Hdf5Object checkpoint = open_own_group(id, "checkpoint"); checkpoint.valid()) {
    header.checkpoint = read_checkpoint_state(checkpoint.get(), path);
    if (read_attribute<std::uint64_t>(checkpoint.get(), "header_xxh3", path) != header_hash(header))
      throw Error(
          ExitCode::deck,
          path + ": its header is not what was written (a value was changed since); use another copy");
  }
  return header;
}

}  // namespace isotherm
