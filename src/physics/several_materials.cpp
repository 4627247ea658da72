// For several materials: the limits of the time step, and the rate at which plain sweeps reduce errors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/grid_axes.hpp"
#include "config/materials.hpp"
#include "physics/operator.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {
namespace {

// The classes of a cell and of its six neighbours, by Face.
struct Neighbourhood {
  std::size_t own;
  std::array<std::size_t, face_count> beyond;
};
using Ends = std::array<bool, face_count>;  // does the domain end there?

// The largest sums over the faces of a cell, W/(m^3 K), by class; negative if no cell has the class.
struct LargestSums {
  std::vector<double> stable, monotone;

  explicit LargestSums(std::size_t classes) : stable(classes, -1), monotone(classes, -1) {}
  void add(const LargestSums& other) {
    for (std::size_t i = 0; i < stable.size(); ++i) {
      stable[i] = std::max(stable[i], other.stable[i]);
      monotone[i] = std::max(monotone[i], other.monotone[i]);
    }
  }
};

// The largest 1 - a over the cells of a face, for each class.
std::vector<double> at_end(const Config& config, const MaterialClasses& all, Face f) {
  const FaceLaw law = face_law(config, f);
  const int normal = axis_of(f);
  std::vector<double> most;
  if (!law.varies() || law.coefficient.uses('t')) {
    for (const MaterialClass& own : all.classes)
      most.push_back(1 - boundary_law(config, f, own.conductivity[normal]).a);
    return most;
  }
  most.resize(all.count());
  const GridAxes axes(config);
  const Box layer = layer_at(f, {{}, config.grid.cells});
  RegionMaterials regions(config);
  regions.load(layer);
  for_each_cell(layer, [&](Int3 cell) {
    const std::uint8_t material = regions.of_loaded(cell);
    if (material == no_material) return;  // is reported by the checks
    const std::size_t own = all.of(material, cell);
    const Vector3 at = axes.centre(cell);  // a face's formula does not use the axis along its normal
    const double k = all.classes[own].conductivity[normal];
    if (k > 0) most[own] = std::max(most[own], 1 - law.at(k, size_at(config, f), at, 0).a);
  });
  return most;
}

// Sums over the faces of a cell.
class FaceSums {
 public:
  FaceSums(const Config& config, const MaterialClasses& all) : count_(all.count()) {
    for (int axis = 0; axis < 3; ++axis) {
      OfAxis& along = axes_[axis];
      along.is_periodic = periodic_axes(config)[axis];
      along.is_alone = along.is_periodic && config.grid.cells[axis] == 1;
      for (std::size_t i = 0; i < count_; ++i) {
        const double own = face_conductance(config, all, axis, i, i);
        along.own.push_back(own);
        for (std::size_t j = 0; j < count_; ++j) {
          along.conductance.push_back(face_conductance(config, all, axis, i, j));
          along.share.push_back(along.conductance.back() / own);
        }
      }
      for (int side = 0; side < 2 && !along.is_periodic; ++side)
        along.at_end[side] = at_end(config, all, face(axis, side == 1));
    }
  }

  // Gershgorin's circle of a cell: the centre is the sum over all faces, the radius the sum over faces to
  // cells. So half of (1 - a) counts for stability, and an insulated face counts nothing.
  void add(const Neighbourhood& cell, const Ends& ends, LargestSums& largest) const {
    double stable = 0, monotone = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const OfAxis& along = axes_[axis];
      if (along.is_alone) continue;
      const double own = along.own[cell.own];
      double share = 0, exchanged = 0;
      for (std::size_t high = 0; high < 2; ++high) {
        const std::size_t f = 2 * axis + high, beyond = cell.own * count_ + cell.beyond[f];
        const bool ends_here = ends[f] && !along.is_periodic;
        share += ends_here ? along.at_end[high][cell.own] : along.share[beyond];
        exchanged += ends_here ? own * along.at_end[high][cell.own] / 2 : along.conductance[beyond];
      }
      monotone += own * share;
      stable += exchanged;
    }
    largest.stable[cell.own] = std::max(largest.stable[cell.own], stable);
    largest.monotone[cell.own] = std::max(largest.monotone[cell.own], monotone);
  }
  // For a cell that is at no end. Both sums are equal up to rounding. Most do not exceed the largest sums.
  void add(const Neighbourhood& cell, LargestSums& largest) const {
    constexpr double rounding = 1e-9;
    double stable = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double* const to = &axes_[axis].conductance[cell.own * count_];
      stable += to[cell.beyond[2 * axis]] + to[cell.beyond[2 * axis + 1]];
    }
    if ((1 + rounding) * stable >= std::min(largest.stable[cell.own], largest.monotone[cell.own]))
      add(cell, {}, largest);
  }
  // The sum for a cell among its own class.
  double alone(std::size_t own) const {
    return 2 * axes_[0].own[own] + 2 * axes_[1].own[own] + 2 * axes_[2].own[own];
  }

 private:
  struct OfAxis {
    bool is_periodic = false, is_alone = false;  // alone: one cell, that is its own neighbour
    std::vector<double> own;                     // between cells of a class
    std::vector<double> conductance, share;      // [class][class beyond]; share: over `own`
    std::array<std::vector<double>, 2> at_end;   // 1 - a of the boundary
  };
  std::size_t count_;
  std::array<OfAxis, 3> axes_;
};

// Skips eight cells whose neighbourhoods equal those of the eight cells before them: they add nothing.
void add_row(const FaceSums& sums, FieldView<const std::uint8_t> classes, Box slab, Int3 at, Int3 cells,
             LargestSums& largest) {
  constexpr std::size_t eight = sizeof(std::uint64_t);
  const std::uint8_t* const own = &classes(at - slab.lo);
  const Index py = classes.pitch_y, pz = classes.pitch_z;
  const std::array rows{own, own - 1, own + 1, own - py, own + py, own - pz, own + pz};
  const auto at_x = [&](Index x) {
    Neighbourhood cell{own[x], {}};
    for (std::size_t f = 0; f < face_count; ++f) cell.beyond[f] = rows[f + 1][x];
    return cell;
  };
  const bool is_inside = at.y > 0 && at.y + 1 < cells.y && at.z > 0 && at.z + 1 < cells.z;
  const auto add = [&](Index x) {
    if (is_inside && x > 0 && x + 1 < cells.x) return sums.add(at_x(x), largest);
    sums.add(at_x(x),
             {x == 0, x + 1 == cells.x, at.y == 0, at.y + 1 == cells.y, at.z == 0, at.z + 1 == cells.z},
             largest);
  };
  std::array<std::uint64_t, face_count + 1> now;
  std::optional<decltype(now)> before;
  add(0);
  Index x = 1;
  for (; x + static_cast<Index>(eight) < cells.x; x += eight) {
    for (std::size_t i = 0; i < rows.size(); ++i) std::memcpy(&now[i], rows[i] + x, eight);
    if (before == now) continue;
    before = now;
    for (Index i = x; i < x + static_cast<Index>(eight); ++i) add(i);
  }
  for (; x < cells.x; ++x) add(x);
}

// `classes`: those of the slab, with one more cell on each side.
void add_slab(const FaceSums& sums, FieldView<const std::uint8_t> classes, Box slab, Int3 cells,
              LargestSums& largest) {
#pragma omp parallel
  {
    LargestSums mine(largest.stable.size());
#pragma omp for collapse(2) schedule(static) nowait
    for (Index z = slab.lo.z; z < slab.hi.z; ++z)
      for (Index y = slab.lo.y; y < slab.hi.y; ++y) add_row(sums, classes, slab, {0, y, z}, cells, mine);
#pragma omp critical(isotherm_step_limits)
    largest.add(mine);
  }
}

// Does a plane of the domain, with the planes on both sides, equal the one before?
bool repeats(const RegionMaterials& regions, const MaterialClasses& all, Index z, Index count) {
  if (z < 2 || z + 1 >= count) return false;
  for (Index i = z - 1; i <= z + 1; ++i)
    if (!regions.repeats(i) || all.size_number(2, i) != all.size_number(2, i - 1)) return false;
  return true;
}

}  // namespace

StepLimits step_limits_of(const Config& config, Box cells) {
  constexpr Index cells_of_slab = Index{32} << 20;
  const MaterialClasses all = material_classes(config);
  const FaceSums sums(config, all);
  LargestSums largest(all.count());
  RegionMaterials regions(config);
  const Int3 domain = config.grid.cells, n = cells.grown(1).extent();
  const Index most_planes = std::max<Index>(1, cells_of_slab / (n.x * n.y));
  for (Box slab = cells; slab.lo.z < cells.hi.z; slab.lo.z = slab.hi.z) {
    slab.hi.z = slab.lo.z + 1;
    if (repeats(regions, all, slab.lo.z, domain.z)) continue;
    const Index end = std::min(cells.hi.z, slab.lo.z + most_planes);
    while (slab.hi.z < end && !repeats(regions, all, slab.hi.z, domain.z)) ++slab.hi.z;
    std::vector<std::uint8_t> memory(slab.grown(1).cells());
    const FieldView<std::uint8_t> classes{&memory[1 + n.x * (1 + n.y)], n.x, n.x * n.y, slab.extent(), 1};
    assign_classes(regions, all, slab, classes);
    add_slab(sums, classes, slab, domain, largest);
  }
  StepLimits limits;
  for (std::size_t i = 0; i < all.count(); ++i) {
    const MaterialClass& own = all.classes[i];
    if (own.is_void() || largest.stable[i] < 0) continue;
    const double heat = own.heat_capacity * volume_ratio(config, own);
    if (largest.stable[i] > 0) limits.stable = std::min(limits.stable, heat / largest.stable[i]);
    if (largest.monotone[i] > 0) limits.monotone = std::min(limits.monotone, heat / largest.monotone[i]);
    limits.alone = std::min(limits.alone, heat / sums.alone(i));
  }
  return limits;
}

namespace {

// Samples of the body: every cell or, of more than 32^3 cells, the middle cells of equal parts. The
// resistances of all cells between two samples add up, so that no layer or contact is missed. A boundary has
// its mean over the cells of a sample. Conductances are in W/(m^3 K), for the volume of a fine cell.
class SampledBody {
 public:
  explicit SampledBody(const Config& config)
      : config_(config), all_(material_classes(config)), axes_(config), n_(config.grid.cells) {
    constexpr Index most_samples = 32 * 32 * 32;
    const auto at_most = [&](Index along_axis) {
      return Int3{std::min(n_.x, along_axis), std::min(n_.y, along_axis), std::min(n_.z, along_axis)};
    };
    Index most = 1;
    while (at_most(most) != n_ && at_most(most + 1).product() <= most_samples) ++most;
    m_ = at_most(most);
    const auto count = static_cast<std::size_t>(m_.product());
    ground_.resize(count);
    diagonal_.resize(count);
    for (int axis = 0; axis < 3; ++axis) {
      next_[axis].resize(count);
      for (int side = 0; side < 2; ++side)
        if (!is_periodic(axis)) laws_[2 * axis + side] = face_law(config, face(axis, side == 1));
    }
    RegionMaterials regions(config);
    for (int axis = 0; axis < 3; ++axis) add_lines(regions, axis);
    is_held_ = std::ranges::any_of(ground_, [](double held) { return held > 0; });
    set_apart_lone_samples();
  }

  bool is_whole() const { return m_ == n_; }
  bool is_held() const { return is_held_; }
  const std::vector<double>& diagonal() const { return diagonal_; }  // the divisors of a sweep
  // Stores the heat that samples lose at these temperatures.
  void apply(const std::vector<double>& temperature, std::vector<double>& lost) const {
    for (std::size_t i = 0; i < lost.size(); ++i) lost[i] = ground_[i] * temperature[i];
    for (int axis = 0; axis < 3; ++axis)
      for_each_pair(axis, [&](Index i, Index j) {
        const double flow = next_[axis][i] * (temperature[i] - temperature[j]);
        lost[i] += flow;
        lost[j] -= flow;
      });
  }

 private:
  bool is_periodic(int axis) const { return periodic_axes(config_)[axis]; }
  Index stride_of(int axis) const { return axis == 0 ? 1 : axis == 1 ? m_.x : m_.x * m_.y; }
  // Calls body(i, j) for each sample i and the next sample j along an axis; the first follows the last.
  template <class Body>
  void for_each_pair(int axis, const Body& body) const {
    const Index layer = stride_of(axis), line = layer * m_[axis];
    for (Index first = 0; first < m_.product(); first += line)
      for (Index at = first; at < first + line; at += layer) {
        const Index after = at + layer < first + line ? at + layer : first;
        for (Index i = 0; i < layer; ++i) body(at + i, after + i);
      }
  }
  // A sample represents the cells i with i * m / n equal to it, and has the class of the middle one.
  Index first_cell(int axis, Index sample) const { return ceil_div(sample * n_[axis], m_[axis]); }
  Index cell_of(int axis, Index sample) const {
    return (first_cell(axis, sample) + first_cell(axis, sample + 1) - 1) / 2;
  }

  // Samples that exchange no heat, such as those of voids, get the eigenvalue 1, which is not slow.
  void set_apart_lone_samples() {
    std::vector<double> exchanged = ground_;
    for (int axis = 0; axis < 3; ++axis)
      for_each_pair(axis, [&](Index i, Index j) {
        exchanged[i] += next_[axis][i];
        exchanged[j] += next_[axis][i];
      });
    for (std::size_t i = 0; i < exchanged.size(); ++i)
      if (exchanged[i] == 0) diagonal_[i] = ground_[i] = 1;
  }

  void add_lines(RegionMaterials& regions, int axis) {
    const int q = axis == 2 ? 1 : 2, p = 3 - axis - q;  // planes normal to x take long to read from a file
    for (Index j = 0; j < m_[q]; ++j) {
      Box plane{{}, n_};
      plane.lo[q] = cell_of(q, j);
      plane.hi[q] = plane.lo[q] + 1;
      regions.load(plane);
      for (Index i = 0; i < m_[p]; ++i) {
        Int3 cell = plane.lo;
        cell[p] = cell_of(p, i);
        std::vector<std::size_t> classes;
        for (cell[axis] = 0; cell[axis] < n_[axis]; ++cell[axis])  // the checks report missing materials
          classes.push_back(
              all_.of(std::min<std::size_t>(regions.of_loaded(cell), config_.materials.size()), cell));
        add_line(axis, cell, i * stride_of(p) + j * stride_of(q), classes);
      }
    }
  }

  // `first`: the number of the line's first sample. `cell`: any cell of the line.
  void add_line(int axis, Int3 cell, Index first, const std::vector<std::size_t>& classes) {
    const Index n = n_[axis], m = m_[axis], stride = stride_of(axis);
    const bool is_periodic = this->is_periodic(axis);
    const double share = static_cast<double>(m) / static_cast<double>(n);
    std::optional<Index> from;  // the last sample, else the surface of the body
    double resistance = std::numeric_limits<double>::infinity();  // from there
    const auto connect = [&](std::optional<Index> to) {
      if (from && to) next_[axis][*from] += share / resistance;
      if (from && !to) ground_[*from] += share / resistance;
      if (to && !from) ground_[*to] += share / resistance;
      from = to;
      resistance = 0;
    };
    const Index begin = is_periodic ? cell_of(axis, 0) : 0, end = is_periodic ? begin + n + 1 : n;
    const std::size_t lowest = classes.front(), highest = classes.back();
    if (!is_periodic) resistance = 1 / to_boundary(axis, false, cell, lowest);
    for (Index i = begin; i < end; ++i) {  // once around, if the axis is periodic
      const std::size_t own = classes[i % n], below = classes[(i + n - 1) % n], above = classes[(i + 1) % n];
      const bool is_void = all_.classes[own].is_void(), begins = all_.classes[below].is_void();
      const Index sample = i % n * m / n;
      if (i > begin && is_void) {
        resistance += 1 / face_conductance(config_, all_, axis, below, own);
        connect({});
      }
      if (is_void) continue;
      const double to_below =
                       face_conductance(config_, all_, axis, own, !is_periodic && i == 0 ? own : below),
                   to_above =
                       face_conductance(config_, all_, axis, own, !is_periodic && i + 1 == n ? own : above);
      if (i > begin) resistance = begins ? 1 / to_below : resistance + 1 / to_below;
      if (i < begin + n) diagonal_[first + sample * stride] += share * (to_below + to_above);
      if (cell_of(axis, sample) == i % n) connect(first + sample * stride);
    }
    if (is_periodic) return;
    resistance += 1 / to_boundary(axis, true, cell, highest);
    connect({});
  }

  double to_boundary(int axis, bool above, Int3 cell, std::size_t own) const {
    const Face f = face(axis, above);
    const FaceLaw& law = laws_[static_cast<int>(f)];
    const double k = all_.classes[own].conductivity[axis], h = size_at(config_, f);
    const auto [p, q] = face_axes(f);
    Box part{cell, cell + Int3{1, 1, 1}};
    part.lo[axis] = 0;
    part.hi[axis] = 1;
    for (const int along : {p, q}) {
      const Index sample = cell[along] * m_[along] / n_[along];
      if (!law.varies()) continue;
      part.lo[along] = first_cell(along, sample);
      part.hi[along] = first_cell(along, sample + 1);
    }
    double sum = 0;
    for_each_cell(part, [&](Int3 each) {
      const double a = law.at(k, h, axes_.centre(each), 0).a;
      sum += std::abs(a) <= 1 ? 1 - a : 2;  // the checks report other values
    });
    return face_conductance(config_, all_, axis, own, own) * sum / static_cast<double>(part.cells());
  }

  const Config& config_;
  MaterialClasses all_;
  GridAxes axes_;
  Int3 n_, m_;  // cells, samples
  std::array<FaceLaw, face_count> laws_;
  std::array<std::vector<double>, 3> next_;  // to the next sample along each axis
  std::vector<double> ground_, diagonal_;
  bool is_held_ = false;  // by a boundary or the law of a void
};

// Has the symmetric tridiagonal matrix an eigenvalue below x? Its Sturm sequence changes sign then.
bool has_eigenvalue_below(double x, const std::vector<double>& diagonal,
                          const std::vector<double>& off_diagonal) {
  double pivot = 1;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    pivot = diagonal[i] - x - (i == 0 ? 0 : off_diagonal[i - 1] * off_diagonal[i - 1] / pivot);
    if (pivot <= 0) return true;
  }
  return false;
}

// Lanczos process by conjugate gradients (Golub and Van Loan, Matrix Computations, section 10.2), with the
// divisors of a sweep as preconditioner and as source. The slowest mode has one sign, so that the source
// always contains it.
double lowest_of(const SampledBody& body) {
  constexpr int most_steps = 3000;
  constexpr double left = 1e-20, least = 1e-15;
  const std::vector<double>& diagonal = body.diagonal();
  const std::size_t count = diagonal.size();
  std::vector<double> residual = diagonal, direction(count), image(count), on_diagonal, off_diagonal;
  double size = 0, before = 0, ratio = 0, first = 0, step = 0;
  for (int i = 0; i < most_steps; ++i) {
    size = 0;
    for (std::size_t j = 0; j < count; ++j) size += residual[j] * residual[j] / diagonal[j];
    if (i == 0) first = size;
    if (!(size > left * first)) break;
    ratio = i == 0 ? 0 : size / before;
    for (std::size_t j = 0; j < count; ++j) direction[j] = residual[j] / diagonal[j] + ratio * direction[j];
    body.apply(direction, image);
    double work = 0;
    for (std::size_t j = 0; j < count; ++j) work += direction[j] * image[j];
    if (i > 0) off_diagonal.push_back(std::sqrt(ratio) / step);
    const double of_last = i == 0 ? 0 : ratio / step;
    if (!(work > 0)) break;
    step = size / work;
    on_diagonal.push_back(1 / step + of_last);
    for (std::size_t j = 0; j < count; ++j) residual[j] -= step * image[j];
    before = size;
  }
  double low = least, high = 2;
  while (high > low * (1 + 1e-9)) {
    const double middle = std::sqrt(low * high);
    (has_eigenvalue_below(middle, on_diagonal, off_diagonal) ? high : low) = middle;
  }
  return high;
}

}  // namespace

double lowest_eigenvalue(const Config& config) {
  const SampledBody body(config);
  // Samples may miss a fixed temperature or a connection of parts of the body. Then the estimate is that of a
  // chain through all cells that is fixed at one end.
  const Int3 n = config.grid.cells;
  const double long_chain = 1 / std::pow(static_cast<double>(n.x + n.y + n.z), 2);
  constexpr double none = 1e-12;
  if (!body.is_held()) return mean_is_free(config) ? 0 : long_chain;
  const double found = lowest_of(body);
  return found > none || body.is_whole() ? found : long_chain;
}

}  // namespace isotherm
