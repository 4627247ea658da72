#include "solver/swallowed_heat.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace isotherm {
namespace {

// Runs of a device's memory, one after the other, where the host can read them.
template <class T>
class Reader {
 public:
  Reader(Device& device, Stream stream, Index most) : device_(device), stream_(stream) {
    if (device.backend() != Backend::host)
      staging_ = Buffer(device, static_cast<std::size_t>(most) * sizeof(T), Memory::staging);
  }

  // Valid until the next call.
  const T* read(const T* from, Index count) {
    if (device_.backend() == Backend::host) return from;
    device_.copy(staging_.data(), from, static_cast<std::size_t>(count) * sizeof(T), stream_);
    device_.synchronize(stream_);
    return staging_.template as<T>();
  }

 private:
  Device& device_;
  Stream stream_;
  Buffer staging_;
};

// From the first interior cell of a plane to its last.
template <class T>
Index plane_length(FieldView<const T> field) {
  return (field.extent.y - 1) * field.pitch_y + field.extent.x;
}

// What a flux boundary adds to its cells in a sweep, K.
template <class T>
class Flux {
 public:
  Flux(const Config& config, Device& device, Stream stream, Int3 extent, const Walls<T>& walls, Face f,
       const Coefficients<T>& c)
      : wall_(walls.faces[static_cast<int>(f)]),
        scale_(axis_of(f) == 0   ? c.cx
               : axis_of(f) == 1 ? c.cy
                                 : c.cz) {
    there_ = wall_.is_wall && config.boundaries[static_cast<std::size_t>(f)].kind == WallKind::flux;
    if (!there_ || !wall_.b_field) return;
    const Index width = axis_of(f) == 0 ? extent.y : extent.x, rows = axis_of(f) == 2 ? extent.y : extent.z;
    const Index count = (rows - 1) * wall_.pitch + width;
    Reader<T> reader(device, stream, count);
    const T* values = reader.read(wall_.b_field, count);
    values_.assign(values, values + count);
    wall_.b_field = values_.data();
  }

  bool there() const { return there_; }
  double at(Index p, Index q) const {
    return static_cast<double>(scale_) * static_cast<double>(wall_.b_at(p, q));
  }

 private:
  Wall<T> wall_;
  T scale_;
  bool there_ = false;
  std::vector<T> values_;
};

template <class T>
using Fluxes = std::vector<Flux<T>>;  // by Face

template <class T>
double flux_into(const Fluxes<T>& fluxes, Int3 extent, Index x, Index y, Index z) {
  const Index at[] = {x, y, z}, last[] = {extent.x - 1, extent.y - 1, extent.z - 1};
  const std::array<Index, 2> tangents[] = {{y, z}, {x, z}, {x, y}};
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    for (const bool max : {false, true}) {
      const Flux<T>& flux = fluxes[static_cast<std::size_t>(face(axis, max))];
      if (flux.there() && at[axis] == (max ? last[axis] : 0))
        sum += flux.at(tangents[axis][0], tangents[axis][1]);
    }
  }
  return sum;
}

}  // namespace

template <class T>
SwallowedHeat swallowed_heat(const Config& config, Device& device, FieldView<const T> field,
                             FieldView<const T> source, const Walls<T>& walls, const Coefficients<T>& c,
                             Stream stream) {
  const Int3 n = field.extent;
  Fluxes<T> fluxes;
  bool any = !source.empty();
  for (int f = 0; f < face_count; ++f) {
    fluxes.emplace_back(config, device, stream, n, walls, static_cast<Face>(f), c);
    any = any || fluxes.back().there();
  }
  SwallowedHeat found;
  if (!any) return found;
  Reader<T> fields(device, stream, plane_length(field)), sources(device, stream, plane_length(field));
  double all = 0, lost = 0;
  for (Index z = 0; z < n.z; ++z) {
    const T* temperature = fields.read(&field(0, 0, z), plane_length(field));
    const T* heat = source.empty() ? nullptr : sources.read(&source(0, 0, z), plane_length(source));
#pragma omp parallel for schedule(static) reduction(+ : all, lost)
    for (Index y = 0; y < n.y; ++y) {
      for (Index x = 0; x < n.x; ++x) {
        const double added =
            (heat ? static_cast<double>(heat[x + y * source.pitch_y]) : 0) + flux_into(fluxes, n, x, y, z);
        const T here = temperature[x + y * field.pitch_y];
        all += std::abs(added);
        if (static_cast<T>(static_cast<double>(here) + added) == here) lost += std::abs(added);
      }
    }
  }
  found.all = all;
  found.lost = lost;
  return found;
}

template SwallowedHeat swallowed_heat(const Config&, Device&, FieldView<const float>, FieldView<const float>,
                                      const Walls<float>&, const Coefficients<float>&, Stream);
template SwallowedHeat swallowed_heat(const Config&, Device&, FieldView<const double>,
                                      FieldView<const double>, const Walls<double>&,
                                      const Coefficients<double>&, Stream);

}  // namespace isotherm
