// The copy bandwidth of a GPU: a kernel that copies 16 bytes an access, timed with events.
#include <algorithm>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/rows.hpp"

namespace isotherm::cuda {
namespace {

// Four independent loads a thread are in flight before its first store.
struct Copy {
  static constexpr int threads = 512;
  static constexpr int words_a_thread = 4;
  static constexpr int words_a_block = threads * words_a_thread;
};

using Word = uint4;  // 16 bytes

__global__ void __launch_bounds__(Copy::threads) copy_words(const Word* from, Word* to, Index words) {
  const Index first = Index{blockIdx.x} * Copy::words_a_block + threadIdx.x;
  if (first + (Copy::words_a_thread - 1) * Copy::threads < words) {
    Word word[Copy::words_a_thread];
#pragma unroll
    for (int i = 0; i < Copy::words_a_thread; ++i) word[i] = from[first + i * Copy::threads];
#pragma unroll
    for (int i = 0; i < Copy::words_a_thread; ++i) to[first + i * Copy::threads] = word[i];
  } else {
    for (Index i = first; i < words; i += Copy::threads) to[i] = from[i];
  }
}

// An event that takes the time, which those of Device do not.
class TimedEvent {
 public:
  TimedEvent() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~TimedEvent() { cudaEventDestroy(event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;
  void record(Stream stream) { check(cudaEventRecord(event_, native(stream)), "cudaEventRecord"); }
  // Seconds from `start` to this event, both passed.
  double since(const TimedEvent& start) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaCopyProbe final : public CopyProbe {
 public:
  CudaCopyProbe(Device& device, std::size_t bytes)
      : device_(device),
        words_(std::max<Index>(static_cast<Index>(bytes / sizeof(Word)), 1)),
        from_(device, static_cast<std::size_t>(words_) * sizeof(Word)),
        to_(device, static_cast<std::size_t>(words_) * sizeof(Word)),
        stream_(own_stream(device, Priority::normal)) {
    check(cudaMemsetAsync(from_.data(), 0x3c, from_.bytes(), native(stream_.get())), "cudaMemsetAsync");
    copy_seconds();  // loads the kernel
  }

  // The events stand next to the kernel in the queue, so that no time between them is the host's.
  double copy_seconds() override {
    start_.record(stream_);
    launch("copy_words", copy_words,
           {static_cast<unsigned>(ceil_div(words_, Copy::words_a_block)), Copy::threads}, stream_,
           from_.as<Word>(), to_.as<Word>(), words_);
    end_.record(stream_);
    device_.synchronize(stream_);
    return end_.since(start_);
  }

 private:
  Device& device_;
  Index words_;
  Buffer from_, to_;
  Owned<Stream> stream_;
  TimedEvent start_, end_;
};

}  // namespace

std::unique_ptr<CopyProbe> make_copy_probe_cuda(Device& device, std::size_t bytes) {
  return std::make_unique<CudaCopyProbe>(device, bytes);
}

}  // namespace isotherm::cuda
