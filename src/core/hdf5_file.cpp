#include "core/hdf5_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/text.hpp"

namespace isotherm {

void start_hdf5() {
  H5dont_atexit();  // rejected, harmlessly, on every call but the first
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

hid_t check_hdf5(hid_t result, const char* call, const std::string& path) {
  if (result >= 0) return result;
  std::string reason;
  const H5E_walk2_t keep_first = [](unsigned n, const H5E_error2_t* error, void* text) -> herr_t {
    if (n == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  throw error_of(ExitCode::io, "{}: {} failed ({}); check the file system, its free space and quota", path,
                 call, reason.empty() ? "HDF5 gives no reason" : reason);
}

std::string hdf5_library_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

Hdf5File open_hdf5_file(const std::string& path, const char* wanted) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || ::access(path.c_str(), R_OK) != 0)
    throw error_of(ExitCode::file_missing, "{}: cannot be read ({}); check the path", path,
                   std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    throw error_of(ExitCode::file_missing, "{}: not a file (a folder or device); name {}", path, wanted);
  start_hdf5();
  Hdf5List access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_file_locking(access.get(), false, true);
  // Regions are read plane by plane: HDF5's default cache of 1 MiB would decompress a chunk for each plane.
  constexpr std::size_t chunks = 12421, bytes = std::size_t{128} << 20;
  H5Pset_cache(access.get(), 0, chunks, bytes, 0.75);
  return Hdf5File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
}

Hdf5Space hdf5_space(Int3 extent) {
  return Hdf5Space(H5Screate_simple(3, hdf5_extent(extent).data(), nullptr));
}

herr_t select_box(hid_t space, Box box) {
  return H5Sselect_hyperslab(space, H5S_SELECT_SET, hdf5_extent(box.lo).data(), nullptr,
                             hdf5_extent(box.extent()).data(), nullptr);
}

namespace {

constexpr std::size_t longest_text = std::size_t{16} << 20;  // bytes; no file causes a larger allocation

[[noreturn]] void reject(const std::string& path, const char* name, const char* expected) {
  throw error_of(ExitCode::deck,
                 "{}: no valid '{}' (expected {}); the file was not written by isotherm, or is damaged", path,
                 name, expected);
}

// ASCII where the text is ASCII: VTK compares types.
Hdf5Type text_type(std::string_view text) {
  Hdf5Type type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), text.empty() ? 1 : text.size());
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

void write(hid_t object, const char* name, hid_t file_type, hid_t memory_type, hid_t space, const void* data,
           const std::string& path) {
  Hdf5Attribute attribute(
      check_hdf5(H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate", path));
  check_hdf5(H5Awrite(attribute.get(), memory_type, data), "H5Awrite", path);
}

Hdf5Attribute open_attribute(hid_t object, const char* name, const char* expected, const std::string& path) {
  Hdf5Attribute attribute(H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID);
  if (!attribute.valid()) reject(path, name, expected);
  return attribute;
}

// The text that `read(to)` reads, if it is one of fixed length and plausible size; else none.
template <class Read>
std::optional<std::string> fixed_text(const Hdf5Type& type, const Hdf5Space& space, const Read& read) {
  const std::size_t length = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 ||
      length > longest_text || H5Sget_simple_extent_npoints(space.get()) != 1)
    return {};
  std::string text(length, '\0');
  if (read(text.data()) < 0) return {};
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace

void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& path) {
  const std::string bytes(text.empty() ? std::string_view("\0", 1) : text);
  const Hdf5Type type = text_type(text);
  const Hdf5Space scalar(H5Screate(H5S_SCALAR));
  write(object, name, type.get(), type.get(), scalar.get(), bytes.data(), path);
}

void write_numbers(hid_t object, const char* name, hid_t type, const void* numbers, int count,
                   const std::string& path) {
  const auto dims = static_cast<hsize_t>(count);
  const Hdf5Space space(count < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &dims, nullptr));
  const hid_t in_file = type == H5T_NATIVE_DOUBLE  ? H5T_IEEE_F64LE
                        : type == H5T_NATIVE_INT64 ? H5T_STD_I64LE
                                                   : H5T_STD_U64LE;
  write(object, name, in_file, type, space.get(), numbers, path);
}

void read_numbers(hid_t object, const char* name, hid_t type, void* numbers, int count,
                  const std::string& path) {
  const char* expected = count == 1 ? "one number" : "three numbers";
  const Hdf5Attribute attribute = open_attribute(object, name, expected, path);
  const Hdf5Space space(H5Aget_space(attribute.get()));
  const Hdf5Type in_file(H5Aget_type(attribute.get()));
  if (H5Sget_simple_extent_npoints(space.get()) != count ||
      H5Tget_class(in_file.get()) != H5Tget_class(type) || H5Aread(attribute.get(), type, numbers) < 0)
    reject(path, name, expected);
}

template <>
std::string read_attribute(hid_t object, const char* name, const std::string& path) {
  constexpr const char* expected = "a text of fixed length";
  const Hdf5Attribute attribute = open_attribute(object, name, expected, path);
  const Hdf5Type type(H5Aget_type(attribute.get()));
  const Hdf5Space space(H5Aget_space(attribute.get()));
  const auto text =
      fixed_text(type, space, [&](void* to) { return H5Aread(attribute.get(), type.get(), to); });
  if (!text) reject(path, name, expected);
  return *text;
}

// Created by all ranks, and written by one.
static void write_small_dataset(hid_t group, const char* name, hid_t in_file, hid_t in_memory, hid_t space,
                                const void* data, bool this_rank_writes, const std::string& path) {
  Hdf5List creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  Hdf5Object dataset(check_hdf5(
      H5Dcreate2(group, name, in_file, space, H5P_DEFAULT, creation.get(), H5P_DEFAULT), "H5Dcreate", path));
  if (this_rank_writes)
    check_hdf5(H5Dwrite(dataset.get(), in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "H5Dwrite", path);
}

void write_text_dataset(hid_t group, const char* name, std::string_view text, bool this_rank_writes,
                        const std::string& path) {
  const std::string bytes(text.empty() ? std::string_view("\0", 1) : text);
  const Hdf5Type type = text_type(text);
  const Hdf5Space scalar(H5Screate(H5S_SCALAR));
  write_small_dataset(group, name, type.get(), type.get(), scalar.get(), bytes.data(), this_rank_writes,
                      path);
}

void write_row_dataset(hid_t group, const char* name, const std::vector<double>& row, bool this_rank_writes,
                       const std::string& path) {
  const auto count = static_cast<hsize_t>(row.size());
  const Hdf5Space space(H5Screate_simple(1, &count, nullptr));
  write_small_dataset(group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space.get(), row.data(),
                      this_rank_writes, path);
}

std::vector<double> read_row_dataset(hid_t group, const char* name, std::size_t count,
                                     const std::string& path) {
  constexpr const char* expected = "numbers, one more than cells";
  if (H5Lexists(group, name, H5P_DEFAULT) <= 0) reject(path, name, expected);
  const Hdf5Object dataset(H5Dopen2(group, name, H5P_DEFAULT));
  if (!dataset.valid()) reject(path, name, expected);
  const Hdf5List creation(H5Dget_create_plist(dataset.get()));
  const Hdf5Type type(H5Dget_type(dataset.get()));
  const Hdf5Space space(H5Dget_space(dataset.get()));
  if (H5Pget_external_count(creation.get()) != 0 || H5Tget_class(type.get()) != H5T_FLOAT ||
      H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(count) ||
      H5Dget_storage_size(dataset.get()) < count * sizeof(double))
    reject(path, name, expected);
  std::vector<double> row(count);
  if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, row.data()) < 0)
    reject(path, name, expected);
  return row;
}

std::string read_text_dataset(hid_t group, const char* name, const std::string& path) {
  constexpr const char* expected = "a scalar text";
  if (H5Lexists(group, name, H5P_DEFAULT) <= 0) reject(path, name, expected);
  Hdf5Object dataset(H5Dopen2(group, name, H5P_DEFAULT));
  if (!dataset.valid()) reject(path, name, expected);
  Hdf5List creation(H5Dget_create_plist(dataset.get()));
  Hdf5Type type(H5Dget_type(dataset.get()));
  Hdf5Space space(H5Dget_space(dataset.get()));
  if (H5Pget_external_count(creation.get()) != 0) reject(path, name, expected);
  const auto text = fixed_text(type, space, [&](void* to) {
    return H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
  });
  if (!text) reject(path, name, expected);
  return *text;
}

Hdf5Object create_hdf5_group(hid_t parent, const char* name, const std::string& path) {
  Hdf5List creation(H5Pcreate(H5P_GROUP_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  return Hdf5Object(
      check_hdf5(H5Gcreate2(parent, name, H5P_DEFAULT, creation.get(), H5P_DEFAULT), "H5Gcreate", path));
}

}  // namespace isotherm
