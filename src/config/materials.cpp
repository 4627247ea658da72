#include "config/materials.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace isotherm {
namespace {

// Resistances of contacts between any two materials, m^2 K/W.
class ContactTable {
 public:
  explicit ContactTable(const Config& config)
      : count_(config.materials.size()), resistances_(count_ * count_) {
    for (const ContactConfig& contact : config.contacts) {
      if (contact.between.size() != 2) continue;  // reported by the checks, as unknown names are
      const std::size_t i = material_number(config, contact.between[0]),
                        j = material_number(config, contact.between[1]);
      if (i < count_ && j < count_)
        resistances_[i * count_ + j] = resistances_[j * count_ + i] = contact.resistance;
    }
  }
  double operator()(std::size_t i, std::size_t j) const {
    return std::max(i, j) < count_ ? resistances_[i * count_ + j] : 0;  // a void has none
  }

 private:
  std::size_t count_;
  std::vector<double> resistances_;
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

std::vector<std::pair<std::int64_t, std::uint8_t>> numbers_of(const Config& config,
                                                              const MaterialRegion& region) {
  std::vector<std::pair<std::int64_t, std::uint8_t>> map;
  for (const MappedId& each : region.map)
    if (const auto id = whole_number(each.id))
      map.emplace_back(*id, static_cast<std::uint8_t>(material_number(config, each.material)));
  std::ranges::sort(map);
  return map;
}

}  // namespace

std::optional<std::int64_t> whole_number(const std::string& id) {
  std::int64_t value = 0;
  const char* const end = id.data() + id.size();
  const auto [rest, error] = std::from_chars(id.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

std::size_t material_number(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.materials, name, &NamedMaterial::name);
  if (found == config.materials.end() && name != void_word) return no_material;
  return static_cast<std::size_t>(found - config.materials.begin());
}

const NamedMaterial& material_of_number(const Config& config, std::size_t number) {
  static const NamedMaterial insulated = [] {
    NamedMaterial word;
    word.name = void_word;
    return word;
  }();
  return number < config.materials.size() ? config.materials[number] : insulated;
}

std::vector<std::size_t> painted_materials(const Config& config) {
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
  std::ranges::stable_partition(numbers,
                                [&](std::size_t i) { return !material_of_number(config, i).is_void(); });
  if (numbers.empty()) add(0);  // reported by the checks
  return numbers;
}

MaterialClasses material_classes(const Config& config) {
  MaterialClasses all;
  if (config.materials.empty()) {
    const double k = conductivity(config);
    return {{{{k, k, k}, volumetric_heat_capacity(config)}}, {}, {0}};
  }
  const ContactTable contact(config);
  std::vector<std::size_t> representatives;  // a material of each class
  all.of_material.resize(config.materials.size() + 1);
  for (const std::size_t i : painted_materials(config)) {
    const auto like = std::ranges::find_if(
        representatives, [&](std::size_t other) { return are_alike(config, contact, i, other); });
    all.of_material[i] = static_cast<std::uint8_t>(like - representatives.begin());
    if (like != representatives.end()) continue;
    const NamedMaterial& material = material_of_number(config, i);
    representatives.push_back(i);
    if (material.is_void())
      all.classes.push_back({{}, 0, material.coefficient.value_or(0), material.ambient.value_or(0)});
    else
      all.classes.push_back({*material.conductivity, material.volumetric_heat_capacity()});
  }
  for (const std::size_t i : representatives)
    for (const std::size_t j : representatives) all.resistances.push_back(contact(i, j));
  return all;
}

bool has_void(const MaterialClasses& all) {
  return all.classes.back().is_void();
}

bool has_void_law(const Config& config) {
  if (config.materials.empty()) return false;
  return std::ranges::any_of(painted_materials(config), [&](std::size_t i) {
    return material_of_number(config, i).coefficient.value_or(0) > 0;
  });
}

bool has_several_materials(const Config& config) {
  if (config.materials.empty()) return false;
  const std::vector<std::size_t> painted = painted_materials(config);
  const Vector3 k = material_of_number(config, painted[0]).conductivity.value_or(Vector3{});
  if (k[0] != k[1] || k[0] != k[2]) return true;
  const ContactTable contact(config);
  return std::ranges::any_of(
      painted, [&](std::size_t i) { return i != painted[0] && !are_alike(config, contact, i, painted[0]); });
}

double face_conductance(const Config& config, const MaterialClasses& all, int axis, std::size_t i,
                        std::size_t j) {
  const MaterialClass &own = all.classes[i], &next = all.classes[j];
  if (own.is_void()) return 0;
  const double h = spacing(config)[axis], k = own.conductivity[axis];
  if (next.is_void()) return *next.coefficient > 0 ? 1 / (h * (h / 2 / k + 1 / *next.coefficient)) : 0;
  const double other = next.conductivity[axis], contact = all.resistance(i, j);
  if (k == other && contact == 0) return k / (h * h);
  return 1 / (h * (h / 2 / k + contact + h / 2 / other));
}

double own_conductance(const Config& config, const MaterialClass& own) {
  const Vector3 h = spacing(config);
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis) sum += 2 * own.conductivity[axis] / (h[axis] * h[axis]);
  return sum;
}

std::vector<PaintedShape> painted_shapes(const Config& config) {
  const Vector3 h = spacing(config);
  std::vector<PaintedShape> shapes;
  for (std::size_t number = 0; number < config.regions.size(); ++number) {
    const MaterialRegion& region = config.regions[number];
    const std::string key = "regions." + std::to_string(number);
    if (region.shape == RegionShape::dataset) {
      shapes.push_back({no_material, region.place, key, numbers_of(config, region)});
      shapes.back().place.shape = Shape::dataset;
      continue;
    }
    if (region.shape != RegionShape::layers) {
      RegionValue place = region.place;
      place.shape = region.shape == RegionShape::box      ? Shape::box
                    : region.shape == RegionShape::sphere ? Shape::sphere
                                                          : Shape::cylinder;
      shapes.push_back({material_number(config, region.material), place, key});
      continue;
    }
    const int axis = region.place.axis;
    double face = config.grid.origin[axis];
    for (const LayerConfig& layer : region.layers) {
      RegionValue place;
      place.shape = Shape::box;
      for (int a = 0; a < 3; ++a) {  // beyond the domain, so that every cell is within
        place.from[a] = config.grid.origin[a] - h[a];
        place.to[a] = config.grid.origin[a] + h[a] * (static_cast<double>(config.grid.cells[a]) + 1);
      }
      place.from[axis] = face;
      place.to[axis] = face += layer.thickness;
      shapes.push_back({material_number(config, layer.material), place, key});
    }
  }
  return shapes;
}

}  // namespace isotherm
