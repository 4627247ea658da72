// Boundary conditions: from the deck's boundaries to a and b of the ghosts beyond each face of this rank's
// subdomain. The rule itself is boundary_law() in config/config.hpp; config/boundary_laws.hpp has what
// several laws on a face add up to.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Values are computed in fp64 and rounded to T, once or, where a formula uses t, for each sweep: those that
// vary over a face on the device.
template <class T>
class BoundaryConditions {
 public:
  // With the values at t = 0. `subdomain`: this rank's global cells; `is_boundary`: by Face; `most_sweeps`:
  // of a launch. Throws Error(deck) naming the cell where a formula is not finite. `config` and `device` must
  // outlive the rules.
  BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                     const std::array<bool, face_count>& is_boundary, int most_sweeps = 1);
  BoundaryConditions(BoundaryConditions&&) noexcept = default;  // a copy would share the values
  BoundaryConditions& operator=(BoundaryConditions&&) noexcept = default;

  bool vary_in_time() const;
  // b (and a, where it varies) of boundaries whose formula uses t, for sweeps that start at these times, s;
  // one for all sweeps. Call boundaries() again after it. Values over a face are computed in the order of
  // `stream`: all that reads them must be ordered before and after it through that stream. Throws as check()
  // does.
  void update(std::span<const double> times, Stream stream);
  // Throws Error(deck) with cell and value where one, as far as the device has come, is not finite or colder
  // than a body can be.
  void check() const;
  const Boundaries<T>& boundaries() const { return boundaries_; }
  // Of a body of several materials, by Face: do a and b differ by cell, so that Boundary::ghost() alone
  // knows?
  const std::array<bool, face_count>& differ_by_cell() const { return by_cell_; }

 private:
  class FaceValues;
  Boundaries<T> boundaries_;
  std::array<bool, face_count> by_cell_{};
  std::vector<std::shared_ptr<FaceValues>> faces_;  // at boundaries
};

}  // namespace isotherm
