// A field as it was at one sweep, in host memory, while the next sweeps go on.
#pragma once

#include "core/device.hpp"
#include "grid/field.hpp"

namespace isotherm {

// Taken by Solver::copy_to(), which lets no sweep write over what is still being copied.
template <class T>
class HostCopy {
 public:
  HostCopy(Device& device, Int3 extent, int ghosts)
      : device_(device),
        cells_(device, extent, ghosts, Memory::staging),
        stream_(own_stream(device, Priority::high)),
        made_(own_event(device)),
        start_(own_timing_event(device)),
        copied_(own_timing_event(device)) {}

  // Queues the copy behind what `before` holds. Of the ghosts, which the next exchange writes meanwhile,
  // anything may arrive.
  void take(const Field<T>& field, Stream before) {
    device_.record(made_, before);
    device_.wait(stream_, made_);
    device_.record(start_, stream_);
    device_.copy(cells_.data(), field.data(), field.bytes(), stream_);
    device_.record(copied_, stream_);
  }
  Event copied() const { return copied_; }

  // Waits for the copy, in any thread. Valid until the next take().
  FieldView<const T> view() const {
    device_.synchronize(copied_);
    return cells_.view();
  }
  // That the last copy took, once view() was called: what the sweep that overwrites the field waits at most.
  double seconds() const { return device_.seconds_between(start_, copied_); }

 private:
  Device& device_;
  Field<T> cells_;
  Owned<Stream> stream_;
  Owned<Event> made_, start_, copied_;
};

}  // namespace isotherm
