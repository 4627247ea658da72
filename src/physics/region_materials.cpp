#include "physics/region_materials.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "config/boundary_laws.hpp"
#include "config/parts.hpp"
#include "config/problems.hpp"
#include "grid/slabs.hpp"
#include "physics/coverage.hpp"
#include "physics/dataset_reader.hpp"

namespace isotherm {
namespace {

// Opens and checks the dataset of a region. Errors name its key.
DatasetReader open_region(const Config& config, const MaterialShape& shape) {
  const std::string &file = shape.place.file, &dataset = shape.place.dataset;
  try {
    DatasetReader reader(file, dataset);
    if (!config.grid.is_sample) reader.check_shape(config.grid.cells);
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

// A dataset of whole numbers, which give the material of each cell.
class RegionDataset {
 public:
  // Throws as DatasetReader, and Error(deck) if it has not the grid's shape or is not of whole numbers.
  RegionDataset(const Config& config, const MaterialShape& shape)
      : reader_(open_region(config, shape)),
        cells_(config.grid.cells),
        map_(shape.map),
        of_others_(static_cast<std::uint8_t>(shape.material)) {
    for (std::size_t id = 0; id < of_small_.size(); ++id) of_small_[id] = found_in_map(id);
  }

  // Reads the cells whose indices along x, y and z are in these lists (global, within the domain, in any
  // order). Cells across a periodic face are on the opposite side, so an axis may have a few runs of cells.
  void load(const std::array<std::vector<Index>, 3>& indices) {
    std::size_t count = 1;
    for (int axis = 0; axis < 3; ++axis) {
      Axis& held = axes_[axis];
      held.places = indices[axis];
      // If the grid is a sample: the cells of the finer grid at its centres.
      for (Index& cell : held.places) cell = (2 * cell + 1) * reader_.cells()[axis] / (2 * cells_[axis]);
      held.cells = held.places;
      std::ranges::sort(held.cells);
      held.cells.erase(std::unique(held.cells.begin(), held.cells.end()), held.cells.end());
      for (Index& cell : held.places) cell = held.place(cell);
      count *= held.cells.size();
    }
    materials_.assign(count, no_material);
    for (const auto& [z, z_end] : axes_[2].runs())
      for (const auto& [y, y_end] : axes_[1].runs())
        for (const auto& [x, x_end] : axes_[0].runs()) read({{x, y, z}, {x_end, y_end, z_end}});
  }
  // Assigns a row of the loaded cells in `materials`; `first`: indices in the lists. A number that the map
  // lacks leaves a cell unchanged, unless the region has a material for such numbers.
  void apply(Int3 first, std::span<std::uint8_t> materials) const {
    const auto place = [&](int axis, Index i) { return axes_[axis].places[i]; };
    const Index nx = std::ssize(axes_[0].cells), ny = std::ssize(axes_[1].cells);
    const Index row = nx * (place(1, first.y) + ny * place(2, first.z));
    for (Index x = 0; x < std::ssize(materials); ++x) {
      const std::uint8_t found = materials_[row + place(0, first.x + x)];
      if (found != no_material) materials[x] = found;
    }
  }

 private:
  struct Axis {
    std::vector<Index> cells;   // loaded, ascending
    std::vector<Index> places;  // index in `cells` of each entry of the list

    // Runs [from, to) of cells, with small gaps between cells: many small reads take longer.
    std::vector<std::pair<Index, Index>> runs() const {
      constexpr Index most_apart = 64;
      std::vector<std::pair<Index, Index>> all;
      for (const Index cell : cells) {
        if (all.empty() || cell - all.back().second > most_apart) all.emplace_back(cell, cell);
        all.back().second = cell + 1;
      }
      return all;
    }
    Index place(Index cell) const { return std::ranges::lower_bound(cells, cell) - cells.begin(); }
  };

  // Reads by slabs: the numbers take eight times the memory of the materials.
  void read(Box box) {
    constexpr Index most_cells = Index{8} << 20;
    const Axis &along_x = axes_[0], &along_y = axes_[1], &along_z = axes_[2];
    const Index nx = std::ssize(along_x.cells), ny = std::ssize(along_y.cells);
    std::vector<std::int64_t> ids;
    for (const Box& slab : cut_into_slabs(box, reader_.chunk(), most_cells)) {
      ids.resize(slab.cells());
      reader_.read(slab, ids.data());
      const Int3 n = slab.extent(),
                 from{along_x.place(slab.lo.x), along_y.place(slab.lo.y), along_z.place(slab.lo.z)},
                 to{along_x.place(slab.hi.x), along_y.place(slab.hi.y), along_z.place(slab.hi.z)};
#pragma omp parallel for collapse(2) schedule(static)
      for (Index z = from.z; z < to.z; ++z) {
        for (Index y = from.y; y < to.y; ++y) {
          const Index row = n.x * (along_y.cells[y] - slab.lo.y + n.y * (along_z.cells[z] - slab.lo.z));
          for (Index x = from.x; x < to.x; ++x)
            materials_[x + nx * (y + ny * z)] = material_of(ids[row + along_x.cells[x] - slab.lo.x]);
        }
      }
    }
  }
  std::uint8_t material_of(std::int64_t id) const {
    const auto small = static_cast<std::uint64_t>(id);
    return small < of_small_.size() ? of_small_[small] : found_in_map(id);
  }
  std::uint8_t found_in_map(std::int64_t id) const {
    const auto found = std::ranges::lower_bound(map_, id, {}, &std::pair<std::int64_t, std::uint8_t>::first);
    return found != map_.end() && found->first == id ? found->second : of_others_;
  }

  DatasetReader reader_;
  Int3 cells_;  // of the grid
  std::vector<std::pair<std::int64_t, std::uint8_t>> map_;
  std::uint8_t of_others_;                    // or no_material
  std::array<std::uint8_t, 256> of_small_{};  // the usual numbers: a search per cell takes 3 times as long
  std::array<Axis, 3> axes_;
  std::vector<std::uint8_t> materials_;  // of the loaded cells, x fastest; no_material: unchanged
};

struct RegionMaterials::Region {
  std::uint8_t material;               // of a cover; a dataset has its own
  std::optional<CentreCover> cover{};  // either a cover or a dataset
  std::optional<RegionDataset> dataset{};
};

RegionMaterials::RegionMaterials(const Config& config)
    : cells_(config.grid.cells),
      periodic_(periodic_axes(config)),
      default_(static_cast<std::uint8_t>(
          config.materials.empty() ? 0 : material_number(config, config.material.default_material))),
      regions_(std::make_shared<std::vector<Region>>()) {
  for (const MaterialShape& shape : material_shapes(config)) {
    Region& region = regions_->emplace_back(Region{static_cast<std::uint8_t>(shape.material)});
    if (shape.place.shape == Shape::dataset)
      region.dataset.emplace(config, shape);
    else
      region.cover.emplace(config, shape.place);
  }
}

void RegionMaterials::load(Box cells) {
  std::array<std::vector<Index>, 3> indices;
  for (Region& region : *regions_) {
    if (!region.dataset || cells == loaded_) continue;
    for (int axis = 0; axis < 3 && indices[axis].empty(); ++axis)
      for (Index i = cells.lo[axis]; i < cells.hi[axis]; ++i) indices[axis].push_back(inside(axis, i));
    region.dataset->load(indices);
  }
  loaded_ = cells;
}

void RegionMaterials::row(Index x, Index y, Index z, std::span<std::uint8_t> materials) const {
  const Index end = x + std::ssize(materials), domain_end = cells_.x;
  const auto at = [&](Index i) { return materials.begin() + (i - x); };
  std::ranges::fill(materials, default_);
  for (const Region& region : *regions_) {
    if (region.dataset) {
      region.dataset->apply(Int3{x, y, z} - loaded_.lo, materials);
      continue;
    }
    const CellRange range = region.cover->row(inside(1, y), inside(2, z));
    const Index from = std::max(x, range.first), to = std::min(end, range.last);
    if (from < to) std::fill(at(from), at(to), region.material);
    for (Index cell = x; cell < std::min<Index>(end, 0); ++cell)
      if (range.has(inside(0, cell))) *at(cell) = region.material;
    for (Index cell = std::max(x, domain_end); cell < end; ++cell)
      if (range.has(inside(0, cell))) *at(cell) = region.material;
  }
}

bool RegionMaterials::repeats(Index z) const {
  return std::ranges::all_of(*regions_,
                             [&](const Region& each) { return each.cover && each.cover->repeats(z); });
}

void RegionMaterials::mark_visible(Index y, Index z, std::vector<bool>& shapes) const {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> top(cells_.x, none);
  std::vector<std::uint8_t> materials(cells_.x);
  for (std::size_t i = 0; i < regions_->size(); ++i) {
    const Region& region = (*regions_)[i];
    if (region.dataset) {
      std::ranges::fill(materials, no_material);
      region.dataset->apply(Int3{0, y, z} - loaded_.lo, materials);
      for (Index x = 0; x < cells_.x; ++x)
        if (materials[x] != no_material) top[x] = i;
    } else if (const CellRange range = region.cover->row(y, z); range.first < range.last) {
      std::fill(top.begin() + range.first, top.begin() + range.last, i);
    }
  }
  for (const std::size_t i : top)
    if (i != none) shapes[i] = true;
}

namespace {

// Rows of the domain, added plane by plane, with their neighbouring rows.
template <class Row>
class NeighbouringRows {
 public:
  explicit NeighbouringRows(const Config& config)
      : domain_(config.grid.cells), is_periodic_(periodic_axes(config)), latest_(domain_.y) {}

  // Calls touch(row, other) for each neighbour that was added before, also across periodic faces.
  template <class Touch>
  void add(Index y, Index z, const Row& row, const Touch& touch) {
    if (z == 0 && is_periodic_[2]) first_plane_.push_back(row);
    if (y > 0) touch(row, latest_[y - 1]);
    touch(row, std::exchange(latest_[y], row));
    if (y == domain_.y - 1 && is_periodic_[1]) touch(row, latest_[0]);
    if (z == domain_.z - 1 && is_periodic_[2]) touch(row, first_plane_[y]);
  }

 private:
  Int3 domain_;
  std::array<bool, 3> is_periodic_;
  std::vector<Row> latest_, first_plane_;  // by y
};

// The parts into which voids divide a body: cells that are connected by faces. In a steady problem something
// must fix the temperature of each part. Consecutive cells of the body along x are a run; union-find (Galler
// and Fischer, CACM 7, 1964) joins runs that touch, so the memory depends on the number of runs, not of
// cells.
class BodyParts {
 public:
  explicit BodyParts(const Config& config) : config_(config), rows_(config) {
    for (const Face f : all_faces)
      if (boundary_law(config, f).a < 1)  // of several laws the strongest
        laws_[static_cast<int>(f)] = face_law(config, f);
  }

  // Adds the numbers of the materials of all cells of a row. Call it row by row, plane by plane.
  void add(Index y, Index z, std::span<const std::uint8_t> materials) {
    const Row row = runs_of(y, z, materials);
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      if (row[i].last == row[i + 1].first) touch(row[i].part, row[i + 1].part);
    if (!row.empty() && periodic_axes(config_)[0] && row.front().first == 0 &&
        row.back().last == config_.grid.cells.x)
      touch(row.front().part, row.back().part);
    rows_.add(y, z, row, [&](const Row& a, const Row& b) { touch(a, b); });
  }

  // Call it after all rows. Throws Error(deck) with a cell of a part whose temperature nothing fixes.
  void check() {
    bool may_be_free = mean_is_free(config_);  // one part, whose mean the deck gives
    for (std::int64_t i = 0; i < std::ssize(parts_); ++i) {
      const Part& part = parts_[i];
      if (part.parent != i || part.is_held || std::exchange(may_be_free, false)) continue;
      const Vector3 at = GridAxes(config_).centre(part.cell);
      throw deck_error(
          config_, "regions",
          "the steady problem has no one solution: nothing holds the temperature of the part of the "
          "body with the cell at ({:.6g}, {:.6g}, {:.6g}) m, which voids separate from the rest; give it a "
          "boundary with a temperature or convection, or the void around it an ambient",
          at[0], at[1], at[2]);
    }
  }

 private:
  struct Run {
    Index first, last;  // cells, last excluded
    std::int64_t part;  // its number; of_void: of a void with a law
  };
  using Row = std::vector<Run>;
  struct Part {
    std::int64_t parent;
    bool is_held;
    Int3 cell;
  };
  static constexpr std::int64_t of_void = -1;

  bool holds(Face f, Int3 cell) const {
    const std::optional<FaceLaw>& law = laws_[static_cast<int>(f)];
    if (!law) return false;
    if (is_plain(boundary_of(config_, f))) return true;
    return law->at(1, 1, GridAxes(config_).centre(cell), 0).a < 1;  // not of the axis along the normal
  }

  Row runs_of(Index y, Index z, std::span<const std::uint8_t> materials) {
    Row runs;
    const Int3 n = config_.grid.cells;
    for (Index x = 0; x < n.x;) {
      const auto material_at = [&](Index i) -> const NamedMaterial& {
        return material_of_number(config_, materials[i]);
      };
      const bool is_body = !material_at(x).is_void(),
                 has_law = !is_body && material_at(x).coefficient.value_or(0) > 0;
      const Index first = x;
      while (x < n.x && (is_body ? !material_at(x).is_void() : &material_at(x) == &material_at(first))) ++x;
      if (!is_body && !has_law) continue;
      runs.push_back({first, x, is_body ? std::ssize(parts_) : of_void});
      if (is_body) parts_.push_back({std::ssize(parts_), false, {first, y, z}});
    }
    for (const Run& run : runs) {
      if (run.part == of_void) continue;
      bool& is_held = parts_[run.part].is_held;
      for (const Face f : all_faces) {
        const Box at_face = Box{{run.first, y, z}, {run.last, y + 1, z + 1}}.within(layer_at(f, {{}, n}));
        for (Int3 cell = at_face.lo; cell.x < at_face.hi.x && !is_held; ++cell.x) is_held = holds(f, cell);
      }
    }
    return runs;
  }

  std::int64_t root(std::int64_t part) {
    const auto parent = [&](std::int64_t of) -> std::int64_t& { return parts_[of].parent; };
    while (parent(part) != part) part = parent(part) = parent(parent(part));
    return part;
  }
  void touch(std::int64_t a, std::int64_t b) {
    if (a == of_void && b == of_void) return;
    if (a == of_void || b == of_void) {
      parts_[root(std::max(a, b))].is_held = true;
      return;
    }
    const std::int64_t low = std::min(root(a), root(b)), high = std::max(root(a), root(b));
    parts_[high].parent = low;
    parts_[low].is_held |= parts_[high].is_held;
  }
  void touch(const Row& a, const Row& b) {
    for (auto one = a.begin(), other = b.begin(); one != a.end() && other != b.end();) {
      if (one->first < other->last && other->first < one->last) touch(one->part, other->part);
      one->last < other->last ? ++one : ++other;
    }
  }

  const Config& config_;
  std::array<std::optional<FaceLaw>, face_count> laws_;  // of faces that fix a temperature anywhere
  std::vector<Part> parts_;
  NeighbouringRows<Row> rows_;
};

// Contacts of which no face was found yet.
class IdleContacts {
 public:
  explicit IdleContacts(const Config& config) : config_(config), rows_(config) {
    for (std::size_t i = 0; i < config.contacts.size(); ++i) {
      const std::vector<std::string>& between = config.contacts[i].between;
      sought_.push_back({i, material_number(config, between[0]), material_number(config, between[1])});
    }
  }
  bool empty() const { return sought_.empty(); }
  // As BodyParts::add().
  void add(Index y, Index z, std::span<const std::uint8_t> materials) {
    if (empty()) return;
    for (std::size_t x = 0; x + 1 < materials.size(); ++x) touch(materials[x], materials[x + 1]);
    if (periodic_axes(config_)[0]) touch(materials.back(), materials.front());
    rows_.add(y, z, {materials.begin(), materials.end()}, [&](const Row& a, const Row& b) {
      if (a == b || b.empty()) return;
      for (std::size_t x = 0; x < a.size(); ++x) touch(a[x], b[x]);
    });
  }
  void warn(Problems& problems) const {
    for (const Contact& each : sought_)
      problems.warn(
          fmt::format("contacts.{}", each.entry),
          "no face of cells is between {} and {}, so it changes nothing; remove it, or let them touch",
          config_.contacts[each.entry].between[0], config_.contacts[each.entry].between[1]);
  }

 private:
  using Row = std::vector<std::uint8_t>;
  struct Contact {
    std::size_t entry, one, other;
  };
  void touch(std::size_t a, std::size_t b) {
    if (a == b) return;
    std::erase_if(sought_, [&](const Contact& each) {
      return (each.one == a && each.other == b) || (each.one == b && each.other == a);
    });
  }

  const Config& config_;
  std::vector<Contact> sought_;
  NeighbouringRows<Row> rows_;
};

// The findings of one pass over all cells of the domain.
class RegionChecks {
 public:
  // `is_empty`: of each shape, does it hold no cell?
  RegionChecks(const Config& config, const std::vector<MaterialShape>& shapes,
               const std::vector<bool>& is_empty)
      : config_(config), shapes_(shapes), seen_(is_empty), idle_contacts_(config) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::size_t own = shapes[i].material;
      if (own != no_material && !is_empty[i]) sought_[own] = true;
      if (!shapes[i].map.empty()) mapped_[own] = true;
      for (const auto& [id, material] : shapes[i].map) sought_[material] = mapped_[material] = true;
    }
    if (config.problem.kind == ProblemKind::steady &&
        (has_void(material_classes(config)) || has_void_law(config)))
      parts_.emplace(config);
  }
  // Call it row by row, plane by plane; `regions` must have loaded the plane.
  void add(Index y, Index z, std::span<const std::uint8_t> row, const RegionMaterials& regions) {
    std::array<bool, 256> found{};
    for (const std::uint8_t material : row) found[material] = true;
    if (!found[no_material]) {
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (!found[i]) continue;
        sought_[i] = false;
        is_body_ = is_body_ || !material_of_number(config_, i).is_void();
      }
      if (parts_) parts_->add(y, z, row);
      idle_contacts_.add(y, z, row);
      if (!all_seen()) regions.mark_visible(y, z, seen_);
      return;
    }
    const auto bare = std::ranges::find(row, no_material);
    const Vector3 at = GridAxes(config_).centre({bare - row.begin(), y, z});
    throw deck_error(
        config_, "regions",
        "no region has the cell at ({:.6g}, {:.6g}, {:.6g}) m, and there is no material.default; add the "
        "default, which may be void, or a region",
        at[0], at[1], at[2]);
  }
  bool is_over() const {  // are later rows of no interest?
    return !parts_ && is_body_ && !config_.material.default_material.empty() &&
           std::ranges::count(sought_, true) == 0 && idle_contacts_.empty() && all_seen();
  }
  void end(Problems& problems) {
    std::vector<std::string> hidden;
    for (std::size_t i = 0; i < sought_.size(); ++i) {
      if (!sought_[i]) continue;
      const std::string& name = material_of_number(config_, i).name;
      if (mapped_[i])
        problems.warn("regions", "no cell is of {}; remove it, or check the numbers of the dataset", name);
      else
        hidden.push_back(name);
    }
    if (!hidden.empty())
      throw deck_error(config_, "regions",
                       "other regions cover every cell of {}; change their order, or remove it",
                       fmt::join(hidden, " and "));
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (!seen_[i])
        problems.warn(shapes_[i].key,
                      "no cell is of it, as later regions cover {}; change their order, or remove it",
                      shapes_[i].map.empty() ? "it" : "its numbers, or the dataset has none of them");
    idle_contacts_.warn(problems);
    if (!is_body_)
      throw deck_error(config_, "regions",
                       "every cell is of a void, and none of the body; give one a material");
    if (parts_) parts_->check();
  }

 private:
  bool all_seen() const { return std::ranges::count(seen_, false) == 0; }

  const Config& config_;
  const std::vector<MaterialShape>& shapes_;
  std::vector<bool> seen_;  // by shape
  IdleContacts idle_contacts_;
  std::array<bool, 256> sought_{}, mapped_{};  // by number
  bool is_body_ = false;                       // is any cell of the body?
  std::optional<BodyParts> parts_;
};

}  // namespace

void assign_classes(RegionMaterials& regions, const MaterialClasses& all, Box cells,
                    FieldView<std::uint8_t> classes, CellCounts* counts) {
  const Box box = classes.padded();
  regions.load(box.shifted(cells.lo));
  const auto size_number = [&](int axis, Index i) {
    return all.size_number(axis, regions.inside(axis, cells.lo[axis] + i));
  };
  std::vector<std::size_t> size_along_x;
  for (Index x = box.lo.x; x < box.hi.x; ++x) size_along_x.push_back(size_number(0, x));
  const std::size_t nx = all.sizes[0], ny = all.sizes[1], of_material = nx * ny * all.sizes[2];
  const auto last = static_cast<std::uint8_t>(all.of_material.size() / of_material - 1);
#pragma omp parallel
  {
    std::vector<std::uint8_t> row(box.extent().x);
    std::array<std::int64_t, 256> with_material{}, with_class{};
#pragma omp for collapse(2) schedule(static)
    for (Index z = box.lo.z; z < box.hi.z; ++z) {
      for (Index y = box.lo.y; y < box.hi.y; ++y) {
        regions.row(cells.lo.x + box.lo.x, cells.lo.y + y, cells.lo.z + z, row);
        const std::uint8_t* const of_row =
            &all.of_material[(size_number(2, z) * ny + size_number(1, y)) * nx];
        std::uint8_t* const to = &classes(box.lo.x, y, z);
        for (std::size_t x = 0; x < row.size(); ++x)
          to[x] = of_row[std::min(row[x], last) * of_material + size_along_x[x]];
        if (!counts || !classes.interior().contains({0, y, z})) continue;
        for (Index x = 0; x < classes.extent.x; ++x) {
          ++with_material[row[x - box.lo.x]];
          ++with_class[classes(x, y, z)];
        }
      }
    }
#pragma omp critical(isotherm_assign_classes)
    if (counts) {
      const auto add = [](std::vector<std::int64_t>& to, const auto& mine) {
        std::ranges::transform(to, mine, to.begin(), std::plus());
      };
      add(counts->of_material, with_material);
      add(counts->of_class, with_class);
    }
  }
}

template <class T>
void fill_voids(FieldView<T> field, const MaterialClasses& all, FieldView<const std::uint8_t> classes,
                Int3 lo, bool with_nan) {
  const Int3 n = field.extent;
#pragma omp parallel for collapse(2) schedule(static)
  for (Index z = 0; z < n.z; ++z)
    for (Index y = 0; y < n.y; ++y)
      for (Index x = 0; x < n.x; ++x) {
        const MaterialClass& own = all.classes[classes(lo + Int3{x, y, z})];
        if (own.is_void())
          field(x, y, z) = with_nan ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(own.ambient);
      }
}
template void fill_voids(FieldView<float>, const MaterialClasses&, FieldView<const std::uint8_t>, Int3, bool);
template void fill_voids(FieldView<double>, const MaterialClasses&, FieldView<const std::uint8_t>, Int3,
                         bool);

std::vector<std::uint8_t> void_cells(const Config& config, Box cells) {
  const MaterialClasses all = material_classes(config);
  if (!has_void(all) || cells.empty()) return {};
  RegionMaterials regions(config);
  regions.load(cells);
  const Int3 n = cells.extent();
  std::vector<std::uint8_t> found(n.product());
#pragma omp parallel for collapse(2) schedule(static)
  for (Index z = 0; z < n.z; ++z) {
    for (Index y = 0; y < n.y; ++y) {
      const std::span row(&found[n.x * (y + n.y * z)], static_cast<std::size_t>(n.x));
      regions.row(cells.lo.x, cells.lo.y + y, cells.lo.z + z, row);
      for (std::uint8_t& each : row) each = material_of_number(config, each).is_void();
    }
  }
  return found;
}

namespace {

// Warns of laws of faces whose cells are all of voids.
void warn_of_laws_in_voids(const Config& config, Problems& problems) {
  struct Sought : PlacedLaw {
    bool has_cell = false;
  };
  if (!has_void(material_classes(config))) return;
  const GridAxes axes(config);
  for (const Face f : all_faces) {
    std::vector<Sought> sought;
    for (const PlacedLaw& law : laws_of(config, f))
      if (law.kind != BoundaryKind::insulated && law.kind != BoundaryKind::periodic) sought.push_back({law});
    if (sought.empty()) continue;
    const Box layer = layer_at(f, {{0, 0, 0}, config.grid.cells});
    const std::vector<std::uint8_t> voids = void_cells(config, layer);
    auto is_void = voids.begin();
    for_each_cell(layer, [&](Int3 cell) {
      const Vector3 at = axes.centre(cell);
      const bool is_body = *is_void++ == 0;
      std::erase_if(sought, [&](Sought& law) {
        const bool holds = law.share(at[0], at[1], at[2]) > rounding_of_per_cell;
        law.has_cell = law.has_cell || holds;
        return holds && is_body;
      });
    });
    for (const Sought& law : sought)
      if (law.has_cell)
        problems.warn(law.key,
                      "every cell that has it is of a void, so it changes nothing; remove it, or move it "
                      "to the body");
  }
}

}  // namespace

void warn_of_materials(const Config& config, Problems& problems) {
  if (config.materials.empty()) return;
  const std::vector<MaterialShape> shapes = material_shapes(config);
  std::vector<bool> is_empty;
  for (const MaterialShape& shape : shapes) {
    is_empty.push_back(shape.place.shape != Shape::dataset && !CentreCover(config, shape.place).covers_any());
    if (is_empty.back())
      problems.warn(shape.key,
                    "holds no cell centre, so no cell is of it; use a finer grid or a larger shape");
  }
  RegionMaterials regions(config);
  RegionChecks checks(config, shapes, is_empty);
  const Int3 n = config.grid.cells;
  std::vector<std::uint8_t> row(n.x);
  for (Index z = 0; z < n.z && !checks.is_over(); ++z) {
    regions.load({{0, 0, z}, {n.x, n.y, z + 1}});
    for (Index y = 0; y < n.y; ++y) {
      regions.row(0, y, z, row);
      checks.add(y, z, row, regions);
    }
  }
  checks.end(problems);
  warn_of_laws_in_voids(config, problems);
}

}  // namespace isotherm
