#include "physics/varying_sources.hpp"

#include <numbers>
#include <tuple>

#include "config/materials.hpp"
#include "config/problems.hpp"
#include "config/text.hpp"
#include "physics/coverage.hpp"

namespace isotherm {
namespace {

constexpr double cut = 5;  // standard deviations: 6e-7 of a gaussian lies beyond
constexpr double sqrt2 = std::numbers::sqrt2;
// A share of the cells: above it a field of sources costs less than sweeping boxes twice.
constexpr double largest_share_in_boxes = 0.125;

bool is_formula(const RegionValue& source) { return source.shape == Shape::formula; }

int axis_of(AxisDirection direction) { return static_cast<int>(direction) / 2; }

// A gaussian with these standard deviations and shares below and above the centre.
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
void set_double_ellipsoid(const RegionValue& s, const Vector3& centre, SourceProfile (&axis)[3]) {
  const double sqrt6 = std::sqrt(6.0);
  const auto is_reversed = [](AxisDirection d) { return static_cast<int>(d) % 2 == 1; };
  for (int a = 0; a < 3; ++a) axis[a] = bell(centre[a], s.half_width / sqrt6, s.half_width / sqrt6);
  const double front = s.front_share.value_or(s.front / (s.front + s.rear));
  const int along = axis_of(s.travel), deep = axis_of(s.into);
  axis[along] = is_reversed(s.travel) ? bell(centre[along], s.front / sqrt6, s.rear / sqrt6, front)
                                      : bell(centre[along], s.rear / sqrt6, s.front / sqrt6, 1 - front);
  axis[deep] = bell(centre[deep], s.depth / sqrt6, s.depth / sqrt6, is_reversed(s.into) ? 1 : 0);
}

// The interval in which a profile has heat, m.
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
                       "the place of a {} is not finite at t = {} s{}; give finite formulas",
                       word(source.shape), t,
                       why_nan(at.from[a] + at.to[a] + at.centre[a],
                               fmt::format("{} {} {}", source.from_at[a].text(), source.to_at[a].text(),
                                           source.centre_at[a].text())));
    if (source.shape == Shape::box && !(at.from[a] < at.to[a]))
      throw deck_error(config, "sources",
                       "at t = {} s a box ends where it begins along {}; keep its ends apart at all times, "
                       "with a power of 0 at such times",
                       t, "xyz"[a]);
  }
  return at;
}

// m^3: the power over the value (of a gaussian over its peak).
double volume(const Config& config, const RegionValue& source, const Places& at) {
  if (source.shape == Shape::gaussian) return std::pow(2 * std::numbers::pi, 1.5) * std::pow(source.width, 3);
  if (source.shape == Shape::constant && config.grid.is_graded()) return GridAxes(config).volume();
  if (source.shape == Shape::constant) return cell_volume(config) * config.grid.cells.product();
  double product = 1;
  for (std::size_t a = 0; a < 3; ++a) product *= at.to[a] - at.from[a];
  return product;
}

// W. Throws as placed_source() does.
double power_at(const Config& config, const RegionValue& source, const Places& at, double t) {
  const double power =
      source.power ? (*source.power)(0, 0, 0, t) : source.value.value_or(0) * volume(config, source, at);
  if (!std::isfinite(power * source_scale(config)))
    throw deck_error(config, "sources",
                     "the power of a {} is not finite at t = {} s{}; give a finite formula",
                     word(source.shape), t, why_nan(power, source.power ? source.power->text() : ""));
  return power;
}

}  // namespace

PlacedSource placed_source(const Config& config, const RegionValue& source, double t) {
  PlacedSource placed;
  const Places at = places_at(config, source, t);
  placed.power = power_at(config, source, at, t);
  const GridAxes cell(config);
  if (source.shape == Shape::double_ellipsoid) set_double_ellipsoid(source, at.centre, placed.axis);
  for (int a = 0; a < 3; ++a) {
    const double low = cell[a].edge(0), high = cell[a].edge(config.grid.cells[a]);
    SourceProfile& along = placed.axis[a];
    if (source.shape == Shape::gaussian)
      along = bell(at.centre[a], source.width, source.width);
    else if (source.shape != Shape::double_ellipsoid)
      std::tie(along.from, along.to) =
          source.shape == Shape::box ? std::pair(at.from[a], at.to[a]) : std::pair(low, high);
    const CellRange range = reached(along, cell[a]);
    placed.cells.lo[a] = range.first;
    placed.cells.hi[a] = range.last;
    placed.inside *= share_below(along, high) - share_below(along, low);
  }
  return placed;
}

double share_of_cell(const PlacedSource& source, const GridAxes& axes, int axis, Index cell) {
  return share_below(source.axis[axis], axes[axis].edge(cell + 1)) -
         share_below(source.axis[axis], axes[axis].edge(cell));
}

// m: a box around all cells that a source reaches during the run, along an axis.
static std::pair<double, double> bounds(const Config& config, const RegionValue& source, int axis) {
  const GridAxis along(config, axis);
  const std::pair domain(along.edge(0), along.edge(along.cells()));
  if (source.shape == Shape::sphere || source.shape == Shape::cylinder) {
    const bool is_length = source.shape == Shape::cylinder && axis == source.axis;
    const double half = is_length ? source.length / 2 : source.radius;
    return {source.centre[axis] - half, source.centre[axis] + half};
  }
  if (source.shape != Shape::box && source.shape != Shape::gaussian &&
      source.shape != Shape::double_ellipsoid)
    return domain;
  std::pair all(domain.second, domain.first);
  for (const double t : source.moves() ? step_starts(config, 16) : std::vector{0.0}) {
    const auto [low, high] = reach(placed_source(config, source, t).axis[axis]);
    all = {std::min(all.first, low), std::max(all.second, high)};
  }
  return all;
}

bool can_overlap(const Config& config, const RegionValue& one, const RegionValue& other) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = bounds(config, one, axis), b = bounds(config, other, axis);
    if (std::min(a.second, b.second) - std::max(a.first, b.first) <= 1e-9 * GridAxis(config, axis).smallest())
      return false;
  }
  return true;
}

void check_sources(const Config& config, std::span<const double> times) {
  for (std::size_t i = 0; i < config.sources.size(); ++i) {
    const RegionValue& source = config.sources[i];
    if (!source.uses_time() || (is_formula(source) && source.formula.uses_place())) continue;
    for (const double t : times) {
      if (!is_formula(source)) {
        power_at(config, source, places_at(config, source, t), t);
      } else if (const double value = source.formula(0, 0, 0, t); !std::isfinite(value)) {
        throw not_finite(config.at(fmt::format("sources.{}.formula", i)), source.formula.text(), value,
                         {0, 0, 0}, GridAxes(config).centre({0, 0, 0}), t);
      }
    }
  }
}

std::vector<RegionValue> varying_sources(const Config& config) {
  std::vector<RegionValue> all;
  std::ranges::copy_if(config.sources, std::back_inserter(all), &RegionValue::varies);
  return all;
}

bool sources_in_boxes(const Config& config) {
  const std::vector<RegionValue> sources = varying_sources(config);
  const std::array<bool, 3> periodic = periodic_axes(config);
  if (has_several_materials(config)) return false;
  if (config.problem.method != MethodName::euler || std::ranges::none_of(sources, &RegionValue::uses_time) ||
      std::ranges::any_of(sources, is_formula) || std::ranges::count(periodic, true) > 0)
    return false;
  const Vector3 h = spacing(config);
  const auto cells_of = [&](std::size_t a, double length) {
    const auto all = static_cast<double>(config.grid.cells[static_cast<int>(a)]);
    return length > 0 ? std::min(length / h[a] + 1, all) : 0;
  };
  double cells = 0;
  for (const RegionValue& source : sources) {
    double most = 0;
    for (const double t : step_starts(config, 8)) {  // boxes may grow
      double reached = 1;
      for (std::size_t a = 0; a < 3; ++a) {
        if (source.shape == Shape::box) {  // no check here that it is sound then
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

// The cells that get heat, not those that a source only touches.
static Index heated_cells(const Config& config, const PlacedSource& placed) {
  const GridAxes axes(config);
  Index cells = 1;
  for (int a = 0; a < 3; ++a) {
    Index along = 0;
    for (Index i = placed.cells.lo[a]; i < placed.cells.hi[a]; ++i)
      along += share_of_cell(placed, axes, a, i) > 1e-12;
    cells *= along;
  }
  return cells;
}

HeatTotals product_totals(const Config& config) {
  // In a transient problem sources may move, and the share in voids is not known.
  const bool is_steady = config.problem.kind == ProblemKind::steady;
  HeatTotals totals;
  for (const RegionValue& source : varying_sources(config)) {
    if (is_formula(source)) continue;
    const PlacedSource placed = placed_source(config, source, 0);
    const double in_body = is_steady ? share_in_body(config, source) : 1,
                 power = placed.power * placed.inside * in_body;
    totals = totals + HeatTotals{power, std::abs(power), heated_cells(config, placed)};
  }
  return totals;
}
HeatTotals formula_totals(const Config& config, Box subdomain) {
  HeatTotals totals;
  for (const RegionValue& source : varying_sources(config)) {
    if (!is_formula(source)) continue;
    totals = totals + in_watts(config, sum_regions({config, {source}, "sources"}, subdomain));
  }
  return totals;
}

bool source_is_uniform(const Config& config) {
  const std::vector<RegionValue> sources = all_sources(config);
  return !sources.empty() && !has_several_materials(config) &&
         std::ranges::all_of(sources, [](const RegionValue& source) {
           return source.shape == Shape::constant && !source.varies();
         });
}

std::size_t fields_of_sources(const Config& config) {
  if (source_is_uniform(config)) return 0;
  const std::size_t constant = constant_sources(config).empty() ? 0 : 1;
  const std::vector<RegionValue> varying = varying_sources(config);
  if (varying.empty() || sources_in_boxes(config)) return constant;
  return 1 + constant + static_cast<std::size_t>(std::ranges::count_if(varying, is_formula));
}

}  // namespace isotherm
