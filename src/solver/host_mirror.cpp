#include "solver/host_mirror.hpp"

#include "core/agree.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm {
namespace {

// Of a block: what is packed has memory of its own on the device, which should not count beside the fields.
constexpr Index most_packed = 16;  // a sixteenth

template <class T>
void pack(Backend backend, FieldView<const T> field, const std::vector<Box>& boxes, T* dense, Stream stream) {
  for (const Box& box : boxes) {
    if (box.empty()) continue;
    face_copy<T>(backend).pack(field, box, dense, stream);
    dense += box.cells();
  }
}

}  // namespace

template <class T>
FieldView<const T> HostMirror<T>::field() {
  if (level_.on_host()) return level_.field();
  if (!mirror_) mirror_.emplace(*host_, level_.extent(), level_.field().ghosts);
  if (mirrored_ != level_.sweeps()) {
    const Field<T>& current = level_.current();
    level_.device().copy(mirror_->data(), current.data(), current.bytes(), level_.compute());
    level_.device().synchronize(level_.compute());
    mirrored_ = level_.sweeps();
  }
  return std::as_const(*mirror_).view();
}

template <class T>
std::vector<T> HostMirror<T>::cells(const std::vector<Box>& boxes) {
  Index count = 0;
  for (const Box& box : boxes) count += box.cells();
  std::vector<T> dense(static_cast<std::size_t>(count));
  Device& device = level_.device();
  const bool whole =
      level_.on_host() || mirrored_ == level_.sweeps() || count > level_.block().cells() / most_packed;
  const std::size_t bytes = whole ? 0 : dense.size() * sizeof(T);
  if (!level_.on_host()) {
    agree(level_.communicator(), [&] {
      if (packed_.bytes() < bytes) packed_ = Buffer(device, bytes);
    });
  }
  if (whole) {
    pack<T>(Backend::host, field(), boxes, dense.data(), {});
  } else if (bytes > 0) {
    pack<T>(device.backend(), level_.field(), boxes, packed_.as<T>(), level_.compute());
    device.copy(dense.data(), packed_.data(), bytes, level_.compute());
    device.synchronize(level_.compute());
  }
  return dense;
}

template class HostMirror<float>;
template class HostMirror<double>;

}  // namespace isotherm
