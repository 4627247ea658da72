// Heat sources that are products of a profile along each axis: gaussians, double ellipsoids (Goldak et al.,
// Metallurgical Transactions B 15, 1984), boxes. A cell stores the mean over its volume, from the shares of
// heat below its faces, so the cells sum to the power without a reduction.
#pragma once

#include "kernels/math/exp.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The distribution of heat along an axis; its integral is 1.
struct SourceProfile {
  // Two half gaussians, one on each side of the centre, or, if `to` > `from`, uniform between these; m.
  double centre = 0, from = 0, to = 0;
  double inverse_width[2] = {};  // below and above the centre: 1/(sqrt(2) standard deviation), 1/m
  double share[2] = {};          // of the heat; sum to 1
  // The gaussians are cut at `cut` sqrt(2) standard deviations, and scaled so that no heat is lost.
  double cut = 0, inverse_erf_of_cut = 1;
};

ISOTHERM_HOST_DEVICE double share_below(const SourceProfile& p, double place) {
  if (p.to > p.from) {
    const double part = (place - p.from) / (p.to - p.from);
    return part < 0 ? 0 : part > 1 ? 1 : part;
  }
  const double distance = place - p.centre;
  const int side = distance > 0 ? 1 : 0;
  const double widths = ::fabs(distance) * p.inverse_width[side];
  const double inside = math::erf(widths < p.cut ? widths : p.cut) * p.inverse_erf_of_cut;
  return side == 1 ? ::fma(p.share[1], inside, p.share[0]) : p.share[0] * (1 - inside);
}

// Strength times the product of the means along the axes.
struct SourceProduct {
  SourceProfile axis[3];
  double strength = 0;  // W, times the factor from W/m^3 to K
  Box cells{};          // global: it is 0 elsewhere
};

// Sets the cells of `box` to `constant` plus each product, in order.
template <class T>
struct SourceSum {
  static constexpr int most_products = 8;
  FieldView<T> to{};
  FieldView<const T> constant{};  // same cells as `to`, and may be `to`; empty: 0
  Box box{};
  double origin[3] = {}, h[3] = {};  // m: of the grid; of a cell, or of the first where they differ
  const double* edges[3] = {};       // m, faces of all cells, one more than cells; null: evenly spaced
  Index cells[3] = {};               // of the grid, along an axis with edges
  Int3 first{};                      // global index of the cell (0, 0, 0) of the field
  int count = 0;
  SourceProduct products[most_products] = {};

  // For a product along an axis, share() is the share of its heat below the lower face of a cell, and mean()
  // the mean over the cell, 1/m, from the shares below both faces. Where cell sizes differ, mean() is for the
  // volume of the grid's first cell, as sources are stored.
  ISOTHERM_HOST_DEVICE double share(const SourceProduct& product, int a, Index cell) const {
    const Index global = first[a] + cell;
    if (!edges[a]) return share_below(product.axis[a], origin[a] + static_cast<double>(global) * h[a]);
    return share_below(product.axis[a], edges[a][global < cells[a] ? global : cells[a]]);
  }
  ISOTHERM_HOST_DEVICE double mean(const SourceProduct& product, int a, Index cell, double below,
                                   double above) const {
    const Index global = first[a] + cell;
    const bool is_reached = global >= product.cells.lo[a] && global < product.cells.hi[a];
    return is_reached ? (above - below) / h[a] : 0;
  }
};

// One sweep of SourceSum::box with that source, by the formula and boundary_ghost() of kernels/stencil.hpp.
template <class T>
struct SourceSweep {
  FieldView<T> in, out;  // same cells as SourceSum::to; beyond boundaries `in` may be overwritten
  Coefficients<T> c;
  Boundaries<T> boundaries;
};

template <class T>
struct SourceSums {
  static const SourceSums& on(Backend backend);  // throws as FaceCopy::on()
  void (*set)(const SourceSum<T>& source, Stream stream);
  void (*sweep)(const SourceSum<T>& source, const SourceSweep<T>& sweep,
                Stream stream);  // may overwrite `to`
};
}  // namespace isotherm
