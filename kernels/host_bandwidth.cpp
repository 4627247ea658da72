// The bandwidth probes of the host, and what is made of a probe for either device.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/timer.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm {
namespace {

using host::Store;

// In [1, 2), with random mantissas: nothing can be compressed or is a denormal number.
template <class T>
T random_value(Index i) {
  std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u;  // splitmix64
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(0x3f800000u | static_cast<std::uint32_t>(bits >> 41));
  if constexpr (sizeof(T) == 8) return std::bit_cast<double>(0x3ff0000000000000u | bits >> 12);
}

template <class T>
T nothing(Index) {
  return T(0);
}

template <class T, class Pick>
auto transfer(const Pick& pick) {
  return host::for_this_cpu([&](auto isa) { return pick(host::Transfer<decltype(isa), T>{}); });
}

// Two arrays; which of them a way needs is its own affair.
template <class T>
class HostProbe : public BandwidthProbe {
 public:
  HostProbe(Device& device, std::size_t bytes, Index step)
      : count_(std::max<Index>(static_cast<Index>(bytes / sizeof(T)), 64)),
        step_(step),
        from_(device, static_cast<std::size_t>(count_) * sizeof(T)),
        to_(device, static_cast<std::size_t>(count_) * sizeof(T)) {
    transfer<T>([&](auto way) {
      way.fill(from(), count_, random_value<T>);
      way.fill(to(), count_, nothing<T>);
    });
  }

 protected:
  T* from() const { return from_.template as<T>(); }
  T* to() const { return to_.template as<T>(); }
  double bytes_of(Index elements) const {
    return static_cast<double>(elements) * static_cast<double>(sizeof(T));
  }
  const Index count_, step_;

 private:
  Buffer from_, to_;
};

template <class T, Store store>
struct CopyProbe final : HostProbe<T> {
  using HostProbe<T>::HostProbe;
  void enqueue(Stream) override {
    transfer<T>([&](auto way) { way.copy(this->to(), this->from(), this->count_, store); });
  }
  double bytes() const override { return 2 * this->bytes_of(this->count_); }
  bool right() override {
    return std::memcmp(this->to(), this->from(), static_cast<std::size_t>(this->count_) * sizeof(T)) == 0;
  }
};

template <class T>
struct ReadProbe final : HostProbe<T> {
  using HostProbe<T>::HostProbe;
  void enqueue(Stream) override {
    found_ = transfer<T>([&](auto way) { return way.read(this->from(), this->count_); });
  }
  double bytes() const override { return this->bytes_of(this->count_); }
  bool right() override {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    Bits sum = 0;
    for (Index i = 0; i < this->count_; ++i) sum += std::bit_cast<Bits>(random_value<T>(i));
    return found_ == sum;
  }
  std::uint64_t found_ = 0;
};

template <class T, Store store>
struct WriteProbe final : HostProbe<T> {
  WriteProbe(Device& device, std::size_t bytes, Index step) : HostProbe<T>(device, bytes, step) {
    for (Index i = 0; i < 16; ++i) pattern_[i] = random_value<T>(i);
  }
  void enqueue(Stream) override {
    transfer<T>([&](auto way) { way.write(this->to(), this->count_, pattern_, store); });
  }
  double bytes() const override { return this->bytes_of(this->count_); }
  bool right() override {
    for (Index i = 0; i < this->count_; ++i) {
      if (this->to()[i] != pattern_[i % 16]) return false;
    }
    return true;
  }
  T pattern_[16];
};

template <class T>
struct StridedProbe final : HostProbe<T> {
  using HostProbe<T>::HostProbe;
  void enqueue(Stream) override {
    transfer<T>([&](auto way) { way.copy_strided(this->to(), this->from(), this->count_, this->step_); });
  }
  double bytes() const override { return 2 * this->bytes_of(this->count_ / this->step_); }
  bool right() override {
    const Index end = this->count_ / this->step_ * this->step_;
    for (Index i = 0; i < this->count_; ++i) {
      const bool copied = i < end && i % this->step_ == 0;
      if (this->to()[i] != (copied ? this->from()[i] : T(0))) return false;
    }
    return true;
  }
};

template <class T>
struct OffsetProbe final : HostProbe<T> {
  using HostProbe<T>::HostProbe;
  void enqueue(Stream) override {
    transfer<T>(
        [&](auto way) { way.copy(this->to(), this->from() + this->step_, copied(), Store::streaming); });
  }
  double bytes() const override { return 2 * this->bytes_of(copied()); }
  bool right() override {
    for (Index i = 0; i < this->count_; ++i) {
      if (this->to()[i] != (i < copied() ? this->from()[i + this->step_] : T(0))) return false;
    }
    return true;
  }
  Index copied() const { return this->count_ - this->step_; }
};

template <class Probe>
std::unique_ptr<BandwidthProbe> make(Device& device, std::size_t bytes, Index step) {
  return std::make_unique<Probe>(device, bytes, step);
}

}  // namespace

template <class T>
std::span<const BandwidthRow<T>> host::bandwidth_rows() {
  constexpr auto strided = make<StridedProbe<T>>, offset = make<OffsetProbe<T>>;
  constexpr const char* of_stride = "copies an element of so many, cached stores";
  constexpr const char* of_offset = "copies from so many elements further on, streaming stores";
  static const BandwidthRow<T> table[] = {
      {"copy", "streaming stores: the roof", make<CopyProbe<T, Store::streaming>>},
      {"copy_cached", "plain stores: lines are read before they are written",
       make<CopyProbe<T, Store::cached>>},
      {"read", "sums the bits of one array", make<ReadProbe<T>>},
      {"write", "streaming stores", make<WriteProbe<T, Store::streaming>>},
      {"write_cached", "plain stores: lines are read before they are written",
       make<WriteProbe<T, Store::cached>>},
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

template std::span<const BandwidthRow<float>> host::bandwidth_rows();
template std::span<const BandwidthRow<double>> host::bandwidth_rows();

std::unique_ptr<BandwidthProbe> host::make_copy_probe(Device& device, std::size_t bytes) {
  return make<CopyProbe<double, Store::streaming>>(device, bytes, 0);
}

double measure_copy_bandwidth(Device& device, std::size_t bytes) {
  const auto probe = make_copy_probe(device, bytes);
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  Stopwatch watch(device, stream);
  const auto copy = [&] { probe->enqueue(stream); };
  watch.seconds(copy);  // loads the kernel
  double best = watch.seconds(copy);
  const Timer timer;
  for (int done = 1; done < 3 || (done < 100 && timer.seconds() < 0.25); ++done) {
    best = std::min(best, watch.seconds(copy));
  }
  return probe->bytes() / best;
}

}  // namespace isotherm
