// The interface to a device that computes: it allocates, copies, orders and waits. It does not interpret the
// bytes. Host and CUDA implement it; a HIP device also needs a case wherever code names Backend::cuda.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/stream.hpp"

namespace isotherm {

enum class Priority { normal, high };
enum class Memory {
  device,   // where kernels of this device read and write
  staging,  // host memory that this device copies from and to at full speed (pinned under CUDA)
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

struct DeviceInfo {
  Backend backend = Backend::host;
  int index = -1;      // CUDA device number as this process sees it, -1 on the host
  std::string name;    // "NVIDIA H200", "AMD EPYC ..."
  std::string uuid;    // empty on the host
  std::string detail;  // compute capability, driver, or cores, threads and instruction set
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  virtual Backend backend() const = 0;
  virtual MemoryInfo memory() const = 0;
  // Of rows of fields, in bytes. Devices with equal alignment have equal layouts: fields are copied as bytes.
  virtual std::ptrdiff_t row_alignment() const { return isotherm::row_alignment(backend()); }

  // Memory is aligned to 128 bytes or more, not initialised. Throws Error(memory) with bytes needed and free.
  virtual void* allocate(std::size_t bytes, Memory kind) = 0;
  virtual void release(void* pointer, Memory kind) noexcept = 0;
  // Asynchronous where the device can; either side may be any memory of this device or of the host.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream stream) = 0;

  virtual Stream make_stream(Priority priority) = 0;
  virtual void release(Stream stream) noexcept = 0;
  virtual Event make_event(bool timed) = 0;  // timed: also records the time
  virtual void release(Event event) noexcept = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual void wait(Stream stream, Event event) = 0;  // the stream waits, not the host
  virtual void synchronize(Event event) = 0;          // the host waits
  virtual bool passed(Event event) = 0;               // has the stream passed it? the host does not wait
  // By the device's clock, between two timing events that were recorded and have passed.
  virtual double seconds_between(Event start, Event end) = 0;
  virtual void synchronize(Stream stream) = 0;  // the host waits; reports errors of the work queued before

  // Work that this thread queues on the stream from begin_recording() to end_recording() is recorded, not
  // executed. Only on GPUs.
  virtual void begin_recording(Stream /*stream*/) { no_graphs(); }
  virtual Graph end_recording(Stream /*stream*/) { no_graphs(); }
  virtual void launch(Graph /*graph*/, Stream /*stream*/) { no_graphs(); }
  virtual void release(Graph /*graph*/) noexcept {}

 private:
  [[noreturn]] static void no_graphs();
};

// Its fields have the layout of fields on a device with this row alignment.
std::unique_ptr<Device> make_host_device(
    std::ptrdiff_t row_alignment = isotherm::row_alignment(Backend::host));

// The CUDA devices that this process can use, or the reason why there are none.
struct CudaDevices {
  std::vector<DeviceInfo> devices;
  std::string why_none;
};
CudaDevices find_cuda_devices();
[[noreturn]] void throw_no_cuda();                    // Error(unavailable): this build has no CUDA
std::unique_ptr<Device> make_cuda_device(int index);  // throws Error(unavailable)

// Owning handles. They keep a pointer to the device, which must outlive them.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t bytes, Memory kind = Memory::device)
      : bytes_(bytes), data_(bytes ? device.allocate(bytes, kind) : nullptr, Release{&device, kind}) {}

  void* data() const { return data_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Release {
    Device* device;
    Memory kind;
    void operator()(void* data) const noexcept { device->release(data, kind); }
  };
  std::size_t bytes_ = 0;
  std::unique_ptr<void, Release> data_;
};

// A stream, event or graph that is released with its owner.
template <class Handle>
class Owned {
 public:
  Owned(Device& device, Handle handle) : device_(&device), handle_(handle) {}
  Owned(Owned&& other) noexcept : device_(std::exchange(other.device_, nullptr)), handle_(other.handle_) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (device_) device_->release(handle_);
  }
  operator Handle() const { return handle_; }
  Handle get() const { return handle_; }

 private:
  Device* device_;
  Handle handle_;
};

inline Owned<Stream> own_stream(Device& device, Priority priority) {
  return {device, device.make_stream(priority)};
}
inline Owned<Event> own_event(Device& device, bool timed = false) {
  return {device, device.make_event(timed)};
}

template <class Value>
Buffer copied_to(Device& device, const std::vector<Value>& values) {
  Buffer there(device, values.size() * sizeof(Value));
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  device.copy(there.data(), values.data(), there.bytes(), stream);
  device.synchronize(stream);
  return there;
}

// Measures the time of queued work on its device, by two events in its stream.
class Stopwatch {
 public:
  Stopwatch(Device& device, Stream stream)
      : device_(&device), stream_(stream), start_(own_event(device, true)), end_(own_event(device, true)) {}

  // Seconds of the work that `work` queues on the stream; waits for it.
  template <class Work>
  double seconds(const Work& work) {
    device_->record(start_, stream_);
    work();
    device_->record(end_, stream_);
    device_->synchronize(stream_);
    return device_->seconds_between(start_, end_);
  }

 private:
  Device* device_;
  Stream stream_;
  Owned<Event> start_, end_;
};

}  // namespace isotherm
