// The fingerprint of a field: the sum modulo 2^64 over its cells of mix64(global index, bits of the value).
// It does not depend on the order, so partial sums of any decomposition add up to the same number. A swap of
// two unequal cells or one flipped bit changes it. The field is in host memory.
#pragma once

#include <cstdint>

#include "core/field_view.hpp"

namespace isotherm {

// `global_lo` is the global index of cell (0, 0, 0), `global_extent` the extent of the whole grid.
template <class T>
std::uint64_t fingerprint(FieldView<const T> field, Int3 global_lo, Int3 global_extent);

}  // namespace isotherm
