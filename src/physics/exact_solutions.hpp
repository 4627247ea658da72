// The families of exact solutions behind make_exact.
#pragma once

#include <memory>
#include <string>

#include "core/error.hpp"
#include "physics/exact.hpp"

namespace isotherm {

// exact_modes.cpp
std::unique_ptr<ExactField> make_decaying_mode(const Config& config);
std::unique_ptr<ExactField> make_manufactured(const Config& config);
// exact_profiles.cpp
std::unique_ptr<ExactField> make_steady_profile(const Config& config);
std::unique_ptr<ExactField> make_slab_series(const Config& config);

// "<place>: <solution> does not fit (<why>); <what to do>"
Error does_not_fit(const Config& config, const std::string& why, const std::string& remedy);

// Insulated, or a flux of 0 under its other name.
bool is_insulated(const BoundaryConfig& boundary);

}  // namespace isotherm
