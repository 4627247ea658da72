// Makes the ghosts of a field, g layers deep, equal to the neighbours' cells.
#pragma once

#include <memory>
#include <string>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "grid/decomposition.hpp"
#include "halo/links.hpp"
#include "halo/transport.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Six faces where ghosts == 1, with edges and corners too where ghosts > 1. A direction whose neighbour is
// this rank itself (periodic, one part) is a copy within the field; ghosts beyond a boundary stay as they
// are.
//
//     start:  local copies on `compute`;  every transport's send() on `halo`
//     finish: every transport's receive() on `halo`; `compute` waits
//
// Between start and finish, cells that touch no ghost of another rank (interior_box() in halo/regions.hpp)
// may be swept on `compute`.
template <class T>
class HaloExchange {
 public:
  // Of these fields, all of one shape; their edges and ghosts are overwritten, because transports are proved
  // with them, by exchanges of all their layers. Collective: what one rank lacks is thrown on all.
  HaloExchange(const Decomposition& decomposition, const Communicator& communicator, Device& device,
               std::vector<HaloField<T>> fields, const TransportSettings& settings = {},
               std::span<const TransportRow<T>> rows = transport_rows<T>());
  HaloExchange(HaloExchange&&) noexcept;
  ~HaloExchange();

  // From now on exchanges fill so many layers, all that the fields have or fewer. Between exchanges;
  // collective. Buffers of other numbers of layers are kept until forget_others().
  void use(int layers);
  void forget_others();

  // `field` is one of the bound ones, on all ranks the same of them.
  void start(FieldView<T> field, Stream compute, Stream halo);
  void finish(FieldView<T> field, Stream compute, Stream halo);

  // Can sweeps store their faces for the neighbours in place of exchanges? Not within a rank, nor more layers
  // than one. The same on all ranks.
  bool serves_sweeps() const;
  // Of a sweep from `in` to `out`. Before the first of them, hand_ghosts() of what an exchange has brought;
  // before what reads the ghosts of the field that the last has written, but for the next of them,
  // take_ghosts().
  FaceStores<T> stores(FieldView<T> in, FieldView<T> out, Stream compute);
  void hand_ghosts(FieldView<T> field, Stream compute);
  void take_ghosts(FieldView<T> field, Stream compute);

  // From now on times() has what the exchanges of this rank take, by all its transports; on a GPU the host
  // waits behind each phase, and nothing overlaps.
  void time_phases();
  PhaseTimes times() const;

  std::size_t bytes_sent() const;  // by this rank, an exchange
  int messages() const;
  const std::vector<HaloLink>& links() const;  // by neighbour
  // Why start() and finish() cannot be recorded into a graph: the first transport in use between any two
  // ranks that cannot. The same on all ranks; empty: they can, on each.
  const std::string& why_not_recordable() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace isotherm
