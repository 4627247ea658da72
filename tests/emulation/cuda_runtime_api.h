// Stands in for the host functions of the CUDA runtime that isotherm calls: one device, which uses host
// memory and executes queued work asynchronously.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidContext = 201,
  cudaErrorMapBufferObjectFailed = 205,
  cudaErrorAlreadyMapped = 208,
  cudaErrorNotReady = 600,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorCapturedEvent = 907,
};
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
// Each is the value of the emulated device. The clock rate is that of clock64(), 1 GHz; the small bandwidth
// and cache make kernels throttle.
enum cudaDeviceAttr {
  cudaDevAttrClockRate = 1'000'000,
  cudaDevAttrMultiProcessorCount = 3,
  cudaDevAttrMemoryClockRate = 1'000'000,
  cudaDevAttrGlobalMemoryBusWidth = 64,
  cudaDevAttrL2CacheSize = 4096,
  cudaDevAttrMaxThreadsPerMultiProcessor = 2048,
  cudaDevAttrComputeCapabilityMajor = 9,
  cudaDevAttrComputeCapabilityMinor = 0,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 227 << 10,
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

struct EmulatedStream;
struct EmulatedGraph {
  struct Piece {
    std::function<void()> work;
    bool by_host;
  };
  std::vector<Piece> work;
  std::vector<EmulatedStream*> streams;  // those whose work is being recorded
};
struct EmulatedStream {
  EmulatedGraph* capture = nullptr;  // the graph that is being recorded, if any
  std::uint64_t recorded = 0,
                joined = 0;  // work of this stream in the graph; its part that others wait for
};
struct EmulatedEvent {
  std::shared_ptr<std::chrono::steady_clock::time_point> at;
  std::uint64_t place = 0;           // position in the device's queue
  EmulatedGraph* capture = nullptr;  // the graph that records it, if any: streams that wait join it
  EmulatedStream* stream = nullptr;  // that recorded it
  std::uint64_t recorded = 0;        // value of the stream's counter at that time
};
using cudaStream_t = EmulatedStream*;
using cudaEvent_t = EmulatedEvent*;
using cudaGraph_t = EmulatedGraph*;
using cudaGraphExec_t = EmulatedGraph*;
inline constexpr unsigned long long cudaGraphInstantiateFlagUseNodePriority = 8;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };

struct cudaUUID_t {
  char bytes[16];
};
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  int major, minor, multiProcessorCount;
  int pciDomainID, pciBusID, pciDeviceID;
  std::size_t totalGlobalMem;
};
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, localSizeBytes;
  int numRegs, maxThreadsPerBlock;
};

#define CUDART_VERSION 13000
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2;
inline constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;

struct cudaIpcMemHandle_t {
  char reserved[64];
};

namespace emulation {
// Does the work, or records it where the stream is being captured. `by_host`: it must not run concurrently
// with the host (single-threaded MPI), so the calling thread executes it after all that was queued before.
void queue(cudaStream_t stream, std::function<void()> work, bool by_host = false);
// Returns `code`; cudaGetLastError returns it next if it is an error.
cudaError_t result(cudaError_t code);
template <class Value>
cudaError_t give(Value* to, const Value& value) {
  *to = value;
  return cudaSuccess;
}
}  // namespace emulation

cudaError_t cudaGetLastError();
// The texts of real CUDA errors differ; the numbers are the same.
inline const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess ? "no error" : "an error of the emulated device";
}
const char* cudaGetErrorName(cudaError_t code);

inline cudaError_t cudaDriverGetVersion(int* version) { return emulation::give(version, CUDART_VERSION); }
inline cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
inline cudaError_t cudaGetDeviceCount(int* count) { return emulation::give(count, 1); }
inline cudaError_t cudaGetDevice(int* device) { return emulation::give(device, 0); }
inline cudaError_t cudaSetDevice(int device) {
  return emulation::result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  return emulation::give(value, static_cast<int>(attribute));
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  return emulation::give(greatest, -5);
}
cudaError_t cudaDeviceSynchronize();
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return emulation::give(can, int{device != peer});
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* pointer);

inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return emulation::give(stream, new EmulatedStream);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return emulation::give(exec, new EmulatedGraph(*graph));
}
inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return cudaGraphDestroy(exec); }

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return emulation::give(event, new EmulatedEvent{std::make_shared<std::chrono::steady_clock::time_point>()});
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return emulation::give(milliseconds,
                         std::chrono::duration<float, std::milli>(*end->at - *start->at).count());
}
