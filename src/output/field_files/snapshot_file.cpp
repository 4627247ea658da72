#include "output/field_files/snapshot_file.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/checkpoint_group.hpp"
#include "output/field_files/compression.hpp"
#include "output/field_files/dense_copy.hpp"
#include "output/field_files/hdf5_file.hpp"
#include "output/field_files/slabs.hpp"
#include "output/field_files/snapshot_header.hpp"
#include "physics/dataset_reader.hpp"

namespace isotherm {

namespace {

// What the reader calls wrong data is here a file that did not become what was written.
DatasetReader open_cells(const std::string& path) {
  try {
    return DatasetReader(path, temperature_dataset);
  } catch (const Error& e) {
    const std::string text = e.what();  // the reader's remedy is for files of strangers
    throw Error(ExitCode::io,
                text.substr(0, text.rfind("; ")) +
                    "; the file is damaged, or its disk loses data: write it again, to another one");
  }
}

}  // namespace

template <class T>
std::uint64_t fingerprint_on_disk(const std::string& path, Box block, Int3 cells, Index slab_bytes,
                                  TemperatureExtremes* extremes) {
  if (block.empty()) return 0;
  const DatasetReader reader = open_cells(path);
  const StoredType wanted = std::is_same_v<T, float> ? StoredType::fp32 : StoredType::fp64;
  if (!(reader.cells() == cells) || reader.type() != wanted)
    throw Error(
        ExitCode::io,
        fmt::format("{}: the dataset {} has not the shape and type that the file is meant to have; the "
                    "file is damaged, write it again",
                    path, temperature_dataset));
  std::uint64_t sum = 0;
  std::vector<T> dense;
  // By chunks: HDF5 keeps none of them, and would decompress one for each slab that cuts it.
  for (const Box slab : cut_into_slabs(block, reader.chunk(), slab_cells<T>(slab_bytes))) {
    dense.resize(static_cast<std::size_t>(slab.cells()));
    reader.read(slab, dense.data());
    const FieldView<const T> view = dense_view(dense.data(), slab.extent());
    sum += fingerprint(view, slab.lo, cells);
    if (extremes) extremes->add(temperature_extremes<T>(view, slab.lo, cells));
  }
  return sum;
}

template std::uint64_t fingerprint_on_disk<float>(const std::string&, Box, Int3, Index, TemperatureExtremes*);
template std::uint64_t fingerprint_on_disk<double>(const std::string&, Box, Int3, Index,
                                                   TemperatureExtremes*);

namespace {

// Without times of creation: the same run writes the same bytes.
Hdf5Object create_group(hid_t parent, const char* name, const std::string& path) {
  Hdf5List creation(H5Pcreate(H5P_GROUP_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  return Hdf5Object(
      check_hdf5(H5Gcreate2(parent, name, H5P_DEFAULT, creation.get(), H5P_DEFAULT), "H5Gcreate", path));
}

// Contiguous, because its size is known and reserved, or else in chunks that are compressed.
void choose_layout(hid_t creation, const SnapshotHeader& header, const std::string& path) {
  if (header.compression == 0) {
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);  // a place in the file; no block on the disk yet
    return;
  }
  const Int3 c = chunk_of(header);
  const hsize_t chunk[] = {static_cast<hsize_t>(c.z), static_cast<hsize_t>(c.y), static_cast<hsize_t>(c.x)};
  check_hdf5(H5Pset_chunk(creation, 3, chunk), "H5Pset_chunk", path);
  check_hdf5(H5Pset_shuffle(creation), "H5Pset_shuffle", path);
  check_hdf5(H5Pset_deflate(creation, static_cast<unsigned>(header.compression)), "H5Pset_deflate", path);
}

// No fill: every cell is written, and a fill would write the file twice.
hid_t create_cells(hid_t file, const SnapshotHeader& header, const std::string& path) {
  const Int3 n = header.cells;
  const hsize_t dims[] = {static_cast<hsize_t>(n.z), static_cast<hsize_t>(n.y), static_cast<hsize_t>(n.x)};
  Hdf5Space space(check_hdf5(H5Screate_simple(3, dims, nullptr), "H5Screate_simple", path));
  Hdf5List creation(H5Pcreate(H5P_DATASET_CREATE));
  choose_layout(creation.get(), header, path);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation.get(), false);
  const hid_t type = header.precision == Precision::fp32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
  const hid_t cells = check_hdf5(
      H5Dcreate2(file, temperature_dataset, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
      "H5Dcreate", path);
  write_attribute(cells, "long_name", "temperature", path);
  write_attribute(cells, "units", "K", path);
  return cells;
}

void describe_for_vtk(hid_t file, const SnapshotHeader& header, const std::string& path) {
  Hdf5Object vtk = create_group(file, "VTKHDF", path);
  const Int3 n = header.cells;
  const std::array<std::int64_t, 2> version{1, 0};
  const std::array<std::int64_t, 6> extent{0, n.x - 1, 0, n.y - 1, 0, n.z - 1};
  const std::array<double, 9> direction{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vector3 first_centre = header.origin;
  for (std::size_t axis = 0; axis < 3; ++axis) first_centre[axis] += 0.5 * header.spacing[axis];
  write_attribute(vtk.get(), "Version", version, path);
  write_attribute(vtk.get(), "Type", "ImageData", path);
  write_attribute(vtk.get(), "WholeExtent", extent, path);
  write_attribute(vtk.get(), "Origin", first_centre, path);
  write_attribute(vtk.get(), "Spacing", header.spacing, path);
  write_attribute(vtk.get(), "Direction", direction, path);
  Hdf5Object points = create_group(vtk.get(), "PointData", path);
  check_hdf5(H5Lcreate_hard(file, temperature_dataset, points.get(), "temperature", H5P_DEFAULT, H5P_DEFAULT),
             "H5Lcreate_hard", path);
}

void describe_slice(hid_t id, const FileGrid& grid, const std::string& path) {
  const auto axis = static_cast<std::size_t>(grid.normal);
  write_attribute(id, "slice_axis", std::string_view("xyz").substr(axis, 1), path);
  write_attribute(id, "slice_cell", std::int64_t{grid.first_cell[grid.normal]}, path);
  write_attribute(id, "slice_centre", grid.origin[axis] + 0.5 * grid.spacing[axis], path);
  if (grid.position) write_attribute(id, "slice_position", *grid.position, path);  // that was asked for
}

void describe_for_isotherm(hid_t file, const SnapshotHeader& header, bool text_writer,
                           const std::string& path) {
  Hdf5Object group = create_group(file, "isotherm", path);
  const hid_t id = group.get();
  const SnapshotProvenance& from = header.provenance;
  const auto write_cells = [&](const char* name, Int3 c) {
    write_attribute(id, name, std::array<std::int64_t, 3>{c.x, c.y, c.z}, path);
  };
  write_attribute(id, "format", header.kind, path);
  write_attribute(id, "format_version", header.format, path);
  write_attribute(id, "axes", "datasets of cells are (z, y, x), x fastest; triples are x, y, z", path);
  write_attribute(id, "units", "origin and spacing: m; time: s; temperature: K", path);
  write_cells("cells", header.cells);
  write_cells("grid_cells", header.grid_cells);
  write_cells("first_cell", header.first_cell);
  write_cells("factor", header.factor);
  if (header.normal >= 0) describe_slice(id, header, path);
  write_attribute(id, "origin", header.origin, path);
  write_attribute(id, "spacing", header.spacing, path);
  write_attribute(id, "precision", word(header.precision), path);
  write_attribute(id, "time", header.meta.time, path);
  write_attribute(id, "sweep", header.meta.sweep, path);
  write_attribute(id, "fingerprint", header.meta.fingerprint, path);
  write_attribute(id, "fingerprint_hex", fingerprint_text(header.meta.fingerprint), path);
  write_attribute(id, "name", from.name, path);
  write_attribute(id, "version", from.version, path);
  write_attribute(id, "git_revision", from.git_revision, path);
  write_attribute(id, "device", from.device, path);
  write_attribute(id, "kernel", from.kernel, path);
  write_attribute(id, "mpi", from.mpi, path);
  write_attribute(id, "hdf5", from.hdf5, path);
  write_text_dataset(id, "deck", from.deck, text_writer, path);
  write_text_dataset(id, "resolved_deck", from.resolved_deck, text_writer, path);
  if (!header.checkpoint) return;
  Hdf5Object checkpoint = create_group(id, "checkpoint", path);
  write_checkpoint_state(checkpoint.get(), *header.checkpoint, path);
  write_attribute(checkpoint.get(), "header_xxh3", header_hash(header), path);
}

}  // namespace

SnapshotFile::SnapshotFile(const std::string& path, hid_t access, const SnapshotHeader& header,
                           bool text_writer)
    : path_(path) {
  Hdf5List creation(H5Pcreate(H5P_FILE_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  file_ = check_hdf5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access), "H5Fcreate", path);
  describe_for_isotherm(file_, header, text_writer, path);
  cells_ = create_cells(file_, header, path);
  if (!is_flat(header)) describe_for_vtk(file_, header, path);
}

std::int64_t SnapshotFile::cells_end() const {
  const haddr_t start = H5Dget_offset(cells_);
  check_hdf5(start == HADDR_UNDEF ? -1 : 0, "H5Dget_offset", path_);
  return static_cast<std::int64_t>(start + H5Dget_storage_size(cells_));
}

void SnapshotFile::flush() {
  check_hdf5(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush", path_);
}

void SnapshotFile::close() {
  flush();
  check_hdf5(H5Dclose(std::exchange(cells_, H5I_INVALID_HID)), "H5Dclose", path_);
  check_hdf5(H5Fclose(std::exchange(file_, H5I_INVALID_HID)), "H5Fclose", path_);
}

}  // namespace isotherm
