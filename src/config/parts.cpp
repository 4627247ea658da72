#include "config/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/grid_axes.hpp"
#include "config/problems.hpp"
#include "config/text.hpp"

namespace isotherm {
namespace {

// The cell that holds this position (m) of the box; on the face between two the upper one.
Index cell_at(const Config& config, int axis, double position) {
  const double at = GridAxis(config, axis).in_cells(position) + rounding_of_per_cell;
  return std::clamp<Index>(static_cast<Index>(std::floor(at)), 0, config.grid.cells[axis] - 1);
}

class Parts {
 public:
  Parts(const Config& config, Problems* problems) : config_(config), problems_(problems) {}

  std::vector<FieldPart> all() {
    const auto& slices = config_.output.slices;
    for (std::size_t i = 0; i < slices.size(); ++i) add_slice(slices[i], fmt::format("output.slices.{}", i));
    add_region(config_.output.region);
    add_coarse(config_.output.coarse);
    return std::move(parts_);
  }

 private:
  Box whole() const { return {{0, 0, 0}, config_.grid.cells}; }

  bool reject(const std::string& key, const std::string& problem) {
    if (!problems_) throw deck_error(config_, key, "{}", problem);
    problems_->add(key, problem);
    return false;
  }

  bool holds(const std::string& key, int axis, double position) {
    const std::string problem = beyond_box(config_, axis, position);
    return problem.empty() || reject(key, problem);
  }
  bool holds(const std::string& key, int axis, std::int64_t cell) {
    const Index n = config_.grid.cells[axis];
    return cell < n || reject(key, fmt::format("there is no cell {} along {}; write an index from 0 to {}",
                                               cell, "xyz"[axis], n - 1));
  }

  void add_slice(const SliceConfig& slice, const std::string& key) {
    if (slice.cell ? !holds(key + ".cell", slice.axis, *slice.cell)
                   : !holds(key + ".position", slice.axis, slice.position.value_or(0)))
      return;
    const Index cell = slice.cell ? *slice.cell : cell_at(config_, slice.axis, *slice.position);
    const std::string name = slice.name.empty() ? fmt::format("{}{}", "xyz"[slice.axis], cell) : slice.name;
    FieldPart part{.name = "slice_" + name,
                   .key = key,
                   .box = whole(),
                   .times = slice.times,
                   .normal = slice.axis,
                   .position = slice.position};
    part.box.lo[slice.axis] = cell;
    part.box.hi[slice.axis] = cell + 1;
    const auto same = std::ranges::find(parts_, part.name, &FieldPart::name);
    if (same == parts_.end())
      parts_.push_back(std::move(part));
    else
      reject(key, fmt::format("its files would be those of {}, '{}'; give one of them another name",
                              same->key, name));
  }

  void add_region(const RegionConfig& region) {
    if (!region.from && !region.first_cell) return;
    FieldPart part{
        .kind = PartKind::region, .name = "region", .key = "output.region", .box = {}, .times = region.times};
    for (int axis = 0; axis < 3; ++axis)
      if (!(region.first_cell ? cut_cells(region, axis, part.box) : cut_metres(region, axis, part.box)))
        return;
    parts_.push_back(std::move(part));
  }

  bool cut_cells(const RegionConfig& region, int axis, Box& box) {
    const Index first = (*region.first_cell)[axis], last = (*region.last_cell)[axis];
    if (!holds("output.region.first_cell", axis, first) || !holds("output.region.last_cell", axis, last))
      return false;
    box.lo[axis] = first;
    box.hi[axis] = last + 1;
    return first <= last || reject("output.region.last_cell",
                                   fmt::format("{} is before {} along {}; write the larger corner last", last,
                                               first, "xyz"[axis]));
  }

  // All cells that the box overlaps; a face that only touches a cell does not.
  bool cut_metres(const RegionConfig& region, int axis, Box& box) {
    const double from = (*region.from)[axis], to = (*region.to)[axis];
    if (!holds("output.region.from", axis, from) || !holds("output.region.to", axis, to)) return false;
    const Index n = config_.grid.cells[axis];
    const double last = GridAxis(config_, axis).in_cells(to) - rounding_of_per_cell;
    box.lo[axis] = cell_at(config_, axis, from);
    box.hi[axis] = std::clamp<Index>(static_cast<Index>(std::ceil(last)), box.lo[axis] + 1, n);
    return from < to || reject("output.region.to",
                               fmt::format("{} is not beyond {} along {}; write the larger corner last",
                                           shortest(to), shortest(from), "xyz"[axis]));
  }

  void add_coarse(const CoarseConfig& coarse) {
    if (!coarse.factor) return;
    for (int axis = 0; axis < 3; ++axis) {
      const Index n = config_.grid.cells[axis], factor = (*coarse.factor)[axis];
      if (n % factor == 0) continue;
      Index next = factor;
      while (n % next != 0) --next;
      reject("output.coarse.factor",
             fmt::format("{} does not divide the {} cells along {} (each of the file is of as many "
                         "cells); write {}, or another divisor",
                         factor, n, "xyz"[axis], next));
      return;
    }
    parts_.push_back({.kind = PartKind::coarse,
                      .name = "coarse",
                      .key = "output.coarse",
                      .box = whole(),
                      .factor = *coarse.factor,
                      .times = coarse.times});
  }

  const Config& config_;
  Problems* problems_;
  std::vector<FieldPart> parts_;
};

}  // namespace

std::string beyond_box(const Config& config, int axis, double position) {
  const GridAxis along(config, axis);
  const double at = along.in_cells(position), cells = static_cast<double>(along.cells());
  if (at >= -rounding_of_per_cell && at <= cells * (1 + rounding_of_per_cell)) return {};
  return fmt::format("{} m lies outside the box; write a position from {}", shortest(position),
                     box_text(config, axis));
}

std::string box_text(const Config& config, int axis) {
  const double from = config.grid.origin[axis], length = GridAxis(config, axis).length();
  return fmt::format("{:.6g} to {:.6g} m along {}", from, from + length, "xyz"[axis]);
}

std::vector<std::pair<std::string, OutputTimes>> output_times(const Config& config) {
  const OutputConfig& output = config.output;
  std::vector<std::pair<std::string, OutputTimes>> all{{"output", output},
                                                       {"output.region", output.region.times},
                                                       {"output.coarse", output.coarse.times},
                                                       {"output.probes", output.probes.times}};
  for (std::size_t i = 0; i < output.slices.size(); ++i)
    all.emplace_back(fmt::format("output.slices.{}", i), output.slices[i].times);
  return all;
}

std::vector<FieldPart> field_parts(const Config& config, Problems* problems) {
  return Parts(config, problems).all();
}

}  // namespace isotherm
