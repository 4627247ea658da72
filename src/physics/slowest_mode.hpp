// How slowly plain sweeps reduce errors of a body of several materials: inclusions, shells, contacts and
// patches decide, so it takes a look at the cells.
#pragma once

#include "config/config.hpp"

namespace isotherm {

// The lowest eigenvalue of the update of a steady sweep of weight 1; 0 where nothing holds the mean. Exact up
// to 32^3 cells, else of as many samples. The same on every rank. Throws as MaterialPainter.
double lowest_eigenvalue(const Config& config);

}  // namespace isotherm
