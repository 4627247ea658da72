// Gathers a field that is distributed among the ranks, so that each rank has all its cells.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/communicator.hpp"
#include "core/device.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm {

template <class T>
class Gathering {
 public:
  // `parts`: the cells that each rank contributes, in indices of `field`, which has all cells on every rank.
  Gathering(const Communicator& ranks, Device& device, Field<T>& field, std::vector<Box> parts)
      : ranks_(ranks),
        device_(device),
        field_(field),
        parts_(std::move(parts)),
        cells_(device, sizeof(T) * static_cast<std::size_t>(field.view().extent.product())),
        cells_on_host_(device, cells_.bytes(), Memory::staging) {}
  // Uses the transports of `halo` if they work without the host. Collective; overwrites the field.
  void connect(const HaloExchange<T>& halo) {
    transport_ = halo.connect_all(halo_field(field_), gather_messages(parts_, ranks_.rank()));
  }
  bool needs_host() const { return !transport_; }

  // Copies the parts of all ranks to the field of each rank. Collective.
  void gather(Stream stream) {
    if (!transport_) return gather_by_host(stream);
    transport_->send(field_.view(), stream);
    transport_->receive(field_.view(), stream);
  }

 private:
  void gather_by_host(Stream stream) {
    const FaceCopy<T>& copy = FaceCopy<T>::on(device_.backend());
    const Box mine = parts_[ranks_.rank()];
    const std::size_t bytes = static_cast<std::size_t>(mine.cells()) * sizeof(T);
    char* const host = cells_on_host_.template as<char>();
    if (bytes > 0) {
      copy.pack(field_.view(), mine, cells_.template as<T>(), stream);
      device_.copy(host, cells_.data(), bytes, stream);
    }
    device_.synchronize(stream);
    std::size_t at = 0;
    for (const std::string& part : ranks_.all_gather({host, bytes})) {
      std::memcpy(host + at, part.data(), part.size());
      at += part.size();
    }
    device_.copy(cells_.data(), host, at, stream);
    const T* from = cells_.template as<T>();
    for (const Box& part : parts_) {
      if (part.empty()) continue;
      copy.unpack(from, field_.view(), part, stream);
      from += part.cells();
    }
  }

  Communicator ranks_;
  Device& device_;
  Field<T>& field_;
  std::vector<Box> parts_;
  std::unique_ptr<Transport<T>> transport_;
  Buffer cells_, cells_on_host_;  // staging memory: cells of all ranks, dense
};

}  // namespace isotherm
