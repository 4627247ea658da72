// The parts into which voids divide a body: cells that are connected by faces. A steady problem needs in each
// of them something that holds a temperature.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/config.hpp"
#include "config/materials.hpp"
#include "core/box.hpp"

namespace isotherm {

// Cells of the body in a row along x are a run; runs that touch are joined by union-find (Galler and Fischer,
// CACM 7, 1964), so the memory is that of the runs, not of the cells.
class BodyParts {
 public:
  explicit BodyParts(const Config& config);

  // The materials (their numbers) of all cells of a row, row by row, plane by plane.
  void add(Index y, Index z, std::span<const std::uint8_t> materials);
  // After all rows. Throws Error(deck) with a cell of a part that nothing holds.
  void check();

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

  Row runs_of(Index y, Index z, std::span<const std::uint8_t> materials);
  std::int64_t root(std::int64_t part);
  void touch(std::int64_t a, std::int64_t b);
  void touch(const Row& a, const Row& b);
  bool holds(Face f, Int3 cell) const;

  const Config& config_;
  std::array<std::optional<FaceLaw>, face_count> laws_;  // of faces that hold a temperature anywhere
  std::vector<Part> parts_;
  std::vector<Row> first_plane_, before_, plane_;  // by y
};

}  // namespace isotherm
