// The warning of a run whose precision swallows the heat that it is told to bring in.
#pragma once

#include <string>

#include "config/config.hpp"
#include "solver/swallowed_heat.hpp"

namespace isotherm {

std::string swallowed_heat_text(const Config& config, const SwallowedHeat& heat);  // empty: no reason to warn

}  // namespace isotherm
