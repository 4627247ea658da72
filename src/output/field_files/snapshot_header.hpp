// What a snapshot says of itself, beside its cells.
//
//   /temperature            (nz, ny, nx), kelvin; in format 1 it was /VTKHDF/PointData/T
//   /VTKHDF                 attributes Version, Type, WholeExtent, Origin, Spacing, Direction: what VTK
//   wants;
//                           not where the cells are one layer, on which ParaView 5.11 was seen to hang or end
//   /VTKHDF/PointData/temperature   the same dataset; points, because VTK 9.1 and 9.2 misread cell data
//   /isotherm               attributes: all of SnapshotHeader, with the origin as the deck means it, and in
//                           words: axes, units
//   /isotherm/deck, /isotherm/resolved_deck
//   /isotherm/checkpoint    of a checkpoint: attributes version and those of CheckpointState, and
//   `header_xxh3`, a hash
//                           (XXH3) of all of SnapshotHeader: what the fingerprint is to the cells
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "output/field_files/checkpoint_group.hpp"
#include "output/field_files/file_grid.hpp"
#include "physics/dataset_reader.hpp"

namespace isotherm {

struct SnapshotMeta {
  double time = 0;  // s; steady: 0
  std::int64_t sweep = 0;
  std::uint64_t fingerprint = 0;  // of all cells of the file, as they are stored
};

struct SnapshotProvenance {
  std::string deck, resolved_deck, version, git_revision, device, kernel, mpi, hdf5;
  std::string name{};  // of the run; empty in files of the first versions
};

struct SnapshotHeader : FileGrid {  // VTK's origin is half a cell further in
  static constexpr std::int64_t newest_format = 2;
  std::int64_t format = newest_format;
  SnapshotMeta meta;
  SnapshotProvenance provenance;
  std::optional<CheckpointState> checkpoint{};  // none: a snapshot
};

std::string fingerprint_text(std::uint64_t fingerprint);  // "0x0123456789abcdef"

// Of every byte of the header's fields.
std::uint64_t header_hash(const SnapshotHeader& header);

// Throws Error(file_missing), or Error(deck) when the file is no snapshot or checkpoint, of a newer format,
// or a checkpoint whose header is not what was written.
SnapshotHeader read_snapshot_header(const std::string& path);

}  // namespace isotherm
