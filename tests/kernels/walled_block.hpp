// Walls on all six faces or some, each of another kind and value, some of them with a field of b.
#pragma once

#include <array>
#include <cmath>

#include "kernels/stencil.hpp"
#include "support.hpp"

namespace isotherm::test {

template <class T>
class WalledBlock {
 public:
  static constexpr unsigned lower_faces = 0b010101, all_faces = 0b111111;

  // `faces`: a wall on those whose bit is set; `fields`: with a field of b on those.
  WalledBlock(Device& device, Int3 shape, int ghosts, unsigned faces = all_faces,
              unsigned fields = lower_faces)
      : shape_(shape), ghosts_(ghosts) {
    for (int f = 0; f < face_count; ++f) {
      Wall<T>& wall = walls.faces[f];
      wall = {(faces >> f & 1) != 0, T(0.9) - T(0.3) * T(f), T(f) + T(0.1), nullptr, 0};
      if ((fields >> f & 1) == 0) continue;
      const auto [p, q] = tangents(f);
      wall.pitch = shape[p] + 2 * ghosts;
      std::vector<T> b(static_cast<std::size_t>(wall.pitch * (shape[q] + 2 * ghosts)));
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = field_value(i);
      Buffer& buffer = b_fields_[static_cast<std::size_t>(f)];
      buffer = Buffer(device, b.size() * sizeof(T));
      device.copy(buffer.data(), b.data(), buffer.bytes(), {});
      device.synchronize(Stream{});
      wall.b_field = buffer.template as<T>() + ghosts * (1 + wall.pitch);
    }
  }

  // The block and `layers` more cells where no wall stands.
  Box region(Index layers) const {
    Box box{{0, 0, 0}, shape_};
    for (int f = 0; f < face_count; ++f) {
      if (walls.faces[f].is_wall) continue;
      f % 2 == 1 ? box.hi[f / 2] += layers : box.lo[f / 2] -= layers;
    }
    return box;
  }

  // Writes what stands beyond the walls into the ghosts of `field`, in host memory, for the axes asked for:
  // over the faces, and as far beyond their open edges as there is a cell to start from.
  void fill_ghosts(FieldView<T> field, std::array<bool, 3> axes) const {
    const Box over = region(ghosts_);
    for (int f = 0; f < face_count; ++f) {
      if (!axes[static_cast<std::size_t>(f / 2)] || !walls.faces[f].is_wall) continue;
      const auto [p, q] = tangents(f);
      for (Index j = over.lo[q]; j < over.hi[q]; ++j) {
        for (Index i = over.lo[p]; i < over.hi[p]; ++i) {
          Int3 cell{}, ghost{};
          cell[p] = ghost[p] = i;
          cell[q] = ghost[q] = j;
          cell[f / 2] = f % 2 == 1 ? shape_[f / 2] - 1 : 0;
          ghost[f / 2] = f % 2 == 1 ? shape_[f / 2] : -1;
          field(ghost) = std::fma(walls.faces[f].a, field(cell), b_at(f, i, j));
        }
      }
    }
  }

  Walls<T> walls;

 private:
  struct Tangents {
    int p, q;
  };
  static Tangents tangents(int f) { return {f / 2 == 0 ? 1 : 0, f / 2 == 2 ? 1 : 2}; }
  static T field_value(std::size_t i) { return T(0.01) * T(i % 101); }
  T b_at(int f, Index i, Index j) const {
    const Wall<T>& wall = walls.faces[f];
    return wall.b_field ? field_value(static_cast<std::size_t>(i + ghosts_ + (j + ghosts_) * wall.pitch))
                        : wall.b;
  }

  Int3 shape_;
  int ghosts_;
  std::array<Buffer, face_count> b_fields_;
};

}  // namespace isotherm::test
