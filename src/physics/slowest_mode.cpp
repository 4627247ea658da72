// How slowly plain sweeps reduce errors in a body of several materials.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
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
  // Stores what samples lose at these temperatures.
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
  // A sample stands for the cells i with i * m / n equal to it, and has the class of the middle one.
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
  // Samples may miss what fixes the temperature or connects parts of the body. Then the estimate is that of a
  // chain through all cells that is fixed at one end.
  const Int3 n = config.grid.cells;
  const double long_chain = 1 / std::pow(static_cast<double>(n.x + n.y + n.z), 2);
  constexpr double none = 1e-12;
  if (!body.is_held()) return mean_is_free(config) ? 0 : long_chain;
  const double found = lowest_of(body);
  return found > none || body.is_whole() ? found : long_chain;
}

}  // namespace isotherm
