// Boundary conditions: from the deck's boundaries to a and b of the ghosts beyond each face of this rank's
// subdomain. The rule itself is boundary_law() in config/config.hpp.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Values are computed in fp64 on the host, once (again at each step where a formula uses t), and rounded to
// T.
template <class T>
class BoundaryConditions {
 public:
  // With the values at t = 0. `subdomain`: this rank's global cells; `is_boundary`: by Face. Throws
  // Error(deck) naming the cell where a formula is not finite. `device` must outlive the rules.
  BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                     const std::array<bool, face_count>& is_boundary);
  BoundaryConditions(BoundaryConditions&&) noexcept = default;  // a copy would share the values
  BoundaryConditions& operator=(BoundaryConditions&&) noexcept = default;

  bool vary_in_time() const;
  // b of boundaries whose formula uses t, for the step that starts at t (seconds). Call boundaries() again
  // after it. The new values are copied in the order of `stream`: all that reads boundaries() must be ordered
  // before and after it through that stream. The host waits only where it is two updates ahead of the device.
  void update(double t, Stream stream);
  const Boundaries<T>& boundaries() const { return boundaries_; }

 private:
  class FaceValues;
  Boundaries<T> boundaries_;
  std::vector<std::shared_ptr<FaceValues>> varying_;  // faces whose value is a formula of place or time
};

}  // namespace isotherm
