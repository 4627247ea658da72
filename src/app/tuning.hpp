// The rows of a run: those that the deck names, those that a tuning file remembers, or the fastest of a
// trial.
#pragma once

#include <optional>

#include "app/tuning_file.hpp"
#include "output/records/run_record.hpp"
#include "solver/tuning.hpp"

namespace isotherm {

template <class T>
struct TunedRows {
  SolverRows<T> rows;
  Tuning tuning;
  // What a trial has found for solver.tuning_file. The caller keeps it, once nothing else can be wrong with
  // the deck: no file is written before that.
  struct Found {
    TuningKey key;
    TuningChoice choice;
  };
  std::optional<Found> to_keep;
};

// By which solver.tuning_file remembers what was found for the deck on this decomposition.
TuningKey tuning_key(const Config& config, const Decomposition& decomposition, const Device& device,
                     int threads);
// Collective. A tuning file that cannot be read, or is none, is an error of all ranks before any work.
template <class T>
TunedRows<T> tuned_rows(const Config& config, const Decomposition& decomposition, const Communicator& world,
                        Device& device, int threads);

}  // namespace isotherm
