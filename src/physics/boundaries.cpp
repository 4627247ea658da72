#include "physics/boundaries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "config/boundary_laws.hpp"
#include "physics/cells.hpp"
#include "physics/formula_values.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {

// Positions of the cells of a face, ghosts included: a ghost takes the value of the cell across a periodic
// face, or of the nearest cell.
struct FaceCells {
  int normal, p, q;  // axes; p and q are the indices of a face in kernels/stencil.hpp
  Int3 first;        // global cell of the index (0, 0)
  Int3 domain;       // its cells
  Index layer;       // the cells at the face, along the normal
  std::array<bool, 3> periodic;
  GridAxes axes;
  double plane;  // m, position of the boundary
  Index pitch, rows, first_inside;

  FaceCells(const Config& config, Face f, Box subdomain, int ghosts)
      : normal(axis_of(f)),
        p(face_axes(f)[0]),
        q(face_axes(f)[1]),
        first(subdomain.lo - Int3{ghosts, ghosts, ghosts}),
        domain(config.grid.cells),
        layer(is_max(f) ? domain[normal] - 1 : 0),
        periodic(periodic_axes(config)),
        axes(config),
        plane(face_position(config, f)),
        pitch(subdomain.extent()[p] + 2 * ghosts),
        rows(subdomain.extent()[q] + 2 * ghosts),
        first_inside(ghosts + ghosts * pitch) {}

  Index cell(int axis, Index i) const {  // global
    return cell_like(first[axis] + i, domain[axis], periodic[axis]);
  }
  Int3 cell(Index i, Index j) const {
    Int3 at;
    at[normal] = layer;
    at[p] = cell(p, i);
    at[q] = cell(q, j);
    return at;
  }
  Vector3 place(Index i, Index j) const {
    Vector3 at = axes.centre(cell(i, j));
    at[normal] = plane;
    return at;
  }
  std::vector<double> along(int axis, Index count) const {
    std::vector<double> at;
    for (Index i = 0; i < count; ++i) at.push_back(axes[axis].centre(cell(axis, i)));
    return at;
  }
};

namespace {

// If all cells of a face have the same a and slope, stores these in the boundary, for kernels that read
// nothing else; the cells then have a slope of 1. Ghosts have the same bits.
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

// `scale`: the factor of the law's value; their product is stored as T.
template <class T>
void throw_if_unsound(const Config& config, const PlacedLaw& law, double scale, Int3 where, const Vector3& at,
                      double t) {
  const std::string value_key = config.at(law.value_key()), H_key = config.at(law.key + ".coefficient");
  const auto here = [&](const Expression& each) { return each(at[0], at[1], at[2], t); };
  if (!(here(law.share) > 0)) return;
  const double value = here(law.value), H = here(law.coefficient);
  if (!std::isfinite(static_cast<T>(scale * value)))
    throw not_finite(value_key, law.value.text(), value, where, at, t);
  if (law.has_temperature() && value < lowest_temperature(config))
    throw too_cold(value_key, value, where, at, t);
  if (law.kind != BoundaryKind::convection) return;
  if (!std::isfinite(H)) throw not_finite(H_key, law.coefficient.text(), H, where, at, t);
  if (H < 0) throw too_low(H_key, H, "W/(m^2 K)", where, at, t, "negative; give a coefficient of 0 or more");
}

}  // namespace

void check_boundaries(const Config& config, std::span<const double> times) {
  const auto is_of_time = [](const LawConfig& law) {
    return (law.value.uses('t') || law.coefficient.uses('t')) && !law.value.uses_place() &&
           !law.coefficient.uses_place();
  };
  for (const Face face : all_faces) {
    const FaceCells cells(config, face, {{0, 0, 0}, config.grid.cells}, 0);
    for (const PlacedLaw& law : laws_of(config, face)) {
      if (!is_of_time(law)) continue;
      Index first = 0;  // of the cells where it applies
      const auto place = [&] { return cells.place(first % cells.pitch, first / cells.pitch); };
      const auto applies = [&](const Vector3& at) { return law.share(at[0], at[1], at[2]) > 0; };
      while (first < cells.pitch * cells.rows && !applies(place())) ++first;
      if (first == cells.pitch * cells.rows) continue;
      const Int3 cell = cells.cell(first % cells.pitch, first / cells.pitch);
      for (const double t : times) throw_if_unsound<double>(config, law, 1, cell, place(), t);
    }
  }
}

// b over one face of the subdomain, and a if its coefficient varies; for several materials a and slope of
// each cell.
template <class T>
class BoundaryConditions<T>::FaceValues {
 public:
  FaceValues(const Config& config, Device& device, Face f, Box subdomain, int ghosts, int most_sweeps)
      : config_(config),
        device_(device),
        face_(f),
        cells_(config, f, subdomain, ghosts),
        law_(face_law(config, f)),
        varies_(has_varying_coefficient(config, f)) {
    add_formulas(most_sweeps);
    if (has_several_materials(config)) find_classes();
  }

  Face on() const { return face_; }
  bool over_time() const {
    return std::ranges::any_of(formulas_, [](const auto& each) { return each.formula.uses('t'); });
  }

  // Sets up the boundary with the values at t = 0. Returns whether a and b differ by cell, for several
  // materials.
  bool start(Stream stream, Boundary<T>& boundary) {
    boundary.is_boundary = true;
    boundary.a = static_cast<T>(boundary_law(config_, face_).a);
    update(std::array{0.0}, stream, boundary);
    if (classes_.empty()) return false;
    std::vector<CellBoundary<T>> cells = cells_at(0);
    const bool is_number =
        std::ranges::all_of(formulas_, [](const auto& each) { return each.formula.is_constant(); });
    const bool by_cell = !is_number || !make_one(boundary, cells);
    of_cells_ = copied_to(device_, cells);
    boundary.cells_pitch = cells_.pitch;
    boundary.cells = of_cells_.template as<CellBoundary<T>>() + cells_.first_inside;
    return by_cell;
  }
  void update(std::span<const double> times, Stream stream, Boundary<T>& boundary) {
    if (of_cells_.bytes() > 0 && law_.coefficient.uses('t')) {
      const std::vector<CellBoundary<T>> now = cells_at(times.front());
      device_.copy(of_cells_.data(), now.data(), of_cells_.bytes(), stream);
      device_.synchronize(stream);
    }
    FaceFormula& b = formulas_[0];
    if (b.over_face) {
      boundary.pitch = cells_.pitch;
      boundary.sweep_pitch = times.size() > 1 ? cells_.pitch * cells_.rows : 0;
      boundary.b_field = evaluate(b, times, stream);
    } else {
      boundary.b = number_at(b, times.front());
      for (std::size_t i = 1; i < times.size(); ++i) boundary.b.sweep[i] = number_at(b, times[i]);
    }
    if (formulas_.size() == 1) return;
    FaceFormula& a = formulas_[1];  // for kernels of one sweep per launch
    if (!a.over_face) return void(boundary.a = number_at(a, times.front()));
    boundary.pitch = cells_.pitch;
    boundary.a_field = evaluate(a, times.first(1), stream);
  }
  void check() const {
    for (const FaceFormula& each : formulas_)
      if (const auto time = each.over_face ? each.over_face->unsound_at() : std::nullopt)
        throw_unsound(each, *time);
  }

 private:
  // a or b of the cells: one number, or values on the device. `scale` times the formula; `lowest`: the least
  // sound value.
  struct FaceFormula {
    Expression formula;
    double scale, lowest;
    std::optional<FormulaValues<T>> over_face{};
    Buffer values{};  // [sweep][q][p]

    T value(const Vector3& at, double t) const {
      return static_cast<T>(scale * formula(at[0], at[1], at[2], t));
    }
    bool is_sound_at(const Vector3& at, double t) const { return is_sound(value(at, t), lowest); }
  };
  // Returns the address for cell (0, 0) at the first time.
  const T* evaluate(FaceFormula& formula, std::span<const double> times, Stream stream) {
    T* const values = formula.values.template as<T>();
    const Box all{{0, 0, 0}, {cells_.pitch, cells_.rows, 1}};
    const Index of_time = cells_.pitch * cells_.rows;
    formula.over_face->evaluate(all, times, {values, cells_.pitch, of_time, of_time}, stream);
    return values + cells_.first_inside;
  }

  void add_formulas(int most_sweeps) {
    const bool several = has_several_materials(config_);  // then slope and a are by cell
    const auto add = [&](const Expression& formula, double scale, double lowest) {
      FaceFormula& added = formulas_.emplace_back(FaceFormula{formula, scale, lowest});
      if (!formula.uses("xyz"[cells_.p]) && !formula.uses("xyz"[cells_.q])) return;
      added.over_face.emplace(device_, formula,
                              std::array{FormulaAxis{cells_.p, cells_.along(cells_.p, cells_.pitch)},
                                         FormulaAxis{cells_.q, cells_.along(cells_.q, cells_.rows)},
                                         FormulaAxis{cells_.normal, {cells_.plane}}},
                              scale, lowest, true);
      const Index values = cells_.pitch * cells_.rows * (formula.uses('t') ? most_sweeps : 1);
      added.values = Buffer(device_, static_cast<std::size_t>(values) * sizeof(T));
    };
    const BoundaryConfig& boundary = boundary_of(config_, face_);
    if (is_plain(boundary)) {
      if (!several) scale_ = boundary_law(config_, face_).slope;
      return add(boundary.value, scale_, boundary.has_temperature() ? lowest_temperature(config_) : no_bound);
    }
    if (!varies_) return add(law_.value(), several ? 1 : boundary_law(config_, face_).slope, no_bound);
    const double k = conductivity(config_), h = size_at(config_, face_);
    add(several ? law_.value() : law_.b(k, h), 1, no_bound);
    add(law_.a(k, h), 1, no_bound);  // several materials: cells_at() has a, this is for check()
  }

  void find_classes() {
    all_ = material_classes(config_);
    const double h = spacing(config_)[cells_.normal], k_first = conductivity(config_);
    for (std::size_t i = 0; i < all_.count(); ++i) {
      const double k = all_.classes[i].conductivity[cells_.normal];
      if (all_.classes[i].is_void()) {  // insulated, whatever the boundary is
        by_class_.push_back({1, 0, 0});
        continue;
      }
      const double relative = config_.grid.is_graded()
                                  ? face_conductance(config_, all_, cells_.normal, i, i) / (k_first / (h * h))
                                  : k / k_first;
      by_class_.push_back(of_law(boundary_law(config_, face_, k), relative));
    }
    RegionMaterials regions(config_);
    regions.load(layer_at(face_, {{0, 0, 0}, cells_.domain}));
    for (Index q = 0; q < cells_.rows; ++q)
      for (Index p = 0; p < cells_.pitch; ++p) {
        const Int3 cell = cells_.cell(p, q);
        classes_.push_back(static_cast<std::uint8_t>(all_.of(regions.of_loaded(cell), cell)));
      }
  }
  static CellBoundary<T> of_law(const BoundaryLaw& law, double conductance) {
    return {static_cast<T>(law.a), static_cast<T>(law.slope), conductance};
  }

  // a and slope of the cells, in the order of Boundary::b_field, ghosts included.
  std::vector<CellBoundary<T>> cells_at(double time) const {
    std::vector<CellBoundary<T>> found;
    const bool over_face =
        law_.held || law_.coefficient.uses("xyz"[cells_.p]) || law_.coefficient.uses("xyz"[cells_.q]);
    const auto law_of = [&, size = size_at(config_, face_)](std::size_t own, Index p, Index q) {
      const CellBoundary<T>& by_class = by_class_[own];
      if (!varies_ || by_class.conductance == 0) return by_class;
      return of_law(law_.at(all_.classes[own].conductivity[cells_.normal], size, cells_.place(p, q), time),
                    by_class.conductance);
    };
    std::vector<CellBoundary<T>> everywhere;
    for (std::size_t own = 0; !over_face && own < by_class_.size(); ++own)
      everywhere.push_back(law_of(own, 0, 0));
    for (Index q = 0; q < cells_.rows; ++q)
      for (Index p = 0; p < cells_.pitch; ++p) {
        const std::size_t own = classes_[found.size()];
        found.push_back(over_face ? law_of(own, p, q) : everywhere[own]);
      }
    return found;
  }

  T number_at(const FaceFormula& formula, double t) const {
    const Vector3 at = cells_.place(0, 0);
    if (!formula.is_sound_at(at, t)) throw_unsound(formula, t);
    return formula.value(at, t);
  }

  // Throws for the first cell whose value is not sound.
  [[noreturn]] void throw_unsound(const FaceFormula& formula, double t) const {
    for (Index q = 0; q < cells_.rows; ++q)
      for (Index p = 0; p < cells_.pitch; ++p) {
        const Vector3 at = cells_.place(p, q);
        if (formula.is_sound_at(at, t)) continue;
        const Int3 where = cells_.cell(p, q);
        for (const PlacedLaw& law : laws_of(config_, face_))
          throw_if_unsound<T>(config_, law, scale_, where, at, t);
        const Expression& sum = formulas_[0].formula;
        throw not_finite(config_.at(boundary_key(face_)), sum.text(), sum(at[0], at[1], at[2], t), where, at,
                         t);
      }
    throw Error(ExitCode::internal, "a boundary value changed while it was evaluated; please report it");
  }

  const Config& config_;
  Device& device_;
  Face face_;
  FaceCells cells_;
  double scale_ = 1;  // of the value of the only law
  FaceLaw law_;       // their sum
  bool varies_;
  std::vector<FaceFormula> formulas_;  // of b; and of a
  // Of a body of several materials:
  MaterialClasses all_;
  std::vector<CellBoundary<T>> by_class_;  // of a law that does not vary; a conductance of 0: a void
  std::vector<std::uint8_t> classes_;      // of the cells
  Buffer of_cells_;                        // Boundary::cells
};

template <class T>
BoundaryConditions<T>::BoundaryConditions(const Config& config, Device& device, Box subdomain, int ghosts,
                                          const std::array<bool, face_count>& is_boundary, int most_sweeps) {
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  for (int i = 0; i < face_count; ++i) {
    if (!is_boundary[i]) continue;
    const auto f = static_cast<Face>(i);
    faces_.push_back(std::make_shared<FaceValues>(config, device, f, subdomain, ghosts, most_sweeps));
    Boundary<T>& boundary = boundaries_.faces[i];
    by_cell_[i] = boundary.differs_by_cell = faces_.back()->start(stream, boundary);
  }
  device.synchronize(stream.get());
  check();
}

template <class T>
bool BoundaryConditions<T>::vary_in_time() const {
  return std::ranges::any_of(faces_, [](const auto& values) { return values->over_time(); });
}

template <class T>
void BoundaryConditions<T>::update(std::span<const double> times, Stream stream) {
  check();
  for (const auto& values : faces_)
    if (values->over_time()) values->update(times, stream, boundaries_.faces[static_cast<int>(values->on())]);
}

template <class T>
void BoundaryConditions<T>::check() const {
  for (const auto& values : faces_) values->check();
}

template class BoundaryConditions<float>;
template class BoundaryConditions<double>;

}  // namespace isotherm
