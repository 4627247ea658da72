// What tests of stencil kernels share: the rows as their table has them, with every tile on its device; and a
// block with boundaries on all six faces or some, each of another kind and value, some of them with a field
// of b.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "support.hpp"

namespace isotherm::test {

// Values that no compiler folds and whose products are inexact; other ones for each sweep of a launch.
template <class T>
Coefficients<T> coefficients(int sweep = 0) {
  const T by = T(0.013) * T(sweep);
  return {T(0.37) - 2 * by, T(0.11) + by, T(0.13), T(0.075), T(0.83) + by};
}

// One case for each row that is a row here, in each precision: the instruction sets of a row share what these
// tests look at.
inline std::vector<KernelCase> stencil_cases(Backend backend) {
  std::vector<KernelCase> all = cases_of(stencil_kernels<double>(), backend);
  std::erase_if(all, [](const KernelCase& c) { return !c.instruction_set.empty(); });
  return all;
}

// Calls use(row, device), with the row of the case's precision; skips the test where there is no device.
template <class Use>
void on_stencil_kernel(const KernelCase& c, const Use& use) {
  const auto device = device_of(c.backend);
  if (!device) GTEST_SKIP() << "no device: " << find_cuda_devices().why_none;
  for_precision(c.precision, [&](auto zero) {
    const StencilKernel<decltype(zero)>& kernel = kernel_named(stencil_kernels<decltype(zero)>(), c.kernel);
    use(kernel, *device);
  });
}

// The tiles to look at: of the throttles of one tile ("2x4x8x4@84") the first, as all are one kernel, which
// waits longer or shorter.
template <class T>
std::vector<int> tiles_of(const StencilKernel<T>& entry) {
  std::vector<int> chosen;
  std::vector<std::string_view> seen;
  for (int tile = 0; tile < std::ssize(entry.tiles); ++tile) {
    const std::string_view name = entry.tiles[static_cast<std::size_t>(tile)];
    const std::size_t at = name.find('@');
    const std::string_view kernel = name.substr(0, at == name.npos ? at : at + 1);
    if (std::find(seen.begin(), seen.end(), kernel) != seen.end()) continue;
    seen.push_back(kernel);
    chosen.push_back(tile);
  }
  return chosen;
}

// Calls use(row, tile, device, shape) for every such tile and shape.
template <class Use>
void on_every_tile(const KernelCase& c, const std::vector<Int3>& on_shapes, const Use& use) {
  on_stencil_kernel(c, [&](const auto& kernel, Device& device) {
    for (const int tile : tiles_of(kernel)) {
      for (const Int3 shape : on_shapes) {
        SCOPED_TRACE(text(shape) + ", tile " + std::string(kernel.tiles[static_cast<std::size_t>(tile)]));
        use(kernel, tile, device, shape);
      }
    }
  });
}

// Of the row that all others are compared with; the ghosts stand.
template <class T>
void sweep_plainly(const Field<T>& in, Field<T>& out, const Box& region, const Field<T>* source = nullptr,
                   int sweep = 0) {
  const FieldView<const T> none;
  kernel_named(stencil_kernels<T>(), "reference")
      .launch({in.view(), out.view(), region, coefficients<T>(sweep), {}, source ? source->view() : none, {}},
              {}, {});
}
template <class T>
double reduce_plainly(ReductionOp op, const Field<T>& a, const Field<T>& b, const Box& region) {
  double value = 0;
  kernel_named(reduction_kernels<T>(), "reference")
      .launch({a.view(), b.view(), region, op, &value, nullptr}, {});
  return value;
}

template <class T>
class BoundedBlock {
 public:
  static constexpr unsigned lower_faces = 0b010101, all_faces = 0b111111;

  // `faces`: a boundary on those whose bit is set; `fields`: with a field of b on those.
  BoundedBlock(Device& device, Int3 shape, int ghosts, unsigned faces = all_faces,
               unsigned fields = lower_faces)
      : shape_(shape), ghosts_(ghosts) {
    for (int f = 0; f < face_count; ++f) {
      Boundary<T>& boundary = boundaries.faces[f];
      boundary = {(faces >> f & 1) != 0, T(0.9) - T(0.3) * T(f), T(f) + T(0.1), nullptr, 0};
      if ((fields >> f & 1) == 0) continue;
      const auto [p, q] = tangents(f);
      boundary.pitch = shape[p] + 2 * ghosts;
      std::vector<T> b(static_cast<std::size_t>(boundary.pitch * (shape[q] + 2 * ghosts)));
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = field_value(i);
      b_fields_[static_cast<std::size_t>(f)] = buffer_of(device, b);
      boundary.b_field =
          b_fields_[static_cast<std::size_t>(f)].template as<T>() + ghosts * (1 + boundary.pitch);
    }
  }

  // The block and `layers` more cells where no boundary stands.
  Box region(Index layers) const {
    Box box{{0, 0, 0}, shape_};
    for (int f = 0; f < face_count; ++f) {
      if (boundaries.faces[f].is_boundary) continue;
      f % 2 == 1 ? box.hi[f / 2] += layers : box.lo[f / 2] -= layers;
    }
    return box;
  }

  // Writes what stands beyond the boundaries into the ghosts of `field`, in host memory, for the axes asked
  // for: over the faces, and as far beyond their open edges as there is a cell to start from.
  void fill_ghosts(FieldView<T> field, std::array<bool, 3> axes) const {
    const Box over = region(ghosts_);
    for (int f = 0; f < face_count; ++f) {
      if (!axes[static_cast<std::size_t>(f / 2)] || !boundaries.faces[f].is_boundary) continue;
      const auto [p, q] = tangents(f);
      for (Index j = over.lo[q]; j < over.hi[q]; ++j) {
        for (Index i = over.lo[p]; i < over.hi[p]; ++i) {
          Int3 cell{}, ghost{};
          cell[p] = ghost[p] = i;
          cell[q] = ghost[q] = j;
          cell[f / 2] = f % 2 == 1 ? shape_[f / 2] - 1 : 0;
          ghost[f / 2] = f % 2 == 1 ? shape_[f / 2] : -1;
          field(ghost) = std::fma(boundaries.faces[f].a, field(cell), b_at(f, i, j));
        }
      }
    }
  }

  Boundaries<T> boundaries;

 private:
  struct Tangents {
    int p, q;
  };
  static Tangents tangents(int f) { return {f / 2 == 0 ? 1 : 0, f / 2 == 2 ? 1 : 2}; }
  static T field_value(std::size_t i) { return T(0.01) * T(i % 101); }
  T b_at(int f, Index i, Index j) const {
    const Boundary<T>& boundary = boundaries.faces[f];
    return boundary.b_field
               ? field_value(static_cast<std::size_t>(i + ghosts_ + (j + ghosts_) * boundary.pitch))
               : boundary.b;
  }

  Int3 shape_;
  int ghosts_;
  std::array<Buffer, face_count> b_fields_;
};

}  // namespace isotherm::test
