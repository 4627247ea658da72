// A device that does what another one does and tells when the host waits for it.
#pragma once

#include <functional>

#include "core/device.hpp"

namespace isotherm {

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
  Event make_event() override { return device_.make_event(); }
  Event make_timing_event() override { return device_.make_timing_event(); }
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
  bool records_graphs() const override { return device_.records_graphs(); }
  void begin_recording(Stream stream) override { device_.begin_recording(stream); }
  Graph end_recording(Stream stream) override { return device_.end_recording(stream); }
  void launch(Graph graph, Stream stream) override { device_.launch(graph, stream); }
  void release(Graph graph) noexcept override { device_.release(graph); }

 private:
  Device& device_;
};

}  // namespace isotherm
