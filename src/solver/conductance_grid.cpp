#include "solver/conductance_grid.hpp"

#include <algorithm>
#include <utility>

#include "solver/kernel_choice.hpp"
#include "solver/zeroed_field.hpp"

namespace isotherm {
namespace {

// As many as the thinnest block has, that of any rank.
int layers_of(const Decomposition& decomposition) {
  constexpr Index least = 2, most = 4;
  Index thinnest = most;
  bool any = false;
  for (int axis = 0; axis < 3; ++axis) {
    if (decomposition.process_grid()[axis] == 1 && !decomposition.periodic()[axis]) continue;
    thinnest = std::min(thinnest, decomposition.cells()[axis] / decomposition.process_grid()[axis]);
    any = true;
  }
  return static_cast<int>(any ? std::max(thinnest, least) : least);
}

}  // namespace

ConductanceGrid::ConductanceGrid(const Decomposition& decomposition, const Communicator& communicator,
                                 Device& device, const TransportSettings& transports, bool has_ground,
                                 Stream compute)
    : decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      subdomain_(decomposition.subdomain(communicator.rank())),
      sides_(ghost_sides(decomposition, communicator.rank())),
      exchanges_(isotherm::exchanges(sides_)),
      ghosts_(layers_of(decomposition)),
      current_(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts_)),
      other_(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts_)),
      source_(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts_)),
      halo_(decomposition, communicator_, device,
            {halo_field(current_), halo_field(other_), halo_field(source_)}, transports),
      compute_(compute),
      halo_stream_(own_stream(device, Priority::high)) {
  // Transports were proved with patterns in the ghosts; beyond boundaries fields hold 0.
  for (int i = 0; i < 3 + has_ground; ++i)
    faces_.push_back(zeroed_field<float>(communicator, device, subdomain_.extent(), ghosts_));
  for (Field<float>* field : {&current_, &other_, &source_})
    face_copy<float>(device.backend()).fill(field->view(), 0.0F, compute_);
  if (!exchanges_) return;
  for (const int layers : {ghosts_, 1}) {  // both before a cycle is recorded, in which nothing is allocated
    halo_.use(layers);
    is_recordable_ = is_recordable_ && halo_.why_not_recordable().empty();
  }
}

GridConductances ConductanceGrid::faces() const {
  GridConductances g{{faces_[0].view(), faces_[1].view(), faces_[2].view()}, {}};
  if (faces_.size() > 3) g.ground = faces_[3].view();
  return g;
}

void ConductanceGrid::take_lower_faces(int axis) {
  exchange(source_, ghosts_);
  Field<float>& to = faces_[axis];
  device_.copy(to.data(), source_.data(), to.bytes(), compute_);
}

// Where there is a neighbour, its lower faces are these.
void ConductanceGrid::take_upper_faces(int axis) {
  exchange(source_, ghosts_);
  if (sides_.filled[static_cast<int>(face(axis, true))]) return;
  Box cells = widened_subdomain(subdomain_.extent(), sides_.filled, ghosts_);
  cells.lo[axis] = cells.hi[axis] - 1;
  Int3 up{};
  up[axis] = 1;
  const FaceCopy<float>& copy = face_copy<float>(device_.backend());
  const Buffer dense(device_, static_cast<std::size_t>(cells.cells()) * sizeof(float));
  copy.pack(std::as_const(source_).view(), cells, dense.as<float>(), compute_);
  copy.unpack(dense.as<float>(), faces_[axis].view(), cells.shifted(up), compute_);
  device_.synchronize(compute_);
}

void ConductanceGrid::exchange(Field<float>& field, int layers) {
  if (!exchanges_) return;
  timed(Phase::halo, [&] {
    halo_.use(layers);
    halo_.start(field.view(), compute_, halo_stream_);
    halo_.finish(field.view(), compute_, halo_stream_);
  });
}

// Between exchanges each sweep goes through what the next one reads of it.
void ConductanceGrid::sweep(const std::vector<float>& weights, bool from_zero) {
  const std::size_t at_once = exchanges_ ? static_cast<std::size_t>(ghosts_) : weights.size();
  if (from_zero) exchange(source_, ghosts_);
  for (std::size_t i = 0; i < weights.size(); i += at_once) {
    const std::size_t end = std::min(i + at_once, weights.size());
    if (!from_zero) exchange(current_, ghosts_);
    std::vector<ConductanceSweep> sweeps;
    for (std::size_t j = i; j < end; ++j, from_zero = false, std::swap(current_, other_))
      sweeps.push_back(
          {faces(), from_zero ? FieldView<const float>{} : std::as_const(current_).view(),
           std::as_const(source_).view(), other_.view(),
           widened_subdomain(subdomain_.extent(), sides_.filled, static_cast<Index>(end - j - 1)),
           weights[j]});
    timed(Phase::sweep, [&] { semicoarsening<float>(device_.backend()).sweep(sweeps, compute_); });
  }
}

std::size_t conductance_grid_bytes(const Decomposition& decomposition, int rank, bool has_ground,
                                   Backend backend) {
  const std::size_t fields = has_ground ? 7 : 6;
  return fields * sizeof(float) *
         static_cast<std::size_t>(FieldLayout::make(decomposition.subdomain(rank).extent(),
                                                    layers_of(decomposition), sizeof(float),
                                                    row_alignment(backend))
                                      .elements);
}

}  // namespace isotherm
