// From a grid that ranks share to one that each of them has whole.
#pragma once

#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"

namespace isotherm {

template <class T>
class Gathering {
 public:
  // `parts`: the cells that each rank brings, in the indices of `field`, which has all of them on every rank.
  Gathering(const Communicator& ranks, Device& device, Field<T>& field, std::vector<Box> parts);
  // By the transport of these halos, where it needs no host. Collective; overwrites the field.
  void connect(const HaloExchange<T>& halo);
  bool needs_host() const { return !transport_; }

  // The parts of all ranks become the field of each. Collective.
  void gather(Stream stream);

 private:
  void gather_by_host(Stream stream);

  Communicator ranks_;
  Device& device_;
  Field<T>& field_;
  std::vector<Box> parts_;
  std::unique_ptr<Transport<T>> transport_;
  Buffer cells_, cells_on_host_;  // of all ranks, dense, on their way
};

}  // namespace isotherm
