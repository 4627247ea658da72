// At which sweeps all ranks look up from their work together, to see what happens outside: signals, the
// clock. Arithmetic only, on times that the ranks have agreed on: so they look up at the same sweeps without
// a word.
//
// Often enough that a request is heard within a second or two, and so seldom that an all-reduce, and the wait
// of a host for what its device did before, cost nothing. The way between two looks doubles while it takes
// less than a quarter of a second, and halves above one.
#pragma once

#include <cstdint>

namespace isotherm {

class Lookout {
 public:
  // `unit`: sweeps that are not to be parted. The first look comes after so many from `start`.
  Lookout(std::int64_t start, std::int64_t unit);

  std::int64_t next() const { return next_; }  // the sweep of the next look, or the end of a unit beyond it
  void looked(std::int64_t sweep, double seconds_since_last);  // seconds: the same on all ranks

 private:
  std::int64_t unit_, units_ = 1, next_;
};

}  // namespace isotherm
