// Which transport carries halos between each two ranks: the deck's, or the fastest that is proved to work.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halo/transport.hpp"

namespace isotherm {

// The result of testing one transport between two neighbours, the same on both.
struct TransportMeasurement {
  std::string transport;
  std::string why_not;  // empty: it works
  // Of an exchange of all their messages in both directions, the mean of a queued batch; 0: not timed.
  double seconds = 0;
  double latency = 0;  // s, likewise, of messages of one cell
};

struct TransportSettings {
  std::string name = "auto";
  std::string place = "parallel.transport";  // where the deck says so, for errors
  double timeout = 10;                       // s, of a transport that is tried
  bool timed = true;                         // measure even where there is nothing to choose
};

struct HaloLink {
  int peer;
  std::vector<Direction> directions;  // of its messages
  std::size_t bytes;                  // each way, an exchange
  std::string transport;
  std::vector<TransportMeasurement> measurements;  // of those asked, in the order of the table
  const TransportMeasurement& chosen() const {
    return *std::ranges::find(measurements, transport, &TransportMeasurement::transport);
  }
};

// A transport that all ranks have made ready, with a communicator of its own; or why they cannot.
template <class T>
struct OpenTransport {
  // Collective.
  OpenTransport(const TransportEntry<T>& row, const Communicator& ranks, Device& device);

  const TransportEntry<T>* entry;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<TransportMaker<T>> maker;  // null where why_not says why
  std::string why_not;
};

// The messages between this rank and one neighbour, and their fields.
template <class T>
struct TriedLink {
  Device& device;
  const Communicator& communicator;  // for the trials alone
  std::span<const HaloField<T>> fields;
  std::vector<HaloMessage> messages;
  double timeout;  // s

  // Both ranks of the link try the same transports in the same order. Every field's edges and ghosts are
  // overwritten: a pattern of rank, cell and field has to arrive in ghosts that were poisoned. A transport
  // that does not return in time is never destroyed.
  TransportMeasurement try_transport(const OpenTransport<T>& transport, bool timed) const;
};

template <class T>
struct ChosenTransports {
  std::vector<OpenTransport<T>> open;  // those that some rank uses, the same on all
  std::vector<HaloLink> links;         // of this rank, by peers_of(messages)

  ChosenTransports() = default;  // none
  // Collective; the fields' edges and ghosts are overwritten. Throws CollectiveError(unavailable) where the
  // named one does not work between all neighbours, or no transport does between some two.
  ChosenTransports(const TransportSettings& settings, std::span<const TransportEntry<T>> registry,
                   const Decomposition& decomposition, int ghosts, const Communicator& communicator,
                   Device& device, std::span<const HaloField<T>> fields);

  // Messages between any two ranks, proved as halos are, by the one transport of all halos. Null where they
  // take several, or it needs the host, or fails for these. Collective; overwrites the messages' cells.
  std::unique_ptr<Transport<T>> connect_all(const Communicator& communicator, Device& device,
                                            std::span<const HaloField<T>> fields,
                                            std::span<const HaloMessage> messages) const;
};

}  // namespace isotherm
