// Limits of the time step in a body of several materials, computed from its cells.
#pragma once

#include "config/config.hpp"

namespace isotherm {

// The limits of these cells of the domain, whole rows along x. The minimum over all parts of the domain has
// the same bits for any division. Throws as RegionMaterials.
StepLimits step_limits_of(const Config& config, Box cells);

}  // namespace isotherm
