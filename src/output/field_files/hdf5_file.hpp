// Attributes and scalar texts of HDF5 objects. On a file opened by several ranks all of them write the same.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/handle.hpp"

namespace isotherm {

// HDF5's C API with errors thrown and ids owned.

// Not for a file or dataset that is being written collectively: those are closed by hand (snapshot_file.hpp).
using Hdf5File = Handle<hid_t, H5Fclose>;
using Hdf5Object = Handle<hid_t, H5Oclose>;  // groups, datasets, named types
using Hdf5Attribute = Handle<hid_t, H5Aclose>;
using Hdf5Space = Handle<hid_t, H5Sclose>;
using Hdf5Type = Handle<hid_t, H5Tclose>;
using Hdf5List = Handle<hid_t, H5Pclose>;

// Before the first call of each user of HDF5. Prints nothing, loads no plug-in, and leaves no exit handler:
// HDF5's own would close open files, collectively, in a process that ends because of an error.
void start_hdf5();

// Returns a valid result; throws Error(io) with HDF5's own innermost reason for a negative one. Use as
// check_hdf5(H5Dwrite(...), "H5Dwrite", path).
hid_t check_hdf5(hid_t result, const char* call, const std::string& path);

template <class T>
hid_t native_hdf5_type();
template <>
inline hid_t native_hdf5_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
inline hid_t native_hdf5_type<double>() {
  return H5T_NATIVE_DOUBLE;
}

// Which HDF5 runs, without its header.

std::string hdf5_library_version();  // "1.10.8"

// `path` is the file's, for messages. Texts are of fixed length: VTK's reader does not know others.
void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& path);
void write_attribute(hid_t object, const char* name, std::span<const std::int64_t> values,
                     const std::string& path);
void write_attribute(hid_t object, const char* name, std::span<const double> values, const std::string& path);
void write_attribute(hid_t object, const char* name, std::int64_t value, const std::string& path);
void write_attribute(hid_t object, const char* name, std::uint64_t value, const std::string& path);
void write_attribute(hid_t object, const char* name, double value, const std::string& path);

bool has_attribute(hid_t object, const char* name);
// Throw Error(deck) when the attribute is missing or is not of this kind and length.
std::string read_text_attribute(hid_t object, const char* name, const std::string& path);
std::int64_t read_int_attribute(hid_t object, const char* name, const std::string& path);
std::uint64_t read_uint_attribute(hid_t object, const char* name, const std::string& path);
double read_real_attribute(hid_t object, const char* name, const std::string& path);
std::array<std::int64_t, 3> read_int3_attribute(hid_t object, const char* name, const std::string& path);
std::array<double, 3> read_real3_attribute(hid_t object, const char* name, const std::string& path);

// Texts too long for an attribute (64 KiB): a scalar dataset. Created by all, written by the rank that has a
// text.
void write_text_dataset(hid_t group, const char* name, std::string_view text, bool this_rank_writes,
                        const std::string& path);
std::string read_text_dataset(hid_t group, const char* name, const std::string& path);

}  // namespace isotherm
