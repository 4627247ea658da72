// The bandwidth probes of a GPU: kernels that copy, read and write 16 bytes per access, strided and offset
// copies that show the effect of coalescing, transfers to and from the host, reads of host or managed memory.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/bandwidth.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {
namespace {

using Word = uint4;  // 16 bytes

// A thread has four independent loads in flight before its first store.
constexpr int threads = 512, words_per_thread = 4, words_per_block = threads * words_per_thread;

Threads blocks_for(Index items, Index items_per_block) {
  return {dim3(static_cast<unsigned>(std::max<Index>(ceil_div(items, items_per_block), 1))), dim3(threads)};
}

// Calls use(i, load(i)) for the words of this thread. If it has all its words, all loads precede the stores.
template <class Load, class Use>
__device__ __forceinline__ void for_each_own_word(Index words, const Load& load, const Use& use) {
  const Index first = Index{blockIdx.x} * words_per_block + threadIdx.x;
  if (first + (words_per_thread - 1) * threads < words) {
    Word word[words_per_thread];
#pragma unroll
    for (int i = 0; i < words_per_thread; ++i) word[i] = load(first + i * threads);
#pragma unroll
    for (int i = 0; i < words_per_thread; ++i) use(first + i * threads, word[i]);
  } else {
    const Index end = min((Index{blockIdx.x} + 1) * words_per_block, words);
    for (Index i = first; i < end; i += threads) use(i, load(i));
  }
}

__global__ void __launch_bounds__(threads) copy_words(const Word* from, Word* to, Index words) {
  for_each_own_word(
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
ISOTHERM_HOST_DEVICE std::uint32_t part_of_sum(Word word) { return word.x + word.y + word.z + word.w; }

__global__ void __launch_bounds__(threads) write_words(Word* to, Index words, std::uint32_t seed) {
  for_each_own_word(
      words, [=](Index i) { return random_word(i, seed); }, [=](Index i, Word word) { to[i] = word; });
}

// The sum of all 32-bit parts modulo 2^32. The resident threads of the device loop over the words. A block
// adds to memory once: with one addition per warp, the address of the sum was the bottleneck.
__global__ void __launch_bounds__(threads) read_words(const Word* from, Index words, unsigned* sum) {
  unsigned mine = 0;
  const Index step = Index{gridDim.x} * words_per_block;
  for (Index first = Index{blockIdx.x} * words_per_block; first < words; first += step) {
    Word word[words_per_thread];
#pragma unroll
    for (int i = 0; i < words_per_thread; ++i) {
      const Index at = first + i * threads + threadIdx.x;
      word[i] = at < words ? from[at] : Word{0, 0, 0, 0};
    }
#pragma unroll
    for (int i = 0; i < words_per_thread; ++i) mine += part_of_sum(word[i]);
  }
  __shared__ unsigned of_warp[threads / warp_size];
#pragma unroll
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) mine += __shfl_down_sync(0xffffffffu, mine, lanes);
  if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < threads / warp_size; ++i) mine += of_warp[i];
  atomicAdd(sum, mine);
}

// At most the number of blocks that the device holds at once.
Threads blocks_to_read(Index words) {
  Threads all = blocks_for(words, words_per_block);
  const Index resident = blocks_at_once(read_words, threads);
  all.grid.x = static_cast<unsigned>(std::min<Index>(all.grid.x, resident));
  return all;
}

// One element per thread: neighbours in a warp are `stride` elements apart, or reads start at `offset`.
template <class T>
__global__ void __launch_bounds__(threads) copy_strided(const T* from, T* to, Index copied, Index stride) {
  const Index i = Index{blockIdx.x} * threads + threadIdx.x;
  if (i < copied) to[i * stride] = from[i * stride];
}
template <class T>
__global__ void __launch_bounds__(threads) copy_offset(const T* from, T* to, Index copied, Index offset) {
  const Index i = Index{blockIdx.x} * threads + threadIdx.x;
  if (i < copied) to[i] = from[i + offset];
}

// 64 numbers of either precision, so that every stride and offset leaves an element to copy.
constexpr Index least_words = 64 * sizeof(double) / sizeof(Word);

Index words_of(std::size_t bytes) { return std::max(static_cast<Index>(bytes / sizeof(Word)), least_words); }
std::size_t bytes_of(Index words) { return static_cast<std::size_t>(words) * sizeof(Word); }

// An array, and the kind of memory that it is in.
enum class Place { device, pinned, managed, pageable };
using Array = std::unique_ptr<Word[], std::function<void(Word*)>>;

Array allocate(Device& device, Index words, Place place) {
  if (place == Place::pageable)
    return {new Word[static_cast<std::size_t>(words)], std::default_delete<Word[]>()};
  if (place == Place::managed) {
    Word* managed = nullptr;
    check(cudaMallocManaged(&managed, bytes_of(words)), "cudaMallocManaged");
    return {managed, [](Word* array) { cudaFree(array); }};
  }
  const Memory memory = place == Place::pinned ? Memory::staging : Memory::device;
  return {static_cast<Word*>(device.allocate(bytes_of(words), memory)),
          [&device, memory](Word* array) { device.release(array, memory); }};
}

constexpr std::uint32_t seed = 1;  // of all random arrays

void write_random_by_host(Word* to, Index words) {
  for (Index i = 0; i < words; ++i) to[i] = random_word(i, seed);
}
Array random_array(Device& device, Index words, Place place) {
  Array array = allocate(device, words, place);
  if (place == Place::managed || place == Place::pageable) {
    write_random_by_host(array.get(), words);
  } else {
    launch("write_words", write_words, blocks_for(words, words_per_block), Stream{}, array.get(), words,
           seed);
    device.synchronize(Stream{});
  }
  return array;
}

Array zeros(Device& device, Index words, Place place) {
  Array array = allocate(device, words, place);
  if (place != Place::device) {
    std::fill_n(array.get(), words, Word{});
  } else {
    check(cudaMemset(array.get(), 0, bytes_of(words)), "cudaMemset");
    device.synchronize(Stream{});  // other streams do not wait for the default stream
  }
  return array;
}

std::vector<Word> to_host(Device& device, const Array& from, Index words) {
  std::vector<Word> there(static_cast<std::size_t>(words));
  device.copy(there.data(), from.get(), bytes_of(words), {});
  device.synchronize(Stream{});
  return there;
}

bool are_random(const std::vector<Word>& words, std::uint32_t of_seed = seed) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word expected = random_word(static_cast<Index>(i), of_seed);
    if (std::memcmp(&words[i], &expected, sizeof(Word)) != 0) return false;
  }
  return true;
}

// An array of random words and one of zeros; by default the first is copied to the second.
class Probe : public BandwidthProbe {
 public:
  // `words_to`: of the second array; 0: as many as of the first.
  Probe(Device& device, std::size_t bytes, Place from, Place to, Index words_to = 0)
      : device_(device),
        words_(words_of(bytes)),
        from_(random_array(device, words_, from)),
        to_(zeros(device, words_to > 0 ? words_to : words_, to)) {}
  double bytes() const override { return static_cast<double>(bytes_of(words_)); }
  bool right() override { return are_random(to_host(device_, to_, words_)); }

 protected:
  Device& device_;
  const Index words_;
  const Array from_, to_;
};

// Between the memory of the host and of the device, by Device::copy().
template <Place from, Place to>
struct TransferProbe final : Probe {
  TransferProbe(Device& device, std::size_t bytes, Index) : Probe(device, bytes, from, to) {}
  void enqueue(Stream stream) override { device_.copy(to_.get(), from_.get(), bytes_of(words_), stream); }
};

template <bool copies>
struct StreamProbe final : Probe {
  StreamProbe(Device& device, std::size_t bytes, Index)
      : Probe(device, bytes, Place::device, Place::device) {}
  void enqueue(Stream stream) override {
    const Threads all = blocks_for(words_, words_per_block);
    copies ? launch("copy_words", copy_words, all, stream, from_.get(), to_.get(), words_)
           : launch("write_words", write_words, all, stream, to_.get(), words_, seed + 1);
  }
  double bytes() const override { return (copies ? 2.0 : 1.0) * Probe::bytes(); }
  bool right() override { return are_random(to_host(device_, to_, words_), copies ? seed : seed + 1); }
};

// One element of T per access.
template <class T, bool strided>
struct StepProbe final : Probe {
  StepProbe(Device& device, std::size_t bytes, Index step)
      : Probe(device, bytes, Place::device, Place::device), step_(step) {}
  void enqueue(Stream stream) override {
    launch(strided ? "copy_strided" : "copy_offset", strided ? copy_strided<T> : copy_offset<T>,
           blocks_for(copied(), threads), stream, reinterpret_cast<const T*>(from_.get()),
           reinterpret_cast<T*>(to_.get()), copied(), step_);
  }
  double bytes() const override { return 2.0 * static_cast<double>(copied()) * sizeof(T); }
  bool right() override {
    const std::vector<Word> from = to_host(device_, from_, words_);
    const std::vector<Word> to = to_host(device_, to_, words_);
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

// The device reads an array: its own memory, or that of the host across the bus. `moves`: the host writes the
// array before each sample, so that the kernel's first reads move pages of managed memory to the device.
template <Place place, bool moves = false>
struct ReadProbe final : Probe {  // the other array has the sum
  ReadProbe(Device& device, std::size_t bytes, Index) : Probe(device, bytes, place, Place::device, 1) {}
  void enqueue(Stream stream) override {
    check(cudaMemsetAsync(to_.get(), 0, sizeof(unsigned), native(stream)), "cudaMemsetAsync");
    launch("read_words", read_words, blocks_to_read(words_), stream, from_.get(), words_, &to_.get()->x);
  }
  void prepare() override {
    if (moves) write_random_by_host(from_.get(), words_);
  }
  bool right() override {
    std::uint32_t expected = 0;
    for (Index i = 0; i < words_; ++i) expected += part_of_sum(random_word(i, seed));
    return to_host(device_, to_, 1).front().x == expected;
  }
};

}  // namespace

template <class T>
std::span<const BandwidthEntry<T>> bandwidth_registry() {
  constexpr auto strided = make_probe<StepProbe<T, true>>, offset = make_probe<StepProbe<T, false>>;
  constexpr const char* of_stride = "elements a stride apart: only a part of each line is used";
  constexpr const char* of_offset = "reads start at an offset of elements: warps straddle lines";
  static const BandwidthEntry<T> table[] = {
      {"copy", "16 bytes per access: the copy bandwidth", make_probe<StreamProbe<true>>},
      {"read", "16 bytes per access", make_probe<ReadProbe<Place::device>>},
      {"write", "16 bytes per access", make_probe<StreamProbe<false>>},
      {"strided_2", of_stride, strided, 2},
      {"strided_4", of_stride, strided, 4},
      {"strided_8", of_stride, strided, 8},
      {"strided_16", of_stride, strided, 16},
      {"strided_32", of_stride, strided, 32},
      {"offset_0", "one element per thread, aligned", offset, 0},
      {"offset_1", of_offset, offset, 1},
      {"offset_2", of_offset, offset, 2},
      {"offset_4", of_offset, offset, 4},
      {"offset_8", of_offset, offset, 8},
      {"to_device_pinned", "copy engine, page-locked host memory",
       make_probe<TransferProbe<Place::pinned, Place::device>>},
      {"from_device_pinned", "copy engine, page-locked host memory",
       make_probe<TransferProbe<Place::device, Place::pinned>>},
      {"to_device_pageable", "staged by the driver",
       make_probe<TransferProbe<Place::pageable, Place::device>>},
      {"from_device_pageable", "staged by the driver",
       make_probe<TransferProbe<Place::device, Place::pageable>>},
      {"zero_copy_read", "a kernel reads pinned host memory", make_probe<ReadProbe<Place::pinned>>},
      {"managed_first_touch", "a kernel reads managed memory that the host has written",
       make_probe<ReadProbe<Place::managed, true>>, 0, true},
      {"managed_resident", "a kernel reads managed memory that it has read before",
       make_probe<ReadProbe<Place::managed>>},
  };
  return table;
}

template std::span<const BandwidthEntry<float>> bandwidth_registry();
template std::span<const BandwidthEntry<double>> bandwidth_registry();

}  // namespace isotherm::cuda
