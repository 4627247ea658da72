// Stands in for kernels/cuda/hopper.hpp: barriers that count bytes, and TMA copies executed at once. A copy
// checks the requirements of TMA: alignment, box size and announced bytes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/field_view.hpp"
#include "kernels/cuda/launch.hpp"

namespace isotherm::cuda {

inline void demand(bool holds, const char* problem) {
  if (holds) return;
  std::fprintf(stderr, "emulation: bulk copy: %s\n", problem);
  std::abort();
}

template <class T>
struct TensorMap {
  FieldView<const T> field;
  Int3 lead, cells, box;  // lead: cells before the block

  static TensorMap make(FieldView<const T> field, Int3 box) {
    constexpr Index word = 16 / sizeof(T);
    const Index g = field.ghosts;
    const Int3 lead{(g + word - 1) / word * word, g, g};
    const Int3 cells{lead.x + field.extent.x + g, field.extent.y + 2 * g, field.extent.z + 2 * g};
    demand(cells.x <= field.pitch_y, "rows are longer than their pitch");
    return {field, lead, cells, box};
  }
};

class BytesBarrier {
 public:
  void init() { *this = {}; }
  static void publish() {}
  void expect(std::uint32_t bytes) {
    pending_ += bytes;
    arrived_ = true;
    complete();
  }
  void wait(std::uint32_t parity) {
    while ((phase_ & 1u) == parity) emulation::yield();
  }
  template <class T>
  void copy(const TensorMap<T>& map, void* to, int x, int y, int z) {
    demand(reinterpret_cast<std::uintptr_t>(to) % 128 == 0, "a destination is not aligned to 128 bytes");
    demand(map.box.x <= 256 && map.box.y <= 256 && map.box.x * sizeof(T) % 16 == 0,
           "a box is not one of the engine's");
    demand((x + map.lead.x) * static_cast<Index>(sizeof(T)) % 16 == 0, "a box does not begin at 16 bytes");
    T* next = static_cast<T*>(to);
    for_each_cell(Box{{x, y, z}, Int3{x, y, z} + map.box}, [&](Int3 cell) {
      const bool exists = Box{{0, 0, 0}, map.cells}.contains(cell + map.lead);
      *next++ = exists ? map.field(cell) : T{0};
    });
    pending_ -= static_cast<std::int64_t>(map.box.product()) * static_cast<std::int64_t>(sizeof(T));
    complete();
  }
  void copy_line(const void* from, void* to, std::uint32_t bytes) {
    demand((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes) % 16 == 0,
           "a line is not aligned to 16 bytes");
    std::memcpy(to, from, bytes);
    pending_ -= bytes;
    complete();
  }

 private:
  void complete() {
    if (!arrived_ || pending_ != 0) return;
    arrived_ = false;
    ++phase_;
  }

  std::int64_t pending_ = 0;
  bool arrived_ = false;
  std::uint32_t phase_ = 0;
};

inline void bulk_copies_see_loads() {}
inline unsigned char* dynamic_shared() {
  return static_cast<unsigned char*>(emulation::dynamic_shared_memory());
}
template <class Kernel>
std::string without_bulk_copies(Kernel*, std::size_t) {
  return "";
}

}  // namespace isotherm::cuda
