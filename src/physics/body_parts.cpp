#include "physics/body_parts.hpp"

#include <algorithm>
#include <utility>

#include "config/boundary_laws.hpp"
#include "config/problems.hpp"
#include "physics/cells.hpp"

namespace isotherm {

BodyParts::BodyParts(const Config& config) : config_(config) {
  for (std::size_t i = 0; i < face_count; ++i) {
    const auto f = static_cast<Face>(i);
    if (boundary_law(config, f).a < 1)  // of several laws the strongest
      laws_[i] = face_law(config, f);
  }
}

bool BodyParts::holds(Face f, Int3 cell) const {
  const std::optional<FaceLaw>& law = laws_[static_cast<std::size_t>(f)];
  if (!law) return false;
  if (is_plain(boundary_of(config_, f))) return true;
  Vector3 at = GridAxes(config_).centre(cell);
  at[axis_of(f)] = face_position(config_, f);
  return law->at(1, 1, at, 0).a < 1;
}

BodyParts::Row BodyParts::runs_of(Index y, Index z, std::span<const std::uint8_t> materials) {
  Row runs;
  const Int3 n = config_.grid.cells;
  for (Index x = 0; x < n.x;) {
    const auto material_at = [&](Index i) -> const NamedMaterial& {
      return material_of_number(config_, materials[static_cast<std::size_t>(i)]);
    };
    const bool is_body = !material_at(x).is_void(),
               has_law = !is_body && material_at(x).coefficient.value_or(0) > 0;
    const Index first = x;
    while (x < n.x && (is_body ? !material_at(x).is_void() : &material_at(x) == &material_at(first))) ++x;
    if (!is_body && !has_law) continue;
    runs.push_back({first, x, is_body ? std::ssize(parts_) : of_void});
    if (is_body) parts_.push_back({std::ssize(parts_), false, {first, y, z}});
  }
  const auto touches = [&](int f, Int3 cell) { return cell[f / 2] == (f % 2 == 0 ? 0 : n[f / 2] - 1); };
  for (const Run& run : runs) {
    if (run.part == of_void) continue;
    bool& is_held = parts_[static_cast<std::size_t>(run.part)].is_held;
    for (int f = 0; f < face_count; ++f) {
      const bool is_across_x = f < 2;  // where the ends alone can touch
      if (!is_across_x && !touches(f, {0, y, z})) continue;
      const Index step = is_across_x ? std::max<Index>(1, run.last - 1 - run.first) : 1;
      for (Index i = run.first; i < run.last && !is_held; i += step)
        is_held = touches(f, {i, y, z}) && holds(static_cast<Face>(f), {i, y, z});
    }
  }
  return runs;
}

std::int64_t BodyParts::root(std::int64_t part) {
  const auto parent = [&](std::int64_t of) -> std::int64_t& {
    return parts_[static_cast<std::size_t>(of)].parent;
  };
  while (parent(part) != part) part = parent(part) = parent(parent(part));
  return part;
}

void BodyParts::touch(std::int64_t a, std::int64_t b) {
  if (a == of_void && b == of_void) return;
  if (a == of_void || b == of_void) {
    parts_[static_cast<std::size_t>(root(std::max(a, b)))].is_held = true;
    return;
  }
  const std::int64_t low = std::min(root(a), root(b)), high = std::max(root(a), root(b));
  parts_[static_cast<std::size_t>(high)].parent = low;
  parts_[static_cast<std::size_t>(low)].is_held |= parts_[static_cast<std::size_t>(high)].is_held;
}

void BodyParts::touch(const Row& a, const Row& b) {
  for (auto one = a.begin(), other = b.begin(); one != a.end() && other != b.end();) {
    if (one->first < other->last && other->first < one->last) touch(one->part, other->part);
    one->last < other->last ? ++one : ++other;
  }
}

void BodyParts::add(Index y, Index z, std::span<const std::uint8_t> materials) {
  const Int3 n = config_.grid.cells;
  const auto is_periodic = [&](int axis) {
    return config_.boundaries[2 * axis].kind == BoundaryKind::periodic;
  };
  const Row row = runs_of(y, z, materials);
  for (std::size_t i = 0; i + 1 < row.size(); ++i)
    if (row[i].last == row[i + 1].first) touch(row[i].part, row[i + 1].part);
  if (!row.empty() && is_periodic(0) && row.front().first == 0 && row.back().last == n.x)
    touch(row.front().part, row.back().part);
  if (y == 0) {
    if (z == 1) first_plane_ = plane_;
    before_ = std::exchange(plane_, {});
  }
  if (y > 0) touch(row, plane_.back());
  if (z > 0) touch(row, before_[static_cast<std::size_t>(y)]);
  if (y == n.y - 1 && y > 0 && is_periodic(1)) touch(row, plane_.front());
  if (z == n.z - 1 && z > 0 && is_periodic(2))
    touch(row, (z == 1 ? before_ : first_plane_)[static_cast<std::size_t>(y)]);
  plane_.push_back(row);
}

void BodyParts::check() {
  bool may_be_free = mean_is_free(config_);  // of one part, whose mean the deck gives
  for (std::int64_t i = 0; i < std::ssize(parts_); ++i) {
    const Part& part = parts_[static_cast<std::size_t>(i)];
    if (part.parent != i || part.is_held || std::exchange(may_be_free, false)) continue;
    const Vector3 at = GridAxes(config_).centre(part.cell);
    throw deck_error(
        config_, "regions",
        "the steady problem has no one solution: nothing holds the temperature of the part of the "
        "body with the cell at ({}, {}, {}) m, which voids separate from the rest; give it a "
        "boundary with a temperature or convection, or the void around it an ambient",
        at[0], at[1], at[2]);
  }
}

}  // namespace isotherm
