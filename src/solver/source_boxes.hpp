// Sources that vary in time and reach a small part of the block: a launch sweeps the whole without them, in
// time blocks, and then these boxes again, sweep by sweep with the source of its time, from the field that
// the launch began with. In d sweeps a source reaches d - 1 cells beyond its box. These cells, and d more
// around them, are copied to fields of their own and swept in regions that shrink by a cell a sweep; the last
// leaves the box in the field. So every cell has the bits of single sweeps with a source everywhere.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/device.hpp"
#include "grid/field.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/stencil.hpp"
#include "physics/varying_sources.hpp"

namespace isotherm {

template <class T>
class SourceBoxes {
 public:
  // Both must outlive it.
  SourceBoxes(Device& device, const VaryingSources<T>& sources);

  // Behind the launch of as many sweeps as there are times: `args` are the launch's.
  void sweep(const SweepArgs<T>& args, std::span<const double> times, Stream stream) {
    for (const Box& box : changed(times, std::ssize(times) - 1, args.region)) sweep(args, box, times, stream);
  }
  // What sources at t add to the sum of `constant` (may be empty) over such a block; sum(field): of a box.
  LongAccumulator sum(double t, FieldView<const T> constant, Int3 extent, Stream stream,
                      const std::function<LongAccumulator(FieldView<const T>)>& sum);

 private:
  // Boxes of cells that so many sweeps change, which do not overlap.
  std::vector<Box> changed(std::span<const double> times, Index beyond, Box within) const;
  void make_room(Int3 extent);
  void set_source(double t, FieldView<const T> constant, Int3 first, Box region, Stream stream);
  void sweep(const SweepArgs<T>& args, Box box, std::span<const double> times, Stream stream);

  Device& device_;
  const VaryingSources<T>& sources_;
  const StencilKernel<T>& kernel_;  // for boxes of any size, which stay in the caches
  Buffer memory_[3];
  FieldView<T> in_, out_, source_;  // of the box at work
};

}  // namespace isotherm
