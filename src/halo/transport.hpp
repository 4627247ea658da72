// The interface of a halo transport, and the registry of transports.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "core/trace.hpp"
#include "grid/field.hpp"
#include "halo/messages.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// The memory of an exchanged field. A transport gets all of them at once and may open those of neighbours.
template <class T>
struct HaloField {
  FieldView<T> view;
  void* memory;  // the whole allocation, on the device
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
  // Call send(), then receive(), once per exchange. `field`: one of the bound fields, the same on all ranks.
  // The work of the exchange runs on `stream`, where the cells of `edge` are ready. send() does not wait for
  // the peer.
  virtual void send(FieldView<T> field, Stream stream) = 0;
  // Work queued later on `stream` reads the peers' cells in the ghosts. The host may wait until the peers
  // have called send().
  virtual void receive(FieldView<T> field, Stream stream) = 0;
  // After send(): would receive() return immediately? Never blocks, and progresses the host's part.
  virtual bool arrived() { return true; }  // where the device waits, not the host
  // The peer was abandoned: pending operations must end, where they can, without touching the fields again.
  // No other function is called afterwards, not even the destructor.
  virtual void abandon() noexcept {}
  // Can send() and receive() be recorded into a graph? Not while phases are timed.
  virtual bool recordable() const { return false; }

  // Can sweeps of the subdomain store all that send() would? Then a sweep from field `in` to `out` takes
  // stores(), and replaces an exchange. Before the first such sweep, publish_ghosts() publishes the cells of
  // the last exchange; after unpack_ghosts() the ghosts are as after receive().
  virtual bool serves_sweeps() const { return false; }
  virtual FaceStores<T> stores(FieldView<T> /*in*/, FieldView<T> /*out*/, Stream) { return {}; }
  virtual void publish_ghosts(FieldView<T>, Stream) {}
  virtual void unpack_ghosts(FieldView<T>, Stream) {}

  // From now on `clock`, of the stream of the exchanges, has the pack, wire and unpack times. Without one
  // (null) phases are only ranges for profilers.
  void time_phases(PhaseClock* clock) { clock_ = clock; }

 protected:
  // Executes, and perhaps times, a phase within send() or receive().
  template <class Work>
  void measure(Phase phase, const Work& work) {
    const TraceRange range(phase);
    clock_ ? clock_->timed(phase, work) : work();
  }

 private:
  PhaseClock* clock_ = nullptr;
};

// A transport made ready on all ranks.
template <class T>
struct TransportMaker {
  // All ranks of these messages call it at about the same time, each with its own side of them; boxes are
  // within the fields. Throws where this rank or one of its peers fails.
  std::function<std::unique_ptr<Transport<T>>(std::span<const HaloField<T>> fields,
                                              std::span<const HaloMessage> messages)>
      connect;
  // Why its transports are unusable on all ranks; empty: they are usable. For transports whose ranks share a
  // state, which is lost when one is abandoned. Does not communicate.
  std::function<std::string()> why_broken = [] { return std::string(); };
  // Why this rank cannot reach `peer`; empty: it may try. Does not communicate.
  std::function<std::string(int peer)> why_not = [](int) { return std::string(); };
};

// A registry entry, from which the deck's keyword, `list`, the probe, the banner and the tests follow.
template <class T>
struct TransportEntry {
  std::string_view name;
  std::string_view description;
  bool moves_data;  // else its ghosts are invalid: never chosen unless named
  bool packs;       // an exchange is a pack, a wire and an unpack; else one kernel does it all
  // Why it cannot work in this build or with this device, whoever the neighbours are; empty: it may.
  std::string (*unsupported)(const Device& device);
  // Collective. `communicator` serves only this transport; it and the device outlive the transport. Throws
  // if it is unavailable on all ranks.
  TransportMaker<T> (*make)(Device& device, const Communicator& communicator);
};

// In the order of preference among equals.
template <class T>
std::span<const TransportEntry<T>> transport_registry();

// The entry of that name; nullptr where there is none.
const TransportEntry<double>* find_transport(std::string_view name);

// The peer transport: a kernel stores into the neighbours' ghosts, in memory that the ranks of a host share
// by CUDA IPC. The devices synchronise among themselves (kernels/peer_copy.hpp): no host waits.
std::string why_no_peer_transport(const Device& device);
template <class T>
TransportMaker<T> peer_transports(Device& device, const Communicator& communicator);

}  // namespace isotherm
