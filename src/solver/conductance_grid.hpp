// A grid of a body of several materials: conductances of faces, an error from 0, its halos. In
// fp32 (kernels/semicoarsening.hpp).
#pragma once

#include <vector>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/timer.hpp"
#include "core/trace.hpp"
#include "grid/decomposition.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "kernels/semicoarsening.hpp"

namespace isotherm {

class ConductanceGrid {
 public:
  // Its work is queued on `compute`. `device` outlives it. Collective; errors of one rank are thrown on all.
  ConductanceGrid(const Decomposition& decomposition, const Communicator& communicator, Device& device,
                  const TransportSettings& transports, bool has_ground, Stream compute);
  ConductanceGrid(const ConductanceGrid&) = delete;
  ConductanceGrid& operator=(const ConductanceGrid&) = delete;

  const Decomposition& decomposition() const { return decomposition_; }
  const Communicator& communicator() const { return communicator_; }
  Box subdomain() const { return subdomain_; }
  Box whole() const { return {{0, 0, 0}, subdomain_.extent()}; }
  const HaloExchange<float>& halo() const { return halo_; }
  bool is_recordable() const { return is_recordable_; }

  GridConductances faces() const;
  // The field, K; another one, which sweeps write to; what is left of the equation.
  Field<float>& current() { return current_; }
  Field<float>& other() { return other_; }
  Field<float>& source() { return source_; }

  // What source() holds for this rank's cells becomes the conductances of their lower faces along the axis,
  // or those of ground_of_cells, with the neighbours'; and what it holds for cells at the upper boundary, of
  // their upper faces.
  void take_lower_faces(int axis);
  void take_upper_faces(int axis);

  // From 0, whatever the field holds, or from there. Their number, over a cycle, is even.
  void sweep(const std::vector<float>& weights, bool from_zero);
  void exchange(Field<float>& field, int layers = 1);  // one of the three

  // Seconds of this rank's host thread, as those of a Step.
  PhaseTimes times{};
  void time_phases() { times_phases_ = true; }
  template <class Work>
  void timed(Phase phase, const Work& work) {
    Timer timer;
    work();
    if (times_phases_) device_.synchronize(compute_);
    times[phase] += timer.lap();
  }

 private:
  Decomposition decomposition_;
  Communicator communicator_;
  Device& device_;
  Box subdomain_;
  GhostSides sides_;
  bool exchanges_, is_recordable_ = true;
  int ghosts_;  // layers; so many sweeps follow an exchange of all, which has edges and corners
  Field<float> current_, other_, source_;
  std::vector<Field<float>> faces_;  // by axis, and the ground where there is one
  HaloExchange<float> halo_;
  Stream compute_;
  Owned<Stream> halo_stream_;
  bool times_phases_ = false;
};

// Of all fields of a rank.
std::size_t conductance_grid_bytes(const Decomposition& decomposition, int rank, bool has_ground,
                                   Backend backend);

}  // namespace isotherm
