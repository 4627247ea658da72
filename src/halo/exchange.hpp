// The halo exchange: copies the neighbours' cells to the ghosts of a field, up to all its ghost layers.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/decomposition.hpp"
#include "halo/links.hpp"

namespace isotherm {

// Six faces where ghosts == 1, edges and corners too where ghosts > 1. If the neighbour in a direction is
// this rank itself (periodic, one part), the exchange copies within the field. Ghosts beyond a boundary stay
// as they are.
//
//     start:  local copies on `compute`;  every transport's send() on a stream of higher priority
//     finish: every transport's receive() on that stream; `compute` waits
//
// Between start and finish, cells that read no ghost of another rank (interior_box()) may be swept on
// `compute`.
template <class T>
class HaloExchange {
 public:
  // `fields` have one shape; tests of transports overwrite their edges and ghosts. Collective; throws on all.
  HaloExchange(const Decomposition& decomposition, const Communicator& communicator, Device& device,
               std::vector<HaloField<T>> fields, const TransportSettings& settings = {},
               std::span<const TransportEntry<T>> registry = transport_registry<T>());

  // Sets how many layers exchanges fill, at most those of the fields. Call it between exchanges; collective.
  // Buffers for other numbers of layers are kept until release_others().
  void use(int layers);
  void release_others() {
    std::erase_if(by_number_, [&](const auto& each) { return each.first != layers_; });
  }

  // `field` is one of the bound fields, the same one on all ranks.
  void start(FieldView<T> field, Stream compute);
  void finish(FieldView<T> field, Stream compute);

  // Can sweeps store their faces in place of exchanges (one layer, no local copies)? The same on all ranks.
  bool serves_sweeps() const { return now().serves_sweeps; }
  Transport<T>& of_sweeps() { return *now().transports.front(); }  // the transport of these stores

  // From now on times() has the pack, wire and unpack times of this rank's exchanges, from 0. On a GPU the
  // host waits after each phase, so nothing overlaps.
  void time_phases();
  PhaseTimes times() const { return clock_ ? clock_->times : PhaseTimes{}; }

  const std::vector<HaloLink>& links() const { return chosen_.links; }  // by neighbour
  // Why start() and finish() cannot be recorded into a graph, by the first transport between any two ranks
  // that cannot. The same on all ranks; empty: all can be recorded.
  const std::string& why_not_recordable() const { return now().why_not_recordable; }

  // A transport of `field` for messages between any two ranks: the one transport of all halos, tested in the
  // same way. Null where halos use several, or it needs the host, or fails. Collective; overwrites the
  // messages' cells.
  std::unique_ptr<Transport<T>> connect_all(const HaloField<T>& field,
                                            std::span<const HaloMessage> messages) const;

 private:
  struct Layers {
    std::vector<HaloMessage> copies;                        // from this rank to itself
    std::vector<std::unique_ptr<Transport<T>>> transports;  // those that this rank uses
    std::string why_not_recordable;
    bool serves_sweeps = false;
  };
  void check_arguments() const;
  Layers connect(int layers);
  const Layers& now() const { return by_number_.at(layers_); }

  Decomposition decomposition_;
  const Communicator& communicator_;
  Device& device_;
  std::vector<HaloField<T>> fields_;
  ChosenTransports<T> chosen_;
  int layers_ = 0;
  std::map<int, Layers> by_number_;
  std::unique_ptr<PhaseClock> clock_;  // null: phases are not timed
  Owned<Stream> stream_;
  Owned<Event> field_ready_, ghosts_ready_;
};

}  // namespace isotherm
