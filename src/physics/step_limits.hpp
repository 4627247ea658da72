// How long time steps of a body of several materials may be, by the cells that it has.
#pragma once

#include "config/config.hpp"

namespace isotherm {

// Of these cells of the domain, whole rows along x. The least over all parts of the domain has the same bits
// however it is divided. Throws as MaterialPainter.
StepLimits step_limits_of(const Config& config, Box cells);

}  // namespace isotherm
