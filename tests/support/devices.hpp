// Which devices are slow; and devices that record or delay what their caller waits for.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <memory>

#include "core/device.hpp"

namespace isotherm {

// The emulated GPU (tests/emulation) is a hundred times as slow as a CPU, and a GPU that ranks share runs
// them in turns, ten times as slowly as two GPUs. The host plans exchanges and steps for both backends, so
// tests skip cases here that a run on the host covers.
inline bool gpu_is_shared = false;  // set by the fixture of tests that have ranks
inline bool is_slow(const Device& device) {
  return (gpu_is_shared && device.backend() == Backend::cuda) || device.info().name == "emulated GPU";
}

// Forwards to another device, and reports when the host waits for it.
class WatchedDevice : public Device {
 public:
  explicit WatchedDevice(Device& device) : device_(device) {}

  std::function<void(Event)> on_event_wait = [](Event) {};
  std::function<void()> on_stream_wait = [] {};

  DeviceInfo info() const override { return device_.info(); }
  Backend backend() const override { return device_.backend(); }
  MemoryInfo memory() const override { return device_.memory(); }
  std::ptrdiff_t row_alignment() const override { return device_.row_alignment(); }
  void* allocate(std::size_t bytes, Memory kind) override { return device_.allocate(bytes, kind); }
  void release(void* pointer, Memory kind) noexcept override { device_.release(pointer, kind); }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    device_.copy(to, from, bytes, stream);
  }
  Stream make_stream(Priority priority) override { return device_.make_stream(priority); }
  void release(Stream stream) noexcept override { device_.release(stream); }
  Event make_event(bool timed) override { return device_.make_event(timed); }
  void release(Event event) noexcept override { device_.release(event); }
  void record(Event event, Stream stream) override { device_.record(event, stream); }
  void wait(Stream stream, Event event) override { device_.wait(stream, event); }
  bool passed(Event event) override { return device_.passed(event); }
  void synchronize(Event event) override {
    on_event_wait(event);
    device_.synchronize(event);
  }
  void synchronize(Stream stream) override {
    on_stream_wait();
    device_.synchronize(stream);
  }
  double seconds_between(Event start, Event end) override { return device_.seconds_between(start, end); }
  void begin_recording(Stream stream) override { device_.begin_recording(stream); }
  Graph end_recording(Stream stream) override { return device_.end_recording(stream); }
  void launch(Graph graph, Stream stream) override { device_.launch(graph, stream); }
  void release(Graph graph) noexcept override { device_.release(graph); }

 private:
  Device& device_;
};

// The test advances the clock; an event holds the time at which it was recorded. The test also chooses the
// backend: the solver queues sweeps in advance for that of a GPU.
class ClockedDevice final : public WatchedDevice {
 public:
  ClockedDevice(Device& device, Backend backend) : WatchedDevice(device), backend_(backend) {}
  double now = 0;
  Backend backend() const override { return backend_; }
  Event make_event(bool) override { return {new double}; }
  void release(Event event) noexcept override { delete static_cast<double*>(event.native); }
  void record(Event event, Stream) override { *static_cast<double*>(event.native) = now; }
  double seconds_between(Event start, Event end) override {
    return *static_cast<double*>(end.native) - *static_cast<double*>(start.native);
  }

 private:
  Backend backend_;
};

// Uses host memory and runs work as late as possible: work of a stream waits until the host synchronises, as
// on a very slow GPU. Code that reads or overwrites memory without waiting fails every time, even on machines
// without a GPU.
class DeferredDevice : public Device {
 public:
  // Reports memory that is not the host's, so that callers must copy.
  Backend backend() const override { return Backend::cuda; }
  DeviceInfo info() const override { return {Backend::cuda, 0, "deferred", "", ""}; }
  MemoryInfo memory() const override { return {}; }

  void* allocate(std::size_t bytes, Memory kind) override { return host_->allocate(bytes, kind); }
  void release(void* pointer, Memory kind) noexcept override { host_->release(pointer, kind); }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    queue(stream).push_back([=] { std::memcpy(to, from, bytes); });
  }

  Stream make_stream(Priority) override { return {new Queue}; }
  void release(Stream stream) noexcept override { delete static_cast<Queue*>(stream.native); }
  Event make_event(bool) override { return {new Mark}; }
  void release(Event event) noexcept override { delete static_cast<Mark*>(event.native); }
  // An event passes when all work that its stream holds now is done.
  void record(Event event, Stream stream) override {
    Queue& work = queue(stream);
    mark(event) = {&work, work.done + work.size()};
  }
  void wait(Stream stream, Event event) override {
    queue(stream).push_back([this, event] { synchronize(event); });
  }
  // Each query executes one piece of work, so repeated queries eventually succeed.
  bool passed(Event event) override {
    const Mark& at = mark(event);
    if (at.queue && at.queue->done < at.end) at.queue->run_one();
    return !at.queue || at.queue->done >= at.end;
  }
  void synchronize(Event event) override {
    for (const Mark& at = mark(event); at.queue && at.queue->done < at.end;) at.queue->run_one();
  }
  void synchronize(Stream stream) override {
    for (Queue& work = queue(stream); !work.empty();) work.run_one();
  }
  double seconds_between(Event, Event) override { return 0; }  // no caller needs the time of delays

 private:
  struct Queue : std::deque<std::function<void()>> {
    std::size_t done = 0;
    void run_one() {
      const std::function<void()> work = std::move(front());
      pop_front();
      work();
      ++done;
    }
  };
  struct Mark {
    Queue* queue = nullptr;
    std::size_t end = 0;  // pieces of work
  };
  Queue& queue(Stream stream) { return stream.native ? *static_cast<Queue*>(stream.native) : default_; }
  static Mark& mark(Event event) { return *static_cast<Mark*>(event.native); }

  std::unique_ptr<Device> host_ = make_host_device();
  Queue default_;
};

}  // namespace isotherm
