// A body of several materials on a device: the class of each cell, and the tables that sweeps read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/device.hpp"
#include "grid/field.hpp"
#include "kernels/mixed_cells.hpp"
#include "kernels/stencil.hpp"
#include "physics/operator.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {

// Ghost layers of the classes of cells: at least two, as coarser grids are made from the classes.
inline int class_ghosts(const Config& config) { return std::max(ghost_layers(config), 2); }
// The number of intermediate fields that a GPU needs between the sweeps of a launch.
inline int fields_between(int most_sweeps) { return std::clamp(most_sweeps - 1, 0, 2); }
inline Int3 extent_in_packs(Int3 extent, std::size_t cell_bytes) {
  return {ceil_div(extent.x, static_cast<Index>(16 / cell_bytes)), extent.y, extent.z};
}

// The mixed cells of a subdomain on a GPU, and where they are.
template <class T>
class MixedCellTables {
 public:
  // `by_cell`: by Face, does the subdomain end there at a boundary that differs by cell? `with_layers`: may
  // planes be layers? Bricks are sorted on the host: each has 128 cells.
  MixedCellTables(Device& device, FieldView<const std::uint8_t> classes,
                  const std::array<bool, face_count>& by_cell, bool with_layers)
      : packs_(device, extent_in_packs(classes.extent, sizeof(T)), classes.ghosts),
        distance_(device, classes.extent, classes.ghosts),
        view_{packs_.view(), distance_.view()} {
    // With layers, only interfaces across x and y remain: bricks short along x hold fewer other cells there.
    view_.brick = with_layers ? MixedCells::cubic_brick : MixedCells::flat_brick;
    Field<std::uint8_t> work(device, classes.extent, classes.ghosts);
    const auto count = static_cast<std::size_t>(bricks_of(classes.padded(), view_.brick).product());
    const Buffer least(device, count);
    std::vector<std::uint8_t> on_host(count);
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    const MixedCellSearch<T>& search = MixedCellSearch<T>::on_gpu();
    std::vector<unsigned> layers(static_cast<std::size_t>(classes.padded().extent().z));
    const Buffer layers_there(device, with_layers ? layers.size() * sizeof(unsigned) : 0);
    search.find(classes, by_cell, packs_.view(), distance_.view(), work.view(),
                layers_there.template as<unsigned>(), stream);
    device.copy(layers.data(), layers_there.data(), layers_there.bytes(), stream);
    search.of_bricks(view_.distance, view_.brick, least.template as<std::uint8_t>(), stream);
    device.copy(on_host.data(), least.data(), count, stream);
    device.synchronize(stream.get());
    std::vector<Int3> bricks;
    for (int d = 0; d <= MixedCells::most_distance; ++d) {
      for (std::size_t i = 0; i < count; ++i)
        if (on_host[i] == d) bricks.push_back(brick_of(classes.padded(), view_.brick, static_cast<Index>(i)));
      view_.within[d] = static_cast<std::int32_t>(bricks.size());
    }
    bricks_ = copied_to(device, bricks);
    view_.bricks = bricks_.template as<Int3>();
    std::vector<std::int32_t> next_layer(layers.size());
    std::int32_t layer = 1 << 30;
    for (std::size_t i = layers.size(); i-- > 0;) {
      if (is_layer_of(layers[i], classes.extent)) layer = static_cast<std::int32_t>(i) - classes.ghosts;
      next_layer[i] = layer;
    }
    next_layer_ = copied_to(device, next_layer);
    view_.next_layer = next_layer_.template as<std::int32_t>() + classes.ghosts;
  }
  const MixedCells& view() const { return view_; }

 private:
  Field<std::uint8_t> packs_, distance_;
  Buffer bricks_, next_layer_;
  MixedCells view_;
};

template <class T>
class MaterialCells {
 public:
  // For this rank's subdomain; `ghosts`: class_ghosts(). `device` must outlive this object. `differ_by_cell`:
  // of BoundaryConditions. `most_sweeps`: the most of a launch.
  MaterialCells(const Config& config, Device& device, Box subdomain, int ghosts,
                const std::array<bool, face_count>& differ_by_cell, int most_sweeps)
      : device_(device),
        all_(material_classes(config)),
        classes_(device, subdomain.extent(), ghosts),
        counts_{std::vector<std::int64_t>(config.materials.size() + 1),
                std::vector<std::int64_t>(all_.count())} {
    RegionMaterials regions(config);
    if (device.backend() == Backend::host) {
      assign_classes(regions, all_, subdomain, classes_.view(), &counts_);
    } else {
      host_ = make_host_device(device.row_alignment());
      host_copy_.emplace(*host_, subdomain.extent(), ghosts);
      assign_classes(regions, all_, subdomain, host_copy_->view(), &counts_);
      const Owned<Stream> stream = own_stream(device, Priority::normal);
      device.copy(classes_.data(), host_copy_->data(), host_copy_->bytes(), stream);
      device.synchronize(stream.get());
      // Layers slow down the first pass, and a launch of one sweep has few cells in the second pass.
      tables_.mixed = mixed_.emplace(device, classes_.view(), differ_by_cell, most_sweeps > 1).view();
      for (int i = 0; i < fields_between(most_sweeps); ++i)
        tables_.between[i] = between_.emplace_back(device, subdomain.extent(), ghosts).view();
      if (!isotherm::has_void(all_)) host_copy_.reset();
    }
    host_classes_ = host_copy_ ? std::as_const(*host_copy_).view() : std::as_const(classes_).view();
    make_tables(config);
  }

  // Sets the weights of the sweeps that follow, in the order of the stream.
  void use(const Config& config, const std::vector<double>& weights, Stream stream) {
    const double unit = config.problem.kind == ProblemKind::transient ? time_plan(config).dt : 1,
                 scale = source_scale(config);
    on_host_.clear();
    weights_.clear();
    steps_on_host_.clear();
    for (const double weight : weights) {
      weights_.push_back(static_cast<T>(weight / unit));
      for (const T capacity : capacities_)
        steps_on_host_.push_back(capacity > 0 ? weights_.back() / capacity : 0);
      for (const MaterialClass& own : all_.classes)
        on_host_.push_back(own.is_void() ? Coefficients<T>{1, 0, 0, 0, 0}
                                         : rounded_sweep<T>(config, own, scale, weight));
    }
    const auto to_device = [&](Buffer& buffer, const auto& values) {
      const std::size_t bytes = values.size() * sizeof(values[0]);
      if (buffer.bytes() < bytes) {
        device_.synchronize(stream);
        buffer = Buffer(device_, bytes);
      }
      if (bytes > 0) device_.copy(buffer.data(), values.data(), bytes, stream);
    };
    to_device(coefficients_, on_host_);
    to_device(steps_, steps_on_host_);
  }
  // The tables of a launch. Its first sweep has weights[i], the others have the weights that follow in a
  // cycle of `cycle` sweeps.
  Materials<T> of_launch(std::size_t i, std::size_t cycle) const {
    Materials<T> materials = tables_;
    for (int sweep = 0; sweep < most_sweeps_per_launch; ++sweep) {
      materials.coefficients.sweep[sweep] = coefficients_.template as<Coefficients<T>>() + i * all_.count();
      materials.weight.sweep[sweep] = weights_[i];
      if (!capacities_.empty()) materials.step.sweep[sweep] = steps_.template as<T>() + i * all_.count();
      if (i < cycle) i = (i + 1) % cycle;
    }
    return materials;
  }
  // Of this subdomain, by number of the class or material.
  const std::vector<std::int64_t>& cells_of_class() const { return counts_.of_class; }
  const std::vector<std::int64_t>& cells_of_material() const { return counts_.of_material; }
  const MaterialClasses& classes() const { return all_; }
  bool has_void() const { return tables_.held != nullptr; }
  // Weights by class for sums over cells, as Materials::heat. They are 0 for voids; for others body() has the
  // relative volume, and is_body() has 1.
  const double* body() const { return body_.template as<double>(); }
  const double* is_body() const { return is_body_.template as<double>(); }
  // Is the cell (indices of the subdomain) of a void? Reads host memory.
  bool is_void(Index x, Index y, Index z) const { return all_.classes[host_classes_(x, y, z)].is_void(); }
  // Stores the ambient temperature in the cells of voids of a field of the subdomain on the device.
  void hold(FieldView<T> field, Stream stream) const {
    if (device_.backend() == Backend::cuda)
      return MixedCellSearch<T>::on_gpu().hold_voids(field, tables_, stream);
    fill_voids(field, all_, host_classes_, {}, false);
  }
  // Stores NaN in the cells of voids, as all files and reports have it. `field` is in host memory; its first
  // cell is the cell `lo` of the subdomain.
  void blank(FieldView<T> field, Int3 lo = {}) const { fill_voids(field, all_, host_classes_, lo, true); }

 private:
  void make_tables(const Config& config) {
    const std::size_t count = all_.count();
    const double unit = own_conductance(config, all_.classes[0]);  // keeps fp32 within its range
    const bool transient = config.problem.kind == ProblemKind::transient;
    std::vector<T> conductance, held;
    std::vector<double> heat, body, is_body;
    tables_.is_symmetric = true;
    for (int axis = 0; axis < 3; ++axis) {
      const std::size_t first = conductance.size();
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < count; ++j) {
          conductance.push_back(static_cast<T>(face_conductance(config, all_, axis, i, j) / unit));
          if (j < i && conductance.back() != conductance[first + j * count + i]) tables_.is_symmetric = false;
        }
    }
    const double dt = transient ? time_plan(config).dt : 0;  // once: it visits all pairs of classes
    for (const MaterialClass& each : all_.classes) {
      const double ratio = volume_ratio(config, each);
      if (transient) capacities_.push_back(static_cast<T>(each.heat_capacity * ratio / (unit * dt)));
      heat.push_back(each.heat_capacity * ratio / all_.classes[0].heat_capacity);
      body.push_back(each.is_void() ? 0 : ratio);
      is_body.push_back(each.is_void() ? 0 : 1);
      held.push_back(each.is_void() ? static_cast<T>(each.ambient) : std::numeric_limits<T>::quiet_NaN());
    }
    conductance_ = copied_to(device_, conductance);
    if (transient) capacity_ = copied_to(device_, capacities_);
    heat_ = copied_to(device_, heat);
    body_ = copied_to(device_, body);
    is_body_ = copied_to(device_, is_body);
    held_ = copied_to(device_, held);
    tables_.classes = classes_.view();
    tables_.count = static_cast<int>(count);
    tables_.conductance = conductance_.template as<T>();
    tables_.capacity = capacity_.template as<T>();
    tables_.heat = heat_.template as<double>();
    if (isotherm::has_void(all_)) tables_.held = held_.template as<T>();
    tables_.source = static_cast<T>(1 / (source_scale(config) * unit));
  }

  Device& device_;
  MaterialClasses all_;
  Field<std::uint8_t> classes_;
  std::unique_ptr<Device> host_;                  // on a GPU; it allocates host_copy_
  std::optional<Field<std::uint8_t>> host_copy_;  // on a GPU with voids: classes_ in host memory
  FieldView<const std::uint8_t> host_classes_;
  CellCounts counts_;
  std::optional<MixedCellTables<T>> mixed_;  // on a GPU, like between_
  std::vector<Field<T>> between_;
  Buffer conductance_, capacity_, heat_, body_, is_body_, held_, coefficients_, steps_;
  std::vector<Coefficients<T>> on_host_;                 // coefficients_ in host memory
  std::vector<T> weights_, capacities_, steps_on_host_;  // capacities of a transient problem
  Materials<T> tables_;                                  // without tables that differ by sweep
};

// The bytes that MaterialCells needs for the cells of a subdomain on this backend.
inline std::size_t material_bytes(Int3 extent, int ghosts, Backend backend, int most_sweeps,
                                  std::size_t element_bytes) {
  const auto bytes = [&](Int3 cells, std::size_t each) { return field_bytes(cells, ghosts, each, backend); };
  if (backend == Backend::host) return bytes(extent, 1);
  return 2 * bytes(extent, 1) + bytes(extent_in_packs(extent, element_bytes), 1) +
         static_cast<std::size_t>(fields_between(most_sweeps)) * bytes(extent, element_bytes);
}

}  // namespace isotherm
