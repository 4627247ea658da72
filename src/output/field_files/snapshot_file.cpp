#include "output/field_files/snapshot_file.hpp"

#include <fcntl.h>
#include <type_traits>
#include <utility>

#include "config/grid_axes.hpp"
#include "core/text.hpp"
#include "kernels/fingerprint.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

static Precision of_field(const Config& config) {
  return config.precision == Precision::fp32 ? Precision::fp32 : Precision::fp64;
}

FileGrid grid_of_snapshots(const Config& config) {
  FileGrid grid;
  grid.stem = config.name;
  grid.kind = "isotherm snapshot";
  grid.cells = grid.grid_cells = config.grid.cells;
  grid.origin = config.grid.origin;
  grid.spacing = spacing(config);
  for (int axis = 0; axis < 3 && config.grid.is_graded(); ++axis) {
    const GridAxis along(config, axis);
    for (Index i = 0; i <= along.cells(); ++i) grid.edges[axis].push_back(along.edge(i));
  }
  grid.precision = config.output.precision == OutputPrecision::fp32 ? Precision::fp32 : of_field(config);
  grid.compression = config.output.compression;
  grid.material_file = material_file_name(config);
  return grid;
}

FileGrid grid_of_checkpoints(const Config& config) {
  FileGrid grid = grid_of_snapshots(config);
  grid.kind = "isotherm checkpoint";
  grid.precision = of_field(config);
  grid.compression = 0;
  return grid;
}

FileGrid grid_of(const Config& config, const FieldPart& part) {
  FileGrid grid = grid_of_snapshots(config);
  grid.stem = fmt::format("{}_{}", config.name, part.name);
  grid.kind = fmt::format("isotherm {}", word(part.kind));
  grid.material_file.clear();
  grid.cells = part.cells();
  grid.first_cell = part.box.lo;
  grid.factor = part.factor;
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin[axis] += static_cast<double>(part.box.lo[axis]) * grid.spacing[axis];
    grid.spacing[axis] *= static_cast<double>(part.factor[axis]);
    if (!config.grid.is_graded()) continue;
    std::vector<double>& edges = grid.edges[axis];
    std::vector<double> of_part;
    for (Index i = part.box.lo[axis]; i <= part.box.hi[axis]; i += part.factor[axis])
      of_part.push_back(edges[i]);
    edges = std::move(of_part);
    grid.origin[axis] = edges[0];
    grid.spacing[axis] = edges[1] - edges[0];
  }
  grid.normal = part.normal;
  grid.position = part.position;
  return grid;
}

namespace {

bool can_write_with(H5Z_filter_t filter) {
  unsigned flags = 0;
  return H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &flags) >= 0 &&
         (flags & H5Z_FILTER_CONFIG_ENCODE_ENABLED);
}

// Replaces the reader's error about wrong data: here the file is damaged.
DatasetReader open_cells(const std::string& path) {
  try {
    return DatasetReader(path, temperature_dataset);
  } catch (const Error& e) {
    const std::string text = e.what();  // the reader's advice is for other programs' files
    throw Error(ExitCode::io,
                text.substr(0, text.rfind("; ")) +
                    "; the file is damaged, or its disk loses data: write it again, to another one");
  }
}

template <class T>
std::uint64_t fingerprint_of(const std::string& path, Box subdomain, Int3 cells, Index slab_bytes,
                             TemperatureExtremes* extremes) {
  if (subdomain.empty()) return 0;
  const DatasetReader reader = open_cells(path);
  const StoredType wanted = std::is_same_v<T, float> ? StoredType::fp32 : StoredType::fp64;
  if (!(reader.cells() == cells) || reader.type() != wanted)
    throw error_of(ExitCode::io,
                   "{}: the dataset {} has not the shape and type that the file is meant to have; the file "
                   "is damaged, write it again",
                   path, temperature_dataset);
  std::uint64_t sum = 0;
  std::vector<T> dense;
  for (const Box slab : cut_into_slabs(subdomain, reader.chunk(), slab_cells<T>(slab_bytes))) {
    dense.resize(static_cast<std::size_t>(slab.cells()));
    reader.read(slab, dense.data());
    const FieldView<const T> view = dense_view(dense.data(), slab.extent());
    sum += fingerprint(view, slab.lo, cells);
    if (extremes) extremes->add(temperature_extremes<T>(view, slab.lo, cells));
  }
  return sum;
}

// Contiguous, as its size is known and can be reserved; with compression in chunks.
void choose_layout(hid_t creation, const FileGrid& grid, const std::string& path) {
  if (grid.compression == 0) {
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);  // assigns an offset; no block on the disk yet
    return;
  }
  check_hdf5(H5Pset_chunk(creation, 3, hdf5_extent(chunk_of(grid)).data()), "H5Pset_chunk", path);
  check_hdf5(H5Pset_shuffle(creation), "H5Pset_shuffle", path);
  check_hdf5(H5Pset_deflate(creation, static_cast<unsigned>(grid.compression)), "H5Pset_deflate", path);
}

void describe_for_vtk(hid_t file, const SnapshotHeader& header, const std::string& path) {
  Hdf5Object vtk = create_hdf5_group(file, "VTKHDF", path);
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
  Hdf5Object points = create_hdf5_group(vtk.get(), "PointData", path);
  check_hdf5(H5Lcreate_hard(file, temperature_dataset, points.get(), "temperature", H5P_DEFAULT, H5P_DEFAULT),
             "H5Lcreate_hard", path);
}

}  // namespace

// No fill values: every cell is written, and fill values would write the file twice.
hid_t create_cells(hid_t file, const char* name, hid_t type, const FileGrid& grid, const std::string& path) {
  const Hdf5Space space = hdf5_space(grid.cells);
  check_hdf5(space.get(), "H5Screate_simple", path);
  const Hdf5List creation(H5Pcreate(H5P_DATASET_CREATE));
  choose_layout(creation.get(), grid, path);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation.get(), false);
  return check_hdf5(H5Dcreate2(file, name, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                    "H5Dcreate", path);
}

Int3 chunk_of(const FileGrid& grid) {
  if (grid.compression == 0) return {1, 1, 1};
  FileGrid chunk = grid;
  while (chunk.cell_bytes() > 2 << 20) {
    int longest = 2;
    for (int axis = 1; axis >= 0; --axis)
      if (chunk.cells[axis] > chunk.cells[longest]) longest = axis;
    chunk.cells[longest] = (chunk.cells[longest] + 1) / 2;
  }
  return chunk.cells;
}

std::int64_t most_bytes_of_cells(const FileGrid& grid) {
  if (grid.compression == 0) return grid.cell_bytes();
  // Per chunk: deflate's own blocks, a chunk of zeros stored before it, and its entry in the index.
  constexpr std::int64_t entry = 256;
  FileGrid chunk = grid;
  chunk.cells = chunk_of(grid);
  const std::int64_t bytes = chunk.cell_bytes();
  return first_begun_from(grid.cells, chunk.cells).product() * (bytes + bytes / 256 + entry);
}

std::string why_not_compressed() {
  start_hdf5();
  for (const auto& [filter, name] :
       {std::pair(H5Z_FILTER_SHUFFLE, "shuffle"), {H5Z_FILTER_DEFLATE, "deflate"}})
    if (!can_write_with(filter))
      return fmt::format("HDF5 {} was built without the filter {}", hdf5_library_version(), name);
  return {};
}

std::uint64_t fingerprint_on_disk(const std::string& path, Box subdomain, Int3 cells, Precision precision,
                                  Index slab_bytes, TemperatureExtremes* extremes) {
  return precision == Precision::fp32 ? fingerprint_of<float>(path, subdomain, cells, slab_bytes, extremes)
                                      : fingerprint_of<double>(path, subdomain, cells, slab_bytes, extremes);
}

SnapshotFile::SnapshotFile(const std::string& path, const Communicator& communicator, bool collective,
                           const SnapshotHeader& header)
    : path_(path), communicator_(communicator), collective_(collective), header_(header) {
  const bool root = communicator.is_root();
  if (!root && !collective) return;
  Hdf5List creation(H5Pcreate(H5P_FILE_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  Hdf5List access = collective ? mpi_io_access(communicator) : Hdf5List(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
  if (!collective)
    H5Pset_file_locking(access.get(), false, true);  // as MPI-IO does: the run directory has one writer
  file_ = check_hdf5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "H5Fcreate", path);
  write_snapshot_header(file_, header, root, path);
  const hid_t type = header.precision == Precision::fp32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
  cells_ = create_cells(file_, temperature_dataset, type, header, path);
  write_attribute(cells_, "long_name", "temperature", path);
  write_attribute(cells_, "units", "K", path);
  if (header.is_image()) describe_for_vtk(file_, header, path);
  check_hdf5(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush", path);
}

std::int64_t SnapshotFile::cells_end() const {
  if (file_ < 0) return 0;
  const haddr_t start = H5Dget_offset(cells_);
  check_hdf5(start == HADDR_UNDEF ? -1 : 0, "H5Dget_offset", path_);
  return static_cast<std::int64_t>(start + H5Dget_storage_size(cells_));
}

// Packs cells into a dense buffer of the file's type: a conversion within HDF5 would disable collective mode.
// Slabs stay below 2 GiB, above which MPI-IO libraries truncate calls without an error. In a compressed file
// a rank writes whole chunks, those that begin in its subdomain: HDF5 would compress a shared chunk again,
// and move it, for each call that writes a part of it. Without MPI-IO rank 0 writes all.
template <class Stored, class T>
std::string SnapshotFile::write_as(FieldView<const T> field, Box subdomain, Index slab_bytes,
                                   Watchdog& watchdog) {
  const Box all{{0, 0, 0}, header_.cells};
  const Int3 chunk = chunk_of(header_);
  const std::vector<Box> blocks = all_gather(communicator_, subdomain);
  std::vector<std::vector<Box>> slabs;  // by rank
  std::size_t calls = 0;                // the most of a rank; ranks with fewer slabs add empty writes
  for (const Box& each : blocks) {
    const Box mine = collective_     ? fine_of(coarse_begun_in(each, chunk), chunk).within(all)
                     : slabs.empty() ? all
                                     : Box{};
    slabs.push_back(cut_into_slabs(mine, chunk, slab_cells<Stored>(slab_bytes)));
    calls = std::max(calls, slabs.back().size());
  }
  const int me = communicator_.rank();
  Index most = 1;
  for (const Box& slab : slabs[me]) most = std::max(most, slab.cells());
  std::vector<Stored> dense(static_cast<std::size_t>(most));
  CellExchange<Stored> ranks(communicator_, blocks);
  const Hdf5List transfer = collective_ ? mpi_io_transfer() : Hdf5List(H5Pcreate(H5P_DATASET_XFER));
  const Hdf5Space in_file(file_ < 0 ? H5I_INVALID_HID
                                    : check_hdf5(H5Dget_space(cells_), "H5Dget_space", path_));
  const FileDescriptor part(open(path_.c_str(), O_RDONLY | O_CLOEXEC));

  for (std::size_t call = 0; call < calls; ++call) {
    watchdog.phase("writing cells");
    std::vector<Box> of_ranks;
    for (const std::vector<Box>& each : slabs) of_ranks.push_back(call < each.size() ? each[call] : Box{});
    ranks.assemble(field, of_ranks, dense.data());
    if (file_ < 0) continue;
    const Box slab = of_ranks[me];
    // At least one cell: a null dataspace would disable collective mode.
    const Hdf5Space in_memory = hdf5_space(slab.empty() ? Int3{1, 1, 1} : slab.extent());
    if (slab.empty()) H5Sselect_none(in_memory.get());
    check_hdf5(slab.empty() ? H5Sselect_none(in_file.get()) : select_box(in_file.get(), slab),
               "H5Sselect_hyperslab", path_);
    check_hdf5(H5Dwrite(cells_, native_hdf5_type<Stored>(), in_memory.get(), in_file.get(), transfer.get(),
                        dense.data()),
               "H5Dwrite", path_);
    // Starts writing to the disk now instead of at the fsync, which reports errors of this too.
    if (part.valid()) sync_file_range(part.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  return collective_ ? why_not_collective(transfer.get()) : "";
}

std::string SnapshotFile::write(const CellsView& field, Box subdomain, Index slab_bytes, Watchdog& watchdog) {
  const auto write = [&](auto cells) {
    return header_.precision == Precision::fp32 ? write_as<float>(cells, subdomain, slab_bytes, watchdog)
                                                : write_as<double>(cells, subdomain, slab_bytes, watchdog);
  };
  return std::visit(write, field);
}

void SnapshotFile::close() {
  if (file_ < 0) return;
  check_hdf5(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush", path_);
  check_hdf5(H5Dclose(std::exchange(cells_, H5I_INVALID_HID)), "H5Dclose", path_);
  check_hdf5(H5Fclose(std::exchange(file_, H5I_INVALID_HID)), "H5Fclose", path_);
}

}  // namespace isotherm
