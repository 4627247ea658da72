// The materials of a deck: which of them sweeps must tell apart, and where the deck puts them.
#pragma once

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

  bool is_void() const { return coefficient.has_value(); }

  bool operator==(const MaterialClass&) const = default;
};

inline constexpr std::size_t most_materials = 254;  // and the word void
inline constexpr std::size_t no_material = 255;     // the number of cells that nothing was painted on
inline constexpr std::string_view void_word = "void";

// Voids are behind all others. The first is material.default's, else the first region's. Two materials whose
// properties and contacts are all equal are of one class; one that no region names is of none; the one
// material of other decks is one.
struct MaterialClasses {
  std::vector<MaterialClass> classes;
  std::vector<std::uint8_t> of_material;  // by number: the order of Config::materials, then the word void
  std::vector<double> resistances;        // m^2 K/W, of contacts between two classes

  std::size_t count() const { return classes.size(); }
  double resistance(std::size_t i, std::size_t j) const { return resistances[i * count() + j]; }
};
MaterialClasses material_classes(const Config& config);
bool has_void(const MaterialClasses& all);
// Of voids that regions and material.default name: has one a law?
bool has_void_law(const Config& config);

// Must sweeps tell classes or axes apart? Other bodies are swept with coefficients for all.
bool has_several_materials(const Config& config);

// W/(m^3 K). Of the face between a cell of class i and one of class j along the axis, as either sees it, but
// for a void, which sees 0.
double face_conductance(const Config& config, const MaterialClasses& all, int axis, std::size_t i,
                        std::size_t j);
// Of all faces of a cell among its own class.
double own_conductance(const Config& config, const MaterialClass& own);

// The material (its number) that regions paint on a box, sphere or cylinder; layers are boxes. Of a dataset
// `map` says which.
struct PaintedShape {
  std::size_t material = 0;
  RegionValue place;
  std::string key;  // of the region: "regions.1"
  std::vector<std::pair<std::int64_t, std::uint8_t>>
      map{};  // of its numbers to those of materials, ascending
};
std::vector<PaintedShape> painted_shapes(const Config& config);  // in order
// The numbers of the materials that regions and material.default name, that of the first class first.
std::vector<std::size_t> painted_materials(const Config& config);
// The number of a name: that of the word void is their count; of no material: no_material.
std::size_t material_number(const Config& config, const std::string& name);
std::optional<std::int64_t> whole_number(const std::string& id);  // of a map; none where it is not one
const NamedMaterial& material_of_number(const Config& config, std::size_t number);  // also of the word void

}  // namespace isotherm
