// The materials of a deck: the classes that sweeps must distinguish, and the places of each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"

namespace isotherm {

// Materials without any difference for a cell, as the kernels number them; or a void, not part of the body.
struct MaterialClass {
  Vector3 conductivity{};    // W/(m K), along x, y, z; 0 for a void
  double heat_capacity = 1;  // rho c, J/(m^3 K); 0 for a void
  // For a void, W/(m^2 K) and K: its faces to the body are convective; with a coefficient of 0, insulated.
  std::optional<double> coefficient{};
  double ambient = 0;
  Vector3 size{};  // m, of its cells

  bool is_void() const { return coefficient.has_value(); }

  bool operator==(const MaterialClass&) const = default;
};

inline constexpr std::size_t most_materials = 254;  // not counting the word void
inline constexpr std::size_t most_classes = 255;    // so that a byte numbers them
inline constexpr std::size_t no_material = 255;     // marks cells without a material
inline constexpr std::string_view void_word = "void";

// Voids come after all other classes. The first class is that of material.default, else of the first region.
// Two materials with the same properties and contacts share a class; one outside used_materials() has
// none. A deck without `materials` has one class. On a graded grid a class also has one cell size: a material
// has a class for each size of the cells within the bounds of its regions.
struct MaterialClasses {
  std::vector<MaterialClass> classes;
  // The class of a material, by its number: the order of Config::materials, then the word void. On a graded
  // grid by cell sizes too, see of().
  std::vector<std::uint8_t> of_material;
  std::vector<double> resistances;  // m^2 K/W, of contacts between two classes
  // By axis and zone (config/grid_axes.hpp): its first cell, and the number of its cell size along the axis.
  std::array<std::vector<Index>, 3> first_of_zone{};
  std::array<std::vector<std::uint8_t>, 3> number_of_size{};
  std::array<std::size_t, 3> sizes{1, 1, 1};  // the number of sizes along each axis

  std::size_t count() const { return classes.size(); }
  std::size_t size_number(int axis, Index cell) const {
    const std::vector<Index>& first = first_of_zone[axis];
    if (first.empty()) return 0;
    const auto zone = std::ranges::upper_bound(first, cell) - first.begin() - 1;
    return number_of_size[axis][zone];
  }
  // The class of a cell of the domain, by its material.
  std::uint8_t of(std::size_t material, Int3 cell) const {
    const std::size_t x = size_number(0, cell.x), y = size_number(1, cell.y), z = size_number(2, cell.z);
    return of_material[((material * sizes[2] + z) * sizes[1] + y) * sizes[0] + x];
  }
  // The classes that the cells of a void may have, by its number.
  std::vector<int> of_void(std::size_t material) const {
    std::vector<int> found;
    const std::size_t each = sizes[0] * sizes[1] * sizes[2];
    for (std::size_t i = material * each; i < (material + 1) * each; ++i)
      if (classes[of_material[i]].is_void() && std::ranges::find(found, of_material[i]) == found.end())
        found.push_back(of_material[i]);
    return found;
  }
  double resistance(std::size_t i, std::size_t j) const { return resistances[i * count() + j]; }
};
MaterialClasses material_classes(const Config& config);
bool has_void(const MaterialClasses& all);
// Does any void that regions and material.default name exchange heat (coefficient above 0)?
bool has_void_law(const Config& config);

// Must sweeps distinguish classes, cell sizes or axes, or multigrid the cells at a face? Otherwise all cells
// of a body have the same coefficients.
bool has_several_materials(const Config& config);

// The volume of a cell over that of the grid's first cell; 1 where all cells have one size.
double volume_ratio(const Config& config, const MaterialClass& own);

// Neighbours must exchange the same heat. So conductances are those of whole faces,
// A/(h_i/2k_i + R + h_j/2k_j), over the volume of the grid's first cell: W/(m^3 K). On a uniform grid this is
// the conductance for the volume of any cell.
//
// The conductance of the face between a cell of class i and one of class j along the axis. Both cells have
// the same, except that it is 0 for a void i.
double face_conductance(const Config& config, const MaterialClasses& all, int axis, std::size_t i,
                        std::size_t j);
// The sum over all faces of a cell among its own class.
double own_conductance(const Config& config, const MaterialClass& own);

// The material (its number) that regions assign to a box, sphere or cylinder; layers are boxes. In a dataset
// `map` has the material of each number, and `material` that of all others, or no_material.
struct MaterialShape {
  std::size_t material = 0;
  RegionValue place;
  std::string key;  // of the region or layer: "regions.1", "regions.1.layers.0"
  std::vector<std::pair<std::int64_t, std::uint8_t>>
      map{};  // numbers of the dataset and of materials, ascending
};
std::vector<MaterialShape> material_shapes(const Config& config);  // in order
// The numbers of the materials that regions and material.default name, that of the first class first.
std::vector<std::size_t> used_materials(const Config& config);
// The number of a material by its name: materials.size() for the word void, no_material for unknown names.
std::size_t material_number(const Config& config, const std::string& name);
const NamedMaterial& material_of_number(const Config& config, std::size_t number);  // also of the word void

}  // namespace isotherm
