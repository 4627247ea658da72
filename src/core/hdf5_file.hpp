// Wraps HDF5's C API: throws errors, owns ids. Attributes, scalar texts and boxes of datasets. If several
// ranks have opened a file, all of them write the same values. `path` is the file's path, for messages.
#pragma once

#include <hdf5.h>

#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/box.hpp"
#include "core/handle.hpp"

namespace isotherm {

// Not for a file or dataset that is being written collectively: those are closed by hand (SnapshotFile).
using Hdf5File = Handle<hid_t, H5Fclose>;
using Hdf5Object = Handle<hid_t, H5Oclose>;  // groups, datasets, named types
using Hdf5Attribute = Handle<hid_t, H5Aclose>;
using Hdf5Space = Handle<hid_t, H5Sclose>;
using Hdf5Type = Handle<hid_t, H5Tclose>;
using Hdf5List = Handle<hid_t, H5Pclose>;

// Call it before any other call of HDF5. Turns off HDF5's error output, plug-ins and exit handler, which
// would close open files, collectively, in a process that ends because of an error.
void start_hdf5();
std::string hdf5_library_version();  // "1.10.8"

// Returns a valid result; throws Error(io) with HDF5's own innermost reason for a negative one. Use as
// check_hdf5(H5Dwrite(...), "H5Dwrite", path).
hid_t check_hdf5(hid_t result, const char* call, const std::string& path);

// Opens read-only, by this process alone, without locks, which many cluster file systems reject. Throws
// Error(file_missing), asking for `wanted`, if it cannot be read. If HDF5 fails, the handle is invalid.
Hdf5File open_hdf5_file(const std::string& path, const char* wanted);

template <class T>
hid_t native_hdf5_type() {
  if (std::is_integral_v<T>) return std::is_signed_v<T> ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  return std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}
// The order of the axes in a file: z, y, x.
inline std::array<hsize_t, 3> hdf5_extent(Int3 n) {
  return {static_cast<hsize_t>(n.z), static_cast<hsize_t>(n.y), static_cast<hsize_t>(n.x)};
}
Hdf5Space hdf5_space(Int3 extent);
herr_t select_box(hid_t space, Box box);

// Texts are of fixed length: VTK's reader rejects others.
void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& path);
// Writes a list of `count` numbers, of this type in memory; -1: one scalar.
void write_numbers(hid_t object, const char* name, hid_t type, const void* numbers, int count,
                   const std::string& path);
template <class T>
requires std::is_arithmetic_v<T>
void write_attribute(hid_t object, const char* name, T number, const std::string& path) {
  write_numbers(object, name, native_hdf5_type<T>(), &number, -1, path);
}
template <class T, std::size_t n>
void write_attribute(hid_t object, const char* name, const std::array<T, n>& numbers,
                     const std::string& path) {
  write_numbers(object, name, native_hdf5_type<T>(), numbers.data(), static_cast<int>(n), path);
}

// T: std::int64_t, std::uint64_t, double, an array of three, std::string. Throws Error(deck) if it is no T.
void read_numbers(hid_t object, const char* name, hid_t type, void* numbers, int count,
                  const std::string& path);
template <class T>
T read_attribute(hid_t object, const char* name, const std::string& path) {
  T value{};
  if constexpr (std::is_arithmetic_v<T>) {
    read_numbers(object, name, native_hdf5_type<T>(), &value, 1, path);
  } else {
    read_numbers(object, name, native_hdf5_type<typename T::value_type>(), value.data(), 3, path);
  }
  return value;
}
template <>
std::string read_attribute(hid_t object, const char* name, const std::string& path);

// Texts too long for an attribute (64 KiB) are datasets: all ranks create them, the rank with a text writes.
void write_text_dataset(hid_t group, const char* name, std::string_view text, bool this_rank_writes,
                        const std::string& path);
std::string read_text_dataset(hid_t group, const char* name, const std::string& path);

// A list of numbers of any length, as a dataset; created and written as texts are. Reading throws Error(deck)
// if there are not `count` numbers.
void write_row_dataset(hid_t group, const char* name, const std::vector<double>& row, bool this_rank_writes,
                       const std::string& path);
std::vector<double> read_row_dataset(hid_t group, const char* name, std::size_t count,
                                     const std::string& path);

// Stores no creation time, so that the same run writes the same bytes.
Hdf5Object create_hdf5_group(hid_t parent, const char* name, const std::string& path);

}  // namespace isotherm
