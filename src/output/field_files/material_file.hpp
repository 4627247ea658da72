// The material of each cell, in a file next to the snapshots: no sweep changes it, so a run writes it once.
//
//   /material   (nz, ny, nx), uint8: the number of the material, in the order of the deck's `materials`; that
//               of cells that the word void names is their count
//   /names      of these numbers, a line each
#pragma once

#include <string>

#include "config/config.hpp"
#include "core/watchdog.hpp"

namespace isotherm {

// "plate_material.h5"; empty where the deck has no body of several materials.
std::string material_file_name(const Config& config);

// By one process; a file of this name is whole, or not there. Throws Error(cannot_create), Error(io), or what
// MaterialPainter throws of a dataset.
void write_material_file(const Config& config, const std::string& path, Watchdog& watchdog);

}  // namespace isotherm
