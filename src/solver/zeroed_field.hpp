// Memory of a field that holds 0.
#pragma once

#include "core/all_or_throw.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/field.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm {

// Touched first by the threads that will sweep it. Collective; errors of one rank are thrown on all.
template <class T>
Field<T> zeroed_field(const Communicator& communicator, Device& device, Int3 extent, int ghosts) {
  return all_or_throw(communicator, [&] {
    Field<T> field(device, extent, ghosts);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    face_copy<T>(device.backend()).fill(field.view(), T(0), stream);
    device.synchronize(stream);
    return field;
  });
}

}  // namespace isotherm
