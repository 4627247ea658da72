#include "output/field_files/hdf5_file.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace isotherm {

namespace {

herr_t keep_first(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

void start_hdf5() {
  H5dont_atexit();  // refused, harmlessly, on every call but the first
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

hid_t check_hdf5(hid_t result, const char* call, const std::string& path) {
  if (result >= 0) return result;
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  throw Error(ExitCode::io, fmt::format("{}: {} failed ({}); check the file system, its free space and quota",
                                        path, call, reason.empty() ? "HDF5 gives no reason" : reason));
}

std::string hdf5_library_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

namespace {

constexpr std::size_t longest_text = std::size_t{16}
                                     << 20;  // bytes; a file's word is not a reason to allocate

[[noreturn]] void refuse(const std::string& path, const char* name, const char* expected) {
  throw Error(ExitCode::deck,
              fmt::format("{}: no valid '{}' (expected {}); the file was not written by isotherm, "
                          "or is damaged",
                          path, name, expected));
}

Hdf5Type text_type(std::size_t length) {
  Hdf5Type type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), length > 0 ? length : 1);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return type;
}

bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

// ASCII where it is: VTK compares types.
Hdf5Type text_type(std::string_view text) {
  Hdf5Type type = text_type(text.size());
  if (!is_ascii(text)) H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

void write(hid_t object, const char* name, hid_t file_type, hid_t memory_type, hid_t space, const void* data,
           const std::string& path) {
  Hdf5Attribute attribute(
      check_hdf5(H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate", path));
  check_hdf5(H5Awrite(attribute.get(), memory_type, data), "H5Awrite", path);
}

Hdf5Space row(std::size_t count) {
  const hsize_t dims = count;
  return Hdf5Space(H5Screate_simple(1, &dims, nullptr));
}

void read_numbers(hid_t object, const char* name, H5T_class_t kind, hid_t memory_type, std::size_t count,
                  void* data, const std::string& path) {
  const char* expected = count == 1 ? "one number" : "three numbers";
  if (H5Aexists(object, name) <= 0) refuse(path, name, expected);
  Hdf5Attribute attribute(H5Aopen(object, name, H5P_DEFAULT));
  if (!attribute.valid()) refuse(path, name, expected);
  Hdf5Space space(H5Aget_space(attribute.get()));
  Hdf5Type type(H5Aget_type(attribute.get()));
  if (H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(count) ||
      H5Tget_class(type.get()) != kind || H5Aread(attribute.get(), memory_type, data) < 0)
    refuse(path, name, expected);
}

// A fixed-length text of sane size: its length; none for anything else.
std::optional<std::size_t> text_length(hid_t type, hid_t space) {
  const std::size_t length = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || length > longest_text ||
      H5Sget_simple_extent_npoints(space) != 1)
    return {};
  return length;
}

std::string without_padding(std::string text) {
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace

bool has_attribute(hid_t object, const char* name) {
  return H5Aexists(object, name) > 0;
}

void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& path) {
  const std::string bytes(text.empty() ? std::string_view("\0", 1) : text);
  Hdf5Type type = text_type(text);
  Hdf5Space scalar(H5Screate(H5S_SCALAR));
  write(object, name, type.get(), type.get(), scalar.get(), bytes.data(), path);
}

void write_attribute(hid_t object, const char* name, std::span<const std::int64_t> values,
                     const std::string& path) {
  write(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, row(values.size()).get(), values.data(), path);
}

void write_attribute(hid_t object, const char* name, std::span<const double> values,
                     const std::string& path) {
  write(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, row(values.size()).get(), values.data(), path);
}

void write_attribute(hid_t object, const char* name, std::int64_t value, const std::string& path) {
  Hdf5Space scalar(H5Screate(H5S_SCALAR));
  write(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, scalar.get(), &value, path);
}

void write_attribute(hid_t object, const char* name, std::uint64_t value, const std::string& path) {
  Hdf5Space scalar(H5Screate(H5S_SCALAR));
  write(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, scalar.get(), &value, path);
}

void write_attribute(hid_t object, const char* name, double value, const std::string& path) {
  Hdf5Space scalar(H5Screate(H5S_SCALAR));
  write(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, scalar.get(), &value, path);
}

std::string read_text_attribute(hid_t object, const char* name, const std::string& path) {
  constexpr const char* expected = "a text of fixed length";
  if (H5Aexists(object, name) <= 0) refuse(path, name, expected);
  Hdf5Attribute attribute(H5Aopen(object, name, H5P_DEFAULT));
  if (!attribute.valid()) refuse(path, name, expected);
  Hdf5Type type(H5Aget_type(attribute.get()));
  Hdf5Space space(H5Aget_space(attribute.get()));
  const auto length = text_length(type.get(), space.get());
  if (!length) refuse(path, name, expected);
  std::string text(*length, '\0');
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0) refuse(path, name, expected);
  return without_padding(std::move(text));
}

std::int64_t read_int_attribute(hid_t object, const char* name, const std::string& path) {
  std::int64_t value = 0;
  read_numbers(object, name, H5T_INTEGER, H5T_NATIVE_INT64, 1, &value, path);
  return value;
}

std::uint64_t read_uint_attribute(hid_t object, const char* name, const std::string& path) {
  std::uint64_t value = 0;
  read_numbers(object, name, H5T_INTEGER, H5T_NATIVE_UINT64, 1, &value, path);
  return value;
}

double read_real_attribute(hid_t object, const char* name, const std::string& path) {
  double value = 0;
  read_numbers(object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, 1, &value, path);
  return value;
}

std::array<std::int64_t, 3> read_int3_attribute(hid_t object, const char* name, const std::string& path) {
  std::array<std::int64_t, 3> values{};
  read_numbers(object, name, H5T_INTEGER, H5T_NATIVE_INT64, 3, values.data(), path);
  return values;
}

std::array<double, 3> read_real3_attribute(hid_t object, const char* name, const std::string& path) {
  std::array<double, 3> values{};
  read_numbers(object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, 3, values.data(), path);
  return values;
}

void write_text_dataset(hid_t group, const char* name, std::string_view text, bool this_rank_writes,
                        const std::string& path) {
  const std::string bytes(text.empty() ? std::string_view("\0", 1) : text);
  Hdf5Type type = text_type(text);
  Hdf5Space scalar(H5Screate(H5S_SCALAR));
  Hdf5List creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  Hdf5Object dataset(
      check_hdf5(H5Dcreate2(group, name, type.get(), scalar.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                 "H5Dcreate", path));
  if (this_rank_writes)
    check_hdf5(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "H5Dwrite",
               path);
}

std::string read_text_dataset(hid_t group, const char* name, const std::string& path) {
  constexpr const char* expected = "a scalar text";
  if (H5Lexists(group, name, H5P_DEFAULT) <= 0) refuse(path, name, expected);
  Hdf5Object dataset(H5Dopen2(group, name, H5P_DEFAULT));
  if (!dataset.valid()) refuse(path, name, expected);
  Hdf5List creation(H5Dget_create_plist(dataset.get()));
  Hdf5Type type(H5Dget_type(dataset.get()));
  Hdf5Space space(H5Dget_space(dataset.get()));
  const auto length = text_length(type.get(), space.get());
  if (!length || H5Pget_external_count(creation.get()) != 0) refuse(path, name, expected);
  std::string text(*length, '\0');
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0)
    refuse(path, name, expected);
  return without_padding(std::move(text));
}

}  // namespace isotherm
