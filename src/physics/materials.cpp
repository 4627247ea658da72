#include "physics/materials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "config/problems.hpp"
#include "kernels/mixed_cells.hpp"
#include "physics/body_parts.hpp"
#include "physics/cells.hpp"
#include "physics/operator.hpp"

namespace isotherm {

MaterialPainter::MaterialPainter(const Config& config)
    : cells_(config.grid.cells),
      default_(static_cast<std::uint8_t>(config.materials.empty() ? 0
                                         : config.material.default_material.empty()
                                             ? nothing
                                             : material_number(config, config.material.default_material))),
      shapes_(painted_shapes(config)) {
  for (int axis = 0; axis < 3; ++axis)
    periodic_[axis] = config.boundaries[2 * axis].kind == BoundaryKind::periodic;
  for (const PaintedShape& shape : shapes_) {
    Brush& brush = brushes_.emplace_back();
    if (shape.place.shape == Shape::dataset)
      brush.dataset.emplace(config, shape);
    else
      brush.cover.emplace(config, shape.place);
  }
}

Index MaterialPainter::inside(int axis, Index i) const {
  const Index n = cells_[axis];
  return periodic_[axis] ? (i % n + n) % n : std::clamp<Index>(i, 0, n - 1);
}

void MaterialPainter::load(Box cells) {
  std::array<std::vector<Index>, 3> indices;
  for (Brush& brush : brushes_) {
    if (!brush.dataset || cells == loaded_) continue;
    for (int axis = 0; axis < 3 && indices[axis].empty(); ++axis)
      for (Index i = cells.lo[axis]; i < cells.hi[axis]; ++i) indices[axis].push_back(inside(axis, i));
    brush.dataset->load(indices);
  }
  loaded_ = cells;
}

void MaterialPainter::row(Index x, Index y, Index z, std::span<std::uint8_t> materials) const {
  const Index end = x + std::ssize(materials), domain_end = cells_.x;
  const auto at = [&](Index i) { return materials.begin() + (i - x); };
  std::ranges::fill(materials, default_);
  for (std::size_t i = 0; i < brushes_.size(); ++i) {
    if (brushes_[i].dataset) {
      brushes_[i].dataset->paint(Int3{x, y, z} - loaded_.lo, materials);
      continue;
    }
    const CellRange range = brushes_[i].cover->row(inside(1, y), inside(2, z));
    const auto material = static_cast<std::uint8_t>(shapes_[i].material);
    const Index from = std::max(x, range.first), to = std::min(end, range.last);
    if (from < to) std::fill(at(from), at(to), material);
    for (Index cell = x; cell < std::min<Index>(end, 0); ++cell)
      if (range.has(inside(0, cell))) *at(cell) = material;
    for (Index cell = std::max(x, domain_end); cell < end; ++cell)
      if (range.has(inside(0, cell))) *at(cell) = material;
  }
}

std::vector<std::size_t> MaterialPainter::empty_shapes() const {
  std::vector<std::size_t> empty;
  for (std::size_t i = 0; i < brushes_.size(); ++i)
    if (brushes_[i].cover && !brushes_[i].cover->covers_any()) empty.push_back(i);
  return empty;
}

namespace {

// What a pass over all cells of the domain finds.
class MaterialSurvey {
 public:
  MaterialSurvey(const Config& config, const std::vector<std::size_t>& empty_shapes) : config_(config) {
    const std::vector<PaintedShape> shapes = painted_shapes(config);
    const auto seek = [&](std::size_t number) { sought_[number] = true; };
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (std::ranges::count(empty_shapes, i) > 0) continue;
      if (shapes[i].map.empty()) seek(shapes[i].material);
      for (const auto& [id, material] : shapes[i].map) seek(material);
      if (shapes[i].map.empty()) continue;
      for (const auto& [id, material] : shapes[i].map) mapped_[material] = true;
    }
    if (config.problem.kind == ProblemKind::steady && has_void(material_classes(config)))
      parts_.emplace(config);
  }
  // Row by row, plane by plane.
  void add(Index y, Index z, std::span<const std::uint8_t> row) {
    std::array<bool, 256> found{};
    for (const std::uint8_t material : row) found[material] = true;
    if (!found[MaterialPainter::nothing]) {
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (!found[i]) continue;
        sought_[i] = false;
        is_body_ = is_body_ || !material_of_number(config_, i).is_void();
      }
      if (parts_) parts_->add(y, z, row);
      return;
    }
    const auto bare = std::ranges::find(row, MaterialPainter::nothing);
    const Vector3 at = GridAxes(config_).centre({bare - row.begin(), y, z});
    throw deck_error(config_, "regions",
                     "no region has the cell at ({}, {}, {}) m, and there is no material.default; add the "
                     "default, which may be void, or a region",
                     at[0], at[1], at[2]);
  }
  bool is_over() const {  // are later rows of no interest?
    return !parts_ && is_body_ && !config_.material.default_material.empty() &&
           std::ranges::count(sought_, true) == 0;
  }
  void end(std::vector<std::string>& warnings) {
    for (std::size_t i = 0; i < sought_.size(); ++i) {
      if (!sought_[i]) continue;
      const std::string& name = material_of_number(config_, i).name;
      if (mapped_[i])
        warnings.push_back(
            fmt::format("{}: no cell is of {}, which a map names; remove it there, or check "
                        "the numbers of the dataset",
                        config_.at("regions"), name));
      else
        throw deck_error(config_, "regions",
                         "later regions cover every cell of {}; change their order, or remove it", name);
    }
    if (!is_body_)
      throw deck_error(config_, "regions",
                       "every cell is of a void, and none of the body; give one a material");
    if (parts_) parts_->check();
  }

 private:
  const Config& config_;
  std::array<bool, 256> sought_{}, mapped_{};  // by number
  bool is_body_ = false;                       // any cell
  std::optional<BodyParts> parts_;
};

}  // namespace

std::vector<std::uint8_t> void_cells(const Config& config, Box cells) {
  const MaterialClasses all = material_classes(config);
  if (!has_void(all) || cells.empty()) return {};
  MaterialPainter painter(config);
  painter.load(cells);
  const Int3 n = cells.extent();
  std::vector<std::uint8_t> found(static_cast<std::size_t>(n.product()));
#pragma omp parallel for collapse(2) schedule(static)
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      const std::span row(&found[static_cast<std::size_t>(n.x * (y + n.y * z))],
                          static_cast<std::size_t>(n.x));
      painter.row(cells.lo.x, cells.lo.y + y, cells.lo.z + z, row);
      for (std::uint8_t& each : row) each = material_of_number(config, each).is_void();
    }
  }
  return found;
}

std::vector<std::string> material_warnings(const Config& config) {
  std::vector<std::string> warnings;
  if (config.materials.empty()) return warnings;
  MaterialPainter painter(config);
  const std::vector<std::size_t> empty = painter.empty_shapes();
  for (const std::size_t shape : empty)
    warnings.push_back(fmt::format(
        "{}: holds no cell centre, or has a layer that holds none, so that changes nothing; use a "
        "finer grid or a larger shape",
        config.at(painted_shapes(config)[shape].key)));
  MaterialSurvey survey(config, empty);
  const Int3 n = config.grid.cells;
  std::vector<std::uint8_t> row(static_cast<std::size_t>(n.x));
  for (Index z = 0; z < n.z && !survey.is_over(); ++z) {
    painter.load({{0, 0, z}, {n.x, n.y, z + 1}});
    for (Index y = 0; y < n.y; ++y) {
      painter.row(0, y, z, row);
      survey.add(y, z, row);
    }
  }
  survey.end(warnings);
  return warnings;
}

int class_ghosts(const Config& config) {
  return std::max(ghost_layers(config), 2);
}

double conductivity_at(const Config& config, Int3 cell, int axis) {
  if (!has_several_materials(config)) return conductivity(config);
  const MaterialClasses all = material_classes(config);
  MaterialPainter painter(config);
  return all.classes[all.of(painter.at(cell), cell)].conductivity[axis];
}

namespace {

// Fields of a GPU between the sweeps of a launch.
int fields_between(int most_sweeps) {
  return std::clamp(most_sweeps - 1, 0, 2);
}
Int3 extent_in_packs(Int3 extent, std::size_t cell_bytes) {
  return {ceil_div(extent.x, static_cast<Index>(16 / cell_bytes)), extent.y, extent.z};
}

}  // namespace

template <class T>
std::size_t material_bytes(Int3 extent, int ghosts, Backend backend, int most_sweeps) {
  const auto bytes = [&](Int3 cells, std::size_t each) {
    return each *
           static_cast<std::size_t>(FieldLayout::make(cells, ghosts, each, row_alignment(backend)).elements);
  };
  if (backend == Backend::host) return bytes(extent, 1);
  return 2 * bytes(extent, 1) + bytes(extent_in_packs(extent, sizeof(T)), 1) +
         static_cast<std::size_t>(fields_between(most_sweeps)) * bytes(extent, sizeof(T));
}

// Bricks are sorted on the host: there is one for 128 cells.
template <class T>
MixedCellTables<T>::MixedCellTables(Device& device, FieldView<const std::uint8_t> classes,
                                    const std::array<bool, face_count>& by_cell)
    : packs_(device, extent_in_packs(classes.extent, sizeof(T)), classes.ghosts),
      distance_(device, classes.extent, classes.ghosts),
      view_{packs_.view(), distance_.view()} {
  Field<std::uint8_t> work(device, classes.extent, classes.ghosts);
  const auto count = static_cast<std::size_t>(bricks_of(classes.padded()).product());
  const Buffer least(device, count);
  std::vector<std::uint8_t> on_host(count);
  const Owned<Stream> stream = own_stream(device, Priority::normal);
  const MixedCellSearch<T>& search = mixed_cell_search<T>();
  search.find(classes, by_cell, packs_.view(), distance_.view(), work.view(), stream);
  search.of_bricks(view_.distance, least.template as<std::uint8_t>(), stream);
  device.copy(on_host.data(), least.data(), count, stream);
  device.synchronize(stream.get());
  for (const std::uint8_t distance : on_host)
    for (int d = distance; d <= MixedCells::most_distance; ++d) ++view_.within[d];
  std::vector<Int3> bricks(static_cast<std::size_t>(view_.within[MixedCells::most_distance]));
  std::array<std::size_t, MixedCells::most_distance + 1> next{};
  for (std::size_t d = 1; d < next.size(); ++d) next[d] = static_cast<std::size_t>(view_.within[d - 1]);
  for (std::size_t i = 0; i < count; ++i)
    if (on_host[i] <= MixedCells::most_distance)
      bricks[next[on_host[i]]++] =
          brick_of(classes.padded(), bricks_of(classes.padded()), static_cast<Index>(i));
  bricks_ = copied_to(device, bricks);
  view_.bricks = bricks_.template as<Int3>();
}

template <class T>
MaterialCells<T>::MaterialCells(const Config& config, Device& device, Box subdomain, int ghosts,
                                const std::array<bool, face_count>& differ_by_cell, int most_sweeps)
    : device_(device),
      all_(material_classes(config)),
      classes_(device, subdomain.extent(), ghosts),
      counts_(config.materials.size() + 1),
      class_counts_(all_.count()) {
  const bool on_host = device.backend() == Backend::host;
  if (on_host) {
    paint(config, subdomain, classes_.view());
  } else {
    host_ = make_host_device(device.row_alignment());
    painted_.emplace(*host_, subdomain.extent(), ghosts);
    paint(config, subdomain, painted_->view());
    const Owned<Stream> stream = own_stream(device, Priority::normal);
    device.copy(classes_.data(), painted_->data(), painted_->bytes(), stream);
    device.synchronize(stream.get());
    tables_.mixed = mixed_.emplace(device, classes_.view(), differ_by_cell).view();
    for (int i = 0; i < fields_between(most_sweeps); ++i)
      tables_.between[i] = between_.emplace_back(device, subdomain.extent(), ghosts).view();
    if (!isotherm::has_void(all_)) painted_.reset();
  }
  host_classes_ = painted_ ? std::as_const(*painted_).view() : std::as_const(classes_).view();
  make_tables(config);
}

template <class T>
void MaterialCells<T>::make_tables(const Config& config) {
  const std::size_t count = all_.count();
  const double unit = own_conductance(config, all_.classes[0]);  // keeps fp32 within its range
  const bool transient = config.problem.kind == ProblemKind::transient;
  std::vector<T> conductance, capacity, held;
  std::vector<double> heat, body, is_body;
  for (int axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < count; ++j)
        conductance.push_back(static_cast<T>(face_conductance(config, all_, axis, i, j) / unit));
  const double dt = transient ? time_plan(config).dt : 0;  // once: it looks at all pairs of classes
  for (const MaterialClass& each : all_.classes) {
    const double ratio = volume_ratio(config, each);
    if (transient) capacity.push_back(static_cast<T>(each.heat_capacity * ratio / (unit * dt)));
    heat.push_back(each.heat_capacity * ratio / all_.classes[0].heat_capacity);
    body.push_back(each.is_void() ? 0 : ratio);
    is_body.push_back(each.is_void() ? 0 : 1);
    held.push_back(each.is_void() ? static_cast<T>(each.ambient) : std::numeric_limits<T>::quiet_NaN());
  }
  conductance_ = copied_to(device_, conductance);
  if (transient) capacity_ = copied_to(device_, capacity);
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

template <class T>
template <class Value>
void MaterialCells<T>::fill_voids(FieldView<T> field, Int3 lo, const Value& value) const {
  const Int3 n = field.extent;
#pragma omp parallel for collapse(2) schedule(static)
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y)
      for (Index x = 0; x < n.x; ++x) {
        const MaterialClass& own = all_.classes[host_classes_(lo + Int3{x, y, z})];
        if (own.is_void()) field(x, y, z) = value(own);
      }
}

template <class T>
void MaterialCells<T>::hold(FieldView<T> field, Stream stream) const {
  if (device_.backend() == Backend::cuda) return mixed_cell_search<T>().hold_voids(field, tables_, stream);
  fill_voids(field, {}, [](const MaterialClass& own) { return static_cast<T>(own.ambient); });
}

template <class T>
void MaterialCells<T>::blank(FieldView<T> field, Int3 lo) const {
  fill_voids(field, lo, [](const MaterialClass&) { return std::numeric_limits<T>::quiet_NaN(); });
}

template <class T>
void MaterialCells<T>::paint(const Config& config, Box subdomain, FieldView<std::uint8_t> classes) {
  MaterialPainter painter(config);
  const Box box = classes.padded();
  painter.load(box.shifted(subdomain.lo));
  std::vector<std::size_t> size_along_x;
  for (Index x = box.lo.x; x < box.hi.x; ++x)
    size_along_x.push_back(all_.size_number(0, painter.inside(0, subdomain.lo.x + x)));
#pragma omp parallel
  {
    std::vector<std::uint8_t> row(static_cast<std::size_t>(box.extent().x));
    std::vector<std::int64_t> counts(counts_.size()), class_counts(class_counts_.size());
#pragma omp for schedule(static)
    for (Index z = box.lo.z; z < box.hi.z; ++z) {
      for (Index y = box.lo.y; y < box.hi.y; ++y) {
        painter.row(subdomain.lo.x + box.lo.x, subdomain.lo.y + y, subdomain.lo.z + z, row);
        const std::size_t of_y = all_.size_number(1, painter.inside(1, subdomain.lo.y + y)),
                          of_z = all_.size_number(2, painter.inside(2, subdomain.lo.z + z));
        const bool counted = y >= 0 && y < classes.extent.y && z >= 0 && z < classes.extent.z;
        for (Index x = box.lo.x; x < box.hi.x; ++x) {
          const std::uint8_t material = row[static_cast<std::size_t>(x - box.lo.x)];
          classes(x, y, z) =
              all_.of_sizes(material, {size_along_x[static_cast<std::size_t>(x - box.lo.x)], of_y, of_z});
          if (!counted || x < 0 || x >= classes.extent.x) continue;
          ++counts[material];
          ++class_counts[classes(x, y, z)];
        }
      }
    }
#pragma omp critical(isotherm_paint)
    {
      for (std::size_t i = 0; i < counts.size(); ++i) counts_[i] += counts[i];
      for (std::size_t i = 0; i < class_counts.size(); ++i) class_counts_[i] += class_counts[i];
    }
  }
}

template <class T>
void MaterialCells<T>::use(const Config& config, const std::vector<double>& weights, Stream stream) {
  const double unit = config.problem.kind == ProblemKind::transient ? time_plan(config).dt : 1,
               scale = source_scale(config);
  on_host_.clear();
  weights_.clear();
  for (const double weight : weights) {
    weights_.push_back(static_cast<T>(weight / unit));
    for (const MaterialClass& own : all_.classes)
      on_host_.push_back(own.is_void() ? Coefficients<T>{1, 0, 0, 0, 0}
                                       : rounded_sweep<T>(config, own, scale, weight));
  }
  const std::size_t bytes = on_host_.size() * sizeof(Coefficients<T>);
  if (coefficients_.bytes() < bytes) {
    device_.synchronize(stream);
    coefficients_ = Buffer(device_, bytes);
  }
  device_.copy(coefficients_.data(), on_host_.data(), bytes, stream);
}

template <class T>
Materials<T> MaterialCells<T>::of_launch(std::size_t i, std::size_t cycle) const {
  Materials<T> materials = tables_;
  for (int sweep = 0; sweep < most_sweeps_per_launch; ++sweep) {
    materials.coefficients.sweep[sweep] = coefficients_.template as<Coefficients<T>>() + i * all_.count();
    materials.weight.sweep[sweep] = weights_[i];
    if (i < cycle) i = (i + 1) % cycle;
  }
  return materials;
}

template std::size_t material_bytes<float>(Int3, int, Backend, int);
template std::size_t material_bytes<double>(Int3, int, Backend, int);
template class MixedCellTables<float>;
template class MixedCellTables<double>;
template class MaterialCells<float>;
template class MaterialCells<double>;

}  // namespace isotherm
