#include "physics/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/parts.hpp"
#include "core/error.hpp"

namespace isotherm {

namespace {

using std::numbers::pi;

bool is_round(Shape shape, int shape_axis, int axis) {
  return shape == Shape::sphere || (shape == Shape::cylinder && shape_axis != axis);
}

double overlap(double low, double high, Index cell) {
  const auto edge = static_cast<double>(cell);
  return std::max(0.0, std::min(high, edge + 1) - std::max(low, edge));
}

// Both ends of an interval onto the faces of cells that they round to, unless nothing would be left.
void snap(double& low, double& high) {
  const auto snapped = [](double u) {
    return std::abs(u - std::round(u)) <= rounding_of_per_cell ? std::round(u) : u;
  };
  if (snapped(low) == snapped(high)) return;
  low = snapped(low);
  high = snapped(high);
}

// The mean of exp(-u^2 / 2) over [low, high], u in standard deviations.
double mean_of_bell(double low, double high) {
  const double a = low / std::numbers::sqrt2, b = high / std::numbers::sqrt2;
  // Beyond the middle the complement has the digits that the function itself has lost.
  const double difference = a > 0   ? std::erfc(a) - std::erfc(b)
                            : b < 0 ? std::erfc(-b) - std::erfc(-a)
                                    : std::erf(b) - std::erf(a);
  return std::sqrt(pi / 2) * difference / (high - low);
}

// Midpoints of the part of a cell that lies within [low, high].
struct Midpoints {
  double first, step;
  int count;
  Midpoints(double low, double high, Index cell, int count_) : count(count_) {
    const double from = std::max(low, static_cast<double>(cell));
    step = std::max(0.0, std::min(high, static_cast<double>(cell) + 1) - from) / count;
    first = from + step / 2;
  }
  double operator()(int i) const { return first + i * step; }
};

}  // namespace

CentreCover::CentreCover(const Config& config, const RegionValue& shape)
    : shape_(shape), cells_(config.grid.cells), centre_(config) {
  reach_ = std::max(0.0, shape.radius - rounding_of_per_cell * std::ranges::min(centre_.h));
  for (int axis = 0; axis < 3; ++axis) {
    if (shape.shape == Shape::box) {
      between_[axis] = half_open(axis, shape.from[axis], shape.to[axis]);
    } else if (shape.shape == Shape::cylinder && shape.axis == axis) {
      const double low = shape.centre[axis] - shape.length / 2;
      between_[axis] = half_open(axis, low, low + shape.length);
    } else {
      between_[axis] = {0, cells_[axis]};
    }
  }
}

CellRange CentreCover::row(Index y, Index z) const {
  if (!between_[1].has(y) || !between_[2].has(z)) return {};
  if (shape_.shape == Shape::box) return between_[0];
  double left = square(reach_);  // of the squared radius, for x
  if (is_round(shape_.shape, shape_.axis, 1)) left -= square(centre_(1, y) - shape_.centre[1]);
  if (is_round(shape_.shape, shape_.axis, 2)) left -= square(centre_(2, z) - shape_.centre[2]);
  if (!(left > 0)) return {};
  if (!is_round(shape_.shape, shape_.axis, 0)) return between_[0];
  const double half = std::sqrt(left) / centre_.h[0], u = centre_.in_cells(0, shape_.centre[0]) - 0.5;
  return clipped(0, std::floor(u - half) + 1, std::ceil(u + half));
}

// The row nearest to the centre covers a cell if any does.
bool CentreCover::covers_any() const {
  Int3 nearest;
  for (int axis = 0; axis < 3; ++axis) {
    const double u = std::floor(centre_.in_cells(axis, shape_.centre[axis]));
    const Index at =
        is_round(shape_.shape, shape_.axis, axis) ? clipped(axis, u, u + 1).first : between_[axis].first;
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
  const auto first_from = [&](double place) {
    return std::ceil(centre_.in_cells(axis, place) - 0.5 - rounding_of_per_cell);
  };
  return clipped(axis, first_from(low), first_from(high));
}

Coverage::Coverage(const Config& config, const RegionValue& shape)
    : shape_(shape.shape), axis_(shape.axis), cells_(config.grid.cells), cell_volume_(cell_volume(config)) {
  const CellCentres cell(config);
  const Vector3 h = cell.h;
  volume_ = cell_volume_ * static_cast<double>(cells_.product());
  for (int a = 0; a < 3; ++a) {
    centre_[a] = cell.in_cells(a, shape.centre[a]);
    radius_[a] = (shape_ == Shape::gaussian ? shape.width : shape.radius) / h[a];
    low_[a] = centre_[a] - radius_[a];
    high_[a] = centre_[a] + radius_[a];
    const bool is_length = shape_ == Shape::cylinder && a == axis_;
    if (is_length) low_[a] = centre_[a] - shape.length / 2 / h[a], high_[a] = low_[a] + shape.length / h[a];
    if (shape_ == Shape::box)
      low_[a] = cell.in_cells(a, shape.from[a]), high_[a] = cell.in_cells(a, shape.to[a]);
    if (shape_ == Shape::box || is_length) snap(low_[a], high_[a]);
  }
  const auto length = [&](int a) { return (high_[a] - low_[a]) * h[a]; };
  if (shape_ == Shape::box) volume_ = length(0) * length(1) * length(2);
  if (shape_ == Shape::sphere) volume_ = 4 * pi / 3 * shape.radius * square(shape.radius);
  if (shape_ == Shape::cylinder) volume_ = pi * square(shape.radius) * length(axis_);
  if (shape_ == Shape::gaussian) {
    volume_ = std::pow(2 * pi, 1.5) * shape.width * square(shape.width);
    integrate_gaussian();
  } else if (is_solid(shape_)) {
    measure_on_lattice();
  }
}

void Coverage::integrate_gaussian() {
  for (int axis = 0; axis < 3; ++axis) {
    const auto in_widths = [&](Index i) { return (static_cast<double>(i) - centre_[axis]) / radius_[axis]; };
    for (Index i = 0; i < cells_[axis]; ++i)
      gaussian_[axis].push_back(mean_of_bell(in_widths(i), in_widths(i + 1)));
    const double whole = std::sqrt(2 * pi) * radius_[axis];  // in cells
    inside_ *= std::min(
        1.0, mean_of_bell(in_widths(0), in_widths(cells_[axis])) * static_cast<double>(cells_[axis]) / whole);
  }
}

// Of a cylinder along x: the share of the cell's cross-section, by chords along y.
double Coverage::disc_share(Index y, Index z) const {
  const Midpoints of_z(low_[2], high_[2], z, midpoints_);
  double share = 0;
  for (int k = 0; k < midpoints_; ++k) {
    const double rest = 1 - square((of_z(k) - centre_[2]) / radius_[2]);
    if (!(rest > 0)) continue;
    const double half = radius_[1] * std::sqrt(rest);
    share += of_z.step * overlap(centre_[1] - half, centre_[1] + half, y);
  }
  return share;
}

bool Coverage::repeats(Index z) const {
  return is_solid(shape_) && !is_round(shape_, axis_, 2) &&
         overlap(low_[2], high_[2], z) == overlap(low_[2], high_[2], z - 1);
}

// At each midpoint of the row's cross-section; along an axis on which the shape is straight, there is one.
void Coverage::chords(Index y, Index z, std::vector<Chord>& found) const {
  found.clear();
  if (!(overlap(low_[1], high_[1], y) * overlap(low_[2], high_[2], z) > 0)) return;
  const bool round_y = is_round(shape_, axis_, 1), round_z = is_round(shape_, axis_, 2);
  if (round_y && !is_round(shape_, axis_, 0)) {
    if (const double share = disc_share(y, z); share > 0) found.push_back({share, low_[0], high_[0]});
    return;
  }
  const Midpoints of_y(low_[1], high_[1], y, round_y ? midpoints_ : 1);
  const Midpoints of_z(low_[2], high_[2], z, round_z ? midpoints_ : 1);
  for (int k = 0; k < of_z.count; ++k) {
    for (int j = 0; j < of_y.count; ++j) {
      double rest = 1;
      if (round_y) rest -= square((of_y(j) - centre_[1]) / radius_[1]);
      if (round_z) rest -= square((of_z(k) - centre_[2]) / radius_[2]);
      if (!(rest > 0)) continue;
      const double half = radius_[0] * std::sqrt(rest), weight = of_y.step * of_z.step;
      const bool is_box = shape_ == Shape::box;
      found.push_back({weight, is_box ? low_[0] : centre_[0] - half, is_box ? high_[0] : centre_[0] + half});
    }
  }
}

// The volume that the chords find on all rows of cells that the shape touches, and within the domain.
void Coverage::measure_on_lattice() {
  constexpr double most_rows = 1 << 24, most_fine_rows = 1 << 16;
  const auto rows = [&](std::size_t a) { return std::ceil(high_[a]) - std::floor(low_[a]); };
  const double count = rows(1) * rows(2);
  if (shape_ == Shape::sphere && count > most_fine_rows) midpoints_ = 2;
  // A shape of more rows is resolved beyond any quadrature's error; only the domain's are looked at.
  const bool whole = count <= most_rows;
  const auto row = [&](int axis, double place) {
    const auto at = static_cast<Index>(std::clamp(place, -1e15, 1e15));
    return whole ? at : std::clamp<Index>(at, 0, cells_[axis]);
  };
  const Index y0 = row(1, std::floor(low_[1])), y1 = row(1, std::ceil(high_[1]));
  const Index z0 = row(2, std::floor(low_[2])), z1 = row(2, std::ceil(high_[2]));
  const double length = static_cast<double>(cells_.x);
  std::vector<double> planes(std::max<Index>(0, z1 - z0)), within = planes;
#pragma omp parallel for schedule(static)
  for (Index z = z0; z < z1; ++z) {
    std::vector<Chord> found;
    double plane = 0, domain = 0;
    for (Index y = y0; y < y1; ++y) {
      chords(y, z, found);
      const bool is_inside = y >= 0 && y < cells_.y && z >= 0 && z < cells_.z;
      for (const Chord& chord : found) {
        plane += chord.weight * (chord.high - chord.low);
        if (is_inside)
          domain += chord.weight * std::max(0.0, std::min(chord.high, length) - std::max(chord.low, 0.0));
      }
    }
    planes[z - z0] = plane;
    within[z - z0] = domain;
  }
  double found = 0, domain = 0;
  for (std::size_t i = 0; i < planes.size(); ++i) found += planes[i], domain += within[i];
  if (!whole) found = volume_ / cell_volume_;
  scale_ = found > 0 ? volume_ / cell_volume_ / found : 1;
  inside_ = found > 0 ? std::min(1.0, domain / found) : 0;
}

CellRange Coverage::row(Index first, Index y, Index z, std::vector<double>& shares) const {
  const Index end = first + std::ssize(shares);
  if (shape_ == Shape::gaussian) {
    const double across = gaussian_[1][y] * gaussian_[2][z];
    for (Index x = first; x < end; ++x) shares[x - first] = across * gaussian_[0][x];
    return {first, end};
  }
  thread_local std::vector<Chord> found;
  chords(y, z, found);
  if (found.empty()) return {};
  double full = 0, full_low = low_[0], full_high = high_[0];  // covered by all chords
  for (const Chord& chord : found) {
    full += chord.weight;
    full_low = std::max(full_low, chord.low);
    full_high = std::min(full_high, chord.high);
  }
  const auto cell_of = [&](double place) {
    return static_cast<Index>(std::clamp(place, static_cast<double>(first), static_cast<double>(end)));
  };
  const Index from = cell_of(std::floor(low_[0])), to = cell_of(std::ceil(high_[0]));
  const Index full_from = cell_of(std::ceil(full_low)), full_to = cell_of(std::floor(full_high));
  for (Index x = from; x < to; ++x) {
    double share = full;
    if (x < full_from || x >= full_to) {
      share = 0;
      for (const Chord& chord : found) share += chord.weight * overlap(chord.low, chord.high, x);
    }
    shares[x - first] = share;
  }
  return {from, to};
}

double source_strength(const Config& config, const RegionValue& source) {
  if (source.power) return (*source.power)(0, 0, 0) / Coverage(config, source).volume();
  return source.value.value_or(0);
}

}  // namespace isotherm
