// The share of a cell's volume that a source's shape covers, so that it has the deck's power on any grid.
// A shape is cut into chords along x, whose overlap with a cell is exact. A box has one chord per row of
// cells. Spheres and cylinders are averaged over chords at fixed midpoints across the row (8 or 2 along each
// of its other axes, within the shape's extent), and scaled by the analytic volume over the volume that the
// same midpoints find on the whole lattice, also outside the domain. A gaussian is integrated over each cell
// by the error function. Shares depend on global indices only: every rank computes the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "config/config.hpp"
#include "physics/cells.hpp"

namespace isotherm {

// Which cells a shape of `initial` covers: those whose centres are inside. Boxes and ends of cylinders are
// half-open, from <= x < to, so that neighbours that share a face cover each cell once; spheres and sides of
// cylinders are open. Centres within 1e-9 cell sizes of a surface count as on it.

// Cells of one axis by their global indices.
struct CellRange {
  Index first = 0, last = 0;  // last excluded
  bool has(Index i) const { return first <= i && i < last; }
};

inline bool is_solid(Shape shape) {
  return shape == Shape::box || shape == Shape::sphere || shape == Shape::cylinder;
}

class CentreCover {
 public:
  // For a solid shape.
  CentreCover(const Config& config, const RegionValue& shape);

  CellRange row(Index y, Index z) const;  // the cells covered of one row along x
  bool covers_any() const;
  // Are the planes z and z - 1 covered alike? Compares no cells, so it may be false for equal planes.
  bool repeats(Index z) const {
    const bool is_straight =
        shape_.shape == Shape::box || (shape_.shape == Shape::cylinder && shape_.axis == 2);
    const auto has = [&](Index plane) { return between_.lo.z <= plane && plane < between_.hi.z; };
    return is_straight && has(z) == has(z - 1);
  }

 private:
  CellRange clipped(int axis, double first, double last) const;

  RegionValue shape_;
  GridAxes axes_;
  double reach_;  // m, the radius less the tolerance
  Box between_;   // its cells along axes on which it is straight; all cells along the others
};

class Coverage {
 public:
  // For a solid shape or gaussian of `sources`; any other shape covers the whole domain.
  Coverage(const Config& config, const RegionValue& shape);

  double volume() const { return volume_; }  // m^3, also outside the domain; of a gaussian with peak 1
  double inside() const { return inside_; }  // the share of it within the domain, 0 to 1

  // For solid shapes and gaussians. Stores in shares[i] the share (0 to 1) of the cell (first + i, y, z),
  // global indices, or the mean of the gaussian over it. Sets only the cells of the returned range.
  CellRange row(Index first, Index y, Index z, std::vector<double>& shares) const;
  bool repeats(Index z) const;  // as CentreCover::repeats()
  // A factor for all shares, so that the sum over all cells is value x volume().
  double scale() const { return scale_; }

 private:
  struct Chord {
    double weight;     // share of the row's cross-section
    double low, high;  // along x, in units of the axis
  };
  // Positions along an axis: in cells from the domain's lower face if all cells are equal, else in metres.
  struct Lattice {
    GridAxis axis;
    double unit = axis.is_graded() ? 1 : axis.size(0);  // m

    double at(double place) const { return axis.is_graded() ? place : axis.in_cells(place); }
    double edge(Index i) const { return axis.is_graded() ? axis.edge(i) : static_cast<double>(i); }
    double size(Index i) const { return axis.is_graded() ? axis.size(i) : 1; }
    // The number of the cell that contains this position; the cells continue beyond the domain.
    double cell(double at) const { return std::floor(axis.is_graded() ? axis.in_cells(at) : at); }
    double end(double at) const { return std::ceil(axis.is_graded() ? axis.in_cells(at) : at); }
    double snapped(double at) const;
    double overlap(double low, double high, Index i) const {  // share of cell i
      return std::max(0.0, std::min(high, edge(i + 1)) - std::max(low, edge(i))) / size(i);
    }
  };
  void chords(Index y, Index z, std::vector<Chord>& found) const;
  double disc_share(Index y, Index z) const;
  void measure_on_lattice();
  void integrate_gaussian();

  Shape shape_;
  int axis_;    // of a cylinder
  Int3 cells_;  // of the domain
  std::array<Lattice, 3> lattice_;
  Vector3 low_{}, high_{};       // the bounding box, in units of the axes
  Vector3 centre_{}, radius_{};  // likewise
  int midpoints_ = 8;
  double cell_volume_;
  double volume_ = 0, inside_ = 1, scale_ = 1;
  std::vector<double> gaussian_[3];  // mean of each factor over each cell of the domain
};

// K or W/m^3: the value of an entry that has one, or a source's power over its volume; else 0.
double source_strength(const Config& config, const RegionValue& source);

}  // namespace isotherm
