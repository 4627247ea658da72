#include "physics/boundaries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "physics/cells.hpp"
#include "physics/formula_values.hpp"
#include "physics/materials.hpp"

namespace isotherm {

// b over one face of the block, ghosts included, on the device; where it does not vary over the face, one
// number. A ghost takes the value of the cell behind a periodic face, or of the nearest one.
template <class T>
class BoundaryConditions<T>::FaceValues {
 public:
  FaceValues(const Config& config, Device& device, Face f, Box subdomain, int ghosts, int most_sweeps)
      : face_(f),
        slope_(has_several_materials(config) ? 1 : boundary_law(config, f).slope),  // else by cell
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
    if (!formula_.uses("xyz"[p_]) && !formula_.uses("xyz"[q_])) return;
    pitch_ = subdomain.extent()[p_] + 2 * ghosts;
    rows_ = subdomain.extent()[q_] + 2 * ghosts;
    first_inside_ = ghosts + ghosts * pitch_;
    over_face_.emplace(
        device, formula_,
        std::array{Axis{p_, along(p_, pitch_)}, Axis{q_, along(q_, rows_)}, Axis{normal_, {plane_}}}, slope_,
        lowest_, true);
    const auto values = static_cast<std::size_t>(pitch_ * rows_ * (over_time() ? most_sweeps : 1));
    values_ = Buffer(device, values * sizeof(T));
  }

  Face on() const { return face_; }
  bool over_time() const { return formula_.uses('t'); }

  void update(std::span<const double> times, Stream stream, Boundary<T>& boundary) {
    if (!over_face_) {
      boundary.b = number_at(times.front());
      for (std::size_t i = 1; i < times.size(); ++i) boundary.b.sweep[i] = number_at(times[i]);
      return;
    }
    boundary.pitch = pitch_;
    boundary.sweep_pitch = times.size() > 1 ? pitch_ * rows_ : 0;
    T* const values = values_.template as<T>();
    boundary.b_field = values + first_inside_;
    const Box all{{0, 0, 0}, {pitch_, rows_, 1}};
    over_face_->evaluate(all, times, {values, pitch_, pitch_ * rows_, pitch_ * rows_}, stream);
  }
  void check() const {
    if (const auto time = over_face_ ? over_face_->unsound_at() : std::nullopt) throw_unsound(*time);
  }

 private:
  using Axis = FormulaAxis;

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

  std::vector<double> along(int axis, Index count) const {
    std::vector<double> at;
    for (Index i = 0; i < count; ++i) at.push_back(centre_(axis, cell(axis, i)));
    return at;
  }
  T value(const Vector3& at, double t) const {
    return static_cast<T>(slope_ * formula_(at[0], at[1], at[2], t));
  }
  T number_at(double t) const {
    const T b = value(place(0, 0), t);
    if (!is_sound(b, lowest_)) throw_unsound(t);
    return b;
  }

  // The first of them.
  [[noreturn]] void throw_unsound(double t) const {
    for (Index q = 0; q < rows_; ++q)
      for (Index p = 0; p < pitch_; ++p)
        if (!is_sound(value(place(p, q), t), lowest_)) throw_unsound(p, q, t);
    throw Error(ExitCode::internal, "a boundary value changed while it was looked at; please report it");
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
  Index pitch_ = 1, rows_ = 1, first_inside_ = 0;
  std::optional<FormulaValues<T>> over_face_;
  Buffer values_;  // [sweep][q][p]
};

template <class T>
BoundaryConditions<T>::BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                                          const std::array<bool, face_count>& is_boundary, int most_sweeps) {
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  for (int i = 0; i < face_count; ++i) {
    if (!is_boundary[i]) continue;
    Boundary<T>& boundary = boundaries_.faces[i];
    boundary.is_boundary = true;
    boundary.a = static_cast<T>(boundary_law(config, static_cast<Face>(i)).a);
    if (has_several_materials(config)) {
      of_cells_[i] = copied_to(device, cell_boundaries<T>(config, static_cast<Face>(i), subdomain, ghosts));
      boundary.cells_pitch = subdomain.extent()[i / 2 == 0 ? 1 : 0] + 2 * ghosts;
      boundary.cells = of_cells_[i].template as<CellBoundary<T>>() + ghosts * (boundary.cells_pitch + 1);
    }
    const auto values =
        std::make_shared<FaceValues>(config, device, static_cast<Face>(i), subdomain, ghosts, most_sweeps);
    values->update(std::array{0.0}, stream, boundary);
    if (!config.boundaries[i].value.is_constant()) varying_.push_back(values);
  }
  device.synchronize(stream.get());
  check();
}

template <class T>
bool BoundaryConditions<T>::vary_in_time() const {
  return std::ranges::any_of(varying_, [](const auto& values) { return values->over_time(); });
}

template <class T>
void BoundaryConditions<T>::update(std::span<const double> times, Stream stream) {
  check();
  for (const auto& values : varying_)
    if (values->over_time()) values->update(times, stream, boundaries_.faces[static_cast<int>(values->on())]);
}

template <class T>
void BoundaryConditions<T>::check() const {
  for (const auto& values : varying_) values->check();
}

template class BoundaryConditions<float>;
template class BoundaryConditions<double>;

}  // namespace isotherm
