// Which HDF5 runs, without its header.
#pragma once

#include <string>

namespace isotherm {

std::string hdf5_library_version();  // "1.10.8"

}  // namespace isotherm
