#include <algorithm>
#include <chrono>

#include "kernels/bandwidth.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class HostCopyProbe final : public CopyProbe {
 public:
  HostCopyProbe(Device& device, std::size_t bytes)
      : count_(std::max<std::size_t>(bytes / sizeof(double), 1)),
        from_(device, count_ * sizeof(double)),
        to_(device, count_ * sizeof(double)) {
    host::for_this_cpu([&](auto isa) {
      host::Copy<decltype(isa)>::fill(from_.as<double>(), count_, 1.0);
      host::Copy<decltype(isa)>::fill(to_.as<double>(), count_, 0.0);
    });
  }

  double copy_seconds() override {
    const auto start = Clock::now();
    host::for_this_cpu(
        [&](auto isa) { host::Copy<decltype(isa)>::run(to_.as<double>(), from_.as<double>(), count_); });
    return seconds_since(start);
  }

 private:
  std::size_t count_;
  Buffer from_, to_;
};

}  // namespace

std::unique_ptr<CopyProbe> host::make_copy_probe(Device& device, std::size_t bytes) {
  return std::make_unique<HostCopyProbe>(device, bytes);
}

double measure_copy_bandwidth(Device& device, std::size_t bytes) {
  const auto probe = make_copy_probe(device, bytes);
  double best = probe->copy_seconds();
  const auto start = Clock::now();
  for (int done = 1; done < 3 || (done < 100 && seconds_since(start) < 0.25); ++done) {
    best = std::min(best, probe->copy_seconds());
  }
  return 2.0 * static_cast<double>(bytes) / best;
}

}  // namespace isotherm
