#include "physics/dataset_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <type_traits>

#include "config/grid_axes.hpp"
#include "core/error.hpp"
#include "core/hdf5_file.hpp"
#include "core/watchdog.hpp"
#include "grid/slabs.hpp"

namespace isotherm {
namespace {

[[noreturn]] void reject(const std::string& place, const std::string& problem) {
  throw Error(ExitCode::deck, place + ": " + problem);
}

Hdf5File open_file(const std::string& file) {
  std::error_code ignored;  // open_hdf5_file() reports it
  // Else the reader of decks has replaced it by its last snapshot.
  if (std::filesystem::is_directory(file, ignored))
    throw Error(ExitCode::file_missing, file + ": a folder without a snapshot of a run; name an HDF5 file");
  Hdf5File opened = open_hdf5_file(file, "an HDF5 file");
  if (opened.valid()) return opened;
  if (H5Fis_hdf5(file.c_str()) <= 0)
    reject(file, "not an HDF5 file (its signature is missing); write it with h5py or isotherm");
  reject(file, "HDF5 cannot open it (truncated, damaged, or still being written); write it again");
}

std::string names_in_root(hid_t file) {
  constexpr hsize_t most = 8;
  H5G_info_t root{};
  if (H5Gget_info(file, &root) < 0) return "nothing";
  std::string names;
  for (hsize_t i = 0; i < root.nlinks && i < most; ++i) {
    char name[64] = "?";
    H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
    names += fmt::format("{}'{}'", i ? ", " : "", name);
  }
  if (root.nlinks > most) names += ", ...";
  return names.empty() ? "nothing" : names;
}

// HDF5 calls this before it follows an external link. It always refuses, and stores the link's target.
herr_t follow_no_link(const char*, const char*, const char* target, const char*, unsigned*, hid_t,
                      void* led_to) {
  *static_cast<std::string*>(led_to) = target;
  return -1;
}

Hdf5List without_links_elsewhere(std::string& led_to) {
  Hdf5List access(H5Pcreate(H5P_LINK_ACCESS));
  H5Pset_elink_cb(access.get(), follow_no_link, &led_to);
  return access;
}

// Returns `asked`, or the file's name of the temperature if `asked` is another name that isotherm gives it.
std::string name_in_file(hid_t file, const std::string& asked) {
  constexpr std::array<std::string_view, 3> names{temperature_dataset, "/VTKHDF/PointData/temperature",
                                                  first_temperature_dataset};
  std::string led_to;
  const Hdf5List access = without_links_elsewhere(led_to);
  const auto exists = [&](const std::string& name) {
    return H5Lexists(file, name.c_str(), access.get()) > 0;
  };
  const auto is_asked = [&](std::string_view name) { return name == asked || name.substr(1) == asked; };
  if (std::none_of(names.begin(), names.end(), is_asked) || exists(asked) || !exists("isotherm"))
    return asked;
  for (const std::string_view name : names)
    if (exists(std::string(name))) return std::string(name);
  return asked;
}

Hdf5Object open_dataset(hid_t file, const std::string& path, const std::string& place) {
  std::string led_to;
  const Hdf5List access = without_links_elsewhere(led_to);
  Hdf5Object object(H5Oopen(file, path.c_str(), access.get()));
  if (!led_to.empty())
    reject(place, fmt::format("an external link to '{}' (data must lie in the file that is named); name that "
                              "file, or copy the data with h5repack",
                              led_to));
  if (!object.valid())
    reject(place, fmt::format("no such dataset (the file's root holds {}); name one of the file's datasets",
                              names_in_root(file)));
  if (H5Iget_type(object.get()) != H5I_DATASET)
    reject(place, "not a dataset (a group or a named type); name a dataset of rank 3");
  return object;
}

// Call it before H5Dget_space(), for which a virtual dataset opens its source files.
void check_storage(hid_t dataset, const std::string& place) {
  Hdf5List creation(H5Dget_create_plist(dataset));
  if (H5Pget_layout(creation.get()) == H5D_VIRTUAL)
    reject(place, "a virtual dataset (its cells lie in other files); copy them into one with h5repack");
  if (H5Pget_external_count(creation.get()) > 0) {
    char name[256] = "?";
    off_t offset = 0;
    hsize_t size = 0;
    H5Pget_external(creation.get(), 0, sizeof name, name, &offset, &size);
    name[sizeof name - 1] = 0;
    reject(place, fmt::format("external storage in '{}' (data must lie in the file that is named); copy it "
                              "with h5repack",
                              name));
  }
  const int filters = H5Pget_nfilters(creation.get());
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    char name[64] = "";
    const H5Z_filter_t id = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values, nullptr,
                                           sizeof name, name, nullptr);
    if (H5Zfilter_avail(id) <= 0)
      reject(place, fmt::format("needs the filter {} '{}' (not built into this HDF5, and plug-ins are not "
                                "loaded); rewrite it with h5repack -f GZIP=4",
                                static_cast<int>(id), name));
  }
}

const char* class_name(H5T_class_t type) {
  constexpr std::pair<H5T_class_t, const char*> names[] = {
      {H5T_STRING, "text"},    {H5T_COMPOUND, "compound"}, {H5T_VLEN, "of variable length"},
      {H5T_ARRAY, "an array"}, {H5T_OPAQUE, "opaque"},     {H5T_REFERENCE, "a reference"}};
  const auto found = std::ranges::find(names, type, &std::pair<H5T_class_t, const char*>::first);
  return found == std::end(names) ? "neither" : found->second;
}

StoredType stored_type(hid_t dataset, const std::string& place) {
  Hdf5Type type(H5Dget_type(dataset));
  if (H5Tget_class(type.get()) == H5T_ENUM)  // as h5py stores bool; HDF5 reads its integers
    type = Hdf5Type(H5Tget_super(type.get()));
  const H5T_class_t kind = H5Tget_class(type.get());
  const std::size_t bytes = H5Tget_size(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER)
    reject(place, fmt::format("expected numbers (floating point or integer), found a type that is {}; store "
                              "float64 or float32",
                              class_name(kind)));
  if (bytes > 8)
    reject(place, fmt::format("expected numbers of at most 8 bytes, found {}; store float64", bytes));
  if (kind == H5T_INTEGER) return StoredType::integer;
  return bytes == 4 ? StoredType::fp32 : StoredType::fp64;
}

Int3 stored_shape(hid_t dataset, const std::string& place) {
  Hdf5Space space(H5Dget_space(dataset));
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank != 3)
    reject(place, fmt::format("expected rank 3 (nz, ny, nx), found rank {}; store one value per cell", rank));
  hsize_t dims[3];
  H5Sget_simple_extent_dims(space.get(), dims, nullptr);
  return {static_cast<Index>(dims[2]), static_cast<Index>(dims[1]), static_cast<Index>(dims[0])};
}

// Rejects a dataset without data, whose cells HDF5 would read as 0 K.
void check_written(hid_t dataset, const std::string& place) {
  Hdf5List creation(H5Dget_create_plist(dataset));
  H5D_space_status_t allocated{};
  H5D_fill_value_t fill{};
  H5Dget_space_status(dataset, &allocated);
  H5Pfill_value_defined(creation.get(), &fill);
  if (allocated == H5D_SPACE_STATUS_NOT_ALLOCATED && fill != H5D_FILL_VALUE_USER_DEFINED)
    reject(place, "never written (it has a shape but no data, and no fill value); write its cells");
}

}  // namespace

struct DatasetReader::Opened {
  Hdf5File file;
  Hdf5Object dataset;
};

DatasetReader::DatasetReader(const std::string& file, const std::string& dataset)
    : place_(file + ":" + dataset) {
  Watchdog watchdog(io_timeout(), place_, "opening the file");
  Hdf5File opened = open_file(file);
  const std::string name = name_in_file(opened.get(), dataset);
  place_ = file + ":" + name;
  Hdf5Object object = open_dataset(opened.get(), name, place_);
  check_storage(object.get(), place_);
  type_ = stored_type(object.get(), place_);
  cells_ = stored_shape(object.get(), place_);
  check_written(object.get(), place_);
  opened_ = std::make_shared<const Opened>(Opened{std::move(opened), std::move(object)});
}

Int3 DatasetReader::chunk() const {
  Hdf5List creation(H5Dget_create_plist(opened_->dataset.get()));
  hsize_t dims[3];
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED || H5Pget_chunk(creation.get(), 3, dims) != 3)
    return {1, 1, 1};
  // The file may be untrusted: a chunk is at most as large as the dataset.
  const auto within = [](hsize_t chunk, Index cells) {
    return static_cast<Index>(std::clamp<hsize_t>(chunk, 1, static_cast<hsize_t>(std::max<Index>(1, cells))));
  };
  return {within(dims[2], cells_.x), within(dims[1], cells_.y), within(dims[0], cells_.z)};
}

std::int64_t DatasetReader::stored_bytes() const {
  return static_cast<std::int64_t>(H5Dget_storage_size(opened_->dataset.get()));
}

template <class T>
void DatasetReader::read(Box box, FieldView<T> cells) const {
  if (box.empty()) return;
  const hid_t dataset = opened_->dataset.get();
  Watchdog watchdog(io_timeout(), place_, "reading cells");
  Hdf5Space in_file(H5Dget_space(dataset));
  Hdf5Space in_memory = hdf5_space({cells.pitch_y, cells.pitch_z / cells.pitch_y, box.extent().z});
  if (select_box(in_memory.get(), {{}, box.extent()}) < 0 || select_box(in_file.get(), box) < 0 ||
      H5Sselect_valid(in_file.get()) <= 0 ||
      H5Dread(dataset, native_hdf5_type<T>(), in_memory.get(), in_file.get(), H5P_DEFAULT, cells.origin) < 0)
    throw Error(ExitCode::io, place_ +
                                  ": reading failed (the file is damaged, or the disk has an error); "
                                  "check it with h5dump");
}

template void DatasetReader::read(Box, FieldView<float>) const;
template void DatasetReader::read(Box, FieldView<double>) const;
template void DatasetReader::read(Box, FieldView<std::int64_t>) const;

void DatasetReader::check_shape(Int3 grid_cells) const {
  if (cells_ == grid_cells) return;
  const bool reversed = cells_ == Int3{grid_cells.z, grid_cells.y, grid_cells.x};
  reject(place_, fmt::format("expected shape (nz, ny, nx) = ({}, {}, {}), found ({}, {}, {}){}; {}",
                             grid_cells.z, grid_cells.y, grid_cells.x, cells_.z, cells_.y, cells_.x,
                             reversed ? " (the axes are reversed)" : "",
                             reversed ? "store x as the last axis" : "resample it to the grid of the deck"));
}

void check_sizes_of_cells(const std::string& file, const Config& config) {
  constexpr double rounding = 1e-6;  // of a size
  const Hdf5File opened = open_file(file);
  if (H5Lexists(opened.get(), "isotherm", H5P_DEFAULT) <= 0) return;
  const Hdf5Object group(H5Gopen2(opened.get(), "isotherm", H5P_DEFAULT));
  if (!group.valid() || H5Aexists(group.get(), "spacing") <= 0) return;  // not written by isotherm
  const bool is_graded = H5Lexists(group.get(), "edges_x", H5P_DEFAULT) > 0;
  const auto sizes = read_attribute<Vector3>(group.get(), "spacing", file);
  for (int axis = 0; axis < 3; ++axis) {
    const GridAxis along(config, axis);
    const std::string name = std::string("edges_") + "xyz"[axis];
    std::vector<double> edges;
    if (is_graded) edges = read_row_dataset(group.get(), name.c_str(), along.cells() + 1, file);
    for (Index i = 0; i < along.cells(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double size = is_graded ? edges[at + 1] - edges[at] : sizes[axis];
      if (!(std::abs(size - along.size(i)) <= rounding * along.size(i)))
        reject(file, fmt::format("its cells have other sizes along {} than those of the deck; name a run on "
                                 "the same grid, or write its sizes under grid",
                                 "xyz"[axis]));
    }
  }
}

template <class T>
void read_field(const StoredField& stored, Int3 cells, Box subdomain, FieldView<T> field) {
  const DatasetReader reader(stored.file, stored.dataset);
  const StoredType wanted = std::is_same_v<T, float> ? StoredType::fp32 : StoredType::fp64;
  if (!(reader.cells() == cells) || reader.type() != wanted)
    reject(stored.file,
           stored.dataset + " has not the cells or the precision of the deck; name another file");
  constexpr Index slab_bytes = Index{64} << 20;  // the time for each read is limited
  for (const Box& slab : cut_into_slabs(subdomain, reader.chunk(), slab_cells<T>(slab_bytes)))
    reader.read(slab, field.part(slab.shifted(Int3{0, 0, 0} - subdomain.lo)));
}

template void read_field<float>(const StoredField&, Int3, Box, FieldView<float>);
template void read_field<double>(const StoredField&, Int3, Box, FieldView<double>);

}  // namespace isotherm
