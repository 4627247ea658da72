// The one interface to a way of bringing halos from rank to rank, and the table of the ways.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "core/timer.hpp"
#include "core/trace.hpp"
#include "grid/field.hpp"
#include "halo/messages.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The memory of an exchanged field, all known beforehand: a transport may open the neighbours'.
template <class T>
struct HaloField {
  FieldView<T> view;
  void* memory;  // the whole allocation, in the device
};
template <class T>
HaloField<T> halo_field(Field<T>& field) {
  return {field.view(), field.data()};
}

// The messages of one exchange of this rank, bound to its fields. Failures throw Error(internal).
template <class T>
class Transport {
 public:
  virtual ~Transport() = default;
  // Once an exchange, in this order; `field` is one of the bound fields, on all ranks the same one of them.
  // `stream` is where the work of the exchange runs, and where the cells of `edge` are ready. Neither side
  // waits for the other in send().
  virtual void send(FieldView<T> field, Stream stream) = 0;
  // What is queued on `stream` later finds the peers' cells in the ghosts. May keep the host waiting for the
  // peers, who have to call send() too.
  virtual void receive(FieldView<T> field, Stream stream) = 0;
  // After send(): would receive() come back at once? Never waits; moves on what the host has to do for it.
  virtual bool arrived() = 0;
  // The peer was given up: what is under way must end without touching the fields any more, as far as it can
  // be ended. Then nothing else is called, not even the destructor.
  virtual void abandon() noexcept {}
  // Can send() and receive() be recorded into a graph? Not while phases are timed.
  virtual bool recordable() const { return false; }

  // Can sweeps of the block store what send() would, all of it? Then, in place of exchanges, a sweep from
  // field `in` to `out` takes stores(). The first needs hand_ghosts() of what the last exchange has brought;
  // what is queued behind take_ghosts() finds in the ghosts what it would after receive().
  virtual bool serves_sweeps() const { return false; }
  virtual FaceStores<T> stores(FieldView<T> /*in*/, FieldView<T> /*out*/, Stream) { return {}; }
  virtual void hand_ghosts(FieldView<T>, Stream) {}
  virtual void take_ghosts(FieldView<T>, Stream) {}

  // From now on times() has the pack, wire and unpack times of the host's thread, which waits behind each
  // phase for what that has queued: on a GPU it costs the overlap. Until then phases are ranges for tools
  // alone.
  void time_phases(Device& device) {
    timed_ = &device;
    times_ = {};
  }
  const PhaseTimes& times() const { return times_; }

 protected:
  // Of the phases within send() and receive().
  template <class Work>
  void measure(Phase phase, Stream stream, const Work& work) {
    const TraceRange range(phase);
    if (!timed_) return work();
    const Timer timer;
    work();
    timed_->synchronize(stream);
    times_[phase] += timer.seconds();
  }

 private:
  Device* timed_ = nullptr;
  PhaseTimes times_;
};

// One way, made ready on all ranks.
template <class T>
class TransportMaker {
 public:
  virtual ~TransportMaker() = default;
  // Why this rank cannot reach that one so; empty: it may try. Does not communicate.
  virtual std::string why_not(int /*peer*/) const { return {}; }
  // Called by the ranks of all these messages at about the same time, with one another's messages. Their
  // boxes lie within the fields. Throws where this rank or one of its peers cannot.
  virtual std::unique_ptr<Transport<T>> connect(std::span<const HaloField<T>> fields,
                                                std::span<const HaloMessage> messages) = 0;
  // Why nothing that it connected can be used any more, at any rank; empty: it can. For ways whose ranks
  // share a state, which a transport that was given up takes with it. Does not communicate.
  virtual std::string why_broken() const { return {}; }
};

// A row of the table, from which the deck's keyword, `list`, the probe, the banner and the tests follow.
template <class T>
struct TransportEntry {
  std::string_view name;
  std::string_view description;
  bool moves_data;  // else nothing that it leaves in the ghosts is worth anything: never chosen unasked
  bool packs;       // an exchange is a pack, a wire and an unpack; else one kernel does it all
  // Why it cannot work in this build or with this device, whoever the neighbours are; empty: it may.
  std::string (*unsupported)(const Device& device);
  // Collective. `communicator` is its own to use and outlives it, as the device does. Throws where all ranks
  // have to do without.
  std::unique_ptr<TransportMaker<T>> (*make)(Device& device, const Communicator& communicator);
};

// In the order of preference among equals.
template <class T>
std::span<const TransportEntry<T>> transport_registry();

// The row of that name; nullptr where there is none.
const TransportEntry<double>* find_transport(std::string_view name);

// The one that stores straight into the neighbours' ghosts, through memory that the ranks of a host open for
// each other by CUDA IPC. The devices order it among themselves (kernels/peer_copy.hpp): no host waits.
std::string why_no_peer_transport(const Device& device);
template <class T>
std::unique_ptr<TransportMaker<T>> peer_transports(Device& device, const Communicator& communicator);

}  // namespace isotherm
