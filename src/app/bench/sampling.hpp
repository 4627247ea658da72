// How a benchmark takes its samples.
#pragma once

#include <functional>

#include "core/device.hpp"
#include "kernels/bandwidth.hpp"
#include "output/records/bench_record.hpp"

namespace isotherm {

// What is measured right beside every sample of a row; null: not measured.
struct Roofs {
  BandwidthProbe* copy = nullptr;
  BandwidthProbe* read = nullptr;
};

class Sampler {
 public:
  // Samples are taken until `seconds` are over, and at least `least_samples`.
  Sampler(Device& device, Stream stream, double seconds);

  // `launch` queues one launch in the stream; launches of a batch stand between two events. Warms up first.
  BenchSamples measure(const std::function<void()>& launch, Roofs roofs);
  // What `launch` takes longer than `base`, batch beside batch.
  BenchSamples measure_difference(const std::function<void()>& launch, const std::function<void()>& base,
                                  Roofs roofs);
  // The same for a probe; its passes are batched unless only the first shows what it is for.
  BenchSamples measure(BandwidthProbe& probe, bool single, Roofs roofs);

  static constexpr int least_samples = 7;
  static constexpr int most_samples = 1000;
  // Of a batch, where launches can be repeated: long beside what a timer, or waking threads, may err by.
  static constexpr double batch_seconds = 2e-3;

 private:
  // Takes samples: `take` adds one to them, right behind those of the roofs.
  BenchSamples sample(const std::function<void(BenchSamples&)>& take, Roofs roofs);
  std::int64_t launches_of_a_batch(const std::function<void()>& launch);
  double seconds_of(const std::function<void()>& launch, std::int64_t launches);  // of one of them

  Stopwatch watch_;
  Stream stream_;
  double seconds_;
};

}  // namespace isotherm
