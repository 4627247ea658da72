// The bandwidth probes of the host, and the measurement with a probe on any device.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/statistics.hpp"
#include "core/timer.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/fingerprint.hpp"
#include "kernels/host/host_kernels.hpp"

namespace isotherm {
namespace {

using host::Store;

// In [1, 2), with random mantissas: values are not compressible, and none is subnormal.
template <class T>
T random_value(Index i) {
  const std::uint64_t bits = mix64(static_cast<std::uint64_t>(i) * golden);
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(0x3f800000u | static_cast<std::uint32_t>(bits >> 41));
  if constexpr (sizeof(T) == 8) return std::bit_cast<double>(0x3ff0000000000000u | bits >> 12);
}

template <class T, class Pick>
auto transfer(const Pick& pick) {
  return host::for_this_cpu([&](auto isa) { return pick(host::Transfer<decltype(isa), T>{}); });
}

enum class Way { copy, read, write, strided, offset };

// Two arrays; not every way uses both.
template <class T, Way way, Store store = Store::streaming>
class HostProbe final : public BandwidthProbe {
 public:
  HostProbe(Device& device, std::size_t bytes, Index step)
      : count_(std::max<Index>(static_cast<Index>(bytes / sizeof(T)), 64)),
        step_(step),
        from_buffer_(device, static_cast<std::size_t>(count_) * sizeof(T)),
        to_buffer_(device, static_cast<std::size_t>(count_) * sizeof(T)),
        from_(from_buffer_.template as<T>()),
        to_(to_buffer_.template as<T>()) {
    transfer<T>([&](auto by) {
      by.fill(from_, count_, random_value<T>);
      by.fill(to_, count_, [](Index) { return T(0); });
    });
    for (Index i = 0; i < 16; ++i) pattern_[i] = random_value<T>(i);
  }

  void enqueue(Stream) override {
    transfer<T>([&](auto by) {
      if constexpr (way == Way::copy) by.copy(to_, from_, count_, store);
      if constexpr (way == Way::read) sum_ = by.read(from_, count_);
      if constexpr (way == Way::write) by.write(to_, count_, pattern_, store);
      if constexpr (way == Way::strided) by.copy_strided(to_, from_, count_, step_);
      if constexpr (way == Way::offset) by.copy(to_, from_ + step_, count_ - step_, store);
    });
  }
  double bytes() const override {
    const Index moved = way == Way::strided ? count_ / step_ : way == Way::offset ? count_ - step_ : count_;
    const double each = way == Way::read || way == Way::write ? 1 : 2;
    return each * static_cast<double>(moved) * static_cast<double>(sizeof(T));
  }
  bool right() override {
    if constexpr (way == Way::read) {
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      Bits sum = 0;
      for (Index i = 0; i < count_; ++i) sum += std::bit_cast<Bits>(random_value<T>(i));
      return sum_ == sum;
    } else {
      for (Index i = 0; i < count_; ++i)
        if (to_[i] != expected(i)) return false;
      return true;
    }
  }

 private:
  T expected(Index i) const {
    if constexpr (way == Way::write) return pattern_[i % 16];
    if constexpr (way == Way::strided) return i < count_ / step_ * step_ && i % step_ == 0 ? from_[i] : T(0);
    if constexpr (way == Way::offset) return i < count_ - step_ ? from_[i + step_] : T(0);
    return from_[i];
  }

  const Index count_, step_;
  Buffer from_buffer_, to_buffer_;
  T *const from_, *const to_;
  T pattern_[16];
  std::uint64_t sum_ = 0;
};

}  // namespace

template <class T>
std::span<const BandwidthEntry<T>> host::bandwidth_registry() {
  constexpr auto strided = make_probe<HostProbe<T, Way::strided>>,
                 offset = make_probe<HostProbe<T, Way::offset>>;
  constexpr const char* of_stride = "copies elements a stride apart, cached stores";
  constexpr const char* of_offset = "copies from an offset of elements, streaming stores";
  static const BandwidthEntry<T> table[] = {
      {"copy", "streaming stores: the copy bandwidth", make_probe<HostProbe<T, Way::copy>>},
      {"copy_cached", "plain stores: lines are read before they are written",
       make_probe<HostProbe<T, Way::copy, Store::cached>>},
      {"read", "sums the bits of one array", make_probe<HostProbe<T, Way::read>>},
      {"write", "streaming stores", make_probe<HostProbe<T, Way::write>>},
      {"write_cached", "plain stores: lines are read before they are written",
       make_probe<HostProbe<T, Way::write, Store::cached>>},
      {"strided_2", of_stride, strided, 2},
      {"strided_4", of_stride, strided, 4},
      {"strided_8", of_stride, strided, 8},
      {"strided_16", of_stride, strided, 16},
      {"strided_32", of_stride, strided, 32},
      {"offset_1", of_offset, offset, 1},
      {"offset_2", of_offset, offset, 2},
      {"offset_4", of_offset, offset, 4},
      {"offset_8", of_offset, offset, 8},
  };
  return table;
}

template std::span<const BandwidthEntry<float>> host::bandwidth_registry();
template std::span<const BandwidthEntry<double>> host::bandwidth_registry();

double measure_copy_bandwidth(Device& device, std::size_t bytes) {
  const auto probe = make_copy_probe(device, bytes);
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  Stopwatch watch(device, stream);
  const auto copy = [&] { probe->enqueue(stream); };
  watch.seconds(copy);  // loads the kernel
  std::vector<double> seconds;
  const Timer timer;
  while (seconds.size() < 3 || (timer.seconds() < 0.25 && seconds.size() < 100))
    seconds.push_back(watch.seconds(copy));
  return probe->bytes() / median(std::move(seconds));
}

}  // namespace isotherm
