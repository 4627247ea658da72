#include "solver/host_copy.hpp"

#include <algorithm>
#include <array>

namespace isotherm {
namespace {

// Small enough that pinning it costs nothing beside a copy of a large field, large enough for full speed.
constexpr Index slab_bytes = Index{64} << 20;

struct Slab {
  Buffer cells;
  Owned<Event> copied;
};

}  // namespace

template <class T>
void fill_from_host(Field<T>& field, Box block, Device& device, Stream stream,
                    const std::function<void(Box cells, FieldView<T> view)>& make) {
  const FieldView<T> whole = field.view();
  if (device.backend() == Backend::host) return make(block, whole);
  const Int3 n = whole.extent;
  const Index plane_bytes = whole.pitch_z * static_cast<Index>(sizeof(T));
  const Index planes = std::clamp<Index>(slab_bytes / plane_bytes, 1, n.z);
  const auto bytes = static_cast<std::size_t>(planes * plane_bytes);
  const auto new_slab = [&] { return Slab{{device, bytes, Memory::staging}, own_event(device)}; };
  std::array<Slab, 2> slabs{new_slab(), new_slab()};
  // Between the rows are ghosts and padding, which the copies overwrite with what they hold: 0.
  for (Slab& slab : slabs) std::fill_n(slab.cells.template as<T>(), planes * whole.pitch_z, T(0));

  int turn = 0;
  for (Index z = 0; z < n.z; z += planes, ++turn) {
    Slab& slab = slabs[static_cast<std::size_t>(turn % 2)];
    if (turn >= 2) device.synchronize(slab.copied.get());
    const Index count = std::min(planes, n.z - z);
    const Box cells{{block.lo.x, block.lo.y, block.lo.z + z},
                    {block.hi.x, block.hi.y, block.lo.z + z + count}};
    T* const host = slab.cells.template as<T>();
    make(cells, {host, whole.pitch_y, whole.pitch_z, {n.x, n.y, count}, 0});
    const Index elements = (count - 1) * whole.pitch_z + (n.y - 1) * whole.pitch_y + n.x;
    device.copy(&whole(0, 0, z), host, static_cast<std::size_t>(elements) * sizeof(T), stream);
    device.record(slab.copied.get(), stream);
  }
  device.synchronize(stream);
}

template void fill_from_host(Field<float>&, Box, Device&, Stream,
                             const std::function<void(Box, FieldView<float>)>&);
template void fill_from_host(Field<double>&, Box, Device&, Stream,
                             const std::function<void(Box, FieldView<double>)>&);

}  // namespace isotherm
