// How slowly plain sweeps reduce errors in a body of several materials. It depends on inclusions, shells,
// contacts and patches, so it is computed from the cells.
#pragma once

#include "config/config.hpp"

namespace isotherm {

// The lowest eigenvalue of the update of a steady sweep of weight 1; 0 if nothing fixes the mean. Exact up to
// 32^3 cells, else from at most 32^3 samples. The same on every rank. Throws as RegionMaterials.
double lowest_eigenvalue(const Config& config);

}  // namespace isotherm
