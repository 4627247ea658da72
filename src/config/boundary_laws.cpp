#include "config/boundary_laws.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/grid_axes.hpp"
#include "config/parts.hpp"

namespace isotherm {
namespace {

Expression if_then(const Expression& condition, const Expression& yes, const Expression& no) {
  return Expression::combined(FormulaOp::choose, {condition, yes, no});
}

// The share of a cell's face that lies in a patch: exactly 1 inside and exactly 0 outside, despite rounding.
Expression share_of(const Config& config, Face f, const FacePatch& patch) {
  Expression all;
  for (int i = 0; i < 2; ++i) {
    const int axis = face_axes(f)[i];
    const Expression at(std::string(1, "xyz"[axis]), "xyz"), h = GridAxis(config, axis).size_formula();
    // The share of a cell inside an edge of the patch that is `distance` beyond the cell's centre.
    const auto share = [&](const Expression& distance) {
      const Expression at_least_0 = Expression::combined(FormulaOp::max, {0.0, distance / h + 0.5});
      return Expression::combined(FormulaOp::min, {1.0, at_least_0});
    };
    const Expression within = share((*patch.to)[i] - at) + share(at - (*patch.from)[i]) - 1.0;
    all = i == 0 ? within : all * within;
  }
  return all;
}

Expression centre_in(const Config& config, Face f, const FacePatch& patch) {
  std::string text;
  for (int i = 0; i < 2; ++i) {
    const int axis = face_axes(f)[i];
    const double rounding = rounding_of_per_cell * GridAxis(config, axis).smallest();
    text += fmt::format("{0}{1} >= ({2}) && {1} <= ({3})", i == 0 ? "" : " && ", "xyz"[axis],
                        (*patch.from)[i] - rounding, (*patch.to)[i] + rounding);
  }
  return {text, "xyz"};
}

// The reader has checked constants.
Expression at_least(const Expression& value, double lowest) {
  if (value.is_constant() || std::isinf(lowest)) return value;
  return if_then(Expression::combined(FormulaOp::greater_equal, {value, lowest}), value,
                 std::numeric_limits<double>::quiet_NaN());
}

// a = (C - H)/(C + H) and slope 2/(C + H), with C = 2k/h.
BoundaryLaw law_of(double k, double h, double H) {
  const double C = 2 * k / h;
  return {(C - H) / (C + H), 2 / (C + H)};
}

}  // namespace

bool holds_temperature(const BoundaryConfig& boundary) {
  return any_law(boundary, [](const LawConfig& law) { return law.kind == BoundaryKind::temperature; });
}

std::vector<PlacedLaw> laws_of(const Config& config, Face f) {
  std::vector<PlacedLaw> all;
  const BoundaryConfig& of_face = boundary_of(config, f);
  const auto add = [&](const std::string& key, const BoundaryConfig& law) {
    if (!law.where.is_given()) return all.push_back({law, key, Expression(1.0)});
    const Expression share =
        holds_temperature(law) ? centre_in(config, f, law.where) : share_of(config, f, law.where);
    all.push_back({law, key, share});
    all.push_back({law.rest, key + ".else", 1.0 - share});
  };
  const std::string key = boundary_key(f);
  if (of_face.laws.empty()) add(key, of_face);
  for (std::size_t i = 0; i < of_face.laws.size(); ++i) add(fmt::format("{}.{}", key, i), of_face.laws[i]);
  return all;
}

bool is_plain(const BoundaryConfig& boundary) {
  return boundary.laws.empty() && !boundary.where.is_given() && boundary.coefficient.is_constant();
}

Expression FaceLaw::value() const { return held ? if_then(*held, temperature, heat) : heat; }

Expression FaceLaw::a(double k, double h) const {
  const Expression C(2 * k / h), free = (C - coefficient) / (C + coefficient);
  return held ? if_then(*held, -1.0, free) : free;
}

Expression FaceLaw::b(double k, double h) const {
  const Expression free = heat.is_zero() ? heat : 2.0 * heat / (2 * k / h + coefficient);
  if (!held || (temperature.is_zero() && free.is_zero())) return free;
  return if_then(*held, 2.0 * temperature, free);
}

BoundaryLaw FaceLaw::at(double k, double h, const Vector3& place, double t) const {
  const auto here = [&](const Expression& each) { return each(place[0], place[1], place[2], t); };
  if (held && here(*held) != 0) return {-1, 2};
  return law_of(k, h, here(coefficient));
}

FaceLaw face_law(const Config& config, Face f) {
  const double lowest = lowest_temperature(config);
  FaceLaw sum;
  for (const PlacedLaw& law : laws_of(config, f)) {
    // Where a law does not apply, the value of its formula is ignored, even NaN.
    const auto within = [&](const Expression& value) {
      if (law.share.is_constant() || value.is_zero()) return value;
      return if_then(law.share, law.share * value, 0.0);
    };
    switch (law.kind) {
      case BoundaryKind::temperature:
        sum.held = sum.held.value_or(0.0) + law.share;
        // On coarse grids two laws may hold a cell: the later one applies. Nested choices would need a deeper
        // stack for each patch.
        sum.temperature = sum.temperature * (1.0 - law.share) + within(at_least(law.value, lowest));
        break;
      case BoundaryKind::flux:
        sum.heat = sum.heat + within(law.value);
        break;
      case BoundaryKind::convection: {
        const Expression H = at_least(law.coefficient, 0);
        sum.coefficient = sum.coefficient + within(H);
        sum.heat = sum.heat + within(H * at_least(law.value, lowest));
        break;
      }
      case BoundaryKind::insulated:
      case BoundaryKind::periodic:
        break;
    }
  }
  return sum;
}

bool has_varying_coefficient(const Config& config, Face f) {
  return !is_plain(boundary_of(config, f)) && face_law(config, f).varies();
}

bool has_varying_coefficients(const Config& config) {
  return std::ranges::any_of(all_faces, [&](Face f) { return has_varying_coefficient(config, f); });
}

static bool has_patch(const BoundaryConfig& boundary) {
  return boundary.where.is_given() || std::ranges::any_of(boundary.laws, has_patch);
}
bool patches_cut_coarse_cells(const Config& config) {
  const MethodName method = config.problem.method;
  if (method != MethodName::multigrid && method != MethodName::implicit) return false;
  return std::ranges::any_of(all_faces, [&](Face f) {
    return has_patch(boundary_of(config, f)) && has_varying_coefficient(config, f);
  });
}

bool is_of_flux(const Config& config, Face f) {
  const BoundaryConfig& boundary = boundary_of(config, f);
  if (is_plain(boundary)) return boundary.kind == BoundaryKind::flux;
  const FaceLaw law = face_law(config, f);
  return !law.held && law.coefficient.is_zero() && !law.heat.is_zero();
}

bool coefficients_use_time(const Config& config) {
  return any_law(config, [](const LawConfig& law) {
    return law.kind == BoundaryKind::convection && law.coefficient.uses('t');
  });
}

bool boundaries_use_time(const Config& config) {
  const auto value_uses_time = [](const LawConfig& law) {
    return law.kind != BoundaryKind::periodic && law.value.uses('t');
  };
  return coefficients_use_time(config) || any_law(config, value_uses_time);
}

// boundary_law() of a face that is not plain.
static BoundaryLaw strongest_law(const Config& config, Face f, double k) {
  const double h = size_at(config, f);
  const FaceLaw law = face_law(config, f);
  if (!law.varies()) return law_of(k, h, law.coefficient(0, 0, 0));
  const BoundaryLaw of_temperature{-1, 2};
  if (law.held) return of_temperature;
  double sum = 0;  // an upper bound for a cell, as shares are at most 1
  bool are_numbers = true;
  visit_laws(boundary_of(config, f), "", [&](const auto&, const LawConfig& each) {
    if (each.kind != BoundaryKind::convection) return;
    are_numbers = are_numbers && each.coefficient.is_constant();
    sum += each.coefficient(0, 0, 0);
  });
  return are_numbers ? law_of(k, h, sum) : of_temperature;
}

BoundaryLaw boundary_law(const Config& config, Face f) {
  return boundary_law(config, f, conductivity(config));
}

BoundaryLaw boundary_law(const Config& config, Face f, double k) {
  const BoundaryConfig& boundary = boundary_of(config, f);
  if (!is_plain(boundary)) return strongest_law(config, f, k);
  const double h = size_at(config, f);
  const double H = boundary.coefficient(0, 0, 0);
  switch (boundary.kind) {
    case BoundaryKind::temperature:
      return {-1, 2};
    case BoundaryKind::flux:
      return {1, h / k};
    case BoundaryKind::convection:
      return {law_of(k, h, H).a, 2 * H / (2 * k / h + H)};
    case BoundaryKind::insulated:
    case BoundaryKind::periodic:
      break;
  }
  return {1, 0};
}

double mean_a(const Config& config, Face f, double k) {
  if (!has_varying_coefficient(config, f)) return boundary_law(config, f, k).a;
  constexpr Index most_places = 64;  // along an axis: enough for an estimate
  const Expression a = face_law(config, f).a(k, size_at(config, f));
  const auto [p, q] = face_axes(f);
  const GridAxes axes(config);
  const Int3 n = config.grid.cells;
  const bool over_face = a.uses("xyz"[p]) || a.uses("xyz"[q]);
  const Index width = over_face ? std::min(n[p], most_places) : 1,
              rows = over_face ? std::min(n[q], most_places) : 1;
  double sum = 0;
  Vector3 at{};
  for (Index j = 0; j < rows; ++j) {
    for (Index i = 0; i < width; ++i) {
      at[p] = axes[p].centre((2 * i + 1) * n[p] / (2 * width));
      at[q] = axes[q].centre((2 * j + 1) * n[q] / (2 * rows));
      const double here = a(at[0], at[1], at[2], config.problem.implicit_time);
      sum += std::abs(here) <= 1 ? here : -1;  // NaN is reported elsewhere, for the cell that has it
    }
  }
  return sum / static_cast<double>(width * rows);
}

void make_homogeneous(Config& config) {
  visit_all_laws(config, [](const auto&, LawConfig& law) { law.value = 0.0; });
  config.initial.clear();
  config.sources.clear();
}

}  // namespace isotherm
