#include "solver/conductance_grid.hpp"

#include <utility>

#include "solver/kernel_choice.hpp"
#include "solver/zeroed_field.hpp"

namespace isotherm {

template <class T>
ConductanceGrid<T>::ConductanceGrid(const Decomposition& decomposition, const Communicator& communicator,
                                    Device& device, const TransportSettings& transports, Stream compute)
    : decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      subdomain_(decomposition.subdomain(communicator.rank())),
      sides_(ghost_sides(decomposition, communicator.rank())),
      exchanges_(isotherm::exchanges(sides_)),
      current_(zeroed_field<T>(communicator, device, subdomain_.extent(), ghosts)),
      other_(zeroed_field<T>(communicator, device, subdomain_.extent(), ghosts)),
      source_(zeroed_field<T>(communicator, device, subdomain_.extent(), ghosts)),
      faces_{zeroed_field<T>(communicator, device, subdomain_.extent(), ghosts),
             zeroed_field<T>(communicator, device, subdomain_.extent(), ghosts),
             zeroed_field<T>(communicator, device, subdomain_.extent(), ghosts)},
      halo_(decomposition, communicator_, device,
            {halo_field(current_), halo_field(other_), halo_field(source_)}, transports),
      compute_(compute),
      halo_stream_(own_stream(device, Priority::high)) {
  // Transports were proved with patterns in the ghosts; beyond boundaries fields hold 0.
  for (Field<T>* field : {&current_, &other_, &source_})
    face_copy<T>(device.backend()).fill(field->view(), T(0), compute_);
}

template <class T>
GridConductances<T> ConductanceGrid<T>::faces() const {
  return {{faces_[0].view(), faces_[1].view(), faces_[2].view()}};
}

template <class T>
void ConductanceGrid<T>::bring_all_ghosts() {
  if (!exchanges_) return;
  halo_.use(ghosts);
  exchange(source_);
  halo_.use(1);
}

template <class T>
void ConductanceGrid<T>::take_lower_faces(int axis) {
  bring_all_ghosts();
  Field<T>& to = faces_[axis];
  device_.copy(to.data(), source_.data(), to.bytes(), compute_);
}

// Where there is a neighbour, its lower faces are these.
template <class T>
void ConductanceGrid<T>::take_upper_faces(int axis) {
  bring_all_ghosts();
  if (sides_.filled[static_cast<int>(face(axis, true))]) return;
  Box cells = widened_subdomain(subdomain_.extent(), sides_.filled, ghosts);
  cells.lo[axis] = cells.hi[axis] - 1;
  Int3 up{};
  up[axis] = 1;
  const FaceCopy<T>& copy = face_copy<T>(device_.backend());
  const Buffer dense(device_, static_cast<std::size_t>(cells.cells()) * sizeof(T));
  copy.pack(std::as_const(source_).view(), cells, dense.template as<T>(), compute_);
  copy.unpack(dense.template as<T>(), faces_[axis].view(), cells.shifted(up), compute_);
  device_.synchronize(compute_);
}

template <class T>
void ConductanceGrid<T>::exchange(Field<T>& field) {
  if (!exchanges_) return;
  timed(Phase::halo, [&] {
    halo_.start(field.view(), compute_, halo_stream_);
    halo_.finish(field.view(), compute_, halo_stream_);
  });
}

template <class T>
void ConductanceGrid<T>::sweep(const std::vector<T>& weights, bool from_zero) {
  for (const T weight : weights) {
    ConductanceSweep<T> sweep{faces(), {}, std::as_const(source_).view(), other_.view(), whole(), weight};
    if (!from_zero) {
      exchange(current_);
      sweep.in = std::as_const(current_).view();
    }
    from_zero = false;
    timed(Phase::sweep, [&] { semicoarsening<T>(device_.backend()).sweep(sweep, compute_); });
    std::swap(current_, other_);
  }
}

std::size_t conductance_grid_bytes(Int3 block, std::size_t element_bytes, Backend backend) {
  constexpr std::size_t fields = 6;
  return fields * element_bytes *
         static_cast<std::size_t>(
             FieldLayout::make(block, ConductanceGrid<double>::ghosts, element_bytes, row_alignment(backend))
                 .elements);
}

template class ConductanceGrid<float>;
template class ConductanceGrid<double>;

}  // namespace isotherm
