// The host as a Device: work is executed at once, so streams hold nothing, and events only the time.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "core/box.hpp"
#include "core/device.hpp"
#include "core/host_threads.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"

namespace isotherm {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t alignment = 128;
constexpr std::size_t copy_piece = std::size_t{4} << 20;  // bytes that a thread copies at a time

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "host processor";
}

// Copies many bytes by all threads: one thread cannot use the memory bandwidth of the host.
void copy_by_threads(char* to, const char* from, std::size_t bytes) {
  const auto pieces = static_cast<std::ptrdiff_t>((bytes + copy_piece - 1) / copy_piece);
#pragma omp parallel for schedule(static) if (pieces > 1)
  for (std::ptrdiff_t i = 0; i < pieces; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * copy_piece;
    std::memcpy(to + at, from + at, std::min(copy_piece, bytes - at));
  }
}

class HostDevice final : public Device {
 public:
  explicit HostDevice(std::ptrdiff_t row_alignment) : row_alignment_(row_alignment) {}

  std::ptrdiff_t row_alignment() const override { return row_alignment_; }
  DeviceInfo info() const override {
    return {Backend::host, -1, cpu_name(), "", fmt::format("{} cores", std::thread::hardware_concurrency())};
  }
  Backend backend() const override { return Backend::host; }

  // Memory that the operating system could allocate now, within the limits of a batch job or a container.
  MemoryInfo memory() const override {
    return within_limits(
        {proc_bytes("/proc/meminfo", "MemAvailable"), proc_bytes("/proc/meminfo", "MemTotal")},
        find_cgroups("memory"));
  }

  void* allocate(std::size_t bytes, Memory) override {
    const bool large = bytes >= 4 * huge_page;
    const std::size_t unit = large ? huge_page : alignment;
    const std::size_t rounded = round_up(bytes, unit);
    void* pointer = rounded < bytes ? nullptr : std::aligned_alloc(unit, rounded);
    if (!pointer)
      throw error_of(ExitCode::memory,
                     "cannot allocate {} bytes of host memory ({} bytes are free); use a smaller grid, fp32 "
                     "or more ranks",
                     bytes, memory().free_bytes);
    // A sweep accesses three planes and the output at once: small pages would miss the TLB at every row.
    if (large) madvise(pointer, rounded, MADV_HUGEPAGE);
    return pointer;
  }
  void release(void* pointer, Memory) noexcept override { std::free(pointer); }
  void copy(void* to, const void* from, std::size_t bytes, Stream) override {
    copy_by_threads(static_cast<char*>(to), static_cast<const char*>(from), bytes);
  }

  Stream make_stream(Priority) override { return {}; }
  void release(Stream) noexcept override {}
  Event make_event(bool timed) override { return {timed ? new Timer : nullptr}; }
  void release(Event event) noexcept override { delete static_cast<Timer*>(event.native); }
  void record(Event event, Stream) override {
    if (event.native) *static_cast<Timer*>(event.native) = Timer();
  }
  void wait(Stream, Event) override {}
  void synchronize(Event) override {}
  bool passed(Event) override { return true; }
  void synchronize(Stream) override {}
  double seconds_between(Event start, Event end) override {
    return static_cast<Timer*>(end.native)->since(*static_cast<Timer*>(start.native));
  }

 private:
  std::ptrdiff_t row_alignment_;
};

}  // namespace

void throw_no_cuda() {
  throw Error(ExitCode::unavailable,
              "no CUDA device (this build has no CUDA); use parallel.device cpu or build with nvcc");
}

void Device::no_graphs() {
  throw Error(ExitCode::internal, "a device without graphs was asked to record one; please report it");
}

std::unique_ptr<Device> make_host_device(std::ptrdiff_t row_alignment) {
  return std::make_unique<HostDevice>(row_alignment);
}

}  // namespace isotherm
