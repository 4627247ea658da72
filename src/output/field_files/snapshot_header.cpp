#include "output/field_files/snapshot_header.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/watchdog.hpp"
#include "output/field_files/checkpoint_group.hpp"
#include "output/field_files/hdf5_file.hpp"

// All of it in this file: no library to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace isotherm {
namespace {

Hdf5File open_for_reading(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw Error(ExitCode::file_missing,
                fmt::format("{}: cannot be read ({}); check the path", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    throw Error(ExitCode::file_missing, path + ": not a file (a folder or device); name a snapshot");
  start_hdf5();
  Hdf5List access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_file_locking(access.get(), false, true);  // a file under its final name does not change any more
  Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (!file.valid())
    throw Error(ExitCode::deck,
                path + ": HDF5 cannot open it (not an HDF5 file, truncated or damaged); name a snapshot");
  return file;
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
  const auto cells = read_int3_attribute(id, name, path);
  return {cells[0], cells[1], cells[2]};
}

// Where the cells lie in the run's grid; files of the first versions hold all of it, and do not say so.
void read_place(hid_t id, FileGrid& grid, const std::string& path) {
  grid.grid_cells = grid.cells;
  if (!has_attribute(id, "grid_cells")) return;
  grid.grid_cells = read_cells(id, "grid_cells", path);
  grid.first_cell = read_cells(id, "first_cell", path);
  grid.factor = read_cells(id, "factor", path);
}

SnapshotProvenance read_provenance(hid_t id, const std::string& path) {
  return {.deck = read_text_dataset(id, "deck", path),
          .resolved_deck = read_text_dataset(id, "resolved_deck", path),
          .version = read_text_attribute(id, "version", path),
          .git_revision = read_text_attribute(id, "git_revision", path),
          .device = read_text_attribute(id, "device", path),
          .kernel = read_text_attribute(id, "kernel", path),
          .mpi = read_text_attribute(id, "mpi", path),
          .hdf5 = read_text_attribute(id, "hdf5", path),
          .name = has_attribute(id, "name") ? read_text_attribute(id, "name", path) : ""};
}

}  // namespace

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:#018x}", fingerprint);
}

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

SnapshotHeader read_snapshot_header(const std::string& path) {
  Watchdog watchdog(io_timeout(), path);
  watchdog.phase("reading the header");
  const Hdf5File file = open_for_reading(path);
  const Hdf5Object group = open_own_group(file.get(), "isotherm");
  if (!group.valid())
    throw Error(ExitCode::deck, path + ": no group /isotherm (not a snapshot of isotherm); name one");
  const hid_t id = group.get();

  SnapshotHeader header;
  header.format = read_int_attribute(id, "format_version", path);
  if (header.format < 1 || header.format > SnapshotHeader::newest_format)
    throw Error(ExitCode::deck,
                fmt::format("{}: format version {} (this isotherm reads 1 to {}); use the isotherm "
                            "that wrote it, or a newer one",
                            path, header.format, SnapshotHeader::newest_format));
  header.kind = read_text_attribute(id, "format", path);
  header.cells = read_cells(id, "cells", path);
  read_place(id, header, path);
  header.origin = read_real3_attribute(id, "origin", path);
  header.spacing = read_real3_attribute(id, "spacing", path);
  header.precision = precision_of(read_text_attribute(id, "precision", path), path);
  header.meta = {read_real_attribute(id, "time", path), read_int_attribute(id, "sweep", path),
                 read_uint_attribute(id, "fingerprint", path)};
  header.provenance = read_provenance(id, path);
  if (const Hdf5Object checkpoint = open_own_group(id, "checkpoint"); checkpoint.valid()) {
    header.checkpoint = read_checkpoint_state(checkpoint.get(), path);
    if (read_uint_attribute(checkpoint.get(), "header_xxh3", path) != header_hash(header))
      throw Error(
          ExitCode::deck,
          path + ": its header is not what was written (a value was changed since); use another copy");
  }
  return header;
}

}  // namespace isotherm
