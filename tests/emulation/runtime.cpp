// The emulated device: one thread executes the work of all streams in the order in which it was queued, while
// the host continues. An event holds the time at which it passed.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "cuda_runtime_api.h"

namespace {

using emulation::give;
using emulation::result;

cudaError_t last_error = cudaSuccess;
// The graph that this thread records, if any; meanwhile it may neither wait, query nor allocate.
thread_local EmulatedGraph* capturing = nullptr;
constexpr std::size_t total_memory = std::size_t{8} << 30;

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

// Never destroyed: abandoned work may still run when the process ends.
Device& device() {
  static Device* const only = new Device;
  return *only;
}

}  // namespace

void emulation::queue(cudaStream_t stream, std::function<void()> work, bool by_host) {
  if (stream && stream->capture) {
    stream->capture->work.push_back({std::move(work), by_host});
    ++stream->recorded;
  } else if (by_host) {
    device().wait_for_all();
    work();
  } else {
    device().queue(std::move(work));
  }
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
const char* cudaGetErrorName(cudaError_t code) {
  thread_local std::string number;
  return (number = std::to_string(code)).c_str();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  *properties = {"emulated GPU", {}, 9, 0, 3, 0, 0, 0, total_memory};
  // Every process has its own GPU, unless EMULATION_ONE_GPU is set.
  const pid_t pid = std::getenv("EMULATION_ONE_GPU") ? 1 : getpid();
  std::memcpy(properties->uuid.bytes, &pid, sizeof(pid));
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  device().wait_for_all();
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
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  for (const EmulatedGraph::Piece& piece : exec->work) emulation::queue(stream, piece.work, piece.by_host);
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

// Memory of the emulated device: anonymous files, so that other processes can map them too.
namespace {

constexpr std::size_t alignment = 256;

// Pages of a file, followed by a guard page. The used bytes end at the guard page. The file has one more
// page, which counts the processes that have opened it. An IPC handle contains the owner's mapping.
struct Mapping {
  char* base = nullptr;
  std::size_t pages = 0;  // bytes without the guard page
  std::size_t usable = 0;
  int file = -1;  // in the process that allocated it
  std::uint64_t serial = 0;
  pid_t process = getpid();  // the owner
  std::atomic<int>* openers = nullptr;

  void* data() const { return base + pages - usable; }
};
static_assert(sizeof(Mapping) <= sizeof(cudaIpcMemHandle_t));
std::map<void*, Mapping> allocated, opened, pinned;
std::size_t used_memory = 0;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }
std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

bool map_file(Mapping& mapping, int file) {
  const std::size_t page = page_bytes();
  const int access = PROT_READ | PROT_WRITE;
  void* const count = mmap(nullptr, page, access, MAP_SHARED, file, static_cast<off_t>(mapping.pages));
  void* const base = mmap(nullptr, mapping.pages + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (count == MAP_FAILED || base == MAP_FAILED) return false;
  mapping.openers = static_cast<std::atomic<int>*>(count);
  mapping.base = static_cast<char*>(base);
  return mapping.pages == 0 || mmap(base, mapping.pages, access, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file,
                                    0) != MAP_FAILED;  // all pages at once: one fault each is slower
}
void unmap(const Mapping& mapping) {
  munmap(mapping.openers, page_bytes());
  // No later array has the addresses, so uses of freed memory fault.
  mmap(mapping.base, mapping.pages + page_bytes(), PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (mapping.file >= 0) close(mapping.file);
}

std::string file_name(std::uint64_t serial) { return "emulated-device-memory-" + std::to_string(serial); }
bool is_file(const std::string& path, std::uint64_t serial) {
  char name[128] = "";
  return readlink(path.c_str(), name, sizeof(name) - 1) > 0 &&
         name == "/memfd:" + file_name(serial) + " (deleted)";
}

bool lies_in(const std::map<void*, Mapping>& mappings, const void* pointer) {
  auto after = mappings.upper_bound(const_cast<void*>(pointer));
  if (after == mappings.begin()) return false;
  const auto& [start, mapping] = *--after;
  return static_cast<const char*>(pointer) < static_cast<char*>(start) + mapping.usable;
}
// Memory that the device knows; copies from and to any other are done when the call returns.
bool is_known(const void* pointer) {
  return lies_in(allocated, pointer) || lies_in(opened, pointer) || lies_in(pinned, pointer);
}

}  // namespace

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = total_memory - used_memory;
  return give(total, total_memory);
}

// Fills the memory with bytes that are NaN in any precision.
cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  if (bytes > total_memory - used_memory) return result(cudaErrorMemoryAllocation);
  static std::uint64_t serial = 0;
  Mapping mapping;
  mapping.usable = round_up(bytes, alignment);
  mapping.pages = round_up(mapping.usable, page_bytes());
  mapping.serial = ++serial;
  mapping.file = memfd_create(file_name(serial).c_str(), MFD_CLOEXEC);
  if (mapping.file < 0 || ftruncate(mapping.file, static_cast<off_t>(mapping.pages + page_bytes())) != 0 ||
      !map_file(mapping, mapping.file)) {
    return result(cudaErrorMemoryAllocation);
  }
  *pointer = mapping.data();
  std::memset(*pointer, 0xff, mapping.usable);
  allocated[*pointer] = mapping;
  used_memory += mapping.pages;
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  const auto found = allocated.find(pointer);
  if (found == allocated.end()) return result(cudaErrorInvalidValue);
  device().wait_for_all();
  if (*found->second.openers != 0) {
    std::fprintf(stderr, "emulation: memory is freed that another process has still open\n");
    std::abort();
  }
  const Mapping& mapping = found->second;
  used_memory -= mapping.pages;
  unmap(mapping);
  allocated.erase(found);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  Mapping mapping;
  mapping.usable = round_up(bytes, alignment);
  *pointer = std::aligned_alloc(alignment, mapping.usable);
  if (!*pointer) return result(cudaErrorMemoryAllocation);
  pinned[*pointer] = mapping;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) {
  if (capturing) return result(cudaErrorStreamCaptureUnsupported);
  device().wait_for_all();
  pinned.erase(pointer);
  std::free(pointer);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  emulation::queue(stream, [=] { std::memmove(to, from, bytes); });
  if (!is_known(to) || !is_known(from)) device().wait_for_all();
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  emulation::queue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  const auto found = allocated.find(pointer);  // only the start of an allocation
  if (found == allocated.end()) return result(cudaErrorInvalidValue);
  *handle = {};
  std::memcpy(handle->reserved, &found->second, sizeof(Mapping));
  return cudaSuccess;
}
// As strict as the oldest runtimes: the owner cannot open its own handle, and no process opens one twice.
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  if (flags != cudaIpcMemLazyEnablePeerAccess) return result(cudaErrorInvalidValue);
  Mapping theirs;
  std::memcpy(&theirs, handle.reserved, sizeof(theirs));
  if (theirs.process == getpid()) return result(cudaErrorInvalidContext);
  for (const auto& [start, mapping] : opened) {
    const bool same = mapping.serial == theirs.serial && mapping.process == theirs.process;
    if (same) return result(cudaErrorAlreadyMapped);
  }
  const std::string path = "/proc/" + std::to_string(theirs.process) + "/fd/" + std::to_string(theirs.file);
  if (!is_file(path, theirs.serial)) return result(cudaErrorMapBufferObjectFailed);  // freed
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  theirs.file = -1;
  const bool mapped = file >= 0 && map_file(theirs, file);
  if (file >= 0) close(file);
  if (!mapped) return result(cudaErrorMapBufferObjectFailed);
  ++*theirs.openers;
  opened[theirs.data()] = theirs;
  return give(pointer, theirs.data());
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  const auto found = opened.find(pointer);
  if (found == opened.end()) return result(cudaErrorInvalidValue);
  device().wait_for_all();
  --*found->second.openers;
  unmap(found->second);
  opened.erase(found);
  return cudaSuccess;
}

// The emulated GPU uses host memory, which every MPI accepts. This function replaces that of the MPI library.
extern "C" int MPIX_Query_cuda_support() { return 1; }
