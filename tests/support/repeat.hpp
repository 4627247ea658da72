// Repetition in tests: random numbers, whose seed failures print, and several numbers of threads.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <type_traits>

namespace isotherm {

// While it exists, failure messages contain the seed.
class Random {
 public:
  using result_type = std::uint64_t;
  explicit Random(result_type seed = std::random_device{}())
      : engine_(seed), trace_(__FILE__, __LINE__, fmt::format("seed {}", seed)) {}
  static constexpr result_type min() { return std::mt19937_64::min(); }
  static constexpr result_type max() { return std::mt19937_64::max(); }
  result_type operator()() { return engine_(); }

  // Both ends are included for integers.
  template <class T>
  T between(T least, T most) {
    if constexpr (std::is_integral_v<T>) {
      return std::uniform_int_distribution<T>(least, most)(engine_);
    } else {
      return std::uniform_real_distribution<T>(least, most)(engine_);
    }
  }
  bool coin() { return between(0, 1) == 1; }

 private:
  std::mt19937_64 engine_;
  testing::ScopedTrace trace_;
};

// Calls work() with each of these numbers of OpenMP threads.
template <class Work>
void on_threads(std::initializer_list<int> counts, const Work& work) {
  const int before = omp_get_max_threads();
  for (const int count : counts) {
    SCOPED_TRACE(fmt::format("{} threads", count));
    omp_set_num_threads(count);
    work();
  }
  omp_set_num_threads(before);
}

}  // namespace isotherm
