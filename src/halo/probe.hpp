// Proves transports between two neighbours with the messages and the fields of the run itself, and times
// them.
#pragma once

#include <string>
#include <vector>

#include "halo/transport.hpp"

namespace isotherm {

// What came of one transport between two neighbours; both have the same.
struct TransportTrial {
  std::string transport;
  std::string why_not;  // empty: it works
  // Of an exchange of all messages between the two, both ways, one of some that are queued; 0: not timed.
  double seconds = 0;
  double latency = 0;  // s, of one with a cell a message, queued likewise
};

// Both ranks of the pair make one, with one another's messages, and run the same rows in the same order.
// `communicator` is the probe's own.
template <class T>
class LinkProbe {
 public:
  LinkProbe(Device& device, const Communicator& communicator, std::span<const HaloField<T>> fields,
            std::vector<HaloMessage> messages, double timeout_seconds);

  // Every bound field's edges and ghosts are overwritten: a pattern that depends on rank, cell and field has
  // to arrive in ghosts that were poisoned, within the timeout. A transport that did not come back by then
  // is left as it is until the program ends. `why_not`: what this rank knows against it beforehand.
  TransportTrial run(const TransportRow<T>& row, TransportMaker<T>* maker, std::string why_not, bool timed);

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

}  // namespace isotherm
