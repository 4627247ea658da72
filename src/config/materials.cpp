#include "config/materials.hpp"

#include <algorithm>

namespace isotherm {
namespace {

// m^2 K/W; of two numbers of materials.
double contact_between(const Config& config, std::size_t i, std::size_t j) {
  const std::string &one = config.materials[i].name, &other = config.materials[j].name;
  for (const ContactConfig& contact : config.contacts) {
    if (contact.between.size() != 2) continue;  // reported by the checks
    const std::string &a = contact.between[0], &b = contact.between[1];
    if ((a == one && b == other) || (a == other && b == one)) return contact.resistance;
  }
  return 0;
}

// Is there no difference between the two for any cell?
bool are_alike(const Config& config, std::size_t i, std::size_t j) {
  const NamedMaterial &one = config.materials[i], &other = config.materials[j];
  if (one.conductivity != other.conductivity ||
      one.volumetric_heat_capacity() != other.volumetric_heat_capacity() ||
      contact_between(config, i, j) != 0)
    return false;
  for (std::size_t k = 0; k < config.materials.size(); ++k)
    if (k != i && k != j && contact_between(config, i, k) != contact_between(config, j, k)) return false;
  return true;
}

// The numbers of all materials, the one that is the first class first.
std::vector<std::size_t> in_order(const Config& config) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < config.materials.size(); ++i) order.push_back(i);
  const std::size_t first = material_number(config, config.material.default_material);
  if (first < order.size())
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first),
                order.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  return order;
}

}  // namespace

std::size_t material_number(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.materials, name, &NamedMaterial::name);
  return static_cast<std::size_t>(found - config.materials.begin());
}

MaterialClasses material_classes(const Config& config) {
  MaterialClasses all;
  if (config.materials.empty()) {
    const double k = conductivity(config);
    return {{{{k, k, k}, volumetric_heat_capacity(config)}}, {}, {0}};
  }
  std::vector<std::size_t> representatives;  // a material of each class
  all.of_material.resize(config.materials.size());
  for (const std::size_t i : in_order(config)) {
    const auto like =
        std::ranges::find_if(representatives, [&](std::size_t other) { return are_alike(config, i, other); });
    all.of_material[i] = static_cast<std::uint8_t>(like - representatives.begin());
    if (like != representatives.end()) continue;
    const NamedMaterial& material = config.materials[i];
    representatives.push_back(i);
    all.classes.push_back({material.conductivity, material.volumetric_heat_capacity()});
  }
  for (const std::size_t i : representatives)
    for (const std::size_t j : representatives) all.resistances.push_back(contact_between(config, i, j));
  return all;
}

bool has_several_materials(const Config& config) {
  if (config.materials.empty()) return false;
  const std::vector<MaterialClass> classes = material_classes(config).classes;
  return classes.size() > 1 || !classes[0].is_isotropic();
}

double face_conductance(const Config& config, const MaterialClasses& all, int axis, std::size_t i,
                        std::size_t j) {
  const double h = spacing(config)[axis], k = all.classes[i].conductivity[axis],
               other = all.classes[j].conductivity[axis], contact = all.resistance(i, j);
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
  for (const MaterialRegion& region : config.regions) {
    if (region.shape != RegionShape::layers) {
      RegionValue place = region.place;
      place.shape = region.shape == RegionShape::box      ? Shape::box
                    : region.shape == RegionShape::sphere ? Shape::sphere
                                                          : Shape::cylinder;
      shapes.push_back({material_number(config, region.material), place});
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
      shapes.push_back({material_number(config, layer.material), place});
    }
  }
  return shapes;
}

}  // namespace isotherm
