#include "physics/varying_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/materials.hpp"
#include "config/problems.hpp"
#include "kernels/field_algebra.hpp"
#include "physics/cells.hpp"
#include "physics/coverage.hpp"
#include "physics/formula_values.hpp"
#include "physics/operator.hpp"

namespace isotherm {
namespace {

constexpr double cut = 5;  // standard deviations: 6e-7 of a gaussian lies beyond
constexpr double sqrt2 = std::numbers::sqrt2;
// Of the cells: beyond that, a field of sources costs less than sweeping boxes twice.
constexpr double largest_share_in_boxes = 0.125;

int axis_of(AxisDirection direction) {
  return static_cast<int>(direction) / 2;
}

SourceProfile evenly(double from, double to) {
  SourceProfile profile;
  profile.from = from;
  profile.to = to;
  return profile;
}
// Standard deviations and shares below and above the centre.
SourceProfile bell(double centre, double below, double above, double share_below = 0.5) {
  SourceProfile profile;
  profile.centre = centre;
  profile.inverse_width[0] = 1 / (sqrt2 * below);
  profile.inverse_width[1] = 1 / (sqrt2 * above);
  profile.share[0] = share_below;
  profile.share[1] = 1 - share_below;
  profile.cut = cut / sqrt2;
  profile.inverse_erf_of_cut = 1 / math::erf(profile.cut);
  return profile;
}

// Goldak's lengths are sqrt(6) standard deviations; the heat lies on one side of the surface at the centre.
std::array<SourceProfile, 3> double_ellipsoid(const RegionValue& s, const Vector3& centre) {
  const double sqrt6 = std::sqrt(6.0);
  const auto is_reversed = [](AxisDirection d) { return static_cast<int>(d) % 2 == 1; };
  std::array<SourceProfile, 3> axis;
  for (int a = 0; a < 3; ++a) axis[a] = bell(centre[a], s.half_width / sqrt6, s.half_width / sqrt6);
  const double front = s.front_share.value_or(s.front / (s.front + s.rear));
  const int along = axis_of(s.travel), deep = axis_of(s.into);
  axis[along] = is_reversed(s.travel) ? bell(centre[along], s.front / sqrt6, s.rear / sqrt6, front)
                                      : bell(centre[along], s.rear / sqrt6, s.front / sqrt6, 1 - front);
  axis[deep] = bell(centre[deep], s.depth / sqrt6, s.depth / sqrt6, is_reversed(s.into) ? 1 : 0);
  return axis;
}

// From where to where a profile has heat, m.
std::pair<double, double> reach(const SourceProfile& p) {
  if (p.to > p.from) return {p.from, p.to};
  return {p.centre - (p.share[0] > 0 ? p.cut / p.inverse_width[0] : 0),
          p.centre + (p.share[1] > 0 ? p.cut / p.inverse_width[1] : 0)};
}
CellRange reached(const SourceProfile& p, const GridAxis& axis) {
  const auto [low, high] = reach(p);
  if (axis.in_cells(high) < 0) return {};
  const auto at = [&](double place) {
    return static_cast<Index>(std::clamp(axis.in_cells(place), 0.0, static_cast<double>(axis.cells())));
  };
  return {at(low), std::min(axis.cells(), at(high) + 1)};
}

struct Places {
  Vector3 from, to, centre;
};
// Throws as placed_source() does.
Places places_at(const Config& config, const RegionValue& source, double t) {
  Places at;
  for (std::size_t a = 0; a < 3; ++a) {
    at.from[a] = source.from_at[a](0, 0, 0, t);
    at.to[a] = source.to_at[a](0, 0, 0, t);
    at.centre[a] = source.centre_at[a](0, 0, 0, t);
    if (!std::isfinite(at.from[a] + at.to[a] + at.centre[a]))
      throw deck_error(config, "sources",
                       "the place of a {} is not finite at t = {} s; give formulas that are",
                       word(source.shape), t);
    if (source.shape == Shape::box && !(at.from[a] < at.to[a]))
      throw deck_error(config, "sources",
                       "at t = {} s a box ends where it begins along {}; give places that stay apart, and "
                       "a power that is 0 meanwhile",
                       t, "xyz"[a]);
  }
  return at;
}

// m^3, by which a value (of a gaussian its peak) becomes a power.
double volume(const Config& config, const RegionValue& source, const Places& at) {
  if (source.shape == Shape::gaussian) return std::pow(2 * std::numbers::pi, 1.5) * std::pow(source.width, 3);
  if (source.shape == Shape::constant && config.grid.is_graded()) return GridAxes(config).volume();
  if (source.shape == Shape::constant)
    return cell_volume(config) * static_cast<double>(config.grid.cells.product());
  double product = 1;
  for (std::size_t a = 0; a < 3; ++a) product *= at.to[a] - at.from[a];
  return product;
}

}  // namespace

PlacedSource placed_source(const Config& config, const RegionValue& source, double t) {
  PlacedSource placed;
  const Places at = places_at(config, source, t);
  placed.power =
      source.power ? (*source.power)(0, 0, 0, t) : source.value.value_or(0) * volume(config, source, at);
  if (!std::isfinite(placed.power * source_scale(config)))
    throw deck_error(config, "sources", "the power of a {} is not finite at t = {} s; give a formula that is",
                     word(source.shape), t);
  const GridAxes cell(config);
  if (source.shape == Shape::double_ellipsoid) placed.axis = double_ellipsoid(source, at.centre);
  for (int a = 0; a < 3; ++a) {
    const double low = cell[a].edge(0), high = cell[a].edge(config.grid.cells[a]);
    SourceProfile& along = placed.axis[a];
    if (source.shape == Shape::gaussian)
      along = bell(at.centre[a], source.width, source.width);
    else if (source.shape != Shape::double_ellipsoid)
      along = source.shape == Shape::box ? evenly(at.from[a], at.to[a]) : evenly(low, high);
    const CellRange range = reached(along, cell[a]);
    placed.cells.lo[a] = range.first;
    placed.cells.hi[a] = range.last;
    placed.inside *= share_below(along, high) - share_below(along, low);
  }
  return placed;
}

// Values of its own memory, added to the field: what the others leave is not to be written over.
template <class T>
class VaryingSources<T>::FormulaSource {
 public:
  FormulaSource(const Config& config, Device& device, Box subdomain, const RegionValue& entry,
                std::string key, double scale)
      : config_(config),
        subdomain_(subdomain),
        formula_(entry.formula),
        key_(std::move(key)),
        scale_(scale),
        values_(device, static_cast<std::size_t>(subdomain.cells()) * sizeof(T)),
        at_points_(device, weighted(config, formula_), cell_axes(config, subdomain), scale,
                   -std::numeric_limits<double>::infinity()) {}

  FieldView<T> evaluate(double t, Stream stream) {
    const Int3 n = subdomain_.extent();
    T* const values = values_.template as<T>();
    at_points_.evaluate({{0, 0, 0}, n}, std::array{t}, {values, n.x, n.x * n.y, n.product()}, stream);
    return {values, n.x, n.x * n.y, n, 0};
  }
  void check() const {
    const auto time = at_points_.unsound_at();
    if (!time) return;
    const GridAxes axes(config_);
    for (Index z = subdomain_.lo.z; z < subdomain_.hi.z; ++z)
      for (Index y = subdomain_.lo.y; y < subdomain_.hi.y; ++y)
        for (Index x = subdomain_.lo.x; x < subdomain_.hi.x; ++x) {
          const Vector3 at = axes.centre({x, y, z});
          const double value = formula_(at[0], at[1], at[2], *time);
          const double stored = weighted(config_, formula_)(at[0], at[1], at[2], *time);
          if (!std::isfinite(static_cast<T>(scale_ * stored)))
            throw not_finite(config_.at(key_), formula_.text(), value, {x, y, z}, at, *time);
        }
  }

 private:
  // As RegionValues stores sources: for the volume of the grid's first cell.
  static Expression weighted(const Config& config, const Expression& formula) {
    return config.grid.is_graded()
               ? Expression::combined(FormulaOp::multiply, {formula, volume_formula(config)})
               : formula;
  }

  const Config& config_;
  Box subdomain_;
  const Expression& formula_;
  std::string key_;
  double scale_;
  Buffer values_;
  FormulaValues<T> at_points_;
};

template <class T>
VaryingSources<T>::VaryingSources(const Config& config, Device& device, Box subdomain)
    : config_(config), device_(device), subdomain_(subdomain), scale_(source_scale(config)) {
  for (int axis = 0; axis < 3; ++axis) {
    const GridAxis along(config, axis);
    if (!along.is_graded()) continue;
    std::vector<double> edges;
    for (Index i = 0; i <= along.cells(); ++i) edges.push_back(along.edge(i));
    edges_[static_cast<std::size_t>(axis)] = copied_to(device, edges);
  }
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const RegionValue& entry = config.sources[i];
    if (!entry.varies()) continue;
    if (entry.shape == Shape::formula)
      formulas_.push_back(std::make_unique<FormulaSource>(config, device, subdomain, entry,
                                                          fmt::format("sources.{}.formula", i), scale_));
    else
      products_.push_back(entry);
  }
}
template <class T>
VaryingSources<T>::~VaryingSources() = default;

template <class T>
bool VaryingSources<T>::vary_in_time() const {
  return std::ranges::any_of(config_.sources, &RegionValue::uses_time);
}

template <class T>
void VaryingSources<T>::check() const {
  for (const auto& formula : formulas_) formula->check();
}

template <class T>
void VaryingSources<T>::update(double t, FieldView<const T> constant, FieldView<T> field, Stream stream) {
  check();
  const Box block{{0, 0, 0}, subdomain_.extent()};
  const bool is_whole = !formulas_.empty() || std::exchange(is_first_, false);
  std::vector<Box> now = is_whole ? std::vector{block} : reached(std::array{t});
  for (const std::vector<Box>* boxes : {&used_, &now})  // what was there goes, then what is there comes
    for (const Box& box : *boxes) set_products(t, constant, field, box, {0, 0, 0}, stream);
  used_ = std::move(now);
  for (const auto& formula : formulas_)
    field_algebra<T>(device_.backend())
        .combine({field, formula->evaluate(t, stream), block, 1, 1, 0, 1}, stream);
}

template <class T>
void VaryingSources<T>::set_products(double t, FieldView<const T> constant, FieldView<T> field, Box box,
                                     Int3 first, Stream stream) const {
  const GridAxes cell(config_);
  SourceSum<T> sum{.to = field, .constant = constant, .box = box.within(field.interior())};
  if (sum.box.empty()) return;
  for (int axis = 0; axis < 3; ++axis) {
    sum.origin[axis] = cell[axis].edge(0);
    sum.h[axis] = cell[axis].size(0);
    sum.cells[axis] = cell[axis].cells();
    if (cell[axis].is_graded())
      sum.edges[axis] = edges_[static_cast<std::size_t>(axis)].template as<double>();
  }
  sum.first = subdomain_.lo + first;
  const SourceSums<T>& sums = source_sums<T>(device_.backend());
  for (const RegionValue& entry : products_) {
    if (sum.count == sum.most_products) {
      sums.set(sum, stream);
      sum.constant = field;
      sum.count = 0;
    }
    const PlacedSource placed = placed_source(config_, entry, t);
    SourceProduct& product = sum.products[sum.count++];
    std::ranges::copy(placed.axis, product.axis);
    product.strength = placed.power * scale_;
    product.cells = placed.cells;
  }
  sums.set(sum, stream);
}

template <class T>
std::vector<Box> VaryingSources<T>::reached(std::span<const double> times) const {
  std::vector<Box> boxes;
  for (const RegionValue& entry : products_) {
    for (const double t : times)
      boxes.push_back(placed_source(config_, entry, t).cells.shifted(Int3{0, 0, 0} - subdomain_.lo));
  }
  return boxes;
}

std::vector<RegionValue> varying_sources(const Config& config) {
  std::vector<RegionValue> all;
  std::ranges::copy_if(config.sources, std::back_inserter(all), &RegionValue::varies);
  return all;
}

bool sources_in_boxes(const Config& config) {
  const std::vector<RegionValue> sources = varying_sources(config);
  const auto is_formula = [](const RegionValue& source) { return source.shape == Shape::formula; };
  const auto is_periodic = [](const BoundaryConfig& b) { return b.kind == BoundaryKind::periodic; };
  if (has_several_materials(config)) return false;
  if (config.problem.method != MethodName::euler || std::ranges::none_of(sources, &RegionValue::uses_time) ||
      std::ranges::any_of(sources, is_formula) || std::ranges::any_of(config.boundaries, is_periodic))
    return false;
  const Vector3 h = spacing(config);
  const TimePlan plan = time_plan(config);
  const auto cells_of = [&](std::size_t a, double length) {
    const auto all = static_cast<double>(config.grid.cells[static_cast<int>(a)]);
    return length > 0 ? std::min(length / h[a] + 1, all) : 0;
  };
  double cells = 0;
  for (const RegionValue& source : sources) {
    double most = 0;
    for (std::int64_t i = 0; i < 8; ++i) {  // boxes may grow
      const double t = plan.dt * static_cast<double>(plan.steps * i / 8);
      double reached = 1;
      for (std::size_t a = 0; a < 3; ++a) {
        if (source.shape == Shape::box) {  // whether it is sound then is not asked here
          reached *= cells_of(a, source.to_at[a](0, 0, 0, t) - source.from_at[a](0, 0, 0, t));
        } else {
          const auto [low, high] = reach(placed_source(config, source, 0).axis[a]);
          reached *= cells_of(a, high - low);
        }
      }
      most = std::max(most, reached);
    }
    cells += most;
  }
  return cells <= largest_share_in_boxes * static_cast<double>(config.grid.cells.product());
}

SourceTotals product_totals(const Config& config) {
  SourceTotals totals;
  for (const RegionValue& source : varying_sources(config)) {
    if (source.shape == Shape::formula) continue;
    const PlacedSource placed = placed_source(config, source, 0);
    totals = totals + SourceTotals{placed.power * placed.inside, placed.cells.cells()};
  }
  return totals;
}
SourceTotals formula_totals(const Config& config, Box subdomain) {
  SourceTotals totals;
  for (const RegionValue& source : varying_sources(config)) {
    if (source.shape != Shape::formula) continue;
    const RegionTotals found = sum_regions({config, {source}, "sources"}, subdomain);
    totals = totals + source_totals(config, found);
  }
  return totals;
}

std::size_t fields_of_sources(const Config& config) {
  const std::size_t constant = constant_sources(config).empty() ? 0 : 1;
  const std::vector<RegionValue> varying = varying_sources(config);
  if (varying.empty() || sources_in_boxes(config)) return constant;
  const auto is_formula = [](const RegionValue& source) { return source.shape == Shape::formula; };
  return 1 + constant + static_cast<std::size_t>(std::ranges::count_if(varying, is_formula));
}

template class VaryingSources<float>;
template class VaryingSources<double>;

}  // namespace isotherm
