// Sweeps of a whole grid by the formula and the boundary rule, cell by cell.
#pragma once

#include <memory>
#include <vector>

#include "core/device.hpp"
#include "physics/boundaries.hpp"
#include "physics/operator.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {

// A function that sweeps a field without sources; x is the fastest index.
inline auto plain_sweep(const Config& config) {
  const bool transient = config.problem.kind == ProblemKind::transient;
  const Coefficients<double> c =
      sweep_coefficients(config, transient ? time_plan(config).dt : config.problem.weight);
  std::array<bool, face_count> is_boundary{};
  for (std::size_t f = 0; f < face_count; ++f)
    is_boundary[f] = config.boundaries[f].kind != BoundaryKind::periodic;
  const Int3 n = config.grid.cells;
  static const std::unique_ptr<Device> device = make_host_device();
  const auto rules =
      std::make_shared<BoundaryConditions<double>>(config, *device, Box{{0, 0, 0}, n}, 1, is_boundary);
  return [=](const std::vector<double>& u) {
    std::vector<double> out;
    for_each_cell(n, [&](Int3 cell) {
      const double own = u[index_of(cell, n)];
      std::array<double, face_count> next{};
      for (int f = 0; f < face_count; ++f) {
        const int axis = f / 2;
        Int3 at = cell;
        at[axis] += f % 2 == 1 ? 1 : -1;
        const Boundary<double>& rule = rules->boundaries().faces[f];
        const bool outside = at[axis] < 0 || at[axis] >= n[axis];
        at[axis] = (at[axis] + n[axis]) % n[axis];
        next[f] =
            outside && rule.is_boundary ? boundary_ghost(rule.a, rule.b_at(0, 0), own) : u[index_of(at, n)];
      }
      out.push_back(stencil_update(c, own, next[0], next[1], next[2], next[3], next[4], next[5], 0.0));
    });
    return out;
  };
}

}  // namespace isotherm
