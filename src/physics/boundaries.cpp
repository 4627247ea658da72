#include "physics/boundaries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "config/boundary_laws.hpp"
#include "physics/cells.hpp"
#include "physics/formula_values.hpp"
#include "physics/material_painter.hpp"

namespace isotherm {

// Where the cells of a face are, ghosts included: a ghost takes the value of the cell behind a periodic face,
// or of the nearest one.
struct FaceCells {
  int normal, p, q;  // axes; p and q are the indices of a face in kernels/stencil.hpp
  Int3 first;        // global cell of the index (0, 0)
  Int3 domain;       // cells of it
  std::array<bool, 3> periodic;
  GridAxes axes;
  double plane;  // m, where the boundary stands
  Index pitch, rows, first_inside;

  FaceCells(const Config& config, Face f, Box subdomain, int ghosts)
      : normal(axis_of(f)),
        p(face_axes(f)[0]),
        q(face_axes(f)[1]),
        first(subdomain.lo - Int3{ghosts, ghosts, ghosts}),
        domain(config.grid.cells),
        periodic(periodic_axes(config)),
        axes(config),
        plane(face_position(config, f)),
        pitch(subdomain.extent()[p] + 2 * ghosts),
        rows(subdomain.extent()[q] + 2 * ghosts),
        first_inside(ghosts + ghosts * pitch) {}

  Index cell(int axis, Index i) const {  // global
    return cell_like(first[axis] + i, domain[axis], periodic[axis]);
  }
  Vector3 place(Index i, Index j) const {
    Vector3 at{};
    at[normal] = plane;
    at[p] = axes[p].centre(cell(p, i));
    at[q] = axes[q].centre(cell(q, j));
    return at;
  }
  std::vector<double> along(int axis, Index count) const {
    std::vector<double> at;
    for (Index i = 0; i < count; ++i) at.push_back(axes[axis].centre(cell(axis, i)));
    return at;
  }
};

// a or b of the cells of a face: one number, or values on the device.
template <class T>
class FaceFormula {
 public:
  // `scale` times the formula; `lowest`: what it is at least.
  FaceFormula(Device& device, const FaceCells& cells, Expression formula, double scale, double lowest,
              int most_sweeps)
      : formula_(std::move(formula)), scale_(scale), lowest_(lowest) {
    if (!formula_.uses("xyz"[cells.p]) && !formula_.uses("xyz"[cells.q])) return;
    over_face_.emplace(device, formula_,
                       std::array{FormulaAxis{cells.p, cells.along(cells.p, cells.pitch)},
                                  FormulaAxis{cells.q, cells.along(cells.q, cells.rows)},
                                  FormulaAxis{cells.normal, {cells.plane}}},
                       scale_, lowest_, true);
    const auto values = static_cast<std::size_t>(cells.pitch * cells.rows * (over_time() ? most_sweeps : 1));
    values_ = Buffer(device, values * sizeof(T));
  }

  bool over_face() const { return over_face_.has_value(); }
  bool over_time() const { return formula_.uses('t'); }
  const Expression& formula() const { return formula_; }

  T value(const Vector3& at, double t) const {
    return static_cast<T>(scale_ * formula_(at[0], at[1], at[2], t));
  }
  bool is_sound_at(const Vector3& at, double t) const { return is_sound(value(at, t), lowest_); }
  std::optional<double> unsound_at() const { return over_face_ ? over_face_->unsound_at() : std::nullopt; }
  // Returns those of the cell (0, 0), at the first time.
  const T* evaluate(const FaceCells& cells, std::span<const double> times, Stream stream) {
    T* const values = values_.template as<T>();
    const Box all{{0, 0, 0}, {cells.pitch, cells.rows, 1}};
    const Index of_time = cells.pitch * cells.rows;
    over_face_->evaluate(all, times, {values, cells.pitch, of_time, of_time}, stream);
    return values + cells.first_inside;
  }

 private:
  Expression formula_;
  double scale_, lowest_;
  std::optional<FormulaValues<T>> over_face_;
  Buffer values_;  // [sweep][q][p]
};

// a and slope of the cells of a face of a body of several materials, in the order of Boundary::b_field,
// ghosts included.
template <class T>
class BoundaryConditions<T>::BodyFace {
 public:
  BodyFace(const Config& config, Device& device, Face f, const FaceCells& cells)
      : device_(device),
        places_(cells),
        varies_(has_varying_coefficient(config, f)),
        size_(size_at(config, f)),
        law_(face_law(config, f)) {
    const MaterialClasses all = material_classes(config);
    const double h = spacing(config)[cells.normal], k_first = conductivity(config);
    for (std::size_t i = 0; i < all.count(); ++i) {
      const double k = all.classes[i].conductivity[cells.normal];
      conductivity_.push_back(k);
      if (all.classes[i].is_void()) {  // insulated, whatever the boundary is
        by_class_.push_back({1, 0, 0});
        continue;
      }
      const double relative = config.grid.is_graded()
                                  ? face_conductance(config, all, cells.normal, i, i) / (k_first / (h * h))
                                  : k / k_first;
      by_class_.push_back(of_law(boundary_law(config, f, k), relative));
    }
    paint(config, f, all);
  }

  bool over_time() const { return law_.coefficient.uses('t'); }
  std::vector<CellBoundary<T>> at(double time) const {
    std::vector<CellBoundary<T>> found;
    const bool over_face =
        law_.held || law_.coefficient.uses("xyz"[places_.p]) || law_.coefficient.uses("xyz"[places_.q]);
    const auto law_of = [&](std::size_t own, Index p, Index q) {
      const CellBoundary<T>& by_class = by_class_[own];
      if (!varies_ || by_class.conductance == 0) return by_class;
      return of_law(law_.at(conductivity_[own], size_, places_.place(p, q), time), by_class.conductance);
    };
    std::vector<CellBoundary<T>> everywhere;
    for (std::size_t own = 0; !over_face && own < by_class_.size(); ++own)
      everywhere.push_back(law_of(own, 0, 0));
    for (Index q = 0; q < places_.rows; ++q)
      for (Index p = 0; p < places_.pitch; ++p) {
        const std::size_t own = classes_[found.size()];
        found.push_back(over_face ? law_of(own, p, q) : everywhere[own]);
      }
    return found;
  }
  void copy(double time, Buffer& to, Stream stream) const {
    const std::vector<CellBoundary<T>> now = at(time);
    device_.copy(to.data(), now.data(), to.bytes(), stream);
    device_.synchronize(stream);
  }

 private:
  static CellBoundary<T> of_law(const BoundaryLaw& law, double conductance) {
    return {static_cast<T>(law.a), static_cast<T>(law.slope), conductance};
  }
  void paint(const Config& config, Face f, const MaterialClasses& all) {
    MaterialPainter painter(config);
    Int3 cell, end = config.grid.cells;
    cell[places_.normal] = is_max(f) ? end[places_.normal] - 1 : 0;
    end[places_.normal] = cell[places_.normal] + 1;
    painter.load({cell, end});
    for (Index q = 0; q < places_.rows; ++q)
      for (Index p = 0; p < places_.pitch; ++p) {
        cell[places_.p] = places_.cell(places_.p, p);
        cell[places_.q] = places_.cell(places_.q, q);
        classes_.push_back(static_cast<std::uint8_t>(all.of(painter.painted(cell), cell)));
      }
  }

  Device& device_;
  FaceCells places_;
  bool varies_;
  double size_;  // m, of the cells along the normal
  FaceLaw law_;
  std::vector<double> conductivity_;       // by class, W/(m K), along the normal
  std::vector<CellBoundary<T>> by_class_;  // of a law that does not vary; a conductance of 0: a void
  std::vector<std::uint8_t> classes_;
};

namespace {

// Where all cells of a face have one a and one slope, these go into the boundary, for kernels that read no
// more, and cells keep a slope of 1: the same bits.
template <class T>
bool make_one(Boundary<T>& boundary, std::vector<CellBoundary<T>>& cells) {
  const CellBoundary<T> first = cells.front();
  if (!std::ranges::all_of(
          cells, [&](const CellBoundary<T>& each) { return each.a == first.a && each.slope == first.slope; }))
    return false;
  boundary.a = first.a;
  for (T& b : boundary.b.sweep) b = first.slope * b;
  for (CellBoundary<T>& each : cells) each.slope = 1;
  return true;
}

constexpr double no_bound = -std::numeric_limits<double>::infinity();

}  // namespace

// b over one face of the block, and a where its coefficient varies.
template <class T>
class BoundaryConditions<T>::FaceValues {
 public:
  FaceValues(const Config& config, Device& device, Face f, Box subdomain, int ghosts, int most_sweeps)
      : face_(f), cells_(config, f, subdomain, ghosts), lowest_(lowest_temperature(config)) {
    key_ = config.at(fmt::format("boundaries.{}", face_names[static_cast<int>(f)]));
    laws_ = laws_of(config, f);
    for (PlacedLaw& law : laws_) {
      value_keys_.push_back(config.at(law.value_key()));
      coefficient_keys_.push_back(config.at(law.key + ".coefficient"));
    }
    add_formulas(config, device, most_sweeps);
  }

  Face on() const { return face_; }
  bool over_time() const {
    return std::ranges::any_of(formulas_, [](const auto& each) { return each.over_time(); });
  }
  bool is_number() const {
    return std::ranges::all_of(formulas_, [](const auto& each) { return each.formula().is_constant(); });
  }

  void update(std::span<const double> times, Stream stream, Boundary<T>& boundary) {
    FaceFormula<T>& b = formulas_[0];
    if (b.over_face()) {
      boundary.pitch = cells_.pitch;
      boundary.sweep_pitch = times.size() > 1 ? cells_.pitch * cells_.rows : 0;
      boundary.b_field = b.evaluate(cells_, times, stream);
    } else {
      boundary.b = number_at(b, times.front());
      for (std::size_t i = 1; i < times.size(); ++i) boundary.b.sweep[i] = number_at(b, times[i]);
    }
    if (formulas_.size() == 1) return;
    FaceFormula<T>& a = formulas_[1];  // for kernels of one sweep per launch
    if (!a.over_face()) return void(boundary.a = number_at(a, times.front()));
    boundary.pitch = cells_.pitch;
    boundary.a_field = a.evaluate(cells_, times.first(1), stream);
  }
  void check() const {
    for (const FaceFormula<T>& each : formulas_)
      if (const auto time = each.unsound_at()) throw_unsound(each, *time);
  }

 private:
  void add_formulas(const Config& config, Device& device, int most_sweeps) {
    const bool several = has_several_materials(config);  // whose slope, and a, is by cell
    const auto add = [&](const Expression& formula, double scale, double lowest) {
      formulas_.emplace_back(device, cells_, formula, scale, lowest, most_sweeps);
    };
    const BoundaryConfig& boundary = config.boundaries[static_cast<int>(face_)];
    if (is_plain(boundary)) {
      if (!several) scale_ = boundary_law(config, face_).slope;
      return add(boundary.value, scale_, boundary.has_temperature() ? lowest_ : no_bound);
    }
    const FaceLaw law = face_law(config, face_);
    if (!law.varies()) return add(law.value(), several ? 1 : boundary_law(config, face_).slope, no_bound);
    const double k = conductivity(config), h = size_at(config, face_);
    add(several ? law.value() : law.b(k, h), 1, no_bound);
    add(law.a(k, h), 1, no_bound);  // of several materials, which cell_boundaries() serves, for check() alone
  }

  T number_at(const FaceFormula<T>& formula, double t) const {
    const Vector3 at = cells_.place(0, 0);
    if (!formula.is_sound_at(at, t)) throw_unsound(formula, t);
    return formula.value(at, t);
  }

  // The first of them.
  [[noreturn]] void throw_unsound(const FaceFormula<T>& formula, double t) const {
    for (Index q = 0; q < cells_.rows; ++q)
      for (Index p = 0; p < cells_.pitch; ++p) {
        const Vector3 at = cells_.place(p, q);
        if (formula.is_sound_at(at, t)) continue;
        Int3 where;
        where[cells_.normal] = is_max(face_) ? cells_.domain[cells_.normal] - 1 : 0;
        where[cells_.p] = cells_.cell(cells_.p, p);
        where[cells_.q] = cells_.cell(cells_.q, q);
        for (std::size_t i = 0; i < laws_.size(); ++i) throw_if_unsound(i, where, at, t);
        const Expression& sum = formulas_[0].formula();
        throw not_finite(key_, sum.text(), sum(at[0], at[1], at[2], t), where, at, t);
      }
    throw Error(ExitCode::internal, "a boundary value changed while it was looked at; please report it");
  }
  void throw_if_unsound(std::size_t i, Int3 where, const Vector3& at, double t) const {
    const PlacedLaw& law = laws_[i];
    const auto here = [&](const Expression& each) { return each(at[0], at[1], at[2], t); };
    if (!(here(law.share) > 0)) return;
    const double value = here(law.value), H = here(law.coefficient);
    if (!std::isfinite(static_cast<T>(scale_ * value)))
      throw not_finite(value_keys_[i], law.value.text(), value, where, at, t);
    if (law.has_temperature() && value < lowest_) throw too_cold(value_keys_[i], value, where, at, t);
    if (law.kind != BoundaryKind::convection) return;
    if (!std::isfinite(H)) throw not_finite(coefficient_keys_[i], law.coefficient.text(), H, where, at, t);
    if (H < 0)
      throw too_low(coefficient_keys_[i], H, "W/(m^2 K)", where, at, t,
                    "negative; give a coefficient of 0 or more");
  }

  Face face_;
  FaceCells cells_;
  double lowest_;     // K, of temperatures
  double scale_ = 1;  // of the value of the only law
  std::string key_;   // of the face, as Config::at places it
  std::vector<PlacedLaw> laws_;
  std::vector<std::string> value_keys_, coefficient_keys_;  // of these, likewise
  std::vector<FaceFormula<T>> formulas_;                    // of b; and of a
};

template <class T>
BoundaryConditions<T>::BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                                          const std::array<bool, face_count>& is_boundary, int most_sweeps) {
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  for (int i = 0; i < face_count; ++i) {
    if (!is_boundary[i]) continue;
    const auto f = static_cast<Face>(i);
    Boundary<T>& boundary = boundaries_.faces[i];
    boundary.is_boundary = true;
    boundary.a = static_cast<T>(boundary_law(config, f).a);
    const auto values = std::make_shared<FaceValues>(config, device, f, subdomain, ghosts, most_sweeps);
    values->update(std::array{0.0}, stream, boundary);
    if (!values->is_number()) varying_.push_back(values);
    if (!has_several_materials(config)) continue;
    const FaceCells place(config, f, subdomain, ghosts);
    const auto face = std::make_shared<const BodyFace>(config, device, f, place);
    std::vector<CellBoundary<T>> cells = face->at(0);
    by_cell_[i] = boundary.differs_by_cell = !values->is_number() || !make_one(boundary, cells);
    of_cells_[i] = copied_to(device, cells);
    if (face->over_time()) renewed_[i] = face;
    boundary.cells_pitch = place.pitch;
    boundary.cells = of_cells_[i].template as<CellBoundary<T>>() + place.first_inside;
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
  for (std::size_t i = 0; i < face_count; ++i)
    if (renewed_[i]) renewed_[i]->copy(times.front(), of_cells_[i], stream);
}

template <class T>
void BoundaryConditions<T>::check() const {
  for (const auto& values : varying_) values->check();
}

template class BoundaryConditions<float>;
template class BoundaryConditions<double>;

}  // namespace isotherm
