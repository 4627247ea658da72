// The interface of histogram kernels, and the rule that assigns a value to a bin.
#pragma once

#include <cstdint>
#include <span>

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/host_info.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// `count` bins of equal width from `low` to `high`, kelvin. Bin i counts edge(i) <= T < edge(i + 1); the last
// bin also counts T = high.
struct Bins {
  double low = 0, high = 1;
  int count = 1;
  double width = 1, inverse_width = 1;

  static constexpr int most = 4096;  // a thread block keeps counts in shared memory

  static Bins of(double low, double high, int count) {
    return {low, high, count, (high - low) / count, count / (high - low)};
  }

  // Counts of a histogram by slot: below `low`, the bins, above `high`, NaN.
  ISOTHERM_HOST_DEVICE int below() const { return 0; }
  ISOTHERM_HOST_DEVICE int first() const { return 1; }
  ISOTHERM_HOST_DEVICE int above() const { return count + 1; }
  ISOTHERM_HOST_DEVICE int not_a_number() const { return count + 2; }
  ISOTHERM_HOST_DEVICE int slots() const { return count + 3; }

  ISOTHERM_HOST_DEVICE double edge(int i) const {
    return i >= count ? high : fused_multiply_add(static_cast<double>(i), width, low);
  }
  // The product may be wrong by one bin for a value at an edge: the edges themselves decide.
  ISOTHERM_HOST_DEVICE int slot(double value) const {
    if (value != value) return not_a_number();
    if (value < low) return below();
    if (value > high) return above();
    int bin = static_cast<int>((value - low) * inverse_width);
    if (bin > count - 1) bin = count - 1;
    while (bin > 0 && value < edge(bin)) --bin;
    while (bin < count - 1 && value >= edge(bin + 1)) ++bin;
    return first() + bin;
  }
};

template <class T>
struct HistogramArgs {
  FieldView<const T> field;
  Box region;  // interior indices
  Bins bins;
  std::uint64_t* counts;  // bins.slots() counts in this device's memory, written in stream order
};

// One kernel of the registry. Counts are integers, so every kernel gives the same result, in any order.
template <class T>
struct HistogramKernel : KernelEntry {
  void (*launch)(const HistogramArgs<T>& args, Stream stream) = nullptr;  // null: not in this build
  KernelResources (*resources)() = nullptr;  // of the pass over the cells; null on the host

  bool available() const { return launch != nullptr; }
};

// The kernels of the registry, those of the host compiled for `set`, which this processor must support.
template <class T>
std::span<const HistogramKernel<T>> histogram_kernels(InstructionSet set = instruction_set());

}  // namespace isotherm
