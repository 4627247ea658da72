#include "app/bench/sampling.hpp"

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

BenchSamples Sampler::sample(const std::function<void(BenchSamples&)>& take, Roofs roofs) {
  const auto copy = [&] { roofs.copy->enqueue(stream_); };
  const auto read = [&] { roofs.read->enqueue(stream_); };
  const std::int64_t copies = roofs.copy ? launches_of_a_batch(copy) : 0;
  const std::int64_t reads = roofs.read ? launches_of_a_batch(read) : 0;
  BenchSamples samples;
  const Timer timer;
  for (int taken = 0; taken < least_samples || (taken < most_samples && timer.seconds() < seconds_);
       ++taken) {
    if (roofs.copy) samples.copy_bytes_per_s.push_back(roofs.copy->bytes() / seconds_of(copy, copies));
    if (roofs.read) samples.read_bytes_per_s.push_back(roofs.read->bytes() / seconds_of(read, reads));
    take(samples);
  }
  return samples;
}

BenchSamples Sampler::measure(const std::function<void()>& launch, Roofs roofs) {
  const std::int64_t launches = launches_of_a_batch(launch);
  return sample(
      [&](BenchSamples& samples) {
        samples.launches = launches;
        samples.seconds.push_back(seconds_of(launch, launches));
      },
      roofs);
}

// Every other time the base comes first: whoever comes second finds the caches, and the clock, as the first
// left them.
BenchSamples Sampler::measure_difference(const std::function<void()>& launch,
                                         const std::function<void()>& base, Roofs roofs) {
  const std::int64_t launches = std::max(launches_of_a_batch(launch), launches_of_a_batch(base));
  bool base_first = false;
  return sample(
      [&](BenchSamples& samples) {
        samples.launches = launches;
        const double first = seconds_of(base_first ? base : launch, launches);
        const double second = seconds_of(base_first ? launch : base, launches);
        samples.base_seconds.push_back(base_first ? first : second);
        samples.seconds.push_back(base_first ? second - first : first - second);
        base_first = !base_first;
      },
      roofs);
}

BenchSamples Sampler::measure(BandwidthProbe& probe, bool single, Roofs roofs) {
  const auto launch = [&] { probe.enqueue(stream_); };
  const std::int64_t launches = single ? 1 : launches_of_a_batch(launch);
  return sample(
      [&](BenchSamples& samples) {
        samples.launches = launches;
        probe.prepare();
        samples.seconds.push_back(seconds_of(launch, launches));
      },
      roofs);
}

}  // namespace isotherm
