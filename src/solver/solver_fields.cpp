// What others may see of the field: itself on the host, a copy of a device's.
#include "core/agree.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/fingerprint.hpp"
#include "solver/solver.hpp"

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
FieldView<const T> Solver<T>::host_field() {
  if (device_.backend() == Backend::host) return std::as_const(current_).view();
  if (!mirror_) mirror_.emplace(*host_, block_.extent(), halo_depth(config_));
  if (mirrored_ != sweeps_) {
    device_.copy(mirror_->data(), current_.data(), current_.bytes(), compute_);
    device_.synchronize(compute_);
    mirrored_ = sweeps_;
  }
  return std::as_const(*mirror_).view();
}

template <class T>
std::vector<T> Solver<T>::host_cells(const std::vector<Box>& boxes) {
  Index cells = 0;
  for (const Box& box : boxes) cells += box.cells();
  std::vector<T> dense(static_cast<std::size_t>(cells));
  const bool on_host = device_.backend() == Backend::host;
  const bool whole = on_host || mirrored_ == sweeps_ || cells > block_.cells() / most_packed;
  const std::size_t bytes = whole ? 0 : dense.size() * sizeof(T);
  if (!on_host) {
    agree(communicator_, [&] {
      if (packed_.bytes() < bytes) packed_ = Buffer(device_, bytes);
    });
  }
  if (whole) {
    pack<T>(Backend::host, host_field(), boxes, dense.data(), {});
  } else if (bytes > 0) {
    pack<T>(device_.backend(), std::as_const(current_).view(), boxes, packed_.as<T>(), compute_);
    device_.copy(dense.data(), packed_.data(), bytes, compute_);
    device_.synchronize(compute_);
  }
  return dense;
}

template <class T>
std::uint64_t Solver<T>::fingerprint() {
  return communicator_.all_reduce(isotherm::fingerprint<T>(host_field(), block_.lo, config_.grid.cells),
                                  ReduceOp::sum);
}

template <class T>
ExtremeCell Solver<T>::most_extreme_cell() {
  return isotherm::most_extreme_cell<T>(host_field(), block_.lo, config_.grid.cells, communicator_);
}

template <class T>
void Solver<T>::copy_to(HostCopy<T>& copy) {
  copy.take(current_, compute_);
  copying_ = {copy.copied(), sweeps_};
}

// The sweeps wait, not the host.
template <class T>
void Solver<T>::wait_for_copy() {
  device_.wait(compute_, copying_->done);
  copying_.reset();
}

template FieldView<const float> Solver<float>::host_field();
template FieldView<const double> Solver<double>::host_field();
template std::vector<float> Solver<float>::host_cells(const std::vector<Box>&);
template std::vector<double> Solver<double>::host_cells(const std::vector<Box>&);
template std::uint64_t Solver<float>::fingerprint();
template std::uint64_t Solver<double>::fingerprint();
template ExtremeCell Solver<float>::most_extreme_cell();
template ExtremeCell Solver<double>::most_extreme_cell();
template void Solver<float>::copy_to(HostCopy<float>&);
template void Solver<double>::copy_to(HostCopy<double>&);
template void Solver<float>::wait_for_copy();
template void Solver<double>::wait_for_copy();

}  // namespace isotherm
