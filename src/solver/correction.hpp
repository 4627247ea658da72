// Solves for a change of the field, on a grid of the same cells, where it starts at 0: of an implicit stage,
// or what is missing to the steady field. What rounding takes is a part of the change, so the change may be
// of lower precision than the field (defect correction; Trottenberg, Oosterlee and Schueller, Multigrid,
// Academic Press 2001, chapter 2).
#pragma once

#include <memory>

#include "solver/multigrid.hpp"

namespace isotherm {

template <class T>
class Correction : public WholeCycle {
 public:
  // The equation whose source is `scale` times the residual of the field, with the boundaries as they are
  // now: so many V cycles, the first of them after a full multigrid cycle where `from_the_start`. Adds the
  // change.
  virtual void solve(double scale, int cycles, bool from_the_start) = 0;
  // Of an implicit method: steps of another length, s, from here on.
  virtual void use_step(double dt) = 0;
};

// The step of a level whose method solves by correction outlives it. Collective; throws as Multigrid does.
template <class T>
std::unique_ptr<Correction<T>> make_correction(Step<T>& step);

// The deck of that grid.
Config config_of_change(const Config& config);
// Bytes of all its grids of a rank.
std::size_t correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                             Backend backend);

}  // namespace isotherm
