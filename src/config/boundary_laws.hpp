// The boundary conditions of a face of the domain: the laws of its list, their patches, and their sum.
//
// Laws of heat are linear in the temperature T of the surface: heat flux q and convection H (Ta - T) add up
// to
//
//     S - H T,   S = sum of q + sum of H Ta   (W/m^2 into the body),   H = sum of H   (W/(m^2 K)),
//
// and the ghost of a cell is a T + b with C = 2k/h, a = (C - H)/(C + H), b = 2 S/(C + H). The table in
// config/config.hpp has the special cases. A patch multiplies its law by the share of the cell's face that
// lies in the patch, so that the total heat is that of the patch's area, however it cuts the cells. If the
// law of a patch or the law around it is a temperature, the centre of the cell's face decides which of the
// two applies. A cell whose temperature is held has no other law.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

// The axes along a face, in the order of patches and of Boundary::b_field.
constexpr std::array<int, 2> face_axes(Face f) {
  const int normal = axis_of(f);
  return {normal == 0 ? 1 : 0, normal == 2 ? 1 : 2};
}

inline constexpr std::array all_faces{Face::x_min, Face::x_max, Face::y_min,
                                      Face::y_max, Face::z_min, Face::z_max};
inline const BoundaryConfig& boundary_of(const Config& config, Face f) {
  return config.boundaries[static_cast<int>(f)];
}
inline std::string boundary_key(Face f) {
  return fmt::format("boundaries.{}", face_names[static_cast<int>(f)]);
}

// Calls visit(key, law) for each law of a face, whose own key is `key`.
template <class Boundary, class Visit>
void visit_laws(Boundary& boundary, const std::string& key, const Visit& visit) {
  if (boundary.laws.empty()) visit(key, boundary);
  if (boundary.where.is_given()) visit(key + ".else", boundary.rest);
  for (std::size_t i = 0; i < boundary.laws.size(); ++i)
    visit_laws(boundary.laws[i], fmt::format("{}.{}", key, i), visit);
}
// The same for all six faces.
template <class Config, class Visit>
void visit_all_laws(Config& config, const Visit& visit) {
  for (const Face f : all_faces) visit_laws(config.boundaries[static_cast<int>(f)], boundary_key(f), visit);
}
template <class Question>
bool any_law(const BoundaryConfig& boundary, const Question& is_so) {
  bool found = false;
  visit_laws(boundary, "", [&](const auto&, const LawConfig& law) { found = found || is_so(law); });
  return found;
}
template <class Question>
bool any_law(const Config& config, const Question& is_so) {  // of any face
  return std::ranges::any_of(config.boundaries, [&](const auto& each) { return any_law(each, is_so); });
}

bool holds_temperature(const BoundaryConfig& boundary);  // on some part of the face

struct PlacedLaw : LawConfig {
  std::string key;   // "boundaries.z_max.0"
  Expression share;  // share of the face of a cell, by its centre: 1 without patches

  std::string value_key() const { return key + (kind == BoundaryKind::convection ? ".ambient" : ".value"); }
};
std::vector<PlacedLaw> laws_of(const Config& config, Face face);

// Has the face one law with a constant coefficient? Then boundary_law() and `value` describe it completely.
bool is_plain(const BoundaryConfig& boundary);

// The law of a face that is not plain, as formulas of the cell centres. They give NaN where a coefficient is
// negative, or a temperature is below the least that the deck may have.
struct FaceLaw {
  Expression coefficient, heat;    // H and S
  std::optional<Expression> held;  // above 0 in cells whose temperature is held at ...
  Expression temperature;          // K

  bool varies() const { return held || !coefficient.is_constant(); }
  // The value that the slope of boundary_law() multiplies.
  Expression value() const;
  // a and b of cells of the conductivity k (W/(m K)) that are h thick (m).
  Expression a(double k, double h) const;
  Expression b(double k, double h) const;
  // `a` and the slope of value() in the cell at `place`.
  BoundaryLaw at(double k, double h, const Vector3& place, double t) const;
};
FaceLaw face_law(const Config& config, Face face);

// Does `a` of cells of one material differ from cell to cell, or change in time, on any face or on this one?
bool has_varying_coefficients(const Config& config);
bool has_varying_coefficient(const Config& config, Face face);
// Does `a` jump within cells of coarse grids? Those of one material cannot represent that.
bool patches_cut_coarse_cells(const Config& config);
// Is the law of the face a heat flux that does not depend on the temperature?
bool is_of_flux(const Config& config, Face face);
bool coefficients_use_time(const Config& config);
bool boundaries_use_time(const Config& config);

// An estimate for spectra: `a` for the average conductance of the cells of a face at problem.implicit_time,
// which is 0 except for implicit steps.
double mean_a(const Config& config, Face face, double conductivity);

// Sets all temperatures and fluxes of the faces to 0 and removes initial state and sources, as in the problem
// of a change of the field.
void make_homogeneous(Config& config);

}  // namespace isotherm
