// The halo transport between each two ranks: the deck's, or the fastest that passes a test.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halo/transport.hpp"

namespace isotherm {

// The result of testing one transport between two neighbours, the same on both.
struct TransportMeasurement {
  std::string transport;
  std::string why_not;  // empty: it works
  // s of one exchange of all their messages in both directions, the mean of a queued batch; 0: not timed.
  double seconds = 0;
  double latency = 0;  // s, the same for messages of one cell
};

struct TransportSettings {
  std::string name = "auto";
  std::string place = "parallel.transport";  // its place in the deck, for errors
  double timeout = 10;                       // s, for the test of a transport
  bool timed = true;                         // measure even if there is nothing to choose
};

struct HaloLink {
  int rank, peer;
  std::vector<Direction> directions;  // of its messages
  std::size_t bytes;                  // each way, per exchange
  std::string transport;
  std::vector<TransportMeasurement> measurements;  // of the transports tested, in registry order
  const TransportMeasurement& chosen() const {
    return *std::ranges::find(measurements, transport, &TransportMeasurement::transport);
  }
};

// A transport that is ready on all ranks, with its own communicator; or the reason why it is not.
template <class T>
struct OpenTransport {
  // Collective.
  OpenTransport(const TransportEntry<T>& row, const Communicator& ranks, Device& device);

  const TransportEntry<T>* entry;
  std::unique_ptr<Communicator> communicator;
  std::optional<TransportMaker<T>> maker;  // none where why_not is not empty
  std::string why_not;
};

// The messages between this rank and one neighbour, and their fields.
template <class T>
struct TriedLink {
  Device& device;
  const Communicator& communicator;  // for the tests only
  std::span<const HaloField<T>> fields;
  std::vector<HaloMessage> messages;
  double timeout;  // s

  // Both ranks of the link test the same transports in the same order. A test overwrites the edges and ghosts
  // of every field: poisoned ghosts have to receive a pattern of rank, cell and field. A transport that does
  // not return in time is never destroyed.
  TransportMeasurement try_transport(const OpenTransport<T>& transport, bool timed) const;
};

template <class T>
struct ChosenTransports {
  std::vector<OpenTransport<T>> open;  // those that some rank uses, the same on all
  std::vector<HaloLink> links;         // of this rank, by peers_of(messages)

  ChosenTransports() = default;  // none
  // Collective; overwrites the fields' edges and ghosts. Throws CollectiveError(unavailable) where the named
  // transport does not work between all neighbours, or none works between some two.
  ChosenTransports(const TransportSettings& settings, std::span<const TransportEntry<T>> registry,
                   const Decomposition& decomposition, int ghosts, const Communicator& communicator,
                   Device& device, std::span<const HaloField<T>> fields);
};

}  // namespace isotherm
