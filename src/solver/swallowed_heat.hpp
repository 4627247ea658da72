// Heat that rounding swallows: what a sweep adds to a cell is less than half the last digit of its
// temperature, which therefore stays what it is.
#pragma once

#include "config/config.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Of sources and flux boundaries, in kelvin a sweep: magnitudes, summed over cells.
struct SwallowedHeat {
  double all = 0, lost = 0;
};

// Of this rank's block: one pass over it. `field`, `source` (empty where there is none) and `walls` are in
// the device's memory, which `stream` has brought up to date.
template <class T>
SwallowedHeat swallowed_heat(const Config& config, Device& device, FieldView<const T> field,
                             FieldView<const T> source, const Walls<T>& walls, const Coefficients<T>& c,
                             Stream stream);

}  // namespace isotherm
