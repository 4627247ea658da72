// Which transport carries the halos between this rank and each of its neighbours: what the deck names, or
// the fastest of those that prove to work.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halo/probe.hpp"
#include "halo/transport.hpp"

namespace isotherm {

struct TransportSettings {
  std::string name = "auto";
  std::string place = "parallel.transport";  // where the deck says so, for errors
  double timeout = 10;                       // s, of a transport that is tried
  bool timed = true;                         // measure even where there is nothing to choose
};

// What goes between this rank and one neighbour.
struct HaloLink {
  int peer;
  std::vector<Direction> directions;  // of its messages
  std::size_t bytes;                  // each way, an exchange
  std::string transport;
  std::vector<TransportTrial> trials;  // of every row that was asked, in the order of the table
  const TransportTrial& chosen() const;
};

// A row that all ranks have made ready, with a communicator of its own; or why they cannot.
template <class T>
struct OpenTransport {
  const TransportRow<T>* row;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<TransportMaker<T>> maker;  // null where why_not says why
  std::string why_not;
};

// Collective.
template <class T>
OpenTransport<T> open_transport(const TransportRow<T>& row, const Communicator& communicator, Device& device);

template <class T>
struct ChosenTransports {
  std::vector<OpenTransport<T>> open;  // those that some rank uses, the same on all
  std::vector<HaloLink> links;         // of this rank, by peers_of(messages)
};

// Collective; the fields' edges and ghosts are overwritten. Throws CollectiveError(unavailable) where the one
// that is named does not work between all neighbours, or no row does between some two.
template <class T>
ChosenTransports<T> choose_transports(const TransportSettings& settings,
                                      std::span<const TransportRow<T>> rows,
                                      const Decomposition& decomposition, int ghosts,
                                      const Communicator& communicator, Device& device,
                                      std::span<const HaloField<T>> fields);

}  // namespace isotherm
