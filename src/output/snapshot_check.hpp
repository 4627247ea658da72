// The proof that a file holds the field that was meant.
#pragma once

#include <cstdint>
#include <string>

#include "core/box.hpp"
#include "physics/temperature_extremes.hpp"

namespace isotherm {

// The fingerprint of the cells of `block` (which may be empty) as they stand in the file, read by this
// process alone, slab by slab; the sum over disjoint blocks is the file's. T must be the file's type. Throws
// Error(io) when the file cannot be read as a snapshot of these cells. `extremes`: of the block too, where
// they are wanted.
template <class T>
std::uint64_t fingerprint_on_disk(const std::string& path, Box block, Int3 cells, Index slab_bytes,
                                  TemperatureExtremes* extremes = nullptr);

}  // namespace isotherm
