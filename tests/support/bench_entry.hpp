// What a row of a bench might have measured.
#pragma once

#include "output/records/bench_record.hpp"

namespace isotherm::test {

// Three samples of `seconds`, for a thousand points of 16 bytes each, beside copies of 20 MB/s.
inline BenchEntry bench_entry(const char* row, double seconds) {
  BenchEntry e;
  e.row = row;
  e.policy = "-";
  e.cells = {10, 10, 10};
  e.verdict = BenchVerdict::right;
  e.samples.seconds = {seconds, seconds, seconds};
  e.samples.copy_bytes_per_s = {20e6, 20e6, 20e6};
  e.points = 1000;
  e.bytes = 16000;
  return e;
}

}  // namespace isotherm::test
