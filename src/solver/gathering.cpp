#include "solver/gathering.hpp"

#include <cstring>
#include <utility>

#include "kernels/face_copy.hpp"

namespace isotherm {

template <class T>
Gathering<T>::Gathering(const Communicator& ranks, Device& device, Field<T>& field, std::vector<Box> parts)
    : ranks_(ranks),
      device_(device),
      field_(field),
      parts_(std::move(parts)),
      cells_(device, sizeof(T) * static_cast<std::size_t>(field.view().extent.product())),
      cells_on_host_(device, cells_.bytes(), Memory::staging) {}

template <class T>
void Gathering<T>::connect(const HaloExchange<T>& halo) {
  transport_ = halo.connect_all(halo_field(field_), gather_messages(parts_, ranks_.rank()));
}

template <class T>
void Gathering<T>::gather(Stream stream) {
  if (!transport_) return gather_by_host(stream);
  transport_->send(field_.view(), stream);
  transport_->receive(field_.view(), stream);
}

template <class T>
void Gathering<T>::gather_by_host(Stream stream) {
  const FaceCopy<T>& copy = face_copy<T>(device_.backend());
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

template class Gathering<float>;
template class Gathering<double>;

}  // namespace isotherm
