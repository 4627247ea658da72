#include "physics/centre_cover.hpp"

#include <algorithm>
#include <cmath>

#include "config/parts.hpp"

namespace isotherm {
namespace {

double square(double x) {
  return x * x;
}

}  // namespace

CentreCover::CentreCover(const Config& config, const Paint& shape)
    : shape_(shape),
      cells_(config.grid.cells),
      h_(spacing(config)),
      origin_(config.grid.origin),
      centre_(config) {
  reach_ = std::max(0.0, shape.radius - rounding_of_a_cell * std::min({h_[0], h_[1], h_[2]}));
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (shape.shape == Shape::box) {
      between_[a] = half_open(axis, shape.from[a], shape.to[a]);
    } else if (shape.shape == Shape::cylinder && shape.axis == axis) {
      const double low = shape.centre[a] - shape.length / 2;
      between_[a] = half_open(axis, low, low + shape.length);
    } else {
      between_[a] = {0, cells_[axis]};
    }
  }
}

CellRange CentreCover::row(Index y, Index z) const {
  if (!between_[1].has(y) || !between_[2].has(z)) return {};
  if (shape_.shape == Shape::box) return between_[0];
  double left = square(reach_);  // of the squared radius, for x
  if (is_round(1)) left -= square(centre_(1, y) - shape_.centre[1]);
  if (is_round(2)) left -= square(centre_(2, z) - shape_.centre[2]);
  if (!(left > 0)) return {};
  if (!is_round(0)) return between_[0];
  const double half = std::sqrt(left) / h_[0], u = (shape_.centre[0] - origin_[0]) / h_[0] - 0.5;
  return clipped(0, std::floor(u - half) + 1, std::ceil(u + half));
}

// The row nearest to the centre covers a cell if any does.
bool CentreCover::covers_any() const {
  Int3 nearest;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const double u = std::floor((shape_.centre[a] - origin_[a]) / h_[a]);
    const Index at = is_round(axis) ? clipped(axis, u, u + 1).first : between_[a].first;
    nearest[axis] = std::min(at, cells_[axis] - 1);
  }
  const CellRange range = row(nearest.y, nearest.z);
  return range.first < range.last;
}

CellRange CentreCover::clipped(int axis, double first, double last) const {
  const auto n = static_cast<double>(cells_[axis]);
  return {static_cast<Index>(std::clamp(first, 0.0, n)), static_cast<Index>(std::clamp(last, 0.0, n))};
}

CellRange CentreCover::half_open(int axis, double low, double high) const {
  const auto a = static_cast<std::size_t>(axis);
  const auto first_from = [&](double place) {
    return std::ceil((place - origin_[a]) / h_[a] - 0.5 - rounding_of_a_cell);
  };
  return clipped(axis, first_from(low), first_from(high));
}

}  // namespace isotherm
