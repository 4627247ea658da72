// The rows of a run: those that the deck names, those that a tuning file remembers, or the fastest of a
// trial.
#pragma once

#include "app/placement.hpp"
#include "output/run_record.hpp"
#include "solver/tuning.hpp"

namespace isotherm {

template <class T>
struct TunedRows {
  SolverRows<T> rows;
  Tuning tuning;
};

// Collective. A tuning file that cannot be read, or is none, is an Error(data) before any work; one that
// cannot be written is a warning for `warn`.
template <class T>
TunedRows<T> tuned_rows(const Config& config, const Decomposition& decomposition, const Communicator& world,
                        Device& device, int threads, std::vector<std::string>& warnings);

}  // namespace isotherm
