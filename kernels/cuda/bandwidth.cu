// The bandwidth probes of a GPU: kernels that copy, read and write 16 bytes per access, strided and offset
// copies that show the effect of coalescing, transfers to and from the host, reads of host or managed memory.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/bandwidth.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

using Word = uint4;  // 16 bytes

// A thread has four independent loads in flight before its first store.
struct LaunchShape {
  static constexpr int threads = 512;
  static constexpr int words_per_thread = 4;
  static constexpr int words_per_block = threads * words_per_thread;
};

Threads blocks_for(Index items, Index items_per_block) {
  return {dim3(static_cast<unsigned>(std::max<Index>(ceil_div(items, items_per_block), 1))),
          dim3(LaunchShape::threads)};
}

// Calls use(i, load(i)) for the words of this thread. If it has all its words, all loads precede the stores.
template <class Load, class Use>
__device__ __forceinline__ void for_my_words(Index words, const Load& load, const Use& use) {
  const Index first = Index{blockIdx.x} * LaunchShape::words_per_block + threadIdx.x;
  if (first + (LaunchShape::words_per_thread - 1) * LaunchShape::threads < words) {
    Word word[LaunchShape::words_per_thread];
#pragma unroll
    for (int i = 0; i < LaunchShape::words_per_thread; ++i) word[i] = load(first + i * LaunchShape::threads);
#pragma unroll
    for (int i = 0; i < LaunchShape::words_per_thread; ++i) use(first + i * LaunchShape::threads, word[i]);
  } else {
    const Index end = min((Index{blockIdx.x} + 1) * LaunchShape::words_per_block, words);
    for (Index i = first; i < end; i += LaunchShape::threads) use(i, load(i));
  }
}

__global__ void __launch_bounds__(LaunchShape::threads) copy_words(const Word* from, Word* to, Index words) {
  for_my_words(
      words, [=](Index i) { return from[i]; }, [=](Index i, Word word) { to[i] = word; });
}

// A pseudo-random value that depends on its index alone.
ISOTHERM_HOST_DEVICE std::uint32_t scrambled(std::uint64_t i) {
  i *= 0x9e3779b97f4a7c15u;
  i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::uint32_t>(i >> 32);
}
ISOTHERM_HOST_DEVICE Word random_word(Index i, std::uint32_t seed) {
  const std::uint32_t bits = scrambled(static_cast<std::uint64_t>(i) + seed);
  return {bits, bits ^ 0x55555555u, bits * 3u, ~bits};
}
ISOTHERM_HOST_DEVICE std::uint32_t part_of_sum(Word word) {
  return word.x + word.y + word.z + word.w;
}

__global__ void __launch_bounds__(LaunchShape::threads)
    write_words(Word* to, Index words, std::uint32_t seed) {
  for_my_words(
      words, [=](Index i) { return random_word(i, seed); }, [=](Index i, Word word) { to[i] = word; });
}

// The sum of all 32-bit parts modulo 2^32. The resident threads of the device loop over the words. A block
// adds to memory once: with one addition per warp, the address of the sum was the bottleneck.
__global__ void __launch_bounds__(LaunchShape::threads)
    read_words(const Word* from, Index words, unsigned* sum) {
  unsigned mine = 0;
  const Index step = Index{gridDim.x} * LaunchShape::words_per_block;
  for (Index first = Index{blockIdx.x} * LaunchShape::words_per_block; first < words; first += step) {
    Word word[LaunchShape::words_per_thread];
#pragma unroll
    for (int i = 0; i < LaunchShape::words_per_thread; ++i) {
      const Index at = first + i * LaunchShape::threads + threadIdx.x;
      word[i] = at < words ? from[at] : Word{0, 0, 0, 0};
    }
#pragma unroll
    for (int i = 0; i < LaunchShape::words_per_thread; ++i) mine += part_of_sum(word[i]);
  }
  __shared__ unsigned of_warp[LaunchShape::threads / warp_size];
#pragma unroll
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) mine += __shfl_down_sync(0xffffffffu, mine, lanes);
  if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < LaunchShape::threads / warp_size; ++i) mine += of_warp[i];
  atomicAdd(sum, mine);
}

// As many blocks as the device holds at once, or fewer.
Threads blocks_to_read(Index words) {
  Threads all = blocks_for(words, LaunchShape::words_per_block);
  const Index resident = blocks_at_once(read_words, LaunchShape::threads);
  all.grid.x = static_cast<unsigned>(std::min<Index>(all.grid.x, resident));
  return all;
}

// One element per thread: neighbours in a warp are `stride` elements apart, or reads start at `offset`.
template <class T>
__global__ void __launch_bounds__(LaunchShape::threads)
    copy_strided(const T* from, T* to, Index copied, Index stride) {
  const Index i = Index{blockIdx.x} * LaunchShape::threads + threadIdx.x;
  if (i < copied) to[i * stride] = from[i * stride];
}
template <class T>
__global__ void __launch_bounds__(LaunchShape::threads)
    copy_offset(const T* from, T* to, Index copied, Index offset) {
  const Index i = Index{blockIdx.x} * LaunchShape::threads + threadIdx.x;
  if (i < copied) to[i] = from[i + offset];
}

// 64 numbers of either precision, so that with every stride and offset there is something to copy.
constexpr Index least_words = 64 * sizeof(double) / sizeof(Word);

Index words_of(std::size_t bytes) {
  return std::max(static_cast<Index>(bytes / sizeof(Word)), least_words);
}
std::size_t bytes_of(Index words) {
  return static_cast<std::size_t>(words) * sizeof(Word);
}

void write_random(Device& device, Word* to, Index words, std::uint32_t seed) {
  launch("write_words", write_words, blocks_for(words, LaunchShape::words_per_block), Stream{}, to, words,
         seed);
  device.synchronize(Stream{});
}

// Synchronises, because other streams do not wait for the default stream.
void clear(Device& device, const Buffer& buffer) {
  check(cudaMemset(buffer.data(), 0, buffer.bytes()), "cudaMemset");
  device.synchronize(Stream{});
}

std::vector<Word> to_host(Device& device, const void* from, Index words) {
  std::vector<Word> there(static_cast<std::size_t>(words));
  device.copy(there.data(), from, bytes_of(words), {});
  device.synchronize(Stream{});
  return there;
}

bool same(const Word& a, const Word& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}
bool are_random(const std::vector<Word>& words, std::uint32_t seed) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!same(words[i], random_word(static_cast<Index>(i), seed))) return false;
  }
  return true;
}
std::uint32_t sum_of_random(Index words, std::uint32_t seed) {
  std::uint32_t sum = 0;
  for (Index i = 0; i < words; ++i) sum += part_of_sum(random_word(i, seed));
  return sum;
}

// An array of random words and one of zeros, in the device's memory.
class Pair : public BandwidthProbe {
 public:
  Pair(Device& device, std::size_t bytes)
      : device_(device),
        words_(words_of(bytes)),
        from_(device, bytes_of(words_)),
        to_(device, bytes_of(words_)) {
    write_random(device, from_.as<Word>(), words_, seed);
    clear(device, to_);
  }

 protected:
  static constexpr std::uint32_t seed = 1;
  Device& device_;
  const Index words_;
  const Buffer from_, to_;
};

template <bool copies>
struct StreamProbe final : Pair {
  StreamProbe(Device& device, std::size_t bytes, Index) : Pair(device, bytes) {}
  void enqueue(Stream stream) override {
    const Threads threads = blocks_for(words_, LaunchShape::words_per_block);
    Word *const from = from_.as<Word>(), *const to = to_.as<Word>();
    copies ? launch("copy_words", copy_words, threads, stream, from, to, words_)
           : launch("write_words", write_words, threads, stream, to, words_, seed + 1);
  }
  double bytes() const override { return (copies ? 2.0 : 1.0) * static_cast<double>(bytes_of(words_)); }
  bool right() override { return are_random(to_host(device_, to_.data(), words_), copies ? seed : seed + 1); }
};

// One element of T per access.
template <class T, bool strided>
struct StepProbe final : Pair {
  StepProbe(Device& device, std::size_t bytes, Index step) : Pair(device, bytes), step_(step) {}
  void enqueue(Stream stream) override {
    launch(strided ? "copy_strided" : "copy_offset", strided ? copy_strided<T> : copy_offset<T>,
           blocks_for(copied(), LaunchShape::threads), stream, from_.as<T>(), to_.as<T>(), copied(), step_);
  }
  double bytes() const override { return 2.0 * static_cast<double>(copied()) * sizeof(T); }
  bool right() override {
    const std::vector<Word> from = to_host(device_, from_.data(), words_);
    const std::vector<Word> to = to_host(device_, to_.data(), words_);
    const T *a = reinterpret_cast<const T*>(from.data()), *b = reinterpret_cast<const T*>(to.data());
    for (Index i = 0; i < elements(); ++i) {
      const bool written = strided ? i % step_ == 0 && i / step_ < copied() : i < copied();
      const T expected = written ? a[strided ? i : i + step_] : T(0);
      if (std::memcmp(&b[i], &expected, sizeof(T)) != 0) return false;
    }
    return true;
  }
  Index elements() const { return static_cast<Index>(bytes_of(words_) / sizeof(T)); }
  Index copied() const { return strided ? elements() / step_ : elements() - step_; }
  const Index step_;
};

// The device reads an array; the derived probe allocates it, in any memory.
class Read : public BandwidthProbe {
 public:
  Read(Device& device, std::size_t bytes)
      : words_(words_of(bytes)), device_(device), sum_(device, sizeof(unsigned)) {
    clear(device, sum_);
  }
  void enqueue(Stream stream) override {
    check(cudaMemsetAsync(sum_.data(), 0, sizeof(unsigned), native(stream)), "cudaMemsetAsync");
    launch("read_words", read_words, blocks_to_read(words_), stream, array(), words_, sum_.as<unsigned>());
  }
  double bytes() const override { return static_cast<double>(bytes_of(words_)); }
  bool right() override {
    unsigned found = 0;
    device_.copy(&found, sum_.data(), sizeof(found), {});
    device_.synchronize(Stream{});
    return found == sum_of_random(words_, seed);
  }

 protected:
  virtual const Word* array() const = 0;
  static constexpr std::uint32_t seed = 1;
  const Index words_;
  Device& device_;

 private:
  Buffer sum_;
};

// Device memory, or pinned host memory that the kernel reads across the bus.
template <Memory memory>
struct ReadProbe final : Read {
  ReadProbe(Device& device, std::size_t bytes, Index)
      : Read(device, bytes), from_(device, bytes_of(words_), memory) {
    write_random(device, from_.as<Word>(), words_, seed);
  }
  const Word* array() const override { return from_.as<Word>(); }
  const Buffer from_;
};

// Managed memory that the host has touched last: the kernel's first reads move its pages to the device.
template <bool resident>
struct ManagedProbe final : Read {
  ManagedProbe(Device& device, std::size_t bytes, Index) : Read(device, bytes) {
    check(cudaMallocManaged(&from_, bytes_of(words_)), "cudaMallocManaged");
    write_by_host();
  }
  ~ManagedProbe() override { cudaFree(from_); }
  void prepare() override {
    if (!resident) write_by_host();
  }
  const Word* array() const override { return from_; }

 private:
  void write_by_host() {
    for (Index i = 0; i < words_; ++i) from_[i] = random_word(i, seed);
  }
  Word* from_ = nullptr;
};

// Copies between the memory of the host and of the device, by Device::copy().
enum class Way { to_device, from_device };
template <Way way, bool pinned>
struct TransferProbe final : BandwidthProbe {
  TransferProbe(Device& device, std::size_t bytes, Index)
      : device_(device),
        words_(words_of(bytes)),
        there_(device, bytes_of(words_)),
        pinned_(pinned ? Buffer(device, bytes_of(words_), Memory::staging) : Buffer()),
        pageable_(pinned ? 0 : static_cast<std::size_t>(words_)) {
    if (way == Way::to_device) {
      for (Index i = 0; i < words_; ++i) here()[i] = random_word(i, seed);
      clear(device, there_);
    } else {
      write_random(device, there_.as<Word>(), words_, seed);
      std::fill_n(here(), words_, Word{});
    }
  }
  void enqueue(Stream stream) override {
    const bool to_device = way == Way::to_device;
    device_.copy(to_device ? there_.data() : here(), to_device ? here() : there_.data(), there_.bytes(),
                 stream);
  }
  double bytes() const override { return static_cast<double>(there_.bytes()); }
  bool right() override {
    return way == Way::to_device ? are_random(to_host(device_, there_.data(), words_), seed)
                                 : are_random({here(), here() + words_}, seed);
  }

 private:
  static constexpr std::uint32_t seed = 1;
  Word* here() { return pinned ? pinned_.template as<Word>() : pageable_.data(); }
  Device& device_;
  const Index words_;
  Buffer there_, pinned_;
  std::vector<Word> pageable_;
};

template <class Probe>
std::unique_ptr<BandwidthProbe> make(Device& device, std::size_t bytes, Index step) {
  return std::make_unique<Probe>(device, bytes, step);
}

}  // namespace

template <class T>
std::span<const BandwidthEntry<T>> bandwidth_registry() {
  constexpr auto strided = make<StepProbe<T, true>>, offset = make<StepProbe<T, false>>;
  constexpr const char* of_stride = "an element of so many: lines are fetched for a part of them";
  constexpr const char* of_offset = "from so many elements further on: warps straddle lines";
  static const BandwidthEntry<T> table[] = {
      {"copy", "16 bytes an access: the copy bandwidth", make<StreamProbe<true>>},
      {"read", "16 bytes an access", make<ReadProbe<Memory::device>>},
      {"write", "16 bytes an access", make<StreamProbe<false>>},
      {"strided_2", of_stride, strided, 2},
      {"strided_4", of_stride, strided, 4},
      {"strided_8", of_stride, strided, 8},
      {"strided_16", of_stride, strided, 16},
      {"strided_32", of_stride, strided, 32},
      {"offset_0", "one element a thread, aligned", offset, 0},
      {"offset_1", of_offset, offset, 1},
      {"offset_2", of_offset, offset, 2},
      {"offset_4", of_offset, offset, 4},
      {"offset_8", of_offset, offset, 8},
      {"to_device_pinned", "copy engine, page-locked host memory", make<TransferProbe<Way::to_device, true>>},
      {"from_device_pinned", "copy engine, page-locked host memory",
       make<TransferProbe<Way::from_device, true>>},
      {"to_device_pageable", "staged by the driver", make<TransferProbe<Way::to_device, false>>},
      {"from_device_pageable", "staged by the driver", make<TransferProbe<Way::from_device, false>>},
      {"zero_copy_read", "a kernel reads pinned host memory", make<ReadProbe<Memory::staging>>},
      {"managed_first_touch", "a kernel reads managed memory that the host has written",
       make<ManagedProbe<false>>, 0, true},
      {"managed_resident", "a kernel reads managed memory that it has read before", make<ManagedProbe<true>>},
  };
  return table;
}

template std::span<const BandwidthEntry<float>> bandwidth_registry();
template std::span<const BandwidthEntry<double>> bandwidth_registry();

}  // namespace isotherm::cuda
