// The copy bandwidth of this very device: the roof that every report is held against.
#pragma once

#include <cstddef>
#include <memory>

#include "core/device.hpp"

namespace isotherm {

// Two arrays in a device's memory, and a copy from one to the other as fast as the device can: streaming
// stores by all threads on the host, 16-byte accesses on a GPU. Arrays that fit the caches would measure the
// caches. Ranks that share memory must copy at the same time to learn what each will get.
class CopyProbe {
 public:
  virtual ~CopyProbe() = default;
  virtual double copy_seconds() = 0;  // one copy, timed; waits for it
};

std::unique_ptr<CopyProbe> make_copy_probe(Device& device, std::size_t bytes);  // bytes of each array

// Bytes read plus bytes written a second of the best of several copies by this process alone.
double measure_copy_bandwidth(Device& device, std::size_t bytes);

}  // namespace isotherm
