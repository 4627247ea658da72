// The cell that stands out when a run has diverged.
#pragma once

#include "core/box.hpp"
#include "core/communicator.hpp"
#include "core/field_view.hpp"

namespace isotherm {

struct ExtremeCell {
  Int3 cell;             // global
  double magnitude = 0;  // K; infinite where the value is not finite
};

// The cell with the largest magnitude, one that is not finite before all others, the first of equals.
// `field`: this rank's block, in host memory; `lo`: its first cell in a grid of `cells`. Collective.
template <class T>
ExtremeCell most_extreme_cell(FieldView<const T> field, Int3 lo, Int3 cells,
                              const Communicator& communicator);

}  // namespace isotherm
