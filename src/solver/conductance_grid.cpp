#include "solver/conductance_grid.hpp"

#include <utility>

#include "solver/kernel_choice.hpp"
#include "solver/zeroed_field.hpp"

namespace isotherm {

ConductanceGrid::ConductanceGrid(const Decomposition& decomposition, const Communicator& communicator,
                                 Device& device, const TransportSettings& transports, bool has_ground,
                                 Stream compute)
    : decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      subdomain_(decomposition.subdomain(communicator.rank())),
      sides_(ghost_sides(decomposition, communicator.rank())),
      exchanges_(isotherm::exchanges(sides_)),
      current_(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts)),
      other_(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts)),
      source_(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts)),
      halo_(decomposition, communicator_, device,
            {halo_field(current_), halo_field(other_), halo_field(source_)}, transports),
      compute_(compute),
      halo_stream_(own_stream(device, Priority::high)) {
  // Transports were proved with patterns in the ghosts; beyond boundaries fields hold 0.
  for (int i = 0; i < 3 + has_ground; ++i)
    faces_.push_back(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts));
  for (Field<float>* field : {&current_, &other_, &source_})
    face_copy<float>(device.backend()).fill(field->view(), 0.0F, compute_);
}

GridConductances ConductanceGrid::faces() const {
  GridConductances g{{faces_[0].view(), faces_[1].view(), faces_[2].view()}, {}};
  if (faces_.size() > 3) g.ground = faces_[3].view();
  return g;
}

void ConductanceGrid::bring_all_ghosts() {
  if (!exchanges_) return;
  halo_.use(ghosts);
  exchange(source_);
  halo_.use(1);
}

void ConductanceGrid::take_lower_faces(int axis) {
  bring_all_ghosts();
  Field<float>& to = faces_[axis];
  device_.copy(to.data(), source_.data(), to.bytes(), compute_);
}

// Where there is a neighbour, its lower faces are these.
void ConductanceGrid::take_upper_faces(int axis) {
  bring_all_ghosts();
  if (sides_.filled[static_cast<int>(face(axis, true))]) return;
  Box cells = widened_subdomain(subdomain_.extent(), sides_.filled, ghosts);
  cells.lo[axis] = cells.hi[axis] - 1;
  Int3 up{};
  up[axis] = 1;
  const FaceCopy<float>& copy = face_copy<float>(device_.backend());
  const Buffer dense(device_, static_cast<std::size_t>(cells.cells()) * sizeof(float));
  copy.pack(std::as_const(source_).view(), cells, dense.as<float>(), compute_);
  copy.unpack(dense.as<float>(), faces_[axis].view(), cells.shifted(up), compute_);
  device_.synchronize(compute_);
}

void ConductanceGrid::exchange(Field<float>& field) {
  if (!exchanges_) return;
  timed(Phase::halo, [&] {
    halo_.start(field.view(), compute_, halo_stream_);
    halo_.finish(field.view(), compute_, halo_stream_);
  });
}

void ConductanceGrid::sweep(const std::vector<float>& weights, bool from_zero) {
  for (const float weight : weights) {
    ConductanceSweep sweep{faces(), {}, std::as_const(source_).view(), other_.view(), whole(), weight};
    if (!from_zero) {
      exchange(current_);
      sweep.in = std::as_const(current_).view();
    }
    from_zero = false;
    timed(Phase::sweep, [&] { semicoarsening<float>(device_.backend()).sweep(sweep, compute_); });
    std::swap(current_, other_);
  }
}

std::size_t conductance_grid_bytes(Int3 block, bool has_ground, Backend backend) {
  const std::size_t fields = has_ground ? 7 : 6;
  return fields * sizeof(float) *
         static_cast<std::size_t>(
             FieldLayout::make(block, ConductanceGrid::ghosts, sizeof(float), row_alignment(backend))
                 .elements);
}

}  // namespace isotherm
