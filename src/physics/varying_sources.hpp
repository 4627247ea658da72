// Sources that change in time, and double ellipsoids, computed on the device of the field. Constant, box,
// gaussian and double_ellipsoid are products of profiles along the axes; their cells sum to the power.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/field_algebra.hpp"
#include "kernels/source_product.hpp"
#include "physics/cells.hpp"
#include "physics/formula_values.hpp"
#include "physics/operator.hpp"
#include "physics/region_values.hpp"

namespace isotherm {

// An entry that is no formula, at a time (s), without its strength: `power` in W, the share `inside` the
// domain.
struct PlacedSource : SourceProduct {
  double power = 0, inside = 1;
};
// Throws Error(deck) if its power or place is not finite at t, or if a box is empty.
PlacedSource placed_source(const Config& config, const RegionValue& source, double t);
// The share of its heat in a cell with this index along an axis.
double share_of_cell(const PlacedSource& source, const GridAxes& axes, int axis, Index cell);
// Can a cell have heat of both at any time? Compares the boxes around the two sources.
bool can_overlap(const Config& config, const RegionValue& one, const RegionValue& other);
// Throws Error(deck) if a value that depends on time alone is not sound at one of these times, s.
void check_sources(const Config& config, std::span<const double> times);

template <class T>
class VaryingSources {
 public:
  // `subdomain`: this rank's global cells. `config` and `device` must outlive it.
  VaryingSources(const Config& config, Device& device, Box subdomain)
      : config_(config), device_(device), subdomain_(subdomain), scale_(source_scale(config)) {
    for (int axis = 0; axis < 3; ++axis) {
      const GridAxis along(config, axis);
      if (!along.is_graded()) continue;
      std::vector<double> edges;
      for (Index i = 0; i <= along.cells(); ++i) edges.push_back(along.edge(i));
      edges_[axis] = copied_to(device, edges);
    }
    for (std::size_t i = 0; i < config.sources.size(); ++i) {
      const RegionValue& entry = config.sources[i];
      if (!entry.varies()) continue;
      if (entry.shape == Shape::formula)
        formulas_.push_back({i, Buffer(device, static_cast<std::size_t>(subdomain.cells()) * sizeof(T)),
                             FormulaValues<T>(device, weighted(entry.formula), cell_axes(config, subdomain),
                                              scale_, -std::numeric_limits<double>::infinity())});
      else
        products_.push_back(entry);
    }
  }

  bool vary_in_time() const { return std::ranges::any_of(config_.sources, &RegionValue::uses_time); }
  // The entries without a formula at time t, in the order of the deck.
  std::vector<PlacedSource> placed(double t) const {
    std::vector<PlacedSource> all;
    for (const RegionValue& entry : products_) all.push_back(placed_source(config_, entry, t));
    return all;
  }
  // The cells that a source reaches, in indices of the subdomain.
  Box reached(const PlacedSource& source) const {
    return source.cells.shifted(Int3{0, 0, 0} - subdomain_.lo);
  }
  // Sets `field` (K per sweep of the unit weight) to the sources at time t: `constant`, products, formulas.
  // Keep it unchanged between calls; before the first it may hold anything. Throws as check() does.
  void update(double t, FieldView<const T> constant, FieldView<T> field, Stream stream) {
    check();
    const Box block{{0, 0, 0}, subdomain_.extent()};
    const std::vector<PlacedSource> sources = placed(t);
    std::vector<Box> boxes;
    for (const PlacedSource& source : sources) boxes.push_back(reached(source).within(block));
    const std::vector<Box> last = std::exchange(used_, boxes);
    for (std::size_t i = 0; i < last.size(); ++i)
      if (!(last[i] == used_[i])) boxes.push_back(last[i]);
    Index products = 0;  // of all cells; where many boxes overlap, one of the whole subdomain has fewer
    for (const Box& box : boxes)
      products += box.cells() * std::ranges::count_if(sources, [&](const PlacedSource& source) {
                    return !reached(source).within(box).empty();
                  });
    if (!formulas_.empty() || last.empty() || products > block.cells() * std::ssize(sources)) boxes = {block};
    for (const Box& box : boxes) set_products(sources, constant, field, box, {0, 0, 0}, stream);
    const Int3 n = block.hi;
    for (FormulaSource& formula : formulas_) {
      T* const values = formula.values.template as<T>();
      formula.at_points.evaluate(block, std::array{t}, {values, n.x, n.x * n.y, n.product()}, stream);
      FieldAlgebra<T>::on(device_.backend())
          .combine({field, dense_view(values, n), block, 1, 1, 0, 1}, stream);
    }
  }
  // Throws Error(deck) if one of the values of formulas computed so far is not finite.
  void check() const {
    for (const FormulaSource& each : formulas_) {
      const auto time = each.at_points.unsound_at();
      if (!time) continue;
      const Expression& formula = config_.sources[each.entry].formula;
      const Expression stored = weighted(formula);
      const GridAxes axes(config_);
      for_each_cell(subdomain_, [&](Int3 cell) {
        const Vector3 at = axes.centre(cell);
        if (!std::isfinite(static_cast<T>(scale_ * stored(at[0], at[1], at[2], *time))))
          throw not_finite(config_.at(fmt::format("sources.{}.formula", each.entry)), formula.text(),
                           formula(at[0], at[1], at[2], *time), cell, at, *time);
      });
    }
  }
  // Sets the cells of `box` alone, without formulas. The fields' cell (0, 0, 0) is `first` of the subdomain.
  void set_products(const std::vector<PlacedSource>& sources, FieldView<const T> constant, FieldView<T> field,
                    Box box, Int3 first, Stream stream) const {
    const SourceSum<T> sum = products(sources, constant, field, box, first, stream);
    if (!sum.box.empty()) SourceSums<T>::on(device_.backend()).set(sum, stream);
  }
  // Sweeps `box` with that source; `scratch` has the same cells as the fields.
  void sweep_products(const std::vector<PlacedSource>& sources, FieldView<const T> constant,
                      FieldView<T> scratch, Box box, Int3 first, const SourceSweep<T>& sweep,
                      Stream stream) const {
    const SourceSum<T> sum = products(sources, constant, scratch, box, first, stream);
    SourceSums<T>::on(device_.backend()).sweep(sum, sweep, stream);
  }

 private:
  // The sum of the sources that reach the box. If one call cannot take all of these, the first of them are
  // stored in `field`.
  SourceSum<T> products(const std::vector<PlacedSource>& sources, FieldView<const T> constant,
                        FieldView<T> field, Box box, Int3 first, Stream stream) const {
    const GridAxes cell(config_);
    SourceSum<T> sum{.to = field, .constant = constant, .box = box.within(field.interior())};
    if (sum.box.empty()) return sum;
    for (int axis = 0; axis < 3; ++axis) {
      sum.origin[axis] = cell[axis].edge(0);
      sum.h[axis] = cell[axis].size(0);
      sum.cells[axis] = cell[axis].cells();
      if (cell[axis].is_graded()) sum.edges[axis] = edges_[axis].template as<double>();
    }
    sum.first = subdomain_.lo + first;
    for (const PlacedSource& placed : sources) {
      if (placed.cells.within(sum.box.shifted(sum.first)).empty()) continue;
      if (sum.count == sum.most_products) {
        SourceSums<T>::on(device_.backend()).set(sum, stream);
        sum.constant = field;
        sum.count = 0;
      }
      SourceProduct& product = sum.products[sum.count++] = placed;
      product.strength = placed.power * scale_;
    }
    return sum;
  }

  // A formula weighted as RegionValues stores sources: for the volume of the grid's first cell.
  Expression weighted(const Expression& formula) const {
    return config_.grid.is_graded()
               ? Expression::combined(FormulaOp::multiply, {formula, volume_formula(config_)})
               : formula;
  }

  // Its values are computed in separate memory and then added to the field, which has the other sources.
  struct FormulaSource {
    std::size_t entry;  // of the deck's sources
    Buffer values;
    FormulaValues<T> at_points;
  };

  const Config& config_;
  Device& device_;
  Box subdomain_;
  double scale_;
  std::array<Buffer, 3> edges_;  // faces of the cells of axes whose cells differ, m
  std::vector<RegionValue> products_;
  std::vector<FormulaSource> formulas_;
  std::vector<Box> used_;  // that the sources reached in the last update
};

// The entries that VaryingSources sets; below, the power in the domain at t = 0 of products and of formulas.
std::vector<RegionValue> varying_sources(const Config& config);
// Do sources reach so few cells of an explicit problem that solver/source_boxes.hpp sweeps these separately?
bool sources_in_boxes(const Config& config);
HeatTotals product_totals(const Config& config);
HeatTotals formula_totals(const Config& config, Box subdomain);  // in this part of the domain
// Do all cells have the same source at all times? It is then Coefficients::heat, without a field.
bool source_is_uniform(const Config& config);
// The number of fields that all sources of a subdomain need, without those of boxes.
std::size_t fields_of_sources(const Config& config);

}  // namespace isotherm
