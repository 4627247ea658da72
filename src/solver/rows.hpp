// From the deck's words for kernel and reduction to rows of the tables, for the device that was chosen.
#pragma once

#include <optional>

#include "config/config.hpp"
#include "solver/solver.hpp"

namespace isotherm {

// Throws Error(deck) when the row named does not run on `backend`, with those that do.
template <class T>
SolverRows<T> choose_rows(const Config& config, Backend backend);

// Does a run overlap halos and interior? It costs thin sweeps of the shells, and pays where the interior runs
// beside the exchange: `auto` is on with several ranks on GPUs.
bool overlaps(Overlap choice, Backend backend, int ranks);

// The backend that the deck's rows need, and the key that says so: `kernel: naive` needs CUDA. None where the
// deck leaves it open.
struct RequiredBackend {
  Backend backend;
  const char* key;
};
std::optional<RequiredBackend> required_backend(const Config& config);

}  // namespace isotherm
