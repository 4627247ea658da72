#include "config/materials.hpp"

#include <map>

#include "config/boundary_laws.hpp"
#include "config/grid_axes.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

// Resistances of contacts between used materials, m^2 K/W, by the numbers of two in either order.
class ContactTable {
 public:
  ContactTable(const Config& config, const std::vector<std::size_t>& used) {
    for (const ContactConfig& contact : config.contacts) {
      if (contact.between.size() != 2) continue;  // reported by the checks
      const std::size_t i = material_number(config, contact.between[0]),
                        j = material_number(config, contact.between[1]);
      // A contact of a material without cells must not make two other materials differ.
      if (std::ranges::count(used, i) == 0 || std::ranges::count(used, j) == 0) continue;
      resistances_[{i, j}] = resistances_[{j, i}] = contact.resistance;
    }
  }
  double operator()(std::size_t i, std::size_t j) const {
    const auto found = resistances_.find({i, j});
    return found == resistances_.end() ? 0 : found->second;
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, double> resistances_;
};

// Is there no difference between the two for any cell?
bool are_alike(const Config& config, const ContactTable& contact, std::size_t i, std::size_t j) {
  const NamedMaterial &one = material_of_number(config, i), &other = material_of_number(config, j);
  if (one.is_void() || one.conductivity != other.conductivity ||
      one.volumetric_heat_capacity() != other.volumetric_heat_capacity() || contact(i, j) != 0)
    return false;
  for (std::size_t k = 0; k < config.materials.size(); ++k)
    if (k != i && k != j && contact(i, k) != contact(j, k)) return false;
  return true;
}

}  // namespace

std::size_t material_number(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.materials, name, &NamedMaterial::name);
  if (found == config.materials.end() && name != void_word) return no_material;
  return static_cast<std::size_t>(found - config.materials.begin());
}

const NamedMaterial& material_of_number(const Config& config, std::size_t number) {
  static const NamedMaterial insulated{std::string(void_word), {}, {}, {}, {}, {}};
  return number < config.materials.size() ? config.materials[number] : insulated;
}

std::vector<std::size_t> used_materials(const Config& config) {
  std::vector<std::size_t> numbers;
  const auto add = [&](std::size_t number) {
    if (number != no_material && std::ranges::find(numbers, number) == numbers.end())
      numbers.push_back(number);
  };
  add(material_number(config, config.material.default_material));
  for (const MaterialRegion& region : config.regions) {
    add(material_number(config, region.material));
    for (const LayerConfig& layer : region.layers) add(material_number(config, layer.material));
    for (const MappedId& each : region.map) add(material_number(config, each.material));
  }
  std::stable_partition(numbers.begin(), numbers.end(),
                        [&](std::size_t i) { return !material_of_number(config, i).is_void(); });
  if (numbers.empty()) add(0);  // reported by the checks
  return numbers;
}

namespace {

// Numbers the sizes of cells, and gives each material a class for each size that its cells may have.
class SizeClasses {
 public:
  SizeClasses(const Config& config, const MaterialClasses& of_materials) : by_material_(of_materials) {
    for (int a = 0; a < 3; ++a) {
      std::vector<double>& sizes = sizes_[a];
      Index first = 0;
      for (const SpacingZone& zone : config.grid.zones[a]) {
        auto at = static_cast<std::size_t>(std::ranges::find(sizes, zone.size) - sizes.begin());
        // If there are too many, counts one size more than there may be classes: the checks report it.
        if (at == sizes.size() && at <= most_classes) sizes.push_back(zone.size);
        at = std::min(at, most_classes);
        found_.first_of_zone[a].push_back(first);
        found_.number_of_size[a].push_back(static_cast<std::uint8_t>(at));
        first += zone.cells;
      }
      if (sizes.empty()) sizes.push_back(spacing(config)[a]);
      found_.sizes[a] = sizes.size();
    }
    const std::size_t materials = config.materials.size() + 1;  // and the word void
    found_.of_material.resize(materials * found_.sizes[0] * found_.sizes[1] * found_.sizes[2]);
  }

  void add(std::size_t material, const Box& cells) {
    for (const std::size_t z : sizes_within(2, cells))
      for (const std::size_t y : sizes_within(1, cells))
        for (const std::size_t x : sizes_within(0, cells)) add_one(material, x, y, z);
  }

  MaterialClasses all() {
    if (found_.classes.empty()) add_one(0, 0, 0, 0);
    for (const auto& [i, own] : made_)
      for (const auto& [j, other] : made_) found_.resistances.push_back(by_material_.resistance(i, j));
    return std::move(found_);
  }

 private:
  std::vector<std::size_t> sizes_within(int axis, const Box& cells) const {
    const Index begin = cells.lo[axis], end = cells.hi[axis];
    std::vector<std::size_t> numbers;
    const auto add_that_of = [&](Index cell) {
      const std::size_t number = found_.size_number(axis, cell);
      if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
    };
    if (begin < end) add_that_of(begin);
    for (const Index first : found_.first_of_zone[axis])
      if (first > begin && first < end) add_that_of(first);
    return numbers;
  }

  // Stops counting when there are more classes than a byte can number.
  void add_one(std::size_t material, std::size_t x, std::size_t y, std::size_t z) {
    if (found_.count() > most_classes) return;
    const std::size_t of = by_material_.of_material[material];
    const std::pair own(of, Vector3{sizes_[0][x], sizes_[1][y], sizes_[2][z]});
    const auto kind = std::ranges::find(made_, own) - made_.begin();
    if (kind == std::ssize(made_)) {
      made_.push_back(own);
      found_.classes.push_back(by_material_.classes[of]);
      found_.classes.back().size = own.second;
    }
    const auto& [nx, ny, nz] = found_.sizes;
    found_.of_material[((material * nz + z) * ny + y) * nx + x] = static_cast<std::uint8_t>(kind);
  }

  const MaterialClasses& by_material_;
  std::array<std::vector<double>, 3> sizes_;
  MaterialClasses found_;
  std::vector<std::pair<std::size_t, Vector3>> made_;  // by class: the class of its material, its cell size
};

MaterialClasses with_sizes(const Config& config, const MaterialClasses& of_materials) {
  SizeClasses all(config, of_materials);
  const Box whole{{0, 0, 0}, config.grid.cells};
  if (config.materials.empty()) all.add(0, whole);
  const GridAxes axes(config);
  const std::vector<MaterialShape> shapes = material_shapes(config);
  for (const bool voids : {false, true}) {  // voids come last
    const auto add = [&](std::size_t material, const Box& cells) {
      if (material != no_material && material_of_number(config, material).is_void() == voids)
        all.add(material, cells);
    };
    add(material_number(config, config.material.default_material), whole);
    for (const MaterialShape& shape : shapes) {
      const Box cells = shape.place.shape == Shape::dataset ? whole : centres_within(axes, shape.place);
      for (const auto& [number, material] : shape.map) add(material, cells);
      add(shape.material, cells);
    }
  }
  return all.all();
}

}  // namespace

MaterialClasses material_classes(const Config& config) {
  MaterialClasses all;
  const Vector3 h = spacing(config);
  if (config.materials.empty()) {
    const double k = conductivity(config);
    all.classes = {{{k, k, k}, volumetric_heat_capacity(config), {}, 0, h}};
    all.of_material = {0};
    all.resistances = {0};
    return config.grid.is_graded() ? with_sizes(config, all) : all;
  }
  const std::vector<std::size_t> used = used_materials(config);
  const ContactTable contact(config, used);
  std::vector<std::size_t> representatives;  // a material of each class
  all.of_material.resize(config.materials.size() + 1);
  for (const std::size_t i : used) {
    const auto like = std::ranges::find_if(
        representatives, [&](std::size_t other) { return are_alike(config, contact, i, other); });
    all.of_material[i] = static_cast<std::uint8_t>(like - representatives.begin());
    if (like != representatives.end()) continue;
    const NamedMaterial& material = material_of_number(config, i);
    representatives.push_back(i);
    if (material.is_void())
      all.classes.push_back({{}, 0, material.coefficient.value_or(0), material.ambient.value_or(0), h});
    else
      all.classes.push_back({*material.conductivity, material.volumetric_heat_capacity(), {}, 0, h});
  }
  for (const std::size_t i : representatives)
    for (const std::size_t j : representatives) all.resistances.push_back(contact(i, j));
  return config.grid.is_graded() ? with_sizes(config, all) : all;
}

bool has_void(const MaterialClasses& all) { return all.classes.back().is_void(); }

bool has_void_law(const Config& config) {
  if (config.materials.empty()) return false;
  return std::ranges::any_of(used_materials(config), [&](std::size_t i) {
    return material_of_number(config, i).coefficient.value_or(0) > 0;
  });
}

bool has_several_materials(const Config& config) {
  if (config.grid.is_graded()) return true;
  if (patches_cut_coarse_cells(config)) return true;
  if (config.materials.empty()) return false;
  const std::vector<std::size_t> used = used_materials(config);
  const Vector3 k = material_of_number(config, used[0]).conductivity.value_or(Vector3{});
  if (k[0] != k[1] || k[0] != k[2]) return true;
  const ContactTable contact(config, used);
  return std::ranges::any_of(
      used, [&](std::size_t i) { return i != used[0] && !are_alike(config, contact, i, used[0]); });
}

double volume_ratio(const Config& config, const MaterialClass& own) {
  if (!config.grid.is_graded()) return 1;
  return own.size[0] * own.size[1] * own.size[2] / cell_volume(config);
}

double face_conductance(const Config& config, const MaterialClasses& all, int axis, std::size_t i,
                        std::size_t j) {
  const MaterialClass &own = all.classes[i], &beyond = all.classes[j];
  const bool ends_at_void = beyond.is_void();
  if (own.is_void() || (ends_at_void && !(*beyond.coefficient > 0))) return 0;
  const double h = own.size[axis], k = own.conductivity[axis], other = beyond.conductivity[axis],
               contact = all.resistance(i, j);
  if (config.grid.is_graded()) {
    const double area = own.size[(axis + 1) % 3] * own.size[(axis + 2) % 3] / cell_volume(config),
                 of_beyond = ends_at_void ? 1 / *beyond.coefficient : beyond.size[axis] / 2 / other;
    return area / ((h / 2 / k + of_beyond) + contact);
  }
  if (ends_at_void) return 1 / (h * (h / 2 / k + 1 / *beyond.coefficient));
  if (k == other && contact == 0) return k / (h * h);
  return 1 / (h * (h / 2 / k + contact + h / 2 / other));
}

double own_conductance(const Config& config, const MaterialClass& own) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) sum += 2 * own.conductivity[axis] / (own.size[axis] * own.size[axis]);
  return sum * volume_ratio(config, own);
}

std::vector<MaterialShape> material_shapes(const Config& config) {
  const Vector3 h = spacing(config);
  const GridAxes axes(config);
  std::vector<MaterialShape> shapes;
  for (std::size_t number = 0; number < config.regions.size(); ++number) {
    const MaterialRegion& region = config.regions[number];
    const std::string key = "regions." + std::to_string(number);
    if (region.shape != RegionShape::layers) {
      RegionValue place = region.place;
      place.shape = *from_word<Shape>(word(region.shape));
      MaterialShape& shape =
          shapes.emplace_back(MaterialShape{material_number(config, region.material), place, key});
      for (const MappedId& each : region.map)
        if (const auto id = read_number<std::int64_t>(each.id))
          shape.map.emplace_back(*id, static_cast<std::uint8_t>(material_number(config, each.material)));
      std::ranges::sort(shape.map);
      continue;
    }
    const int axis = region.place.axis;
    double face = config.grid.origin[axis];
    for (std::size_t i = 0; i < region.layers.size(); ++i) {
      const LayerConfig& layer = region.layers[i];
      RegionValue place;
      place.shape = Shape::box;
      for (int a = 0; a < 3; ++a) {  // beyond the domain, so that every cell is within
        place.from[a] = config.grid.origin[a] - h[a];
        place.to[a] = axes[a].edge(config.grid.cells[a] + 1);
      }
      place.from[axis] = face;
      place.to[axis] = face += layer.thickness;
      shapes.push_back(
          {material_number(config, layer.material), place, key + ".layers." + std::to_string(i)});
    }
  }
  return shapes;
}

}  // namespace isotherm
