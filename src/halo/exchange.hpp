// Makes the ghosts of a field, g layers deep, equal to the neighbours' cells.
#pragma once

#include <map>
#include <string>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "halo/links.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm {

// Six faces where ghosts == 1, with edges and corners too where ghosts > 1. A direction whose neighbour is
// this rank itself (periodic, one part) is a copy within the field; ghosts beyond a boundary stay as they
// are.
//
//     start:  local copies on `compute`;  every transport's send() on `halo`
//     finish: every transport's receive() on `halo`; `compute` waits
//
// Between start and finish, cells that touch no ghost of another rank (interior_box()) may be swept on
// `compute`.
template <class T>
class HaloExchange {
 public:
  // Of fields of one shape, whose edges and ghosts transports are proved with. Collective; throws on all.
  HaloExchange(const Decomposition& decomposition, const Communicator& communicator, Device& device,
               std::vector<HaloField<T>> fields, const TransportSettings& settings = {},
               std::span<const TransportEntry<T>> registry = transport_registry<T>());

  // From now on exchanges fill so many layers, all that the fields have or fewer. Between exchanges;
  // collective. Buffers of other numbers of layers are kept until forget_others().
  void use(int layers);
  void forget_others() {
    std::erase_if(by_number_, [&](const auto& each) { return each.first != layers_; });
  }

  // `field` is one of the bound ones, on all ranks the same of them.
  void start(FieldView<T> field, Stream compute, Stream halo);
  void finish(FieldView<T> field, Stream compute, Stream halo);

  // Can sweeps store their faces in place of exchanges: one layer, no copy within a rank? The same on all.
  bool serves_sweeps() const { return now().serves_sweeps; }
  FaceStores<T> stores(FieldView<T> in, FieldView<T> out, Stream compute) {
    return first().stores(in, out, compute);
  }
  void publish_ghosts(FieldView<T> field, Stream compute) { first().publish_ghosts(field, compute); }
  void unpack_ghosts(FieldView<T> field, Stream compute) { first().unpack_ghosts(field, compute); }

  // From now on times() has this rank's exchanges; on a GPU the host waits behind each phase.
  void time_phases();
  PhaseTimes times() const;

  const std::vector<HaloLink>& links() const { return chosen_.links; }  // by neighbour
  // Why start() and finish() cannot be recorded into a graph: the first transport in use between any two
  // ranks that cannot. The same on all ranks; empty: they can, on each.
  const std::string& why_not_recordable() const { return now().why_not_recordable; }

  // One exchange more, of `messages` between any two ranks (ChosenTransports); null: by these transports it
  // would need the host. Collective.
  std::unique_ptr<Transport<T>> connect_all(const HaloField<T>& field,
                                            std::span<const HaloMessage> messages) const {
    if (!why_not_recordable().empty()) return nullptr;
    return chosen_.connect_all(communicator_, device_, std::span(&field, 1), messages);
  }

 private:
  struct NamedTransport {
    std::string_view name;
    std::unique_ptr<Transport<T>> transport;
  };
  struct Layers {
    std::vector<HaloMessage> messages;
    std::vector<LocalCopy> copies;
    std::vector<NamedTransport> transports;  // those that this rank uses
    std::string why_not_recordable;
    bool serves_sweeps = false;
  };
  void check_arguments() const;
  Layers connect(int layers);
  std::string why_not_recorded(const Layers& layers) const;
  const Layers& now() const { return by_number_.at(layers_); }
  Transport<T>& first() { return *now().transports.front().transport; }

  Decomposition decomposition_;
  const Communicator& communicator_;
  Device& device_;
  std::vector<HaloField<T>> fields_;
  ChosenTransports<T> chosen_;
  int layers_ = 0;
  std::map<int, Layers> by_number_;
  bool times_phases_ = false;
  Owned<Event> field_ready_, ghosts_ready_;
};

}  // namespace isotherm
