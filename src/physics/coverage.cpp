#include "physics/coverage.hpp"

#include <numbers>

#include "config/parts.hpp"

namespace isotherm {

namespace {

using std::numbers::pi;

bool is_round(Shape shape, int shape_axis, int axis) {
  return shape == Shape::sphere || (shape == Shape::cylinder && shape_axis != axis);
}

// Moves both ends of an interval to cell faces that are within rounding, unless nothing would be left.
template <class Lattice>
void snap(const Lattice& lattice, double& low, double& high) {
  if (lattice.snapped(low) == lattice.snapped(high)) return;
  low = lattice.snapped(low);
  high = lattice.snapped(high);
}

// The mean of exp(-u^2 / 2) over [low, high], u in standard deviations.
double mean_of_bell(double low, double high) {
  const double a = low / std::numbers::sqrt2, b = high / std::numbers::sqrt2;
  // Away from the centre erfc has the digits that erf has lost.
  const double difference = a > 0   ? std::erfc(a) - std::erfc(b)
                            : b < 0 ? std::erfc(-b) - std::erfc(-a)
                                    : std::erf(b) - std::erf(a);
  return std::sqrt(pi / 2) * difference / (high - low);
}

// Midpoints of the part of a cell that lies within [low, high].
struct Midpoints {
  double first, step, share;  // share: of the cell, per midpoint
  int count;
  template <class Lattice>
  Midpoints(const Lattice& lattice, double low, double high, Index cell, int count_) : count(count_) {
    const double from = std::max(low, lattice.edge(cell));
    step = std::max(0.0, std::min(high, lattice.edge(cell + 1)) - from) / count;
    first = from + step / 2;
    share = step / lattice.size(cell);
  }
  double operator()(int i) const { return first + i * step; }
};

}  // namespace

CentreCover::CentreCover(const Config& config, const RegionValue& shape)
    : shape_(shape), axes_(config), between_(centres_within(axes_, shape)) {
  const double smallest = std::min({axes_[0].smallest(), axes_[1].smallest(), axes_[2].smallest()});
  reach_ = std::max(0.0, shape.radius - rounding_of_per_cell * smallest);
  for (int axis = 0; axis < 3; ++axis)  // row() checks how far a cell is from the centre
    if (is_round(shape.shape, shape.axis, axis)) {
      between_.lo[axis] = 0;
      between_.hi[axis] = axes_[axis].cells();
    }
}

CellRange CentreCover::row(Index y, Index z) const {
  const CellRange whole{between_.lo.x, between_.hi.x};
  if (!between_.contains({whole.first, y, z})) return {};
  if (shape_.shape == Shape::box) return whole;
  double left = square(reach_);  // the part of the squared radius that remains for x
  if (is_round(shape_.shape, shape_.axis, 1)) left -= square(axes_[1].centre(y) - shape_.centre[1]);
  if (is_round(shape_.shape, shape_.axis, 2)) left -= square(axes_[2].centre(z) - shape_.centre[2]);
  if (!(left > 0)) return {};
  if (!is_round(shape_.shape, shape_.axis, 0)) return whole;
  const GridAxis& x = axes_[0];
  if (x.is_graded()) {
    const double low = x.in_cells(shape_.centre[0] - std::sqrt(left)),
                 high = x.in_cells(shape_.centre[0] + std::sqrt(left));
    return clipped(0, std::floor(low - 0.5) + 1, std::ceil(high - 0.5));
  }
  const double half = std::sqrt(left) / x.size(0), u = x.in_cells(shape_.centre[0]) - 0.5;
  return clipped(0, std::floor(u - half) + 1, std::ceil(u + half));
}

// The row nearest to the centre covers a cell if any does.
bool CentreCover::covers_any() const {
  Int3 nearest;
  for (int axis = 0; axis < 3; ++axis) {
    const double u = std::floor(axes_[axis].in_cells(shape_.centre[axis]));
    const Index at =
        is_round(shape_.shape, shape_.axis, axis) ? clipped(axis, u, u + 1).first : between_.lo[axis];
    nearest[axis] = std::min(at, axes_[axis].cells() - 1);
  }
  const CellRange range = row(nearest.y, nearest.z);
  return range.first < range.last;
}

CellRange CentreCover::clipped(int axis, double first, double last) const {
  const auto n = static_cast<double>(axes_[axis].cells());
  return {static_cast<Index>(std::clamp(first, 0.0, n)), static_cast<Index>(std::clamp(last, 0.0, n))};
}

double Coverage::Lattice::snapped(double at) const {
  const double u = axis.is_graded() ? axis.in_cells(at) : at, face = std::round(u);
  if (std::abs(u - face) > rounding_of_per_cell) return at;
  return axis.is_graded() ? axis.edge(static_cast<Index>(face)) : face;
}

Coverage::Coverage(const Config& config, const RegionValue& shape)
    : shape_(shape.shape),
      axis_(shape.axis),
      cells_(config.grid.cells),
      lattice_{Lattice{{config, 0}}, Lattice{{config, 1}}, Lattice{{config, 2}}},
      cell_volume_(lattice_[0].unit * lattice_[1].unit * lattice_[2].unit) {
  const Vector3 h{lattice_[0].unit, lattice_[1].unit, lattice_[2].unit};
  volume_ = config.grid.is_graded() ? GridAxes(config).volume() : cell_volume_ * cells_.product();
  for (int a = 0; a < 3; ++a) {
    const auto at = [&](double place) { return lattice_[a].at(place); };
    centre_[a] = at(shape.centre[a]);
    radius_[a] = (shape_ == Shape::gaussian ? shape.width : shape.radius) / h[a];
    low_[a] = centre_[a] - radius_[a];
    high_[a] = centre_[a] + radius_[a];
    const bool is_length = shape_ == Shape::cylinder && a == axis_;
    if (is_length) low_[a] = centre_[a] - shape.length / 2 / h[a], high_[a] = low_[a] + shape.length / h[a];
    if (shape_ == Shape::box) low_[a] = at(shape.from[a]), high_[a] = at(shape.to[a]);
    if (shape_ == Shape::box || is_length) snap(lattice_[a], low_[a], high_[a]);
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
    const Lattice& along = lattice_[axis];
    const auto in_widths = [&](Index i) { return (along.edge(i) - centre_[axis]) / radius_[axis]; };
    for (Index i = 0; i < cells_[axis]; ++i)
      gaussian_[axis].push_back(mean_of_bell(in_widths(i), in_widths(i + 1)));
    const double whole = std::sqrt(2 * pi) * radius_[axis];
    const double length = along.edge(cells_[axis]) - along.edge(0);
    inside_ *= std::min(1.0, mean_of_bell(in_widths(0), in_widths(cells_[axis])) * length / whole);
  }
}

// The share of a cell's cross-section that a cylinder along x covers, by chords along y.
double Coverage::disc_share(Index y, Index z) const {
  const Midpoints of_z(lattice_[2], low_[2], high_[2], z, midpoints_);
  double share = 0;
  for (int k = 0; k < midpoints_; ++k) {
    const double rest = 1 - square((of_z(k) - centre_[2]) / radius_[2]);
    if (!(rest > 0)) continue;
    const double half = radius_[1] * std::sqrt(rest);
    share += of_z.share * lattice_[1].overlap(centre_[1] - half, centre_[1] + half, y);
  }
  return share;
}

bool Coverage::repeats(Index z) const {
  return is_solid(shape_) && !is_round(shape_, axis_, 2) &&
         lattice_[2].overlap(low_[2], high_[2], z) == lattice_[2].overlap(low_[2], high_[2], z - 1);
}

// Finds a chord at each midpoint of the row's cross-section; a straight axis of the shape has one midpoint.
void Coverage::chords(Index y, Index z, std::vector<Chord>& found) const {
  found.clear();
  if (!(lattice_[1].overlap(low_[1], high_[1], y) * lattice_[2].overlap(low_[2], high_[2], z) > 0)) return;
  const bool round_y = is_round(shape_, axis_, 1), round_z = is_round(shape_, axis_, 2);
  if (round_y && !is_round(shape_, axis_, 0)) {
    if (const double share = disc_share(y, z); share > 0) found.push_back({share, low_[0], high_[0]});
    return;
  }
  const Midpoints of_y(lattice_[1], low_[1], high_[1], y, round_y ? midpoints_ : 1);
  const Midpoints of_z(lattice_[2], low_[2], high_[2], z, round_z ? midpoints_ : 1);
  for (int k = 0; k < of_z.count; ++k) {
    for (int j = 0; j < of_y.count; ++j) {
      double rest = 1;
      if (round_y) rest -= square((of_y(j) - centre_[1]) / radius_[1]);
      if (round_z) rest -= square((of_z(k) - centre_[2]) / radius_[2]);
      if (!(rest > 0)) continue;
      const double half = radius_[0] * std::sqrt(rest), weight = of_y.share * of_z.share;
      const bool is_box = shape_ == Shape::box;
      found.push_back({weight, is_box ? low_[0] : centre_[0] - half, is_box ? high_[0] : centre_[0] + half});
    }
  }
}

// Sums the volume of the chords over all rows of cells that the shape touches, and its part in the domain.
void Coverage::measure_on_lattice() {
  constexpr double most_rows = 1 << 24, most_fine_rows = 1 << 16;
  const auto rows = [&](std::size_t a) { return lattice_[a].end(high_[a]) - lattice_[a].cell(low_[a]); };
  const double count = rows(1) * rows(2);
  if (shape_ == Shape::sphere && count > most_fine_rows) midpoints_ = 2;
  // With more rows the quadrature error is negligible: only rows of the domain are visited.
  const bool whole = count <= most_rows;
  const auto row = [&](int axis, double place) {
    const auto at = static_cast<Index>(std::clamp(place, -1e15, 1e15));
    return whole ? at : std::clamp<Index>(at, 0, cells_[axis]);
  };
  const Index y0 = row(1, lattice_[1].cell(low_[1])), y1 = row(1, lattice_[1].end(high_[1]));
  const Index z0 = row(2, lattice_[2].cell(low_[2])), z1 = row(2, lattice_[2].end(high_[2]));
  const double start = lattice_[0].edge(0), end = lattice_[0].edge(cells_.x);
  std::vector<double> planes(std::max<Index>(0, z1 - z0)), within = planes;
#pragma omp parallel for schedule(static)
  for (Index z = z0; z < z1; ++z) {
    std::vector<Chord> found;
    double plane = 0, domain = 0;
    for (Index y = y0; y < y1; ++y) {
      chords(y, z, found);
      const bool is_inside = y >= 0 && y < cells_.y && z >= 0 && z < cells_.z;
      const double section = lattice_[1].size(y) * lattice_[2].size(z);  // of a row
      for (const Chord& chord : found) {
        const double weight = chord.weight * section;
        plane += weight * (chord.high - chord.low);
        if (is_inside)
          domain += weight * std::max(0.0, std::min(chord.high, end) - std::max(chord.low, start));
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
  const Lattice& along = lattice_[0];
  const Index from = cell_of(along.cell(low_[0])), to = cell_of(along.end(high_[0]));
  const Index full_from = cell_of(along.end(full_low)), full_to = cell_of(along.cell(full_high));
  for (Index x = from; x < to; ++x) {
    double share = full;
    if (x < full_from || x >= full_to) {
      share = 0;
      for (const Chord& chord : found) share += chord.weight * along.overlap(chord.low, chord.high, x);
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
