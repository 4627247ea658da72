#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "app/bench/bench.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/fingerprint.hpp"
#include "kernels/long_accumulator.hpp"

namespace isotherm {
namespace {

// Sweeps the region in slabs of one plane, which are independent of each other.
template <class T>
void sweep_planes(const SweepArgs<T>& args) {
  const auto launch = std::ranges::find(stencil_kernels<T>(), "reference", &StencilKernel<T>::name)->launch;
#pragma omp parallel for schedule(static)
  for (Index z = args.region.lo.z; z < args.region.hi.z; ++z) {
    SweepArgs<T> plane = args;
    plane.region.lo.z = z;
    plane.region.hi.z = z + 1;
    launch(plane, {}, {});
  }
}

struct Plane {
  LongAccumulator sum{}, magnitudes{};
  double largest = 0;
};

void add_term(Plane& plane, double d, ReductionOp op) {
  const double magnitude = std::abs(d);
  if (op == ReductionOp::max_abs) {
    if (magnitude > plane.largest || std::isnan(magnitude)) plane.largest = magnitude;
  } else if (op == ReductionOp::sum_squares) {
    plane.sum.add(d * d);
    plane.sum.add(std::fma(d, d, -(d * d)));
  } else {
    plane.sum.add(op == ReductionOp::sum ? d : magnitude);
    if (op == ReductionOp::sum) plane.magnitudes.add(magnitude);
  }
}

}  // namespace

template <class T>
void fill_random(FieldView<T> field, std::uint64_t seed, T low, T high) {
  const Box box = field.padded();
  const Int3 n = box.extent();
  const double scale = (static_cast<double>(high) - low) * 0x1p-53;
#pragma omp parallel for schedule(static)
  for (Index z = box.lo.z; z < box.hi.z; ++z) {
    for (Index y = box.lo.y; y < box.hi.y; ++y) {
      const auto row = static_cast<std::uint64_t>((z - box.lo.z) * n.y + (y - box.lo.y));
      std::uint64_t state = mix64(seed + golden * (row + 1));
      for (Index x = box.lo.x; x < box.hi.x; ++x) {
        state += golden;
        field(x, y, z) = static_cast<T>(low + scale * (mix64(state) >> 11));
      }
    }
  }
}

template <class T>
void sweep_reference(Field<T>& start, Field<T>& expected, FieldView<const T> source, Coefficients<T> c,
                     const Boundaries<T>& boundaries, int time_block) {
  const FaceCopy<T>& cells = FaceCopy<T>::on(Backend::host);
  const bool any_boundary = std::ranges::any_of(boundaries.faces, &Boundary<T>::is_boundary);
  const Index margin = any_boundary ? 0 : 1;  // layers beyond the field for each sweep that follows
  for (int left = time_block - 1;; --left) {
    cells.fill_boundaries(start.view(), boundaries, start.view().interior(), {});
    if (left == 0) cells.fill(expected.view(), poison<T>, {});
    const Box region = start.view().interior().grown(margin * left);
    sweep_planes<T>({std::as_const(start).view(), expected.view(), region, c, {}, source, {}});
    if (left == 0) return;
    std::swap(start, expected);
  }
}

template <class T>
std::string difference(FieldView<const T> expected, FieldView<const T> found) {
  const Box box = expected.padded();
  const auto bytes = static_cast<std::size_t>(box.extent().x) * sizeof(T);
  const Int3 n = box.extent();
  Index different = 0, first = n.y * n.z;  // rows of cells
#pragma omp parallel for schedule(static) reduction(+ : different) reduction(min : first)
  for (Index row = 0; row < n.y * n.z; ++row) {
    const Index y = box.lo.y + row % n.y, z = box.lo.z + row / n.y;
    if (std::memcmp(&expected(box.lo.x, y, z), &found(box.lo.x, y, z), bytes) == 0) continue;
    ++different;
    first = std::min(first, row);
  }
  if (different == 0) return {};
  const Index y = box.lo.y + first % n.y, z = box.lo.z + first / n.y;
  Index x = box.lo.x;
  while (std::memcmp(&expected(x, y, z), &found(x, y, z), sizeof(T)) == 0) ++x;
  return fmt::format("cell ({}, {}, {}) is {} and should be {}; {} of {} rows of cells differ", x, y, z,
                     found(x, y, z), expected(x, y, z), different, n.y * n.z);
}

template <class T>
ExactReduction reduce_exactly(FieldView<const T> a, FieldView<const T> b, Box region, ReductionOp op) {
  std::vector<Plane> planes(static_cast<std::size_t>(std::max<Index>(region.hi.z - region.lo.z, 0)));
#pragma omp parallel for schedule(static)
  for (Index z = region.lo.z; z < region.hi.z; ++z) {
    Plane plane;
    for (Index y = region.lo.y; y < region.hi.y; ++y) {
      for (Index x = region.lo.x; x < region.hi.x; ++x) {
        const double d = a(x, y, z) - (b.empty() ? 0.0 : b(x, y, z));
        add_term(plane, d, op);
      }
    }
    plane.sum.normalise();
    plane.magnitudes.normalise();
    planes[z - region.lo.z] = plane;
  }
  Plane all;
  for (const Plane& plane : planes) {
    all.sum.add(plane.sum);
    all.magnitudes.add(plane.magnitudes);
    add_term(all, plane.largest, ReductionOp::max_abs);
  }
  if (op == ReductionOp::max_abs) return {all.largest, all.largest};
  return {all.sum.rounded(), op == ReductionOp::sum ? all.magnitudes.rounded() : all.sum.rounded()};
}

bool repeats(double first, const std::function<double()>& run) {
  constexpr int more_runs = 2;
  bool same = true;
  for (int i = 0; i < more_runs; ++i)
    same &= std::bit_cast<std::uint64_t>(run()) == std::bit_cast<std::uint64_t>(first);
  return same;
}

double reduction_error(const ExactReduction& exact, double found) {
  const double distance = std::abs(found - exact.value);
  return distance == 0 ? 0 : distance / exact.magnitudes;  // NaN stays
}

double error_bound(Index cells, ReductionOp op) {
  constexpr double unit_roundoff = 0x1p-53;
  return op == ReductionOp::max_abs ? 0 : static_cast<double>(cells + 1) * unit_roundoff;
}

template void fill_random(FieldView<float>, std::uint64_t, float, float);
template void fill_random(FieldView<double>, std::uint64_t, double, double);
template void sweep_reference(Field<float>&, Field<float>&, FieldView<const float>, Coefficients<float>,
                              const Boundaries<float>&, int);
template void sweep_reference(Field<double>&, Field<double>&, FieldView<const double>, Coefficients<double>,
                              const Boundaries<double>&, int);
template std::string difference(FieldView<const float>, FieldView<const float>);
template std::string difference(FieldView<const double>, FieldView<const double>);
template ExactReduction reduce_exactly(FieldView<const float>, FieldView<const float>, Box, ReductionOp);
template ExactReduction reduce_exactly(FieldView<const double>, FieldView<const double>, Box, ReductionOp);

}  // namespace isotherm
