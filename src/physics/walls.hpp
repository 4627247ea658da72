// Wall rules: from the deck's boundaries to a and b of every wall of this rank's block.
//
//   wall                                     a                      b
//   temperature Tw (Dirichlet)              -1                      2 Tw
//   flux g into the body (Neumann)           1                      g h / k
//   convection H, Ta (Robin)    (2k/h - H)/(2k/h + H)               2 H Ta / (2k/h + H)
//
// Cell-centred: the wall lies half way between the last cell and its ghost (LeVeque 2007, section 2.12).
#pragma once

#include <array>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The ghost beyond a wall is a T + slope * value, `value` being the deck's Tw, g or Ta.
struct WallLaw {
  double a = 0;      // dimensionless
  double slope = 0;  // K per unit of the value
};
WallLaw wall_law(const Config& config, Face face);  // not for periodic faces

// Values are computed in fp64 on the host, once (again at each step where a formula uses t), and rounded to
// T.
template <class T>
class WallRules {
 public:
  // `block`: this rank's global cells; `is_wall`: by Face; `t`: the time of the first values, s. Throws
  // Error(deck) naming the cell where a formula is not finite. `device` must outlive the rules.
  WallRules(const Config& config, Device& device, Box block, int ghosts,
            const std::array<bool, face_count>& is_wall, double t = 0);
  WallRules(WallRules&&) noexcept;
  WallRules& operator=(WallRules&&) noexcept;
  ~WallRules();

  bool vary_in_time() const;
  // b of walls whose formula uses t, for the step that starts at t (seconds). Call walls() again after it.
  // The new values are copied in the order of `stream`: all that reads walls() must be ordered before and
  // after it through that stream. The host waits only where it is two updates ahead of the device.
  void update(double t, Stream stream);
  const Walls<T>& walls() const { return walls_; }

 private:
  class FaceValues;
  Walls<T> walls_;
  std::vector<FaceValues> varying_;  // faces whose value is a formula of place or time
};

}  // namespace isotherm
