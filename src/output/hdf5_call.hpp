// HDF5's C API with errors thrown and ids owned.
#pragma once

#include <hdf5.h>

#include <string>

#include "core/handle.hpp"
#include "output/hdf5_version.hpp"

namespace isotherm {

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

}  // namespace isotherm
