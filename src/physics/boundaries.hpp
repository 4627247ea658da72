// Boundary conditions: computes a and b of the ghosts beyond each face of this rank's subdomain from the
// deck's boundaries. The table is at boundary_law() in config/config.hpp; config/boundary_laws.hpp adds up
// several conditions on a face.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Computes values in fp64 and rounds them to T: once or, if a formula uses t, for each sweep. Values that
// vary over a face are computed on the device.
template <class T>
class BoundaryConditions {
 public:
  // Sets the values at t = 0. `subdomain`: this rank's global cells; `is_boundary`: by Face; `most_sweeps`:
  // the most of a launch. Throws Error(deck), which names the cell, if a formula is not finite. `config` and
  // `device` must outlive this object.
  BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                     const std::array<bool, face_count>& is_boundary, int most_sweeps = 1);
  BoundaryConditions(BoundaryConditions&&) noexcept = default;  // a copy would share the values
  BoundaryConditions& operator=(BoundaryConditions&&) noexcept = default;

  bool vary_in_time() const;
  // Updates b (and a, if it varies) of boundaries whose formula uses t, for sweeps that start at `times`, s;
  // one time is for all sweeps. Call boundaries() again afterwards. Values over a face are computed in the
  // order of `stream`; work that reads them must be ordered through that stream. Throws as check().
  void update(std::span<const double> times, Stream stream);
  // Throws Error(deck) with cell and value if one of the values computed so far is not finite or is too cold.
  void check() const;
  const Boundaries<T>& boundaries() const { return boundaries_; }
  // By Face, for several materials: do a and b differ by cell, so that kernels must call Boundary::ghost()?
  const std::array<bool, face_count>& differ_by_cell() const { return by_cell_; }

 private:
  class FaceValues;
  Boundaries<T> boundaries_;
  std::array<bool, face_count> by_cell_{};
  std::vector<std::shared_ptr<FaceValues>> faces_;  // at boundaries
};

// Throws as BoundaryConditions, where a law that depends on time alone is not sound at one of these times, s.
void check_boundaries(const Config& config, std::span<const double> times);

}  // namespace isotherm
