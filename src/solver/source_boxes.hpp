// Sources that vary in time and heat a small part of the subdomain. A launch sweeps the whole subdomain
// without them, in time blocks. Then their boxes are swept again from the field before the launch, sweep by
// sweep, each with the source at its time. In d sweeps a source changes cells up to d - 1 beyond its box.
// These, and d more on each side, are copied to separate fields and swept in regions that shrink by a cell
// per sweep; the last sweep stores its region in the field. So all cells have the bits of single sweeps.
#pragma once

#include <array>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "config/boundary_laws.hpp"
#include "core/device.hpp"
#include "grid/field.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/stencil.hpp"
#include "physics/varying_sources.hpp"

namespace isotherm {

template <class T>
class FieldSum;  // solver/level.hpp

template <class T>
class SourceBoxes {
 public:
  // Both must outlive it.
  SourceBoxes(Device& device, const VaryingSources<T>& sources) : device_(device), sources_(sources) {}

  // Call it after a launch of times.size() sweeps, with the `args` of that launch.
  void sweep(const SweepArgs<T>& args, std::span<const double> times, Stream stream) {
    std::vector<std::vector<PlacedSource>> placed;  // by sweep
    for (const double t : times) placed.push_back(sources_.placed(t));
    for (const Box& box : changed(placed, std::ssize(times) - 1, args.region))
      sweep(args, box, placed, stream);
  }
  // The amount that sources at t add to the sum of `constant` (may be empty) over the subdomain.
  LongAccumulator sum(double t, FieldView<const T> constant, Int3 extent, Stream stream,
                      const FieldSum<T>& sums) {
    LongAccumulator all{};
    const std::vector<PlacedSource> placed = sources_.placed(t);
    for (const Box& box : changed(std::array{placed}, 0, {{0, 0, 0}, extent})) {
      make_room(box.extent());
      sources_.set_products(placed, source_at(constant, box.lo), source_, source_.interior(), box.lo, stream);
      all.add(sums.over(source_.interior(), source_));
      if (!constant.empty()) all.subtract(sums.over(source_.interior(), constant.part(box)));
    }
    return all;
  }

 private:
  // Disjoint boxes of the cells that the sources change: those within `beyond` cells of them.
  std::vector<Box> changed(std::span<const std::vector<PlacedSource>> placed, Index beyond,
                           Box within) const {
    std::vector<Box> boxes;
    for (const PlacedSource& source : std::views::join(placed)) {
      const Box reached = sources_.reached(source);
      Box box = reached.grown(beyond).within(within);
      if (reached.empty() || box.empty()) continue;
      // Merges overlapping boxes into a box around both, which may overlap others.
      for (auto other = boxes.begin(); other != boxes.end();) {
        if (other->within(box).empty()) {
          ++other;
          continue;
        }
        box = around(box, *other);
        boxes.erase(other);
        other = boxes.begin();
      }
      boxes.push_back(box);
    }
    return boxes;
  }
  // Makes room for fields of this extent. They may hold old values, which are finite.
  void make_room(Int3 extent) {
    const FieldLayout layout = FieldLayout::make(extent, 1, sizeof(T), device_.row_alignment());
    const std::size_t bytes = static_cast<std::size_t>(layout.elements) * sizeof(T);
    FieldView<T>* const fields[] = {&in_, &out_, &source_, {}};
    for (int i = 0; i < 3; ++i) {
      if (memory_[i].bytes() < bytes) {
        memory_[i] = Buffer(device_, bytes + bytes / 4);
        const Index values = static_cast<Index>(memory_[i].bytes() / sizeof(T));
        const Owned<Stream> stream = own_stream(device_, Priority::normal);
        FaceCopy<T>::on(device_.backend())
            .fill({memory_[i].template as<T>(), values, values, {values, 1, 1}, 0}, T(0), stream);
        device_.synchronize(stream);
      }
      *fields[i] = layout.view(memory_[i].template as<T>());
    }
  }
  void sweep(const SweepArgs<T>& args, Box box, std::span<const std::vector<PlacedSource>> placed,
             Stream stream) {
    const Index sweeps = std::ssize(placed);
    const Int3 block = args.in.extent;
    const auto around_box = [&](Index cells) { return args.boundaries.widened(box, cells, block); };
    const Box all = around_box(sweeps - 1);
    const auto here = [&](Box cells) { return cells.shifted(Int3{0, 0, 0} - all.lo); };
    make_room(all.extent());
    const SourceSum<T> copy{.to = in_, .constant = args.in.part(all), .box = here(around_box(sweeps))};
    SourceSums<T>::on(device_.backend()).set(copy, stream);
    for (Index i = 0; i < sweeps; ++i) {
      const bool is_last = i + 1 == sweeps;  // stores its region in the field
      const SourceSweep<T> one{in_, is_last ? args.out.part(all) : out_, args.c[static_cast<int>(i)],
                               boundaries_of(args.boundaries, all, block, static_cast<int>(i))};
      sources_.sweep_products(placed[static_cast<std::size_t>(i)], source_at(args.source, all.lo), source_,
                              here(around_box(sweeps - 1 - i)), all.lo, one, stream);
      std::swap(in_, out_);
    }
  }

  // The part of `constant` that source_ covers, if source_ begins at cell `first` of the subdomain.
  FieldView<const T> source_at(FieldView<const T> constant, Int3 first) const {
    return constant.empty() ? constant : constant.part({first, first + source_.extent});
  }

  // The boundaries in the given sweep, for a field that holds only the cells of `box`.
  static Boundaries<T> boundaries_of(const Boundaries<T>& all, Box box, Int3 extent, int sweep) {
    Boundaries<T> own = all;
    for (int f = 0; f < face_count; ++f) {
      Boundary<T>& boundary = own.faces[f];
      const int axis = f / 2;
      const auto [p, q] = face_axes(static_cast<Face>(f));
      const bool stands_here = f % 2 == 0 ? box.lo[axis] == 0 : box.hi[axis] == extent[axis];
      boundary.is_boundary = boundary.is_boundary && stands_here;
      boundary.b = boundary.b[sweep];
      if (boundary.b_field)
        boundary.b_field += box.lo[p] + box.lo[q] * boundary.pitch + sweep * boundary.sweep_pitch;
      if (boundary.a_field) boundary.a_field += box.lo[p] + box.lo[q] * boundary.pitch;
      boundary.sweep_pitch = 0;
    }
    return own;
  }

  Device& device_;
  const VaryingSources<T>& sources_;
  Buffer memory_[3];
  FieldView<T> in_, out_, source_;  // of the current box
};

}  // namespace isotherm
