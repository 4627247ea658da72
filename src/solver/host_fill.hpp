// Fills a field from the host: in place where it is the host's, else slab by slab through staging memory.
#pragma once

#include <functional>

#include "core/device.hpp"
#include "grid/field.hpp"

namespace isotherm {

// Calls `make(cells, view)` for slabs of planes across z that together hold the interior of `field`. `cells`:
// the slab's global cells, parts of `block`; `view`: host memory, without ghosts, in which `make` writes
// them. All threads make one slab while the device copies the one before. The field's ghosts must hold 0
// before.
template <class T>
void fill_from_host(Field<T>& field, Box block, Device& device, Stream stream,
                    const std::function<void(Box cells, FieldView<T> view)>& make);

}  // namespace isotherm
