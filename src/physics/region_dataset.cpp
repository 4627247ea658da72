#include "physics/region_dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/problems.hpp"
#include "core/error.hpp"

namespace isotherm {
namespace {

// Opened once to be checked: what throws names the key.
DatasetReader open_region(const Config& config, const PaintedShape& shape) {
  const std::string &file = shape.place.file, &dataset = shape.place.dataset;
  try {
    DatasetReader reader(file, dataset);
    check_shape(reader, file, dataset, config.grid.cells);
    if (reader.type() != StoredType::integer)
      throw Error(ExitCode::deck,
                  fmt::format("{}:{}: expected whole numbers, found floating point; store the "
                              "numbers of materials as integers",
                              file, dataset));
    return reader;
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}: {}", config.at(shape.key + ".dataset"), e.what()));
  }
}

}  // namespace

RegionDataset::RegionDataset(const Config& config, const PaintedShape& shape)
    : reader_(open_region(config, shape)), map_(shape.map) {
  constexpr std::int64_t most_in_table = 1 << 16;
  if (map_.empty() || map_.back().first - map_.front().first >= most_in_table) return;
  table_.assign(static_cast<std::size_t>(map_.back().first - map_.front().first + 1),
                static_cast<std::uint8_t>(no_material));
  for (const auto& [id, material] : map_)
    table_[static_cast<std::size_t>(id - map_.front().first)] = material;
}

std::vector<std::pair<Index, Index>> RegionDataset::Axis::runs() const {
  std::vector<std::pair<Index, Index>> all;
  for (const Index cell : cells) {
    if (!all.empty() && all.back().second == cell)
      ++all.back().second;
    else
      all.emplace_back(cell, cell + 1);
  }
  return all;
}

Index RegionDataset::Axis::place(Index cell) const {
  return std::ranges::lower_bound(cells, cell) - cells.begin();
}

std::uint8_t RegionDataset::material_of(std::int64_t id) const {
  if (!table_.empty()) {
    const bool is_within = id >= map_.front().first && id <= map_.back().first;
    return is_within ? table_[static_cast<std::size_t>(id - map_.front().first)]
                     : static_cast<std::uint8_t>(no_material);
  }
  const auto found = std::ranges::lower_bound(map_, id, {}, &std::pair<std::int64_t, std::uint8_t>::first);
  return found != map_.end() && found->first == id ? found->second : static_cast<std::uint8_t>(no_material);
}

// Beyond a periodic face the cells of the opposite side are needed: along an axis a few runs of cells.
void RegionDataset::load(const std::array<std::vector<Index>, 3>& indices) {
  std::size_t count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    Axis& held = axes_[axis];
    held.cells = indices[axis];
    std::ranges::sort(held.cells);
    held.cells.erase(std::unique(held.cells.begin(), held.cells.end()), held.cells.end());
    held.places.clear();
    for (const Index cell : indices[axis]) held.places.push_back(held.place(cell));
    count *= held.cells.size();
  }
  materials_.assign(count, static_cast<std::uint8_t>(no_material));
  for (const auto& [z, z_end] : axes_[2].runs())
    for (const auto& [y, y_end] : axes_[1].runs())
      for (const auto& [x, x_end] : axes_[0].runs()) read({{x, y, z}, {x_end, y_end, z_end}});
}

// By slabs: the numbers take eight times the memory of what is kept of them.
void RegionDataset::read(Box box) {
  constexpr Index slab_cells = Index{8} << 20;
  const Index planes = std::max<Index>(1, slab_cells / (box.extent().x * box.extent().y));
  const Index nx = std::ssize(axes_[0].cells), ny = std::ssize(axes_[1].cells);
  std::vector<std::int64_t> ids;
  for (Box slab = box; slab.lo.z < box.hi.z; slab.lo.z = slab.hi.z) {
    slab.hi.z = std::min(slab.lo.z + planes, box.hi.z);
    ids.resize(static_cast<std::size_t>(slab.cells()));
    reader_.read(slab, ids.data());
    const Int3 n = slab.extent();
#pragma omp parallel for collapse(2) schedule(static)
    for (Index z = slab.lo.z; z < slab.hi.z; ++z) {
      for (Index y = slab.lo.y; y < slab.hi.y; ++y) {
        const std::int64_t* const id =
            &ids[static_cast<std::size_t>(((z - slab.lo.z) * n.y + y - slab.lo.y) * n.x)];
        const Index row = axes_[0].place(slab.lo.x) + nx * (axes_[1].place(y) + ny * axes_[2].place(z));
        for (Index x = 0; x < n.x; ++x) materials_[static_cast<std::size_t>(row + x)] = material_of(id[x]);
      }
    }
  }
}

void RegionDataset::paint(Int3 first, std::span<std::uint8_t> materials) const {
  const auto place = [&](int axis, Index i) { return axes_[axis].places[static_cast<std::size_t>(i)]; };
  const Index nx = std::ssize(axes_[0].cells), ny = std::ssize(axes_[1].cells);
  const Index row = nx * (place(1, first.y) + ny * place(2, first.z));
  for (Index x = 0; x < std::ssize(materials); ++x) {
    const std::uint8_t found = materials_[static_cast<std::size_t>(row + place(0, first.x + x))];
    if (found != no_material) materials[static_cast<std::size_t>(x)] = found;
  }
}

}  // namespace isotherm
