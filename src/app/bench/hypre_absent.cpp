#include "app/bench/bench.hpp"
#include "core/error.hpp"

namespace isotherm {

bool has_hypre() { return false; }

HypreSolve solve_by_hypre(const Communicator&, Box, Equations, double) {
  throw Error(ExitCode::internal, "this build has no hypre; please report it");
}

}  // namespace isotherm
