// The policies of a row: a constexpr table of tiles, their names, and the way from an index to a template
// argument. For .cu files only.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/host_device.hpp"

namespace isotherm::cuda {

// What a row's policy is made of; each row says what its numbers mean. The name is "32x8x1".
struct Tile {
  int x, y, z;
  ISOTHERM_HOST_DEVICE constexpr int product() const { return x * y * z; }
  std::string name() const { return std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z); }
};

// Calls body.template operator()<tile>() for the tile of that index.
template <const auto& tiles, class Body>
auto with_tile(int index, Body body) {
  const auto call = [&]<std::size_t i>(auto self) {
    if constexpr (i + 1 < std::size(tiles)) {
      if (index != static_cast<int>(i)) return self.template operator()<i + 1>(self);
    }
    if (index != static_cast<int>(i)) {
      throw Error(ExitCode::internal, "a kernel row was asked for a policy that it does not have");
    }
    return body.template operator()<tiles[i]>();
  };
  return call.template operator()<0>(call);
}

template <const auto& tiles>
std::span<const std::string_view> names_of() {
  static const auto texts = [] {
    std::array<std::string, std::size(tiles)> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = tiles[i].name();
    return made;
  }();
  static const auto names = [] {
    std::array<std::string_view, std::size(tiles)> views;
    for (std::size_t i = 0; i < views.size(); ++i) views[i] = texts[i];
    return views;
  }();
  return names;
}

}  // namespace isotherm::cuda
