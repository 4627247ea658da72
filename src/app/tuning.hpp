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
// Does a run of the deck take these rows where its tuning file names them? Not where the deck names its own,
// nor rows that no trial would take.
template <class T>
bool takes_from_file(const Config& config, Backend backend, const TuningChoice& choice);

// Collective. A tuning file that cannot be read, or is none, is an error of all ranks before any work.
template <class T>
TunedRows<T> tuned_rows(const Config& config, const Decomposition& decomposition, const Communicator& world,
                        Device& device, int threads);

}  // namespace isotherm
