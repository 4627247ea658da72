#include "solver/lookout.hpp"

#include <algorithm>

namespace isotherm {
namespace {

constexpr double too_often = 0.25, too_seldom = 1;  // s
constexpr std::int64_t most_units = std::int64_t{1} << 40;

}  // namespace

Lookout::Lookout(std::int64_t start, std::int64_t unit) : unit_(unit), next_(start + unit) {}

void Lookout::looked(std::int64_t sweep, double seconds_since_last) {
  if (seconds_since_last < too_often) units_ = std::min(2 * units_, most_units);
  if (seconds_since_last > too_seldom) units_ = std::max<std::int64_t>(units_ / 2, 1);
  next_ = sweep + units_ * unit_;
}

}  // namespace isotherm
