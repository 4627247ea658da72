// What lists of laws, patches and coefficients that vary must mean together, and what does not compute them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/boundary_laws.hpp"
#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "config/parts.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

// A face with a temperature is divided by the centres of cells.
void check_centres(const Config& config, int axis, double from, double to, const std::string& key,
                   Problems& problems) {
  constexpr double rounding = 1e-9;  // of a cell
  const GridAxis along(config, axis);
  const double first = std::ceil(along.in_cells(from) - 0.5 - rounding),
               last = std::floor(along.in_cells(to) - 0.5 + rounding);
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
    if (law.kind == BoundaryKind::temperature || law.rest.kind == BoundaryKind::temperature)
      check_centres(config, axis, from, to, key, problems);
  }
  if (law.kind == BoundaryKind::periodic)
    problems.add(key, "does not apply to periodic, which is of the whole face; remove it");
}

void check_list(const Config& config, Face f, const std::vector<BoundaryConfig>& laws,
                const std::string& face, Problems& problems) {
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const std::string key = fmt::format("{}.{}", face, i);
    check_law(config, f, laws[i], key, problems);
    visit_laws(laws[i], key, [&](const std::string& at, const LawConfig& law) {
      const BoundaryKind kind = law.kind;
      const bool is_temperature = kind == BoundaryKind::temperature;
      if (kind != BoundaryKind::periodic && (!is_temperature || laws.size() == 1)) return;
      problems.add(at,
                   "{} stands alone on a face, and here is a list of laws that add up; use flux, "
                   "convection{} or insulated",
                   word(kind), is_temperature ? " (with a large coefficient instead)" : "");
    });
  }
}

// A combination of formulas may be deeper than one of them.
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

}  // namespace

void check_boundaries(const Config& config, const RegistryNames& registry, Problems& problems) {
  for (int f = 0; f < face_count; ++f) {
    const BoundaryConfig& boundary = config.boundaries[f];
    const std::string key = boundary_key(f);
    if (!problems.sound({key})) continue;
    const auto side = static_cast<Face>(f);
    check_law(config, side, boundary, key, problems);
    check_list(config, side, boundary.laws, key, problems);
    if (problems.sound({key, "grid", "verify.solution"})) check_depth(config, side, key, problems);
  }
  if (!problems.sound({"boundaries", "grid", "material", "materials", "regions", "contacts", "problem",
                       "verify.solution"}))
    return;
  const ExactSolution solution = config.verify.solution;
  if (solution != ExactSolution::none && solution != ExactSolution::formula &&
      !std::ranges::all_of(config.boundaries, is_plain))
    problems.add("verify.solution",
                 "{} is not a solution for lists of laws, patches and coefficients that vary; use formula",
                 word(solution));
  if (!has_varying_coefficients(config)) return;
  const std::string varying = "boundaries whose coefficients vary over a face";
  check_error_is_known(config, varying, problems);
  if (coefficients_use_time(config) || !has_several_materials(config))
    check_kernel_can(config, registry, &RegistryNames::Kernel::takes_varying_a, "take " + varying, problems);
}

}  // namespace isotherm
