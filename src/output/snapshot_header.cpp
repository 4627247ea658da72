#include "output/snapshot_header.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "output/hdf5_attribute.hpp"

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

Precision precision_of(const std::string& word, const std::string& path) {
  if (word == "fp32") return Precision::fp32;
  if (word == "fp64") return Precision::fp64;
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

SnapshotHeader read_snapshot_header(const std::string& path) {
  const Hdf5File file = open_for_reading(path);
  // A soft or external link of this name would lead out of the file.
  H5L_info_t link{};
  Hdf5Object group;
  if (H5Lexists(file.get(), "isotherm", H5P_DEFAULT) > 0 &&
      H5Lget_info(file.get(), "isotherm", &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD)
    group = Hdf5Object(H5Gopen2(file.get(), "isotherm", H5P_DEFAULT));
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
  return header;
}

}  // namespace isotherm
