// Sweeps of a whole grid by the formula and the boundary rule, cell by cell.
#pragma once

#include <memory>
#include <vector>

#include "core/device.hpp"
#include "physics/boundaries.hpp"
#include "physics/operator.hpp"
#include "support/field_by_index.hpp"

namespace isotherm {

class PlainSweep {
 public:
  explicit PlainSweep(const Config& config)
      : n_(config.grid.cells),
        c_(sweep_coefficients(config, config.problem.kind == ProblemKind::transient
                                          ? time_plan(config).dt
                                          : config.problem.weight)) {
    std::array<bool, face_count> is_boundary{};
    for (std::size_t f = 0; f < face_count; ++f)
      is_boundary[f] = config.boundaries[f].kind != BoundaryKind::periodic;
    rules_.emplace(config, *device_, Box{{0, 0, 0}, n_}, 1, is_boundary);
  }

  // Sweeps a field without sources; x is the fastest index.
  std::vector<double> operator()(const std::vector<double>& u) const {
    const auto beside = [&](Int3 c, Face f) { return neighbour(u, c, f); };
    std::vector<double> out;
    for_each_cell(n_, [&](Int3 c) {
      out.push_back(stencil_update(c_, u[index_of(c, n_)], beside(c, Face::x_min), beside(c, Face::x_max),
                                   beside(c, Face::y_min), beside(c, Face::y_max), beside(c, Face::z_min),
                                   beside(c, Face::z_max), 0.0));
    });
    return out;
  }

 private:
  double neighbour(const std::vector<double>& u, Int3 c, Face f) const {
    const int axis = axis_of(f);
    Int3 next = c;
    next[axis] += is_max(f) ? 1 : -1;
    const bool outside = next[axis] < 0 || next[axis] >= n_[axis];
    const Boundary<double>& rule = rules_->boundaries().faces[static_cast<int>(f)];
    if (outside && rule.is_boundary) return boundary_ghost(rule.a, rule.b_at(0, 0), u[index_of(c, n_)]);
    if (outside) next[axis] = is_max(f) ? 0 : n_[axis] - 1;
    return u[index_of(next, n_)];
  }

  const Int3 n_;
  const Coefficients<double> c_;
  const std::unique_ptr<Device> device_ = make_host_device();
  std::optional<BoundaryConditions<double>> rules_;
};

}  // namespace isotherm
