// A CUDA GPU as a Device. Every call makes its device the calling thread's current one, so that several
// devices and threads of one process do not interfere; kernels that the thread launches next run there.
#include <cuda_runtime_api.h>
#include <string>
#include <string_view>

#include "core/cuda_native.hpp"
#include "core/device.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

using cuda::check;
using cuda::error_text;
using cuda::native;

// 13000 -> "13.0"
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// The text that nvidia-smi -L prints and CUDA_VISIBLE_DEVICES takes. A MIG instance has its own UUID, and its
// kind follows the name of its GPU: "NVIDIA H200 MIG 1g.18gb".
std::string uuid_text(const cudaUUID_t& uuid, std::string_view name) {
  std::string text = name.find(" MIG ") == std::string_view::npos ? "GPU" : "MIG";
  for (int i = 0; i < 16; ++i) {
    const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", dash ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

struct Versions {
  int driver = 0;  // the newest CUDA that the driver supports; 0: there is no driver
  int runtime = 0;
};

Versions versions() {
  Versions v;
  if (cudaDriverGetVersion(&v.driver) != cudaSuccess) v.driver = 0;
  if (cudaRuntimeGetVersion(&v.runtime) != cudaSuccess) v.runtime = CUDART_VERSION;
  cudaGetLastError();
  return v;
}

// Creates no context: it would take some hundred MB on every GPU for every rank that only lists devices.
DeviceInfo describe(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  const Versions v = versions();
  return {Backend::cuda, index, properties.name, uuid_text(properties.uuid, properties.name),
          fmt::format("compute capability {}.{}, {} multiprocessors, PCI {:04x}:{:02x}:{:02x}, driver CUDA "
                      "{}, runtime CUDA {}",
                      properties.major, properties.minor, properties.multiProcessorCount,
                      properties.pciDomainID, properties.pciBusID, properties.pciDeviceID,
                      version_text(v.driver), version_text(v.runtime))};
}

std::string why_no_device(cudaError_t code) {
  const Versions v = versions();
  if (v.driver == 0) return "no NVIDIA driver is installed";
  if (code == cudaErrorInsufficientDriver) {
    return fmt::format("the NVIDIA driver is too old: it supports CUDA {}, this build uses CUDA {}",
                       version_text(v.driver), version_text(v.runtime));
  }
  if (code == cudaSuccess || code == cudaErrorNoDevice)
    return "the NVIDIA driver finds no GPU, or CUDA_VISIBLE_DEVICES hides it";
  return error_text(code);
}

class CudaDevice final : public Device {
 public:
  // Creates the context. Throws Error(unavailable).
  explicit CudaDevice(DeviceInfo info) : info_(std::move(info)) {
    cudaError_t code = cudaSetDevice(info_.index);
    if (code == cudaSuccess) code = cudaFree(nullptr);
    if (code != cudaSuccess) {
      cudaGetLastError();
      throw error_of(ExitCode::unavailable,
                     "{} cannot be used ({}); find its users with nvidia-smi, or use parallel.device cpu",
                     label(), error_text(code));
    }
    std::string why;
    if (!cuda::image_available(why))
      throw error_of(ExitCode::unavailable,
                     "{} cannot run this build ({}); configure with -D CMAKE_CUDA_ARCHITECTURES=native on "
                     "this machine, or use parallel.device cpu",
                     label(), why);
  }

  DeviceInfo info() const override { return info_; }
  Backend backend() const override { return Backend::cuda; }
  MemoryInfo memory() const override {
    make_current();
    MemoryInfo memory;
    check(cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes), "cudaMemGetInfo");
    return memory;
  }

  void* allocate(std::size_t bytes, Memory kind) override {
    make_current();
    void* pointer = nullptr;
    const bool on_device = kind == Memory::device;
    const cudaError_t code = on_device ? cudaMalloc(&pointer, bytes) : cudaMallocHost(&pointer, bytes);
    if (code != cudaErrorMemoryAllocation) {
      check(code, on_device ? "cudaMalloc" : "cudaMallocHost");
      return pointer;
    }
    cudaGetLastError();
    if (on_device)
      throw error_of(ExitCode::memory,
                     "cannot allocate {} bytes on CUDA device {}, {} ({} bytes are free); use a smaller "
                     "grid, fp32 or more GPUs",
                     bytes, info_.index, info_.name, memory().free_bytes);
    throw error_of(ExitCode::memory,
                   "cannot allocate {} bytes of pinned host memory ({} bytes are free); use a smaller grid, "
                   "raise the limit of locked memory, or use more hosts",
                   bytes, make_host_device()->memory().free_bytes);
  }
  void release(void* pointer, Memory kind) noexcept override {
    ignore_error(cudaSetDevice(info_.index));
    ignore_error(kind == Memory::device ? cudaFree(pointer) : cudaFreeHost(pointer));
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    make_current();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
  }

  Stream make_stream(Priority priority) override {
    make_current();
    int least = 0, greatest = 0;  // greater priorities are smaller numbers
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t stream = nullptr;
    // Non-blocking: no hidden order with the default stream, which libraries may use.
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                       priority == Priority::high ? greatest : least),
          "cudaStreamCreateWithPriority");
    return {stream};
  }
  void release(Stream stream) noexcept override {
    ignore_error(cudaSetDevice(info_.index));
    ignore_error(cudaStreamDestroy(native(stream)));
  }
  Event make_event(bool timed) override {
    make_current();
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return {event};
  }
  void release(Event event) noexcept override {
    ignore_error(cudaSetDevice(info_.index));
    ignore_error(cudaEventDestroy(native(event)));
  }
  void record(Event event, Stream stream) override {
    make_current();
    check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord");
  }
  void wait(Stream stream, Event event) override {
    make_current();
    check(cudaStreamWaitEvent(native(stream), native(event), 0), "cudaStreamWaitEvent");
  }
  void synchronize(Event event) override {
    make_current();
    check(cudaEventSynchronize(native(event)), "the work before cudaEventSynchronize");
  }
  bool passed(Event event) override {
    make_current();
    const cudaError_t status = cudaEventQuery(native(event));
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // clears the error, which CUB would find after its launches
      return false;
    }
    check(status, "the work before cudaEventQuery");
    return true;
  }
  void synchronize(Stream stream) override {
    make_current();
    check(cudaStreamSynchronize(native(stream)), "the work before cudaStreamSynchronize");
  }
  double seconds_between(Event start, Event end) override {
    make_current();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, native(start), native(end)), "cudaEventElapsedTime");
    return 1e-3 * milliseconds;
  }

  void begin_recording(Stream stream) override {
    make_current();
    check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }
  // The recorded graph is a plan; only its instance can be queued. Kernels keep the priorities of the streams
  // on which they were recorded. Otherwise halos would wait for the sweep that has to hide them.
  Graph end_recording(Stream stream) override {
    make_current();
    cudaGraph_t plan = nullptr;
    check(cudaStreamEndCapture(native(stream), &plan), "cudaStreamEndCapture");
    cudaGraphExec_t graph = nullptr;
    const cudaError_t code = cudaGraphInstantiate(&graph, plan, cudaGraphInstantiateFlagUseNodePriority);
    ignore_error(cudaGraphDestroy(plan));
    check(code, "cudaGraphInstantiate");
    // Otherwise the first launch uploads it, which takes a millisecond for some two hundred kernels.
    check(cudaGraphUpload(graph, native(stream)), "cudaGraphUpload");
    return {graph};
  }
  void launch(Graph graph, Stream stream) override {
    make_current();
    check(cudaGraphLaunch(native(graph), native(stream)), "cudaGraphLaunch");
  }
  void release(Graph graph) noexcept override {
    ignore_error(cudaSetDevice(info_.index));
    ignore_error(cudaGraphExecDestroy(native(graph)));
  }

 private:
  void make_current() const { check(cudaSetDevice(info_.index), "cudaSetDevice"); }
  std::string label() const { return fmt::format("CUDA device {}, {},", info_.index, info_.name); }
  // For functions that must not throw: a release after a broken kernel fails too, and the first error has
  // been thrown already.
  static void ignore_error(cudaError_t code) noexcept {
    if (code != cudaSuccess) cudaGetLastError();
  }

  DeviceInfo info_;
};

}  // namespace

CudaDevices find_cuda_devices() {
  CudaDevices found;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) {
    cudaGetLastError();
    found.why_none = why_no_device(code);
    return found;
  }
  for (int index = 0; index < count; ++index) {
    try {
      found.devices.push_back(describe(index));
    } catch (const Error& error) {  // a GPU that no longer responds must not hide the others
      found.why_none = error.what();
    }
  }
  if (!found.devices.empty()) found.why_none.clear();
  return found;
}

std::unique_ptr<Device> make_cuda_device(int index) {
  CudaDevices found = find_cuda_devices();
  if (found.devices.empty())
    throw error_of(ExitCode::unavailable, "no CUDA device ({}); use parallel.device cpu", found.why_none);
  for (DeviceInfo& info : found.devices) {
    if (info.index == index) return std::make_unique<CudaDevice>(std::move(info));
  }
  throw error_of(ExitCode::unavailable,
                 "no CUDA device {} (this process sees {}); use a number from 0 to {}, or show it more with "
                 "CUDA_VISIBLE_DEVICES",
                 index, found.devices.size(), found.devices.size() - 1);
}

}  // namespace isotherm
