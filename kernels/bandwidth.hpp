// Measures the bandwidth of a device: by the copy that defines the copy bandwidth of every report, and by the
// other probes of `isotherm bench bandwidth`.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/box.hpp"
#include "core/device.hpp"

namespace isotherm {

// Arrays, and one way to copy, read or write them. Ranks that share memory must measure at the same time.
class BandwidthProbe {
 public:
  virtual ~BandwidthProbe() = default;
  virtual void enqueue(Stream stream) = 0;  // one pass, asynchronous where the device is
  virtual double bytes() const = 0;         // of one pass: read plus written, as the kernel requests them
  virtual bool right() = 0;                 // whether the last completed pass copied the right data
  virtual void prepare() {}                 // untimed, before every sample
};

template <class T>
struct BandwidthEntry {
  std::string_view name, description;
  // `bytes` of each array; `step` as below.
  std::unique_ptr<BandwidthProbe> (*make)(Device& device, std::size_t bytes, Index step) = nullptr;
  Index step = 0;       // elements of T: the stride, or the offset of the copied elements
  bool single = false;  // only the first pass after prepare() shows the effect
};

template <class Probe>
std::unique_ptr<BandwidthProbe> make_probe(Device& device, std::size_t bytes, Index step) {
  return std::make_unique<Probe>(device, bytes, step);
}

template <class T>
std::span<const BandwidthEntry<T>> bandwidth_registry(Backend backend);  // empty if not in this build

// The first probe of the registry: the fastest copy from one array to another: streaming stores by all
// threads on the host, 16-byte accesses on a GPU. `bytes` of each array.
std::unique_ptr<BandwidthProbe> make_copy_probe(Device& device, std::size_t bytes);

// Bytes read plus bytes written per second by this process alone: the median of several copies.
double measure_copy_bandwidth(Device& device, std::size_t bytes);

namespace cuda {  // kernels/cuda/bandwidth.cu
template <class T>
std::span<const BandwidthEntry<T>> bandwidth_registry();
}  // namespace cuda

}  // namespace isotherm
