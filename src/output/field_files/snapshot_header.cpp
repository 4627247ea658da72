// Writes and reads all data of a snapshot except its cells.
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "config/deck.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "output/field_files/snapshot_file.hpp"

namespace isotherm {
namespace {

constexpr std::array edges_of{"edges_x", "edges_y", "edges_z"};

template <class T>
void write_value(hid_t id, const std::string& name, const T& value, const std::string& path) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();  // diverged runs have no checkpoint
  if constexpr (std::is_same_v<T, Int3>) {
    write_attribute(id, name.c_str(), std::array<std::int64_t, 3>{value.x, value.y, value.z}, path);
  } else if constexpr (std::is_same_v<T, Precision>) {
    write_attribute(id, name.c_str(), word(value), path);
  } else if constexpr (std::is_same_v<T, bool>) {
    write_attribute(id, name.c_str(), std::int64_t{value}, path);
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    write_attribute(id, name.c_str(), value.value_or(none), path);
  } else if constexpr (std::is_same_v<T, std::optional<Interval>>) {
    write_attribute(id, (name + "_low").c_str(), value ? (*value)[0] : none, path);
    write_attribute(id, (name + "_high").c_str(), value ? (*value)[1] : none, path);
  } else {
    write_attribute(id, name.c_str(), value, path);
  }
}

template <class T>
void read_value(hid_t id, const std::string& name, T& value, const std::string& path) {
  if constexpr (std::is_same_v<T, Int3>) {
    const auto cells = read_attribute<std::array<std::int64_t, 3>>(id, name.c_str(), path);
    value = {cells[0], cells[1], cells[2]};
  } else if constexpr (std::is_same_v<T, Precision>) {
    const auto text = read_attribute<std::string>(id, name.c_str(), path);
    const auto found = from_word<Precision>(text);
    if (!found)
      throw error_of(ExitCode::deck,
                     "{}: unknown precision '{}' (expected fp32 or fp64); the file is damaged", path, text);
    value = *found;
  } else if constexpr (std::is_same_v<T, bool>) {
    value = read_attribute<std::int64_t>(id, name.c_str(), path) != 0;
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    const auto number = read_attribute<double>(id, name.c_str(), path);
    if (!std::isnan(number)) value = number;
  } else if constexpr (std::is_same_v<T, std::optional<Interval>>) {
    std::optional<double> low, high;
    read_value(id, name + "_low", low, path);
    read_value(id, name + "_high", high, path);
    if (low && high) value = {*low, *high};
  } else {
    value = read_attribute<T>(id, name.c_str(), path);
  }
}

// Calls value(name, field, newer) for each attribute. `newer`: empty, or an attribute not in earlier files.
template <class Header, class Value>
void for_each_value(Header& header, const Value& value) {
  auto& from = header.provenance;
  value("format", header.kind, "");
  value("cells", header.cells, "");
  value("grid_cells", header.grid_cells, "grid_cells");
  value("first_cell", header.first_cell, "grid_cells");
  value("factor", header.factor, "grid_cells");
  value("origin", header.origin, "");
  value("spacing", header.spacing, "");
  value("precision", header.precision, "");
  value("time", header.meta.time, "");
  value("sweep", header.meta.sweep, "");
  value("fingerprint", header.meta.fingerprint, "");
  value("name", from.name, "name");
  value("version", from.version, "");
  value("git_revision", from.git_revision, "");
  value("device", from.device, "");
  value("kernel", from.kernel, "");
  value("mpi", from.mpi, "");
  value("hdf5", from.hdf5, "");
}
template <class State, class Value>
void for_each_value_of_state(State& state, const Value& value) {
  value("first_residual", state.first_residual, "");
  value("last_residual", state.last_residual, "");
  value("last_checked", state.last_checked, "");
  value("checks", state.checks, "");
  value("pending_sweep", state.pending_sweep, "");
  value("pending_residual", state.pending_residual, "");
  value("lowest_residual", state.lowest_residual, "lowest_residual");
  value("lowest_sweep", state.lowest_sweep, "lowest_residual");
  value("stagnated", state.stagnated, "lowest_residual");
  value("histogram", state.histogram_range, "");
  value("wall", state.wall, "");
  value("dt", state.dt, "");
  value("step_halvings", state.step_halvings, "step_halvings");
}

auto writer_of(hid_t id, const std::string& path) {
  return
      [id, &path](const char* name, const auto& field, const char*) { write_value(id, name, field, path); };
}
auto reader_of(hid_t id, const std::string& path) {
  return [id, &path](const char* name, auto& field, const char* newer) {
    if (!*newer || H5Aexists(id, newer) > 0) read_value(id, name, field, path);
  };
}

void describe_slice(hid_t id, const FileGrid& grid, const std::string& path) {
  const int axis = grid.normal;
  write_attribute(id, "slice_axis", std::string_view("xyz").substr(axis, 1), path);
  write_attribute(id, "slice_cell", std::int64_t{grid.first_cell[grid.normal]}, path);
  write_attribute(id, "slice_centre", grid.origin[axis] + 0.5 * grid.spacing[axis], path);
  if (grid.position) write_attribute(id, "slice_position", *grid.position, path);  // as requested
}

// Reads a version; throws if this isotherm cannot read it.
std::int64_t read_version(hid_t id, const char* name, const char* what, std::int64_t newest,
                          const std::string& path) {
  const auto version = read_attribute<std::int64_t>(id, name, path);
  if (version >= 1 && version <= newest) return version;
  const Error error = error_of(
      ExitCode::deck,
      "{}: {} version {} (this isotherm reads 1 to {}); use the isotherm that wrote it, or a newer one", path,
      what, version, newest);
  if (version > newest) throw NewerVersion(error.code(), error.what());
  throw error;
}

// A soft or external link of this name would lead out of the file.
Hdf5Object open_own_group(hid_t parent, const char* name) {
  H5L_info_t link{};
  const bool own = H5Lexists(parent, name, H5P_DEFAULT) > 0 &&
                   H5Lget_info(parent, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
  return own ? Hdf5Object(H5Gopen2(parent, name, H5P_DEFAULT)) : Hdf5Object();
}

// The hash of all values that a restart reads from the header.
std::uint64_t header_hash(const SnapshotHeader& header) {
  const SnapshotProvenance& from = header.provenance;
  std::string text;
  const auto add_text = [&](const std::string& value) { text += fmt::format("{}:{};", value.size(), value); };
  const auto add = [&](const auto&... values) { ((text += fmt::format("{};", values)), ...); };
  const auto add_optional = [&](const std::optional<double>& value) { value ? add(*value) : add_text(""); };
  const Vector3 &o = header.origin, &h = header.spacing;
  add(header.format, header.cells.x, header.cells.y, header.cells.z, o[0], o[1], o[2], h[0], h[1], h[2],
      static_cast<int>(header.precision), header.meta.time, header.meta.sweep, header.meta.fingerprint);
  for (const std::vector<double>& edges : header.edges)
    for (const double edge : edges) add(edge);
  for (const std::string* part : {&from.deck, &from.resolved_deck, &from.version, &from.git_revision,
                                  &from.device, &from.kernel, &from.mpi, &from.hdf5, &from.name})
    add_text(*part);
  if (header.checkpoint) {
    const CheckpointState& state = *header.checkpoint;
    for (const auto& value : {state.first_residual, state.last_residual, state.pending_residual})
      add_optional(value);
    add(state.last_checked, state.checks, state.pending_sweep, state.wall, state.dt);
    if (state.lowest_residual || state.lowest_sweep != 0 || state.stagnated) {  // not in version 1
      add_optional(state.lowest_residual);
      add(state.lowest_sweep, int{state.stagnated});
    }
    if (state.step_halvings != 0) add(state.step_halvings);
    if (state.histogram_range) add((*state.histogram_range)[0], (*state.histogram_range)[1]);
  }
  return hash_of(text);
}

}  // namespace

std::string fingerprint_text(std::uint64_t fingerprint) { return fmt::format("{:#018x}", fingerprint); }

void write_snapshot_header(hid_t file, const SnapshotHeader& header, bool text_writer,
                           const std::string& path) {
  const Hdf5Object group = create_hdf5_group(file, "isotherm", path);
  const hid_t id = group.get();
  write_attribute(id, "format_version", header.format, path);
  write_attribute(id, "axes", "datasets of cells are (z, y, x), x fastest; triples are x, y, z", path);
  write_attribute(id, "units", "origin and spacing: m; time: s; temperature: K", path);
  if (header.normal >= 0) describe_slice(id, header, path);
  write_attribute(id, "fingerprint_hex", fingerprint_text(header.meta.fingerprint), path);
  for_each_value(header, writer_of(id, path));
  for (std::size_t axis = 0; axis < 3 && header.is_graded(); ++axis)
    write_row_dataset(id, edges_of[axis], header.edges[axis], text_writer, path);
  write_text_dataset(id, "deck", header.provenance.deck, text_writer, path);
  write_text_dataset(id, "resolved_deck", header.provenance.resolved_deck, text_writer, path);
  if (!header.checkpoint) return;
  const Hdf5Object checkpoint = create_hdf5_group(id, "checkpoint", path);
  write_attribute(checkpoint.get(), "version", CheckpointState::newest_version, path);
  for_each_value_of_state(*header.checkpoint, writer_of(checkpoint.get(), path));
  write_attribute(checkpoint.get(), "header_xxh3", header_hash(header), path);
}

SnapshotHeader read_snapshot_header(const std::string& path) {
  Watchdog watchdog(io_timeout(), path, "reading the header");
  const Hdf5File file = open_hdf5_file(path, "a snapshot");
  if (!file.valid())
    throw Error(ExitCode::deck,
                path + ": HDF5 cannot open it (not an HDF5 file, truncated or damaged); name a snapshot");
  const Hdf5Object group = open_own_group(file.get(), "isotherm");
  if (!group.valid())
    throw Error(ExitCode::deck, path + ": no group /isotherm (not a snapshot of isotherm); name one");
  const hid_t id = group.get();

  SnapshotHeader header;
  header.format = read_version(id, "format_version", "format", SnapshotHeader::newest_format, path);
  for_each_value(header, reader_of(id, path));
  if (H5Aexists(id, "grid_cells") <= 0) header.grid_cells = header.cells;  // earlier files have all cells
  for (int axis = 0; axis < 3 && H5Lexists(id, edges_of[0], H5P_DEFAULT) > 0; ++axis)
    header.edges[axis] = read_row_dataset(id, edges_of[axis], header.cells[axis] + 1, path);
  header.provenance.deck = read_text_dataset(id, "deck", path);
  header.provenance.resolved_deck = read_text_dataset(id, "resolved_deck", path);
  if (const Hdf5Object checkpoint = open_own_group(id, "checkpoint"); checkpoint.valid()) {
    CheckpointState& state = header.checkpoint.emplace();
    state.version = read_version(checkpoint.get(), "version", "checkpoint", state.newest_version, path);
    for_each_value_of_state(state, reader_of(checkpoint.get(), path));
    if (read_attribute<std::uint64_t>(checkpoint.get(), "header_xxh3", path) != header_hash(header))
      throw Error(
          ExitCode::deck,
          path + ": its header differs from the one written (a value was changed since); use another copy");
  }
  return header;
}

Config stored_config(const SnapshotProvenance& from, const std::string& file) try {
  return read_resolved_deck(from.resolved_deck, file + ": its deck");
} catch (const Error& error) {
  throw error_of(error.code(), "{} (written by isotherm {} ({}); use that one, or a newer one)", error.what(),
                 from.version, from.git_revision);
}

}  // namespace isotherm
