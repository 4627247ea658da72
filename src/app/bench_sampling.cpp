#include "app/bench_sampling.hpp"

#include <algorithm>

#include "core/timer.hpp"

namespace isotherm {

Sampler::Sampler(Device& device, Stream stream, double seconds)
    : watch_(device, stream), stream_(stream), seconds_(seconds) {}

double Sampler::seconds_of(const std::function<void()>& launch, std::int64_t launches) {
  const double all = watch_.seconds([&] {
    for (std::int64_t i = 0; i < launches; ++i) launch();
  });
  // A clock too coarse for the batch would give nothing to divide by.
  return std::max(all, 1e-9) / static_cast<double>(launches);
}

std::int64_t Sampler::launches_of_a_batch(const std::function<void()>& launch) {
  seconds_of(launch, 1);  // the first launch loads code, touches pages, wakes threads
  std::int64_t launches = 1;
  while (launches < 1 << 20) {
    const double each = seconds_of(launch, launches);
    if (each * static_cast<double>(launches) >= batch_seconds) break;
    const auto wanted = static_cast<std::int64_t>(1.2 * batch_seconds / each) + 1;
    launches = std::clamp(wanted, launches + 1, 16 * launches);
  }
  return launches;
}

BenchSamples Sampler::measure(const std::function<void()>& prepare, const std::function<void()>& launch,
                              bool single, Roofs roofs) {
  const auto copy = [&] { roofs.copy->enqueue(stream_); };
  const auto read = [&] { roofs.read->enqueue(stream_); };
  const std::int64_t copies = roofs.copy ? launches_of_a_batch(copy) : 0;
  const std::int64_t reads = roofs.read ? launches_of_a_batch(read) : 0;
  BenchSamples samples;
  samples.launches = single ? 1 : launches_of_a_batch(launch);
  const Timer timer;
  for (int taken = 0; taken < least_samples || (taken < most_samples && timer.seconds() < seconds_);
       ++taken) {
    if (roofs.copy) samples.copy_bytes_per_s.push_back(roofs.copy->bytes() / seconds_of(copy, copies));
    if (roofs.read) samples.read_bytes_per_s.push_back(roofs.read->bytes() / seconds_of(read, reads));
    prepare();
    samples.seconds.push_back(seconds_of(launch, samples.launches));
  }
  return samples;
}

BenchSamples Sampler::measure(const std::function<void()>& launch, Roofs roofs) {
  return measure([] {}, launch, false, roofs);
}

BenchSamples Sampler::measure(BandwidthProbe& probe, bool single, Roofs roofs) {
  return measure([&] { probe.prepare(); }, [&] { probe.enqueue(stream_); }, single, roofs);
}

}  // namespace isotherm
