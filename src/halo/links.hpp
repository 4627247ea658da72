// Which transport carries the halos between this rank and each of its neighbours: what the deck names, or
// the fastest of those that prove to work, with the messages and the fields of the run itself.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halo/transport.hpp"

namespace isotherm {

// What came of one transport between two neighbours; both have the same.
struct TransportMeasurement {
  std::string transport;
  std::string why_not;  // empty: it works
  // Of an exchange of all messages between the two, both ways, one of some that are queued; 0: not timed.
  double seconds = 0;
  double latency = 0;  // s, of one with a cell a message, queued likewise
};

// Both ranks of the pair make one, with one another's messages, and run the same transports in the same
// order. `communicator` is the probe's own.
template <class T>
class LinkProbe {
 public:
  LinkProbe(Device& device, const Communicator& communicator, std::span<const HaloField<T>> fields,
            std::vector<HaloMessage> messages, double timeout_seconds);

  // Every bound field's edges and ghosts are overwritten: a pattern of rank, cell and field has to arrive in
  // ghosts that were poisoned. A transport that does not come back in time is left as it is until the program
  // ends. `why_not`: what this rank knows against it beforehand.
  TransportMeasurement run(const TransportEntry<T>& entry, TransportMaker<T>* maker, std::string why_not,
                           bool timed);

 private:
  struct Verdict {
    double seconds = 0;
    char why_not[240] = "";  // cut where it is longer: verdicts travel as they are
    bool good() const { return why_not[0] == '\0'; }
    void blame(std::string_view reason);
  };
  Verdict settle(const Verdict& mine) const;
  Verdict prove(TransportMaker<T>& maker, bool checked);
  double time(TransportMaker<T>& maker, std::span<const HaloMessage> messages, double expected);
  void paint(const HaloField<T>& field, int index, Stream stream);
  std::string compare(const HaloField<T>& field, int index, Stream stream);

  Device& device_;
  const Communicator& communicator_;
  std::span<const HaloField<T>> fields_;
  std::vector<HaloMessage> messages_;
  double timeout_;
  int peer_;
  Buffer dense_, host_;  // one message
};

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
  std::vector<TransportMeasurement> measurements;  // of those asked, in the order of the table
  const TransportMeasurement& chosen() const;
};

// A transport that all ranks have made ready, with a communicator of its own; or why they cannot.
template <class T>
struct OpenTransport {
  const TransportEntry<T>* entry;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<TransportMaker<T>> maker;  // null where why_not says why
  std::string why_not;
};

// Collective.
template <class T>
OpenTransport<T> open_transport(const TransportEntry<T>& entry, const Communicator& communicator,
                                Device& device);

template <class T>
struct ChosenTransports {
  std::vector<OpenTransport<T>> open;  // those that some rank uses, the same on all
  std::vector<HaloLink> links;         // of this rank, by peers_of(messages)
};

// Collective; the fields' edges and ghosts are overwritten. Throws CollectiveError(unavailable) where the
// named one does not work between all neighbours, or no transport does between some two.
template <class T>
ChosenTransports<T> choose_transports(const TransportSettings& settings,
                                      std::span<const TransportEntry<T>> registry,
                                      const Decomposition& decomposition, int ghosts,
                                      const Communicator& communicator, Device& device,
                                      std::span<const HaloField<T>> fields);

}  // namespace isotherm
