// Makes the ghosts of a field, g layers deep, equal to the neighbours' cells, and fills the ghosts beyond
// walls.
#pragma once

#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "grid/decomposition.hpp"
#include "halo/transport.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm {

// Six faces where ghosts == 1, with edges and corners too where ghosts > 1. A direction whose neighbour is
// this rank itself (periodic, one part) is a copy within the field; a direction beyond a wall is left to the
// wall rule.
//
//     start:  local copies and walls on `compute`;  pack and send on `halo`
//     finish: wait, unpack on `halo`; walls that look into exchanged ghosts; `compute` waits for them
//
// Between start and finish, cells of region interior() may be swept on `compute`: they touch no exchanged
// ghost.
template <class T>
class HaloExchange {
 public:
  HaloExchange(const Decomposition& decomposition, const Communicator& communicator, Device& device,
               Int3 extent, int ghosts);
  HaloExchange(HaloExchange&&) noexcept;
  ~HaloExchange();

  void start(FieldView<T> field, const Walls<T>& walls, Stream compute, Stream halo);
  void finish(FieldView<T> field, const Walls<T>& walls, Stream compute, Stream halo);

  Box interior() const { return interior_; }  // cells that touch no exchanged ghost; may be empty
  const std::vector<Box>& shells() const { return shells_; }  // the other cells of the block, disjoint
  std::size_t bytes_sent() const;                             // by this rank, an exchange
  int messages() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
  Box interior_;
  std::vector<Box> shells_;
};

}  // namespace isotherm
