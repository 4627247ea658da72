#include "physics/boundaries.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "physics/cells.hpp"

namespace isotherm {
namespace {

// The axes of the indices (p, q) of a face, as in kernels/stencil.hpp.
constexpr int first_tangent(int normal) {
  return normal == 0 ? 1 : 0;
}
constexpr int second_tangent(int normal) {
  return normal == 2 ? 1 : 2;
}

// One tangential axis of a face: the cell whose value each index from -ghosts to extent + ghosts - 1 takes.
struct Tangent {
  int axis;
  int ghosts;
  std::vector<Index> cells;     // global
  std::vector<double> centres;  // m

  Tangent(const Config& config, int axis_, Box subdomain, int ghosts_) : axis(axis_), ghosts(ghosts_) {
    const Index n = config.grid.cells[axis];
    const bool periodic =
        config.boundaries[static_cast<int>(face(axis, false))].kind == BoundaryKind::periodic;
    const CellCentres centre(config);
    for (Index i = subdomain.lo[axis] - ghosts; i < subdomain.hi[axis] + ghosts; ++i) {
      const Index cell = periodic ? (i % n + n) % n : std::clamp(i, Index{0}, n - 1);
      cells.push_back(cell);
      centres.push_back(centre(axis, cell));
    }
  }
  Index size() const { return static_cast<Index>(cells.size()); }
};

std::string key_of_value(const Config& config, Face f) {
  const auto i = static_cast<std::size_t>(f);
  const bool convection = config.boundaries[i].kind == BoundaryKind::convection;
  return config.at(fmt::format("boundaries.{}.{}", face_names[i], convection ? "ambient" : "value"));
}

// Of b: none of a flux, nor where an exact solution may be about differences of temperatures.
double lowest_value(const Config& config, Face f) {
  const BoundaryKind kind = config.boundaries[static_cast<int>(f)].kind;
  const bool is_kelvin = kind == BoundaryKind::temperature || kind == BoundaryKind::convection;
  return is_kelvin && config.verify.solution == ExactSolution::none
             ? 0
             : -std::numeric_limits<double>::infinity();
}

}  // namespace

// b over one face of the block, in host staging memory and, where it varies over the face, on the device.
template <class T>
class BoundaryConditions<T>::FaceValues {
 public:
  FaceValues(const Config& config, Device& device, Face f, Box subdomain, int ghosts)
      : device_(&device),
        face_(f),
        key_(key_of_value(config, f)),
        slope_(boundary_law(config, f).slope),
        lowest_(lowest_value(config, f)),
        p_(config, first_tangent(axis_of(f)), subdomain, ghosts),
        q_(config, second_tangent(axis_of(f)), subdomain, ghosts),
        formulas_(std::max(1, omp_get_max_threads()), config.boundaries[static_cast<int>(f)].value) {
    const int axis = axis_of(f);
    const Index n = config.grid.cells[axis];
    cell_ = is_max(f) ? n - 1 : 0;
    plane_ = config.grid.origin[axis] + (is_max(f) ? static_cast<double>(n) * spacing(config)[axis] : 0.0);
    if (!over_face()) return;
    const std::size_t bytes = static_cast<std::size_t>(p_.size() * q_.size()) * sizeof(T);
    values_ = Buffer(device, bytes);
    for (int side = 0; side < 2; ++side) {
      staging_.emplace_back(device, bytes, Memory::staging);
      copied_.push_back(own_event(device));
    }
  }

  Face on() const { return face_; }
  bool over_time() const { return formulas_[0].uses('t'); }

  void update(double t, Stream stream, Boundary<T>& boundary) {
    if (!over_face()) {
      boundary.b = evaluate_at(0, 0, t, formulas_[0]);
      if (!is_sound(boundary.b)) throw_unsound(0, 0, t);
      return;
    }
    // Two staging buffers in turn: the host fills one while the device may still be copying the other.
    turn_ = 1 - turn_;
    if (used_[turn_]) device_->synchronize(copied_[turn_].get());
    T* staging = staging_[turn_].template as<T>();
    evaluate(t, staging);
    device_->copy(values_.data(), staging, values_.bytes(), stream);
    device_->record(copied_[turn_].get(), stream);
    used_[turn_] = true;
    boundary.pitch = p_.size();
    boundary.b_field = values_.template as<T>() + p_.ghosts + q_.ghosts * boundary.pitch;
  }

 private:
  // Does b vary over the face, not only in time?
  bool over_face() const {
    const auto uses = [&](int axis) { return formulas_[0].uses("xyz"[axis]); };
    return uses(p_.axis) || uses(q_.axis);
  }
  Vector3 place(Index p, Index q) const {
    Vector3 at{};
    at[axis_of(face_)] = plane_;
    at[p_.axis] = p_.centres[p];
    at[q_.axis] = q_.centres[q];
    return at;
  }
  T evaluate_at(Index p, Index q, double t, const Expression& formula) const {
    const Vector3 at = place(p, q);
    return static_cast<T>(slope_ * formula(at[0], at[1], at[2], t));
  }

  void evaluate(double t, T* values) const {
    const Index pitch = p_.size(), rows = q_.size();
    constexpr Index none = std::numeric_limits<Index>::max();
    Index first_bad = none;
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(formulas_.size())) \
    reduction(min                                                                          \
              : first_bad)
    for (Index q = 0; q < rows; ++q) {
      const Expression& formula = formulas_[omp_get_thread_num()];
      for (Index p = 0; p < pitch; ++p) {
        const T b = evaluate_at(p, q, t, formula);
        values[p + q * pitch] = b;
        if (!is_sound(b)) first_bad = std::min(first_bad, p + q * pitch);
      }
    }
    if (first_bad != none) throw_unsound(first_bad % pitch, first_bad / pitch, t);
  }

  bool is_sound(T b) const {
    return std::isfinite(b) && b >= lowest_;
  }
  [[noreturn]] void throw_unsound(Index p, Index q, double t) const {
    Int3 cell;
    cell[axis_of(face_)] = cell_;
    cell[p_.axis] = p_.cells[p];
    cell[q_.axis] = q_.cells[q];
    const Vector3 at = place(p, q);
    const double value = formulas_[0](at[0], at[1], at[2], t);
    if (std::isfinite(static_cast<T>(slope_ * value))) throw too_cold(key_, value, cell, at, t);
    throw not_finite(key_, formulas_[0].text(), value, cell, at, t);
  }

  Device* device_;
  Face face_;
  std::string key_;  // as Config::at places it
  double slope_;
  double lowest_;  // of b, K
  Tangent p_, q_;
  Index cell_ = 0;                    // global index of the boundary's cells along the normal
  double plane_ = 0;                  // m, where the boundary stands
  std::vector<Expression> formulas_;  // one per thread
  Buffer values_;                     // [q][p], ghosts included
  std::vector<Buffer> staging_;
  std::vector<Owned<Event>> copied_;
  std::array<bool, 2> used_{};
  int turn_ = 0;
};

template <class T>
BoundaryConditions<T>::BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                                          const std::array<bool, face_count>& is_boundary, double t) {
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  for (int i = 0; i < face_count; ++i) {
    if (!is_boundary[i]) continue;
    const BoundaryLaw law = boundary_law(config, static_cast<Face>(i));
    const Expression& value = config.boundaries[i].value;
    Boundary<T>& boundary = boundaries_.faces[i];
    boundary.is_boundary = true;
    boundary.a = static_cast<T>(law.a);
    FaceValues values(config, device, static_cast<Face>(i), subdomain, ghosts);
    values.update(t, stream, boundary);
    if (!value.is_constant()) varying_.push_back(std::move(values));
  }
  device.synchronize(stream.get());
}

template <class T>
BoundaryConditions<T>::BoundaryConditions(BoundaryConditions&&) noexcept = default;
template <class T>
BoundaryConditions<T>& BoundaryConditions<T>::operator=(BoundaryConditions&&) noexcept = default;
template <class T>
BoundaryConditions<T>::~BoundaryConditions() = default;

template <class T>
bool BoundaryConditions<T>::vary_in_time() const {
  return std::any_of(varying_.begin(), varying_.end(), [](const FaceValues& f) { return f.over_time(); });
}

template <class T>
void BoundaryConditions<T>::update(double t, Stream stream) {
  for (FaceValues& values : varying_)
    if (values.over_time()) values.update(t, stream, boundaries_.faces[static_cast<int>(values.on())]);
}

template class BoundaryConditions<float>;
template class BoundaryConditions<double>;

}  // namespace isotherm
