#include "physics/boundaries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "physics/cells.hpp"

namespace isotherm {

// b over one face of the block, ghosts included, in host staging memory and, where it varies over the face,
// on the device. Else it is one number. A ghost takes the value of the cell behind a periodic face, or of the
// nearest one.
template <class T>
class BoundaryConditions<T>::FaceValues {
 public:
  FaceValues(const Config& config, Device& device, Face f, Box subdomain, int ghosts)
      : device_(&device),
        face_(f),
        slope_(boundary_law(config, f).slope),
        first_(subdomain.lo - Int3{ghosts, ghosts, ghosts}),
        domain_(config.grid.cells),
        centre_(config),
        plane_(face_position(config, f)),
        formula_(config.boundaries[static_cast<int>(f)].value) {
    const BoundaryConfig& boundary = config.boundaries[static_cast<int>(f)];
    key_ = config.at(fmt::format("boundaries.{}.{}", face_names[static_cast<int>(f)],
                                 boundary.kind == BoundaryKind::convection ? "ambient" : "value"));
    if (boundary.has_temperature()) lowest_ = lowest_temperature(config);
    for (int axis = 0; axis < 3; ++axis)
      periodic_[axis] = config.boundaries[2 * axis].kind == BoundaryKind::periodic;
    along_p_ = {centre_(p_, cell(p_, 0))};
    if (!over_face()) return;
    pitch_ = subdomain.extent()[p_] + 2 * ghosts;
    rows_ = subdomain.extent()[q_] + 2 * ghosts;
    first_inside_ = ghosts + ghosts * pitch_;
    for (Index p = 1; p < pitch_; ++p) along_p_.push_back(centre_(p_, cell(p_, p)));
    const std::size_t bytes = pitch_ * rows_ * sizeof(T);
    values_ = Buffer(device, bytes);
    for (int side = 0; side < 2; ++side) {
      staging_.emplace_back(device, bytes, Memory::staging);
      copied_.push_back(own_event(device));
    }
  }

  Face on() const { return face_; }
  bool over_time() const { return formula_.uses('t'); }

  void update(double t, Stream stream, Boundary<T>& boundary) {
    if (!over_face()) return evaluate(t, &boundary.b);
    boundary.pitch = pitch_;
    boundary.b_field = values_.template as<T>() + first_inside_;
    if (device_->backend() == Backend::host) return evaluate(t, values_.template as<T>());
    // Two staging buffers in turn: the host fills one while the device may still be copying the other.
    turn_ = 1 - turn_;
    device_->synchronize(copied_[turn_].get());
    T* staging = staging_[turn_].template as<T>();
    evaluate(t, staging);
    device_->copy(values_.data(), staging, values_.bytes(), stream);
    device_->record(copied_[turn_].get(), stream);
  }

 private:
  // Does b vary over the face, not only in time?
  bool over_face() const { return formula_.uses("xyz"[p_]) || formula_.uses("xyz"[q_]); }

  Index cell(int axis, Index i) const {  // global
    const Index at = first_[axis] + i, n = domain_[axis];
    if (at >= 0 && at < n) return at;
    return periodic_[axis] ? (at % n + n) % n : std::clamp<Index>(at, 0, n - 1);
  }
  Vector3 place(Index p, Index q) const {
    Vector3 at{};
    at[normal_] = plane_;
    at[p_] = centre_(p_, cell(p_, p));
    at[q_] = centre_(q_, cell(q_, q));
    return at;
  }

  void evaluate(double t, T* values) const {
    constexpr Index none = std::numeric_limits<Index>::max();
    Index first_bad = none;
#pragma omp parallel if (rows_ > 1) reduction(min : first_bad)
    {
      std::vector<double> row(static_cast<std::size_t>(pitch_));
#pragma omp for schedule(static)
      for (Index q = 0; q < rows_; ++q) {
        const Vector3 at = place(0, q);
        FormulaPoints points{{{&at[0]}, {&at[1]}, {&at[2]}, {&t}}, pitch_};
        points.variables[p_] = {along_p_.data(), true};
        formula_.evaluate(points, row.data());
        if (!store(row, values + q * pitch_)) first_bad = std::min(first_bad, q);
      }
    }
    if (first_bad == none) return;
    const T* const bad = values + first_bad * pitch_;
    throw_unsound(std::find_if(bad, bad + pitch_, [&](T b) { return !is_sound(b); }) - bad, first_bad, t);
  }
  bool is_sound(T b) const {
    return std::abs(b) <= std::numeric_limits<T>::max() && b >= lowest_;
  }
  // False where any of them is not sound. A loop of vectors.
  bool store(const std::vector<double>& row, T* values) const {
    int unsound = 0;
    for (std::size_t p = 0; p < row.size(); ++p) {
      values[p] = static_cast<T>(slope_ * row[p]);
      unsound |= static_cast<int>(!is_sound(values[p]));
    }
    return unsound == 0;
  }

  [[noreturn]] void throw_unsound(Index p, Index q, double t) const {
    Int3 where;
    where[normal_] = is_max(face_) ? domain_[normal_] - 1 : 0;
    where[p_] = cell(p_, p);
    where[q_] = cell(q_, q);
    const Vector3 at = place(p, q);
    const double value = formula_(at[0], at[1], at[2], t);
    if (std::isfinite(static_cast<T>(slope_ * value))) throw too_cold(key_, value, where, at, t);
    throw not_finite(key_, formula_.text(), value, where, at, t);
  }

  Device* device_;
  Face face_;
  // Axes; p and q are the indices of a face in kernels/stencil.hpp.
  int normal_ = axis_of(face_), p_ = normal_ == 0 ? 1 : 0, q_ = normal_ == 2 ? 1 : 2;
  std::string key_;  // as Config::at places it
  double slope_;
  double lowest_ = -std::numeric_limits<double>::infinity();  // of b, K; a flux has none
  Int3 first_;                                                // global cell of the index (0, 0)
  Int3 domain_;                                               // cells of it
  std::array<bool, 3> periodic_{};
  CellCentres centre_;
  double plane_;  // m, where the boundary stands
  Expression formula_;
  std::vector<double> along_p_;  // m, of the cells of a row
  Index pitch_ = 1, rows_ = 1, first_inside_ = 0;
  Buffer values_;  // [q][p]
  std::vector<Buffer> staging_;
  std::vector<Owned<Event>> copied_;
  int turn_ = 0;
};

template <class T>
BoundaryConditions<T>::BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                                          const std::array<bool, face_count>& is_boundary) {
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  for (int i = 0; i < face_count; ++i) {
    if (!is_boundary[i]) continue;
    Boundary<T>& boundary = boundaries_.faces[i];
    boundary.is_boundary = true;
    boundary.a = static_cast<T>(boundary_law(config, static_cast<Face>(i)).a);
    const auto values = std::make_shared<FaceValues>(config, device, static_cast<Face>(i), subdomain, ghosts);
    values->update(0, stream, boundary);
    if (!config.boundaries[i].value.is_constant()) varying_.push_back(values);
  }
  device.synchronize(stream.get());
}

template <class T>
bool BoundaryConditions<T>::vary_in_time() const {
  return std::ranges::any_of(varying_, [](const auto& values) { return values->over_time(); });
}

template <class T>
void BoundaryConditions<T>::update(double t, Stream stream) {
  for (const auto& values : varying_)
    if (values->over_time()) values->update(t, stream, boundaries_.faces[static_cast<int>(values->on())]);
}

template class BoundaryConditions<float>;
template class BoundaryConditions<double>;

}  // namespace isotherm
