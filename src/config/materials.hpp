// The materials of a deck: which of them sweeps must tell apart, and where the deck puts them.
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

// Materials that no cell can tell apart, as the kernels number them; or a void, which is no part of the body.
struct MaterialClass {
  Vector3 conductivity{};    // W/(m K), along x, y, z; 0 of a void
  double heat_capacity = 1;  // rho c, J/(m^3 K); 0 of a void
  // Of a void, W/(m^2 K) and K: its faces to the body are convective. A coefficient of 0: insulated.
  std::optional<double> coefficient{};
  double ambient = 0;
  Vector3 size{};  // m, of its cells

  bool is_void() const { return coefficient.has_value(); }

  bool operator==(const MaterialClass&) const = default;
};

inline constexpr std::size_t most_materials = 254;  // and the word void
inline constexpr std::size_t most_classes = 255;    // so that a byte numbers them
inline constexpr std::size_t no_material = 255;     // the number of cells that nothing was painted on
inline constexpr std::string_view void_word = "void";

// Voids are behind all others. The first is material.default's, else the first region's. Two materials whose
// properties and contacts are all equal are of one class; one that no region names is of none; the one
// material of other decks is one. Cells of a graded grid that differ in size differ in class: one for each
// material and the sizes of the cells within the bounds of its regions.
struct MaterialClasses {
  std::vector<MaterialClass> classes;
  // By number: the order of Config::materials, then the word void; on a graded grid by sizes too, as of()
  // reads it.
  std::vector<std::uint8_t> of_material;
  std::vector<double> resistances;  // m^2 K/W, of contacts between two classes
  // By axis and zone (config/grid_axes.hpp): its first cell, and which of the axis' sizes it has.
  std::array<std::vector<Index>, 3> first_of_zone{};
  std::array<std::vector<std::uint8_t>, 3> number_of_size{};
  std::array<std::size_t, 3> sizes{1, 1, 1};  // how many there are along each axis

  std::size_t count() const { return classes.size(); }
  std::size_t size_number(int axis, Index cell) const {
    const std::vector<Index>& first = first_of_zone[axis];
    if (first.empty()) return 0;
    const auto zone = std::ranges::upper_bound(first, cell) - first.begin() - 1;
    return number_of_size[axis][zone];
  }
  std::uint8_t of_sizes(std::size_t material, const std::array<std::size_t, 3>& size) const {
    return of_material[((material * sizes[2] + size[2]) * sizes[1] + size[1]) * sizes[0] + size[0]];
  }
  // Of a cell of the domain, by its material.
  std::uint8_t of(std::size_t material, Int3 cell) const {
    return of_sizes(material, {size_number(0, cell.x), size_number(1, cell.y), size_number(2, cell.z)});
  }
  // Of a void, by its number: those that its cells may have.
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
// Of voids that regions and material.default name: has one a law?
bool has_void_law(const Config& config);

// Must sweeps tell classes, sizes or axes apart, or multigrid the cells at a face? Other bodies are swept
// with coefficients for all.
bool has_several_materials(const Config& config);

// Over the volume of the grid's first cell, which 1 is where all cells are alike.
double volume_ratio(const Config& config, const MaterialClass& own);

// What neighbours exchange must be one number for both. So conductances are those of whole faces, A/(h_i/2k_i
// + R + h_j/2k_j), over the volume of the grid's first cell: W/(m^3 K). On a uniform grid this is the
// conductance for the volume of any cell.
//
// Of the face between a cell of class i and one of class j along the axis, as either sees it, but for a void,
// which sees 0.
double face_conductance(const Config& config, const MaterialClasses& all, int axis, std::size_t i,
                        std::size_t j);
// Of all faces of a cell among its own class.
double own_conductance(const Config& config, const MaterialClass& own);

// The material (its number) that regions paint on a box, sphere or cylinder; layers are boxes. Of a dataset
// `map` says which, and `material` that of other numbers, or no_material.
struct PaintedShape {
  std::size_t material = 0;
  RegionValue place;
  std::string key;  // of the region or layer: "regions.1", "regions.1.layers.0"
  std::vector<std::pair<std::int64_t, std::uint8_t>>
      map{};  // of its numbers to those of materials, ascending
};
std::vector<PaintedShape> painted_shapes(const Config& config);  // in order
// The numbers of the materials that regions and material.default name, that of the first class first.
std::vector<std::size_t> painted_materials(const Config& config);
// The number of a name: that of the word void is their count; of no material: no_material.
std::size_t material_number(const Config& config, const std::string& name);
const NamedMaterial& material_of_number(const Config& config, std::size_t number);  // also of the word void

}  // namespace isotherm
