// What others may see of the field: itself on the host, a copy of a device's.
#include "kernels/fingerprint.hpp"
#include "solver/solver.hpp"

namespace isotherm {

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
template std::uint64_t Solver<float>::fingerprint();
template std::uint64_t Solver<double>::fingerprint();
template ExtremeCell Solver<float>::most_extreme_cell();
template ExtremeCell Solver<double>::most_extreme_cell();
template void Solver<float>::copy_to(HostCopy<float>&);
template void Solver<double>::copy_to(HostCopy<double>&);
template void Solver<float>::wait_for_copy();
template void Solver<double>::wait_for_copy();

}  // namespace isotherm
