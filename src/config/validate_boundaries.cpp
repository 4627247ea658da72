// Checks lists of laws, patches and varying coefficients, and rejects settings that do not support them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "config/boundary_laws.hpp"
#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

// If a law is a temperature, the centres of cells decide which cells are in its patch.
void check_centres(const Config& config, int axis, double from, double to, const std::string& key,
                   Problems& problems) {
  const GridAxis along(config, axis);
  const double first = std::ceil(along.in_cells(from) - 0.5 - rounding_of_per_cell),
               last = std::floor(along.in_cells(to) - 0.5 + rounding_of_per_cell);
  if (first <= last || !problems.sound({key})) return;
  const auto cell = static_cast<Index>(std::clamp(last, 0.0, static_cast<double>(along.cells() - 1)));
  problems.add(key,
               "holds no centre of a cell along {}, where cells have {} m; make it as wide as a cell, or "
               "refine the grid",
               "xyz"[axis], shortest(along.size(cell)));
}

void check_law(const Config& config, Face f, const BoundaryConfig& law, const std::string& of_law,
               Problems& problems) {
  if (!law.where.is_given()) return;
  const std::string key = of_law + ".where";
  const int axes = problems.sound({key, "grid"}) ? 2 : 0;
  for (int i = 0; i < axes; ++i) {
    const int axis = face_axes(f)[i];
    const double from = (*law.where.from)[i], to = (*law.where.to)[i];
    for (const auto& [name, at] : {std::pair("from", from), std::pair("to", to)})
      if (const std::string problem = beyond_box(config, axis, at); !problem.empty())
        problems.add(fmt::format("{}.{}", key, name), problem);
    check_corners(key, axis, from, to, problems);
    if (holds_temperature(law)) check_centres(config, axis, from, to, key, problems);
  }
  if (law.kind == BoundaryKind::periodic)
    problems.add(key, "does not apply to periodic, which is of the whole face; remove it");
}

// The centres of some cells along an axis of a face, at least one on each side of each edge of a patch.
std::set<double> centres_at_edges(const Config& config, Face f, int i) {
  const GridAxis along(config, face_axes(f)[i]);
  std::set<double> centres{along.centre(0)};
  const auto add = [&](double edge) {
    const Index near = along.first_centre_from(edge);
    for (Index cell = near - 1; cell <= near + 1; ++cell)
      if (cell >= 0 && cell < along.cells()) centres.insert(along.centre(cell));
  };
  for (const BoundaryConfig& law : boundary_of(config, f).laws) {
    if (!law.where.is_given()) continue;
    add((*law.where.from)[i]);
    add((*law.where.to)[i]);
  }
  return centres;
}

// Checks that each cell of a face has at most one temperature, and each law of its list at least one cell.
void check_temperatures(const Config& config, Face f, Problems& problems) {
  const BoundaryConfig& boundary = boundary_of(config, f);
  if (boundary.laws.size() < 2 || !holds_temperature(boundary)) return;
  const std::vector<PlacedLaw> laws = laws_of(config, f);
  std::vector<bool> acts(laws.size());
  std::vector<const PlacedLaw*> covered_by(laws.size());
  const auto [p, q] = face_axes(f);
  Vector3 at{};
  const auto is_here = [&](const PlacedLaw& law) {
    return law.share(at[0], at[1], at[2]) > rounding_of_per_cell;
  };
  const auto holds = [&](const PlacedLaw& law) {
    return law.kind == BoundaryKind::temperature && is_here(law);
  };
  for (const double along_p : centres_at_edges(config, f, 0))
    for (const double along_q : centres_at_edges(config, f, 1)) {
      at[p] = along_p;
      at[q] = along_q;
      const auto first = std::find_if(laws.begin(), laws.end(), holds);
      const auto second = first == laws.end() ? first : std::find_if(first + 1, laws.end(), holds);
      if (second != laws.end())
        return problems.add(second->key,
                            "holds a cell that {} holds too, at {} = {}, {} = {} m; let their rectangles "
                            "share no centre of a cell",
                            first->key, "xyz"[p], shortest(along_p), "xyz"[q], shortest(along_q));
      for (std::size_t i = 0; i < laws.size(); ++i) {
        acts[i] = acts[i] || (first == laws.end() ? is_here(laws[i]) : &laws[i] == &*first);
        if (first != laws.end() && &laws[i] != &*first && is_here(laws[i])) covered_by[i] = &*first;
      }
    }
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const bool is_patch_of_flux =
        laws[i].kind == BoundaryKind::flux && !laws[i].share.is_constant() && !laws[i].key.ends_with(".else");
    if (!acts[i] && laws[i].kind != BoundaryKind::insulated)
      problems.add(laws[i].key, "temperatures of the list hold all cells that this has; remove it");
    else if (covered_by[i] && is_patch_of_flux)
      problems.warn(laws[i].key,
                    "brings less heat than its rectangle has, as {} holds the temperature of cells of both; "
                    "let the two share no cell",
                    covered_by[i]->key);
  }
}

// A combination of formulas may need a deeper stack than each of them.
void check_depth(const Config& config, Face f, const std::string& key, Problems& problems) {
  if (is_plain(boundary_of(config, f))) return;
  try {
    const FaceLaw law = face_law(config, f);
    law.a(1, 1);
    law.b(1, 1);
  } catch (const FormulaError& error) {
    problems.add(key, "its formulas together are too long ({}); write shorter ones", error.problem);
  }
}

// The formula of a coefficient may be 0 on the whole face. Other checks detect values below 0.
void check_coefficients_of_steady(const Config& config, Problems& problems) {
  if (config.problem.kind != ProblemKind::steady || mean_is_free(config) || has_void_law(config)) return;
  const GridAxes axes(config);
  for (const Face f : all_faces) {
    if (holds_temperature(boundary_of(config, f))) return;
    const Expression coefficient = face_law(config, f).coefficient;
    const auto [p, q] = face_axes(f);
    Vector3 at{};
    for (Index y = 0; y < (coefficient.is_constant() ? 1 : config.grid.cells[q]); ++y)
      for (Index x = 0; x < (coefficient.is_constant() ? 1 : config.grid.cells[p]); ++x) {
        at[p] = axes[p].centre(x);
        at[q] = axes[q].centre(y);
        if (coefficient(at[0], at[1], at[2]) != 0) return;
      }
  }
  problems.add("boundaries",
               "the coefficients of convection are 0 in all cells, so that nothing holds the temperature of "
               "the steady problem; write insulated with problem.mean_temperature, or a temperature");
}

}  // namespace

void check_boundaries(const Config& config, const RegistryNames& registry, Problems& problems) {
  for (const Face f : all_faces) {
    const BoundaryConfig& boundary = boundary_of(config, f);
    const std::string key = boundary_key(f);
    if (!problems.sound({key})) continue;
    check_law(config, f, boundary, key, problems);
    for (std::size_t i = 0; i < boundary.laws.size(); ++i) {
      const std::string of_law = fmt::format("{}.{}", key, i);
      check_law(config, f, boundary.laws[i], of_law, problems);
      if (boundary.laws[i].kind == BoundaryKind::periodic)
        problems.add(of_law,
                     "periodic stands alone on a face, and here is a list of conditions; use flux, "
                     "convection, insulated or temperature");
    }
    if (problems.sound({key, "grid", "verify.solution"})) check_depth(config, f, key, problems);
    if (problems.sound({key, "grid"})) check_temperatures(config, f, problems);
  }
  if (!body_is_sound(problems) || !problems.sound({"problem", "verify.solution"})) return;
  check_coefficients_of_steady(config, problems);
  const ExactSolution solution = config.verify.solution;
  if (solution != ExactSolution::none && solution != ExactSolution::formula &&
      !std::ranges::all_of(config.boundaries, is_plain))
    problems.add(
        "verify.solution",
        "{} is not a solution for lists of conditions, patches and varying coefficients; use formula",
        word(solution));
  if (!has_varying_coefficients(config)) return;
  const std::string varying = "boundaries whose coefficients vary over a face or in time";
  check_error_is_known(config, varying, problems);
  if (coefficients_use_time(config) || !has_several_materials(config))
    check_kernel_can(config, registry, &RegistryNames::Kernel::takes_varying_a, "take " + varying, problems);
}

}  // namespace isotherm
