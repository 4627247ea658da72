// Finds out what a run has come to, when its last sweep is done.
#pragma once

#include "config/config.hpp"
#include "output/records/end_state.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// Collective; every rank returns the same. The field stays as it is. None where the transport moves nothing.
template <class T>
std::optional<EndState> find_end_state(const Config& config, Solver<T>& solver);

}  // namespace isotherm
