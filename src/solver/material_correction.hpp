// The change of a body of several materials for which a steady problem or an implicit step is solved: V
// cycles (MaterialMultigrid) within conjugate gradients, as some errors are left by every V cycle where
// materials differ by much. The residual is the field's, in its precision; changes are in fp32 (defect
// correction; Trottenberg, Oosterlee and Schueller, Multigrid, Academic Press 2001, chapter 2). Conjugate
// gradients begin anew with each solution, so that the field is all that a cycle, and a checkpoint, needs to
// know.
#pragma once

#include <memory>

#include "solver/multigrid.hpp"

namespace isotherm {

// As make_correction().
template <class T>
std::unique_ptr<Correction<T>> make_material_correction(Step<T>& step);

// Bytes of it on a rank.
std::size_t material_correction_bytes(const Config& config, const Decomposition& decomposition, int rank,
                                      Backend backend);

}  // namespace isotherm
