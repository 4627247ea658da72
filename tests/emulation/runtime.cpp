// The emulated device: one thread that does what all streams are given, in that order and one after the
// other, while the host goes on. Events hold the time.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_runtime_api.h"

struct EmulatedGraph {
  struct Piece {
    std::function<void()> work;
    bool for_host;
  };
  std::vector<Piece> work;
  std::vector<EmulatedStream*> streams;  // those whose work is being recorded
};
struct EmulatedStream {
  int priority;
  EmulatedGraph* capture;  // the graph that is being recorded, or null
  std::uint64_t recorded = 0,
                joined = 0;  // pieces of it from here, and of these what another stream waits for
};
struct EmulatedEvent {
  std::shared_ptr<std::chrono::steady_clock::time_point> at;
  std::uint64_t place = 0;           // in the device's queue
  EmulatedGraph* capture = nullptr;  // where it was recorded in one: streams that wait for it join in
  EmulatedStream* stream = nullptr;  // there
  std::uint64_t recorded = 0;        // as the stream's then
};

namespace {

using emulation::result;

cudaError_t last_error = cudaSuccess;
thread_local EmulatedGraph* capturing = nullptr;  // by this thread

class Device {
 public:
  // Pieces of work are numbered from 1 on.
  std::uint64_t queue(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
    return ++queued_;
  }
  bool has_done(std::uint64_t place) {
    const std::lock_guard lock(mutex_);
    return done_ >= place;
  }
  void wait_for(std::uint64_t place) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= place; });
  }
  void wait_for_all() { wait_for(queued_); }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::uint64_t queued_ = 0, done_ = 0;
  std::jthread thread_{[this] { run(); }};
};

void join(EmulatedStream* stream, EmulatedGraph* graph) {
  stream->capture = graph;
  stream->recorded = stream->joined = 0;
  graph->streams.push_back(stream);
}

// Lives as long as the process: what was given up may still be under way when it ends.
Device& device() {
  static Device* const only = new Device;
  return *only;
}

void queue(cudaStream_t stream, EmulatedGraph::Piece piece) {
  if (stream && stream->capture) {
    stream->capture->work.push_back(std::move(piece));
    ++stream->recorded;
  } else if (piece.for_host) {
    device().wait_for_all();
    piece.work();
  } else {
    device().queue(std::move(piece.work));
  }
}

}  // namespace

void emulation::queue(cudaStream_t stream, std::function<void()> work) {
  ::queue(stream, {std::move(work), false});
}
void emulation::queue_for_host(cudaStream_t stream, std::function<void()> work) {
  ::queue(stream, {std::move(work), true});
}
bool emulation::is_capturing() {
  return capturing != nullptr;
}
void emulation::finish() {
  device().wait_for_all();
}
cudaError_t emulation::result(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

cudaError_t cudaGetLastError() {
  const cudaError_t code = last_error;
  last_error = cudaSuccess;
  return code;
}
namespace {

struct ErrorText {
  cudaError_t code;
  const char *name, *text;
};
const ErrorText& text_of(cudaError_t code) {
  static constexpr ErrorText texts[] = {
      {cudaSuccess, "cudaSuccess", "no error"},
      {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
      {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
      {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
      {cudaErrorInvalidContext, "cudaErrorInvalidContext", "invalid device context"},
      {cudaErrorMapBufferObjectFailed, "cudaErrorMapBufferObjectFailed", "mapping of buffer object failed"},
      {cudaErrorAlreadyMapped, "cudaErrorAlreadyMapped", "resource already mapped"},
      {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
       "operation not permitted when stream is capturing"},
      {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
       "capturing stream has unjoined work"},
      {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
       "dependency created on uncaptured work in another stream"},
      {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
       "operation not permitted on an event last recorded in a capturing stream"},
      {cudaErrorNotReady, "cudaErrorEmulated", "emulated error"}};
  const auto found = std::ranges::find(texts, code, &ErrorText::code);
  return found == std::end(texts) ? *std::prev(found) : *found;
}

}  // namespace

const char* cudaGetErrorString(cudaError_t code) {
  return text_of(code).text;
}
const char* cudaGetErrorName(cudaError_t code) {
  return text_of(code).name;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  *properties = {"emulated GPU", {}, 9, 0, 3, 0, 0, 0, emulation::total_memory};
  // Every process has a GPU of its own, or says that it has not.
  const pid_t pid = std::getenv("EMULATION_ONE_GPU") ? 1 : getpid();
  std::memcpy(properties->uuid.bytes, &pid, sizeof(pid));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  // The clock is that of clock64(), nanoseconds; memory and cache are small, so that kernels keep a pace.
  static const std::map<cudaDeviceAttr, int> values = {
      {cudaDevAttrClockRate, 1'000'000},
      {cudaDevAttrMultiProcessorCount, 3},
      {cudaDevAttrMemoryClockRate, 1'000'000},
      {cudaDevAttrGlobalMemoryBusWidth, 64},
      {cudaDevAttrL2CacheSize, 4096},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrComputeCapabilityMajor, 9},
      {cudaDevAttrComputeCapabilityMinor, 0},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 << 10},
  };
  const auto found = values.find(attribute);
  if (found == values.end()) return result(cudaErrorInvalidValue);
  *value = found->second;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  emulation::finish();
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  *stream = new EmulatedStream{priority, nullptr};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  emulation::finish();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->capture && event->capture != capturing) return result(cudaErrorCapturedEvent);
  if (stream->capture && !event->capture) return result(cudaErrorStreamCaptureIsolation);
  if (!event->capture) return cudaSuccess;
  if (!stream->capture) join(stream, event->capture);
  event->stream->joined = std::max(event->stream->joined, event->recorded);
  ++stream->recorded;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  capturing = new EmulatedGraph;
  join(stream, capturing);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->capture;
  if (!*graph) return result(cudaErrorInvalidValue);
  capturing = nullptr;
  bool all_joined = true;
  for (EmulatedStream* joined : std::exchange((*graph)->streams, {})) {
    joined->capture = nullptr;
    all_joined = all_joined && (joined == stream || joined->joined == joined->recorded);
  }
  return result(all_joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new EmulatedGraph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  for (const EmulatedGraph::Piece& piece : exec->work) queue(stream, piece);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new EmulatedEvent{std::make_shared<std::chrono::steady_clock::time_point>()};
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->capture = stream ? stream->capture : nullptr;
  event->stream = stream;
  if (event->capture) {
    event->recorded = stream->recorded;
    return cudaSuccess;
  }
  event->place = device().queue([at = event->at] { *at = std::chrono::steady_clock::now(); });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  if (event->capture) return result(cudaErrorCapturedEvent);
  device().wait_for(event->place);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  if (event->capture) return result(cudaErrorCapturedEvent);
  return device().has_done(event->place) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(*end->at - *start->at).count();
  return cudaSuccess;
}
